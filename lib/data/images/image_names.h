// SPDX-License-Identifier: MIT
// image_names.h - what the names of files and folders say about pictures.
#ifndef LOCKSTEP_DATA_IMAGES_IMAGE_NAMES_H
#define LOCKSTEP_DATA_IMAGES_IMAGE_NAMES_H

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
    ROLE_TRAIN,
    ROLE_TEST,
    ROLE_VALIDATION,
    ROLE_CONTENT, // what it holds, of all classes: "images", "labels", "masks", "annotations"
    ROLE_NONE,
    IMAGE_ROLES
} image_role;
image_role image_role_of(const char *folder);

#endif
