// SPDX-License-Identifier: MIT
// MNIST's format; the first byte selects the rank.
#include <stdlib.h>

#include "data/source/idx.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    if (!bytes) return 0;
    uint8_t *file = (uint8_t *)fuzz_text(data + 1, bytes - 1);
    idx x;
    error err;
    unsigned sum = 0;
    if (idx_parse(file, bytes - 1, "idx", 1 + data[0] % IDX_MAX_RANK, &x, &err) == STATUS_OK)
        for (size_t i = 0; i < x.bytes; i++) sum += x.data[i];
    free(file);
    return sum ? 0 : 0;
}
