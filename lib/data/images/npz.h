// SPDX-License-Identifier: MIT
// npz.h - the arrays of a .npz file: a zip archive with one .npy file per array.
#ifndef LOCKSTEP_DATA_IMAGES_NPZ_H
#define LOCKSTEP_DATA_IMAGES_NPZ_H

#include <stddef.h>

#include "base/error.h"
#include "data/tensor/npy.h"

typedef struct npz_array {
    char *name;  // of the array, without .npy; NULL: missing
    char *bytes; // its file
    npy array;
} npz_array;

// Returns the place of the array of that name, or -1 to skip it.
typedef int npz_place(const char *name);

enum { NPZ_NAMES_BYTES = 200 };

// Reads the arrays that have a place among the `count` ones, and skips the others. `names` becomes
// the list of all, for a message. STATUS_INPUT for an invalid archive or array, or two arrays of
// one place. Call npz_release in any case.
status npz_read(const char *path, npz_place *place, npz_array *arrays, size_t count,
                char names[NPZ_NAMES_BYTES], error *err) MUST_CHECK;
void npz_release(npz_array *arrays, size_t count);

#endif
