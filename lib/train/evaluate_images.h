// SPDX-License-Identifier: MIT
// evaluate_images.h - classifies single pictures with a trained model.
//
// Pictures are decoded, resized and cropped as by import-images (data/images/image.h,
// image_resize.h), to the size and the channels of the model's input, and normalised as in
// training.
#ifndef LOCKSTEP_TRAIN_EVALUATE_IMAGES_H
#define LOCKSTEP_TRAIN_EVALUATE_IMAGES_H

#include <stddef.h>

#include "base/error.h"
#include "base/yaml_tree.h"
#include "compute/devices.h"
#include "train/trained_model.h"

typedef struct image_settings {
    model_source model;
    const char *classes; // a list "cat,dog"; NULL: taken from the checkpoint
    const char *const *paths;
    size_t count;
    const devices *devices; // opened; computes on the first
    int threads;
    const char *isa; // NULL: the best
} image_settings;

typedef struct image_class {
    int label;
    double probability;
} image_class;

typedef struct image_answers {
    int classes;
    yaml_node *names;    // of the classes: a list of scalars
    image_class *ranked; // [picture][class], the most probable first; equal ones by label
} image_answers;

// STATUS_INPUT, with the file's name: a picture cannot be read; the model's input is not a square
// of at most IMAGE_RESIZE_MAX with 1 or 3 channels; the checkpoint has no class names or no
// normalisation. STATUS_USAGE: `classes` has another number of names. STATUS_FAILED: the logits of
// a picture are not finite. Release `a` even after a failure.
status image_answers_compute(image_answers *a, const image_settings *s, error *err) MUST_CHECK;
void image_answers_release(image_answers *a);

#endif
