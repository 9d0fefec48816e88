// SPDX-License-Identifier: MIT
// An experiment file and, after a zero byte, an assignment of --set.
#include <stdlib.h>
#include <string.h>

#include "experiment/experiment.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    const uint8_t *zero = bytes ? memchr(data, 0, bytes) : NULL;
    const size_t length = zero ? (size_t)(zero - data) : bytes;
    char *set = zero ? fuzz_text(zero + 1, bytes - length - 1) : NULL;
    const char *const sets[] = {set};
    experiment e;
    error err;
    if (experiment_read(&e, fuzz_file("e.yaml", data, length), sets, set ? 1 : 0, &err) ==
        STATUS_OK)
        experiment_release(&e);
    free(set);
    return 0;
}
