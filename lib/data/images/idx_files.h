// SPDX-License-Identifier: MIT
// idx_files.h - a data set of IDX files, MNIST's form (data/source/idx.h), in a folder or an
// archive: KMNIST's, EMNIST's, or one's own.
//
// A file is known by the end of its name: NAME-idx3-ubyte, or NAME.idx3-ubyte, and so on for other
// ranks and elements; plain, or as .gz. The words in NAME say what it holds: "images" or "labels",
// and "train", "test" or "t10k".
#ifndef LOCKSTEP_DATA_IMAGES_IDX_FILES_H
#define LOCKSTEP_DATA_IMAGES_IDX_FILES_H

#include <stdbool.h>

#include "base/error.h"
#include "data/images/array_list.h"
#include "data/images/image_tree.h"

typedef struct idx_files {
    const char *path; // of the folder or archive; not copied
    bool is_archive;
    image_tree tree; // image_entry.list is 0 for the files that are read
    strvec names;    // of these, below `path`, in the order of the tree
    strvec others;   // files that are none, or packed ones beside themselves unpacked
} idx_files;

// Is this the name of an IDX file?
bool idx_files_has_name(const char *path);
// Does the tree have such files, and no pictures?
bool idx_files_are_in(const image_tree *t);
// Lists the files of a tree, which it takes over. Call idx_files_release in any case.
void idx_files_list(const char *path, bool is_archive, image_tree *t, idx_files *f);
void idx_files_release(idx_files *f);

// Reads the files; an array's name is that of its file. STATUS_INPUT, naming the file, if one is
// invalid, if two have one place, or if a name does not say what the file holds. Call
// array_list_release in any case.
status idx_files_read(const idx_files *f, array_list *l, error *err) MUST_CHECK;

#endif
