// SPDX-License-Identifier: MIT
// array_list.h - arrays of pictures and labels, by the names that libraries give them.
#ifndef LOCKSTEP_DATA_IMAGES_ARRAY_LIST_H
#define LOCKSTEP_DATA_IMAGES_ARRAY_LIST_H

#include <stdbool.h>

#include "base/error.h"
#include "base/strvec.h"
#include "data/tensor/npy.h"

typedef enum array_part {
    ARRAYS_ALL, // no part is named: x and y
    ARRAYS_TRAIN,
    ARRAYS_TEST,
    ARRAYS_VALIDATION,
    ARRAY_PARTS
} array_part;

typedef struct named_array {
    char *name;  // NULL: missing
    char *bytes; // of its file, into which `array` points
    npy array;
} named_array;

// A zeroed struct is an empty list.
typedef struct array_list {
    named_array images[ARRAY_PARTS], labels[ARRAY_PARTS];
    strvec names;  // of all arrays, in the order of the file
    strvec others; // files that are no arrays
} array_list;

// Returns the place of the array of that name: X_train, trainX, train_images and such are the
// images of ARRAYS_TRAIN. NULL for another name.
named_array *array_list_place(array_list *l, const char *name);
// Does the word mean a part: "train", "test", "val" and such?
bool array_list_is_part(const char *word);
// Returns whether a part has both images and labels.
bool array_list_has(const array_list *l, array_part part);
// Adds the names of the arrays that are in none of the `count` parts.
void array_list_unused(const array_list *l, const array_part *parts, int count, strvec *unused);
// Returns the first names, with commas between them, for a message; free() it.
char *array_list_text(const strvec *names) MUST_CHECK;
void array_list_release(array_list *l);

#endif
