// SPDX-License-Identifier: MIT
// idx.h - IDX files, the format of MNIST: two zero bytes, element type, rank, then the sizes as
// big-endian 32-bit numbers, then the elements.
#ifndef LOCKSTEP_DATA_SOURCE_IDX_H
#define LOCKSTEP_DATA_SOURCE_IDX_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum { IDX_MAX_RANK = 4 };

typedef struct idx {
    int rank;
    uint32_t shape[IDX_MAX_RANK];
    uint8_t *data; // into the file's bytes
    size_t bytes;  // the product of the shape
} idx;

// Reads the header of an IDX file of unsigned bytes in memory. STATUS_INPUT, naming `name`, unless
// its rank is `rank` and its data have exactly the length that the shape implies.
status idx_parse(uint8_t *file, size_t bytes, const char *name, int rank, idx *x,
                 error *err) MUST_CHECK;

#endif
