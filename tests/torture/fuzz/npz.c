// SPDX-License-Identifier: MIT
// Arrays in a zip, as import-images reads them.
#include <string.h>

#include "data/images/npz.h"
#include "fuzz.h"

static int place(const char *name) {
    return strcmp(name, "x") == 0 ? 0 : strcmp(name, "y") == 0 ? 1 : -1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    npz_array arrays[2] = {0};
    char names[NPZ_NAMES_BYTES];
    error err;
    (void)!npz_read(fuzz_file("npz", data, bytes), place, arrays, 2, names, &err);
    npz_release(arrays, 2);
    return 0;
}
