// SPDX-License-Identifier: MIT
// tensor_exchange.h - one tensor to and from the formats of other programs: NumPy's .npy, and CSV.
//
// npy: format version 1 to 3, C order, little-endian. CSV: numbers only, no header; one line per
// index of the first dimension, which lists the elements of all other dimensions. So CSV keeps
// vectors and matrices as they are, and flattens tensors of more dimensions. Input may be
// compressed with zstd.
#ifndef LOCKSTEP_DATA_TENSOR_TENSOR_EXCHANGE_H
#define LOCKSTEP_DATA_TENSOR_TENSOR_EXCHANGE_H

#include "base/error.h"
#include "base/output.h"
#include "data/tensor/tensor_file.h"

status tensor_write_npy(const tensor *t, output *out, error *err) MUST_CHECK;
status tensor_write_csv(const tensor *t, output *out, error *err) MUST_CHECK;

// Read `path` ("-": standard input), of at most `max_bytes` uncompressed, and add its tensor to `f`
// as `name`. CSV: one column gives a vector, several columns a matrix, with elements of `type`.
status tensor_read_npy(const char *path, uint64_t max_bytes, const char *name, tensor_file *f,
                       error *err) MUST_CHECK;
status tensor_read_csv(const char *path, uint64_t max_bytes, const char *name, tensor_type type,
                       tensor_file *f, error *err) MUST_CHECK;

#endif
