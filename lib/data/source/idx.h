// SPDX-License-Identifier: MIT
// idx.h - IDX files, the format of MNIST: two zero bytes, element type, rank, then the sizes as
// big-endian 32-bit numbers, then the elements, big-endian too.
#ifndef LOCKSTEP_DATA_SOURCE_IDX_H
#define LOCKSTEP_DATA_SOURCE_IDX_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "data/tensor/npy.h"

// Reads an IDX file in memory as an array of its elements, which are bytes, integers or floats; of
// more than one byte they are turned round in place. `x` points into the file. STATUS_INPUT, naming
// `name`, unless its data have exactly the length that the shape implies.
status idx_parse(uint8_t *file, size_t bytes, const char *name, npy *x, error *err) MUST_CHECK;

#endif
