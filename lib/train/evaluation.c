// SPDX-License-Identifier: MIT
#include "train/evaluation.h"

#include <stdlib.h>
#include <string.h>

#include "base/elementary.h"
#include "base/memory.h"
#include "base/signals.h"
#include "nn/model_values.h"

// Small enough to react soon to a request to stop; a multiple of every group size.
enum { CHUNK = 1024 };

status evaluation_infer(infer_function infer, void *context, const dataset *d, float *logits,
                        progress *shown, bool *done, error *err) {
    *done = false;
    for (uint32_t first = 0; first < d->samples; first += CHUNK) {
        if (signals_pending()) return STATUS_OK;
        uint32_t left = d->samples - first, count = left < CHUNK ? left : CHUNK;
        status rc = infer(context, d->pixels + first, count,
                          logits + (size_t)first * (size_t)d->classes, err);
        if (rc != STATUS_OK) return rc;
        progress_show(shown, first + count, d->samples);
    }
    *done = true;
    return STATUS_OK;
}

static int largest(const float *logits, int classes) {
    int best = 0;
    for (int k = 1; k < classes; k++)
        if (logits[k] > logits[best]) best = k;
    return best;
}

static double cross_entropy(const float *logits, int classes, int label) {
    double top = (double)logits[largest(logits, classes)], sum = 0;
    for (int k = 0; k < classes; k++) sum += elementary_exp((double)logits[k] - top);
    return elementary_log(sum) + top - (double)logits[label];
}

// The largest of them would still be defined, but it would be no prediction of the model.
static status check_logits(const dataset *d, const float *logits, error *err) {
    const size_t classes = (size_t)d->classes;
    bad_value bad;
    if (!values_find_bad(logits, d->samples * classes, false, &bad)) return STATUS_OK;
    return error_set(err, STATUS_FAILED,
                     "cannot evaluate: 'image %zu': its logit of class %zu is %g: the model's "
                     "activations overflow",
                     bad.element / classes, bad.element % classes, bad.value);
}

status evaluation_init(evaluation *e, const dataset *d, const float *logits, error *err) {
    size_t classes = (size_t)d->classes;
    *e = (evaluation){.classes = d->classes, .samples = d->samples};
    status rc = check_logits(d, logits, err);
    if (rc != STATUS_OK) return rc;
    e->confusion = memory_new(classes * classes, sizeof *e->confusion);
    for (uint32_t i = 0; i < d->samples; i++) {
        const float *mine = logits + i * classes;
        int said = largest(mine, d->classes), label = (int)d->labels[i];
        e->right += said == label;
        e->confusion[(size_t)label * classes + (size_t)said]++;
        e->loss += cross_entropy(mine, d->classes, label);
    }
    if (e->samples) e->loss /= (double)e->samples;
    return STATUS_OK;
}

void evaluation_release(evaluation *e) {
    free(e->confusion);
    memset(e, 0, sizeof *e);
}

double evaluation_accuracy(const evaluation *e) {
    return e->samples ? (double)e->right / (double)e->samples : 0;
}

double evaluation_class_accuracy(const evaluation *e, int label) {
    const uint64_t *row = e->confusion + (size_t)label * (size_t)e->classes;
    uint64_t all = 0;
    for (int k = 0; k < e->classes; k++) all += row[k];
    return all ? (double)row[label] / (double)all : 0;
}
