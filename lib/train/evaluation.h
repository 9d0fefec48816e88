// SPDX-License-Identifier: MIT
// evaluation.h - a model's predictions for a dataset, and how good they are.
#ifndef LOCKSTEP_TRAIN_EVALUATION_H
#define LOCKSTEP_TRAIN_EVALUATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/progress.h"
#include "data/dataset.h"
#include "data/tta.h"

// Computes logits [samples][classes]; `context` is the caller's.
typedef status (*infer_function)(void *context, const uint8_t *const *pixels, size_t samples,
                                 float *logits, error *err);

// Computes the logits of all samples, chunk by chunk, and reports progress to `shown` (NULL: none).
// When a signal asks to stop, sets *done to false and leaves out the rest.
status evaluation_infer(infer_function infer, void *context, const dataset *d, float *logits,
                        progress *shown, bool *done, error *err) MUST_CHECK;

// Averages logits over the views of each image (data/tta.h).
typedef struct tta_inference {
    infer_function infer; // of one view
    void *context;
    tta_kind kind;
    shape size;
    int classes;
} tta_inference;

// An infer_function; `context` is a tta_inference. The weighted logits are added in double, in the
// order of the views, and rounded once, so the result depends on nothing but the views' logits.
status tta_infer(void *context, const uint8_t *const *pixels, size_t samples, float *logits,
                 error *err);

typedef struct evaluation {
    int classes;
    uint64_t samples, right;
    double loss;         // mean cross-entropy
    uint64_t *confusion; // [class][predicted class]
} evaluation;

// Counts predictions. The predicted class is the first one with the largest logit. STATUS_FAILED,
// naming the first such image, if logits are not finite.
status evaluation_init(evaluation *e, const dataset *d, const float *logits, error *err) MUST_CHECK;
// A zeroed struct is fine.
void evaluation_release(evaluation *e);

// Share of right predictions; 0 without samples.
double evaluation_accuracy(const evaluation *e);
// The same for one class.
double evaluation_class_accuracy(const evaluation *e, int label);

#endif
