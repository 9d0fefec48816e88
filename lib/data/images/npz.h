// SPDX-License-Identifier: MIT
// npz.h - the arrays of a .npz file: a zip archive with one .npy file per array.
#ifndef LOCKSTEP_DATA_IMAGES_NPZ_H
#define LOCKSTEP_DATA_IMAGES_NPZ_H

#include "base/error.h"
#include "data/images/array_list.h"

// Reads the arrays that have a place in the list, and names all. STATUS_INPUT for an invalid
// archive or array, or two arrays of one place. Call array_list_release in any case.
status npz_read(const char *path, array_list *l, error *err) MUST_CHECK;

#endif
