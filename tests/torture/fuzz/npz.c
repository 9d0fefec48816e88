// SPDX-License-Identifier: MIT
// Arrays in a zip, as import-images reads them.
#include "data/images/npz.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    array_list l;
    error err;
    (void)!npz_read(fuzz_file("npz", data, bytes), &l, &err);
    array_list_release(&l);
    return 0;
}
