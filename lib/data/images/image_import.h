// image_import.h - data sets made of one's own pictures: from a folder of class folders, or from
// the arrays of a .npz file.
#ifndef LOCKSTEP_DATA_IMAGES_IMAGE_IMPORT_H
#define LOCKSTEP_DATA_IMAGES_IMAGE_IMPORT_H

#include "base/log.h"
#include "data/images/image_folder.h"
#include "data/source/raw_dataset.h"

enum { IMAGE_IMPORT_NAMED = 100 }; // so many unreadable files at most are kept by name

typedef struct image_import {
    const char *name; // of the data set
    int size;         // N of the squares; 0: as they are (arrays only)
    int channels;     // 1 or 3; 0: 3 of files, and as they are of arrays
    double test_fraction;
    uint64_t seed; // of the split
} image_import;

// The data set, the names that it points to, and the files that are missing in it.
typedef struct import_result {
    raw_dataset data;
    char **class_names; // of arrays; NULL: those of the folder
    size_t unreadable;
    struct {
        const char *path; // the list's
        char *why;
    } named[IMAGE_IMPORT_NAMED];
} import_result;

// Reads all pictures as image_square gives them; a file that cannot be read is left out, with a
// warning. Splits them unless they are split (split.h). STATUS_INPUT when a class is left empty, or
// the data set would have more than 4 GiB. Folder and result: release both, whatever happens, the
// result first.
status import_folder(const image_folder *f, const image_import *s, const logger *log,
                     import_result *r, error *err) MUST_CHECK;

// Of arrays named x and y, images and labels, or x_train, y_train, x_test and y_test. Pictures are
// |u1 [N][H][W], [N][H][W][C] or [N][C][H][W] with C of 1 or 3; labels are integers [N] or [N][1],
// from 0 on, and the class names are these numbers. Key of a sample in the split: its index.
status import_arrays(const char *path, const image_import *s, import_result *r,
                     error *err) MUST_CHECK;

void import_release(import_result *r);

// For the two above: checks that `count` samples fit into a file.
status import_check_size(const raw_dataset *r, uint64_t count, error *err) MUST_CHECK;
// Makes both splits of one list of samples, whose memory it takes over.
status import_split(raw_dataset *r, uint8_t *images, uint32_t *labels, const char *const *keys,
                    uint32_t count, const image_import *s, error *err) MUST_CHECK;
// STATUS_INPUT when a class has no sample in a split.
status import_check_classes(const raw_dataset *r, error *err) MUST_CHECK;

#endif
