// SPDX-License-Identifier: MIT
// image_folder.h - the files of a folder of class folders, in an order that does not depend on the
// file system: by class, then by name, in byte order.
//
//     FOLDER/CLASS/FILE.jpg                        one list
//     FOLDER/train/CLASS/FILE.jpg, FOLDER/test/…   two lists; `val` replaces a missing `test`
//
// File names end in .jpg, .jpeg or .png, in either case. Names that begin with a dot are skipped;
// other files are skipped and counted. Symbolic links are followed.
#ifndef LOCKSTEP_DATA_IMAGES_IMAGE_FOLDER_H
#define LOCKSTEP_DATA_IMAGES_IMAGE_FOLDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/sha256.h"

typedef struct image_file {
    char *path;       // relative to the folder: "cats/1.jpg", "train/cats/1.jpg"
    const char *name; // its last part
    int class;
} image_file;

typedef struct image_list {
    image_file *files;
    size_t count, capacity;
} image_list;

typedef struct image_folder {
    const char *path;
    char **classes; // names, sorted
    int class_count;
    bool is_split;       // lists[0]: training, lists[1]: testing; else lists[0]: all
    image_list lists[2]; // every class has a file in every list in use
    size_t passed_over;  // files with other endings
    char *first_passed_over;
} image_folder;

// Lists the files without opening them. STATUS_INPUT, naming the folder, for: fewer than 2 classes
// or more than LABELS_MAX_CLASSES, class names that are not UTF-8 or contain control characters, a
// class without a file, different classes for training and testing, folders inside a class. Call
// image_folder_release in any case; `path` must outlive it.
status image_folder_list(const char *path, image_folder *f, error *err) MUST_CHECK;
void image_folder_release(image_folder *f);

// Computes the SHA-256 of the names and contents of all listed files: the folder's hash in a
// manifest. A file that cannot be read counts by its name alone.
status image_folder_hash(const image_folder *f, char text[SHA256_TEXT_BYTES],
                         error *err) MUST_CHECK;

#endif
