// SPDX-License-Identifier: MIT
// infer_views.h - logits averaged over the views of each image (data/views.h).
#ifndef LOCKSTEP_TRAIN_INFER_VIEWS_H
#define LOCKSTEP_TRAIN_INFER_VIEWS_H

#include "data/views.h"
#include "train/evaluation.h"

typedef struct infer_views {
    infer_function infer; // of one view
    void *context;
    test_views kind;
    shape size;
    int classes;
} infer_views;

// An infer_function; `context` is an infer_views. The weighted logits are added in double, in the
// order of the views, and rounded once, so the result depends on nothing but the views' logits.
status infer_views_mean(void *context, const uint8_t *const *pixels, size_t samples, float *logits,
                        error *err);

#endif
