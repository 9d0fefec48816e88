// evaluation.h - what a model says to a dataset, and how good that is.
#ifndef LOCKSTEP_TRAIN_EVALUATION_H
#define LOCKSTEP_TRAIN_EVALUATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/progress.h"
#include "data/dataset.h"

// Computes logits [samples][classes]; `context` is the caller's.
typedef status (*infer_function)(void *context, const uint8_t *const *pixels, size_t samples,
                                 float *logits, error *err);

// Logits of all samples, chunk by chunk, of which `shown` tells (NULL: nothing does). *done becomes
// false, and the rest is left out, as soon as a signal asks to stop.
status evaluation_infer(infer_function infer, void *context, const dataset *d, float *logits,
                        progress *shown, bool *done, error *err) MUST_CHECK;

typedef struct evaluation {
    int classes;
    uint64_t samples, right;
    double loss;         // mean cross-entropy
    uint64_t *confusion; // [class][said]
} evaluation;

// Counts. The class said is the first of the largest logits. STATUS_FAILED, naming the first image,
// where logits are not finite.
status evaluation_init(evaluation *e, const dataset *d, const float *logits, error *err) MUST_CHECK;
// A zeroed struct is fine.
void evaluation_release(evaluation *e);

// Right by all; 0 of none.
double evaluation_accuracy(const evaluation *e);
// Of the samples of one class.
double evaluation_class_accuracy(const evaluation *e, int label);

#endif
