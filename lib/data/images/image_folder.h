// SPDX-License-Identifier: MIT
// image_folder.h - the pictures in a folder or an archive of class folders, in an order that does
// not depend on the file system: by class, then by name, in byte order.
//
//     FOLDER/CLASS/FILE.jpg                        one list
//     FOLDER/train/CLASS/FILE.jpg, FOLDER/test/…   two lists
//
// All this may be in one more folder, as archives have it. Other names of `train` and `test` are
// known (image_tree.h), and `val` replaces a missing `test`.
//
// Pictures in folders inside a class folder belong to the class, as for torchvision's ImageFolder.
// Names of pictures end in .jpg, .jpeg or .png, in either case. What else is there is left out, and
// listed, except for what image_tree.h leaves out.
#ifndef LOCKSTEP_DATA_IMAGES_IMAGE_FOLDER_H
#define LOCKSTEP_DATA_IMAGES_IMAGE_FOLDER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/sha256.h"
#include "base/yaml_tree.h"
#include "data/images/image_tree.h"

typedef struct image_file {
    const char *path; // relative to the folder: "cats/1.jpg", "train/cats/1.jpg"
    const char *name; // below the class folder: "1.jpg", "2019/1.jpg"
    int class;
} image_file;

typedef struct image_list {
    image_file *files;
    size_t count, capacity;
} image_list;

typedef enum image_left_kind {
    LEFT_FOLDER,   // a folder that is neither a class nor a split; one entry for each
    LEFT_STRAY,    // pictures that are in no class folder
    LEFT_FORMAT,   // pictures in other formats
    LEFT_OTHER,    // files with other endings
    LEFT_HIDDEN,   // names that begin with a dot
    LEFT_UNCHOSEN, // files of classes that were not chosen
} image_left_kind;

// Files that are left out for one reason.
typedef struct image_left {
    image_left_kind kind;
    const char *path;       // the folder, or the first file
    size_t files, pictures; // pictures: by their endings, of any format
    const char *why;        // and what to do about it
} image_left;

typedef struct image_folder {
    const char *path;
    bool is_archive;
    image_tree tree;      // owns all names
    const char **classes; // sorted, or in the order of those wanted
    int class_count;
    const char *alike[2];    // the first two classes that differ in case or blanks alone; or NULL
    const char *parts[2];    // the folder of the class folders of each list: "", "train"
    bool is_split;           // lists[0]: training, lists[1]: testing; else lists[0]: all
    image_list lists[2];     // every class has a file in every list in use
    size_t inner;            // pictures in folders inside class folders
    const char *first_inner; // the first of them
    image_left *left;
    size_t left_count, left_capacity;
} image_folder;

// Lists the files of a tree, which it takes over, without opening them; only those of the classes
// `wanted` (labels_split), in its order, unless it is NULL. STATUS_USAGE as labels_choose.
// STATUS_INPUT, naming the folder, for: fewer than 2 classes or more than LABELS_MAX_CLASSES, class
// names that are not UTF-8 or contain control characters, a class without a file, different classes
// for training and testing, a split inside a class, folders that may be a split but have other
// names, folders that by their names are parts of a data set instead of classes (image_tree.h),
// unless `wanted` names them. Call image_folder_release in any case; `path` must outlive it.
status image_folder_list(const char *path, bool is_archive, image_tree *t, const yaml_node *wanted,
                         image_folder *f, error *err) MUST_CHECK;
void image_folder_release(image_folder *f);

// Returns the number of all files that are left out.
size_t image_folder_left(const image_folder *f);

// Computes the SHA-256 of the names and contents of all listed files: the folder's hash in a
// manifest. A file that cannot be read counts by its name alone.
void image_folder_hash(const image_folder *f, char hash[SHA256_TEXT_BYTES]);

#endif
