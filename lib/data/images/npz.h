// SPDX-License-Identifier: MIT
// npz.h - the arrays of a .npz file: a zip archive with one .npy file per array.
#ifndef LOCKSTEP_DATA_IMAGES_NPZ_H
#define LOCKSTEP_DATA_IMAGES_NPZ_H

#include <stddef.h>

#include "base/error.h"
#include "data/tensor/npy.h"

typedef struct npz_array {
    const char *name; // of the array, without .npy
    char *bytes;      // its file; NULL: missing
    npy array;
} npz_array;

// Reads those of the `count` arrays that the file has, and skips its others. STATUS_INPUT for an
// invalid archive or array. Call npz_release in any case.
status npz_read(const char *path, npz_array *arrays, size_t count, error *err) MUST_CHECK;
void npz_release(npz_array *arrays, size_t count);

#endif
