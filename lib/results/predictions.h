// SPDX-License-Identifier: MIT
// predictions.h - a model's prediction for each test sample, from predictions.st.zst.
#ifndef LOCKSTEP_RESULTS_PREDICTIONS_H
#define LOCKSTEP_RESULTS_PREDICTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "data/tensor/tensor_file.h"

typedef struct predictions {
    tensor_file file;
    size_t samples, classes;
    const float *logits; // [samples][classes]
    uint32_t *labels;
    const uint32_t *ids;
    uint32_t *predicted; // the predicted class: that of the largest logit, the first if equal
    bool *correct;       // it is the labelled class
    int64_t correct_count;
} predictions;

// Reads `folder`/predictions.st.zst.
status predictions_read(const char *folder, predictions *p, error *err) MUST_CHECK;
void predictions_release(predictions *p);

// Counts the samples that only one of two models got right. STATUS_FINDING if their samples differ.
status predictions_compare(const predictions *a, const predictions *b, int64_t *only_a,
                           int64_t *only_b, error *err) MUST_CHECK;

#endif
