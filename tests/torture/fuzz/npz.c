// SPDX-License-Identifier: MIT
// Arrays in a zip, as import-images reads them.
#include "data/images/npz.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    npz_array arrays[] = {{.name = "x"}, {.name = "y"}};
    error err;
    (void)!npz_read(fuzz_file("npz", data, bytes), arrays, 2, &err);
    npz_release(arrays, 2);
    return 0;
}
