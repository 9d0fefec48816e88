// SPDX-License-Identifier: MIT
// image_import.h - data sets made from your own pictures: from a folder or an archive of class
// folders, or from the arrays of a .npz file or of IDX files.
#ifndef LOCKSTEP_DATA_IMAGES_IMAGE_IMPORT_H
#define LOCKSTEP_DATA_IMAGES_IMAGE_IMPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/log.h"
#include "base/strvec.h"
#include "data/images/idx_files.h"
#include "data/images/image.h"
#include "data/images/image_folder.h"
#include "data/source/raw_dataset.h"

enum { IMAGE_IMPORT_NAMED = 100 }; // at most so many unreadable files are kept by name

typedef struct image_import {
    const char *name; // of the data set
    int size;         // side of the squares; 0: unchanged (arrays only)
    int channels;     // 1 or 3; 0: 3 for files, unchanged for arrays
    double test_fraction;
    uint64_t seed; // of the split
} image_import;

// The data set, the names that it points to, and the files that could not be read.
typedef struct import_result {
    raw_dataset data;
    bool split;         // as the source has it
    char **class_names; // of arrays; NULL: the folder's
    int64_t left_out;   // images of a third part of the arrays
    strvec unused;      // names of other arrays and files that are left out
    size_t unreadable;
    image_left named[IMAGE_IMPORT_NAMED]; // .files is 0; .why is the result's
    size_t faulty;                        // with faults that cost no pixels (image.h)
    const char *first_faulty;             // the list's
    char fault[IMAGE_FAULT];
} import_result;

// Reads all pictures through image_square; those of an archive one after another. Skips a file that
// cannot be read, with a warning. Splits the pictures (import_choose_test) unless the folder is
// split already.
// STATUS_INPUT if a class has no picture left, or the data set would exceed 4 GiB. Release both
// folder and result in any case, the result first.
status import_folder(const image_folder *f, const image_import *s, const logger *log,
                     import_result *r, error *err) MUST_CHECK;

// Reads the arrays of a .npz file, or of IDX files if `idx` is not NULL, named x and y, or x_train,
// y_train, x_test and y_test; docs/data.md has the other names that libraries give them. Pictures
// are |u1 [N][H][W], [N][H][W][C] or [N][C][H][W] with C of 1 or 3. Labels are integers [N] or
// [N][1], and the class names are these numbers; those of a .npz file are from 0 on. A sample's key
// in the split is its index. A validation part is left out, with a warning, unless it stands for a
// test part that is not there, and so is whatever else is in the file.
status import_arrays(const char *path, const idx_files *idx, const image_import *s,
                     const logger *log, import_result *r, error *err) MUST_CHECK;

void import_release(import_result *r);

// Chooses the test samples of each class of n samples: n · fraction, rounded, but at least 1 and at
// most n - 1. These are the ones with the smallest SHA-256 of "SEED/CLASS/KEY", where CLASS is the
// class's name and KEY that of the sample in it (keys[i], a file's name). So neither a folder's
// order nor the other classes matter, and adding a sample moves few others. `fraction` is above 0
// and below 1. A class with fewer than 2 samples is STATUS_INPUT.
status import_choose_test(const uint32_t *labels, const char *const *keys, size_t count,
                          const char *const *class_names, double fraction, uint64_t seed,
                          bool *test, error *err) MUST_CHECK;

// For the import functions: checks that `count` samples fit into a file.
status import_check_size(const raw_dataset *r, uint64_t count, error *err) MUST_CHECK;
// Makes both splits from one list of samples. Takes over its memory.
status import_split(raw_dataset *r, uint8_t *images, uint32_t *labels, const char *const *keys,
                    uint32_t count, const image_import *s, error *err) MUST_CHECK;
// STATUS_INPUT if a class has no sample in a split.
status import_check_classes(const raw_dataset *r, error *err) MUST_CHECK;

#endif
