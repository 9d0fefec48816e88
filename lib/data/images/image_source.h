// SPDX-License-Identifier: MIT
// image_source.h - what a folder or file holds that pictures are imported from.
#ifndef LOCKSTEP_DATA_IMAGES_IMAGE_SOURCE_H
#define LOCKSTEP_DATA_IMAGES_IMAGE_SOURCE_H

#include <stdbool.h>

#include "base/error.h"
#include "data/images/idx_files.h"
#include "data/images/image_folder.h"

typedef enum image_source_kind {
    SOURCE_PICTURES, // class folders
    SOURCE_IDX,      // IDX files
    SOURCE_ARRAYS,   // a .npz file; or none of these, as reading it will say
} image_source_kind;

typedef struct image_source {
    image_source_kind kind;
    bool is_file;        // an archive, or a .npz file
    uint64_t bytes;      // of the file
    image_tree tree;     // of pictures and IDX files, until they are listed
    image_folder folder; // SOURCE_PICTURES
    idx_files idx;       // SOURCE_IDX
} image_source;

// Looks into the folder or file. STATUS_INPUT if it cannot be read, or is one of several IDX files.
// Call image_source_release in any case.
status image_source_open(const char *path, image_source *s, error *err) MUST_CHECK;
// Lists pictures or IDX files; `wanted` as in image_folder.h. `path` must outlive the source.
status image_source_list(const char *path, const yaml_node *wanted, image_source *s,
                         error *err) MUST_CHECK;
void image_source_release(image_source *s);

#endif
