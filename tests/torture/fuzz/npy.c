// SPDX-License-Identifier: MIT
// A NumPy array, as `tensor import` reads it.
#include "data/tensor/tensor_exchange.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    tensor_file f = {0};
    error err;
    (void)!tensor_read_npy(fuzz_file("npy", data, bytes), 64 << 20, "x", &f, &err);
    tensor_file_release(&f);
    return 0;
}
