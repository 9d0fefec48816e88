// SPDX-License-Identifier: MIT
// npy.h - the header of NumPy's .npy files: format versions 1 to 3, C order.
#ifndef LOCKSTEP_DATA_TENSOR_NPY_H
#define LOCKSTEP_DATA_TENSOR_NPY_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define NPY_MAGIC "\x93NUMPY"
enum { NPY_MAX_RANK = 8 };

typedef struct npy {
    char type[4]; // "|u1", "<i8": kind b, u, i or f, of 1, 2, 4 or 8 bytes, little-endian
    int rank;
    int64_t shape[NPY_MAX_RANK];
    const void *data; // points into the file
    size_t data_bytes;
} npy;

// Parses a file in memory, which must outlive *n; changes the last byte of its header, and turns
// big-endian numbers round. `name` is for messages. STATUS_INPUT: "cannot read npy file: 'NAME':
// why", if the elements are not such numbers, which it names (strings, pickled objects, ...), or if
// the data do not have the size that shape and type imply.
status npy_parse(char *bytes, size_t size, const char *name, npy *n, error *err) MUST_CHECK;

// For the readers of such arrays: makes elements of the type ">…" little-endian. `data` is n->data.
void npy_turn_round(npy *n, char *data);

// Sets that error, for callers that do not support every type.
status npy_refuse(const char *name, const char *why, error *err);

// Returns what the elements are, for a message: "integers".
const char *npy_elements(const npy *n);

// Returns the number of elements, and the value of element i.
size_t npy_count(const npy *n);
double npy_value(const npy *n, size_t i);

#endif
