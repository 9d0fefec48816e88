// SPDX-License-Identifier: MIT
// image_tree.h - the names in a folder or an archive of pictures, in an order that depends on
// neither: by their parts, in byte order, each folder before its content; and what they say.
//
// What systems put beside pictures by themselves (paths_is_litter) is left out.
#ifndef LOCKSTEP_DATA_IMAGES_IMAGE_TREE_H
#define LOCKSTEP_DATA_IMAGES_IMAGE_TREE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

// A folder or an archive with folders at this depth is refused.
enum { IMAGE_TREE_DEPTH = 16 };

typedef struct image_entry {
    char *path; // relative to the top, without "." and "/" at its end: "train/cats/1.jpg"
    int depth;  // parts of the path
    bool folder;
    bool hidden;  // its name, or that of a folder above it, begins with a dot
    int list;     // for the owner (image_folder.h): where the file is used; -1: it is not
    size_t place; // likewise
} image_entry;

typedef struct image_tree {
    image_entry *entries; // the first is the top: "", depth 0
    size_t count, capacity;
    size_t bytes; // of all paths
} image_tree;

// Read the names. Symbolic links to folders are followed down to depth 4, that of a file in
// FOLDER/NAME/train/CLASS. A folder that cannot be read is STATUS_INPUT, unless it is hidden; so
// are an archive that archive.h refuses, a member that occurs twice, and more than 256 MiB of
// names. Call image_tree_release in any case.
status image_tree_read_folder(const char *path, image_tree *t, error *err) MUST_CHECK;
status image_tree_read_archive(const char *path, image_tree *t, error *err) MUST_CHECK;
void image_tree_release(image_tree *t);

// Returns the first entry after entry `at` and its content. The entries of a folder are
// at + 1, image_tree_end(t, at + 1), … before image_tree_end(t, at).
size_t image_tree_end(const image_tree *t, size_t at);

// Finds the entry of a file in the archive, by its name there; NULL if it was left out.
const image_entry *image_tree_find(const image_tree *t, const char *member);

// ---- What a name says ----

// The ending of a file's name, in either case.
typedef enum image_ending {
    ENDING_NONE,  // of no picture
    ENDING_READ,  // .jpg, .jpeg, .png
    ENDING_OTHER, // of a picture in another format: .gif, .webp, .bmp, …
} image_ending;
image_ending image_ending_of(const char *name);

// A folder's place in a data set. Letters may have either case; spaces, '_', '-' and digits do not
// count, nor does "set", "data" or "images" at the end: "train", "Training", "test_set", "val2017",
// "validation data", "训练集".
typedef enum image_role {
    IMAGE_ROLE_TRAIN,
    IMAGE_ROLE_TEST,
    IMAGE_ROLE_VALIDATION,
    IMAGE_ROLE_CONTENT, // what it holds, of all classes: "images", "labels", "masks", "annotations"
    IMAGE_ROLE_NONE,
    IMAGE_ROLES
} image_role;
image_role image_role_of(const char *folder);

#endif
