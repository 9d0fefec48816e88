// SPDX-License-Identifier: MIT
// mistakes.h - the test images that a model classified wrongly with the highest probability.
#ifndef LOCKSTEP_RESULTS_MISTAKES_H
#define LOCKSTEP_RESULTS_MISTAKES_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "results/run.h"

enum { MISTAKES_MAX = 16, MISTAKES_MAX_SIDE = 96 };

typedef struct mistake {
    size_t sample;             // its place in the test data, from 0
    uint32_t label, predicted; // classes
    double probability;        // softmax of the predicted class
    uint8_t *pixels;           // [height][width][channels]
} mistake;

// The most probable first. A zeroed struct is an empty list.
typedef struct mistakes {
    mistake items[MISTAKES_MAX];
    size_t count;
    size_t all;                  // wrong predictions, also those that are not in the list
    int channels, height, width; // images with both sides above MISTAKES_MAX_SIDE are resized
} mistakes;

// Reads the predictions of an evaluated run and the test images that its manifest lists, or `test`
// (NULL: none) if that file has the same content. The list is empty if nothing was wrong, if the
// images are no longer there or are others than those that were evaluated, if they have other
// channels than 1 or 3, or if they were read from shards.
status mistakes_read(const run *r, const char *test, mistakes *m, error *err) MUST_CHECK;
void mistakes_release(mistakes *m);

#endif
