// npy.h - the header of NumPy's .npy files: format versions 1 to 3, C order.
#ifndef LOCKSTEP_DATA_TENSOR_NPY_H
#define LOCKSTEP_DATA_TENSOR_NPY_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define NPY_MAGIC "\x93NUMPY"
enum { NPY_MAX_RANK = 8 };

typedef struct npy {
    char type[4]; // "|u1", "<i8"
    int rank;
    int64_t shape[NPY_MAX_RANK];
    const void *data; // in the file
    size_t data_bytes;
} npy;

// Takes a file in memory apart, which must outlive *n, and changes the last byte of its header.
// `name` is for messages. STATUS_INPUT: "cannot read npy file: 'NAME': why"; also when shape and
// type do not make up the data. Types of other than 1 to 8 bytes are not known.
status npy_parse(char *bytes, size_t size, const char *name, npy *n, error *err) MUST_CHECK;

// The refusal, for callers that do not take every type.
status npy_refuse(const char *name, const char *why, error *err);

#endif
