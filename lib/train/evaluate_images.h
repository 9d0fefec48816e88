// evaluate_images.h - what a trained model says to single pictures.
//
// A picture becomes an input as import-images makes one of it (data/images/image.h,
// image_resize.h): as many channels as the model takes, the shorter side as long as the side of its
// input, the middle square; then normalised as in training.
#ifndef LOCKSTEP_TRAIN_EVALUATE_IMAGES_H
#define LOCKSTEP_TRAIN_EVALUATE_IMAGES_H

#include <stddef.h>

#include "base/error.h"
#include "base/yaml_tree.h"
#include "compute/devices.h"
#include "train/trained_model.h"

typedef struct image_settings {
    model_source model;
    const char *classes; // a list "cat,dog"; NULL: what the checkpoint says
    const char *const *paths;
    size_t count;
    const devices *devices; // opened: it computes on the first
    int threads;
    const char *isa; // NULL: the best
} image_settings;

typedef struct image_class {
    int label;
    double probability;
} image_class;

typedef struct image_answers {
    int classes;
    yaml_node *names;    // of the classes: a scalar each
    image_class *ranked; // [picture][class], the most probable first; of equals the first class
} image_answers;

// STATUS_INPUT, naming the file: a picture that cannot be read, a model whose input is no square of
// at most IMAGE_RESIZE_MAX with 1 or 3 channels, a checkpoint that does not say its classes or its
// normalisation. STATUS_USAGE: a list of another number of classes. STATUS_FAILED also where the
// logits of a picture are not finite. image_answers_release whatever happens.
status image_answers_compute(image_answers *a, const image_settings *s, error *err) MUST_CHECK;
void image_answers_release(image_answers *a);

#endif
