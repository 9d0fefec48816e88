// SPDX-License-Identifier: MIT
// A tensor file: safetensors, plain or inside zstd.
#include "data/tensor/tensor_file.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    const char *path = fuzz_file("tensor", data, bytes);
    tensor_file f = {0};
    error err;
    if (tensor_file_read(path, 64 << 20, &f, &err) == STATUS_OK)
        for (size_t i = 0; i < f.count; i++) (void)tensor_elements(&f.tensors[i]);
    tensor_file_release(&f);
    tensor_file header = {0};
    (void)!tensor_file_read_header(path, &header, &err);
    tensor_file_release(&header);
    return 0;
}
