// SPDX-License-Identifier: MIT
// A CSV table; the first byte selects the type.
#include "data/tensor/tensor_exchange.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    const tensor_type type = bytes ? (tensor_type)(data[0] % TENSOR_F16) : TENSOR_F32;
    tensor_file f = {0};
    error err;
    if (bytes)
        (void)!tensor_read_csv(fuzz_file("csv", data + 1, bytes - 1), 64 << 20, "x", type, &f,
                               &err);
    tensor_file_release(&f);
    return 0;
}
