// SPDX-License-Identifier: MIT
// tensor_file_internal.h - functions shared by reading and writing of tensor files.
#ifndef LOCKSTEP_DATA_TENSOR_TENSOR_FILE_INTERNAL_H
#define LOCKSTEP_DATA_TENSOR_TENSOR_FILE_INTERNAL_H

#include "data/tensor/tensor_file.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "tensor data is little-endian and used in place");

#define TENSOR_METADATA_KEY "__metadata__"

// Appends a tensor without checking for duplicates. Only its name is set.
tensor *tensor_file_append(tensor_file *f, const char *name) MUST_CHECK;

// Computes the bytes of a tensor of that shape; false if a size is negative or the product
// overflows.
bool tensor_shape_bytes(tensor_type type, int rank, const int64_t *shape, uint64_t *bytes);

#endif
