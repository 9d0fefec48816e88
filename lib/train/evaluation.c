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
        NEED(infer(context, d->pixels + first, count, logits + (size_t)first * (size_t)d->classes,
                   err));
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
    NEED(check_logits(d, logits, err));
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

// ---- The mean over the views ----

// Images that have their views at the same time: a multiple of every group size of the engines.
enum { AT_ONCE = 64 };

typedef struct view_room {
    uint8_t *images; // one scratch image, then the views
    const uint8_t **pixels;
    float *logits;
    double *sum;
} view_room;

static status room_new(const tta_inference *v, view_room *r, error *err) {
    r->images = memory_try_new(AT_ONCE + 1, shape_size(v->size), err);
    r->pixels = memory_new(AT_ONCE, sizeof *r->pixels);
    r->logits = memory_try_new(AT_ONCE * (size_t)v->classes, sizeof *r->logits, err);
    r->sum = memory_try_new(AT_ONCE * (size_t)v->classes, sizeof *r->sum, err);
    return r->images && r->pixels && r->logits && r->sum ? STATUS_OK : STATUS_FAILED;
}

static void room_free(view_room *r) {
    free(r->images);
    free(r->pixels);
    free(r->logits);
    free(r->sum);
}

static status add_view(const tta_inference *v, int view, const uint8_t *const *pixels,
                       size_t samples, view_room *r, error *err) {
    const double weight = tta_weight(v->kind, view);
    for (size_t i = 0; i < samples; i++) {
        uint8_t *image = r->images + (i + 1) * shape_size(v->size);
        tta_make(v->kind, view, v->size, pixels[i], r->images, image);
        r->pixels[i] = image;
    }
    status rc = v->infer(v->context, r->pixels, samples, r->logits, err);
    for (size_t i = 0; rc == STATUS_OK && i < samples * (size_t)v->classes; i++)
        r->sum[i] += weight * (double)r->logits[i];
    return rc;
}

// The mean of at most AT_ONCE images.
static status take_means(const tta_inference *v, const uint8_t *const *pixels, size_t samples,
                         view_room *r, float *logits, error *err) {
    const size_t count = samples * (size_t)v->classes;
    status rc = STATUS_OK;
    for (size_t i = 0; i < count; i++) r->sum[i] = 0;
    for (int view = 0; rc == STATUS_OK && view < tta_count(v->kind); view++)
        rc = add_view(v, view, pixels, samples, r, err);
    for (size_t i = 0; rc == STATUS_OK && i < count; i++) logits[i] = (float)r->sum[i];
    return rc;
}

status tta_infer(void *context, const uint8_t *const *pixels, size_t samples, float *logits,
                 error *err) {
    const tta_inference *v = context;
    if (v->kind == TTA_NONE) return v->infer(v->context, pixels, samples, logits, err);
    view_room r = {0};
    status rc = room_new(v, &r, err);
    for (size_t first = 0; rc == STATUS_OK && first < samples; first += AT_ONCE) {
        const size_t left = samples - first, count = left < AT_ONCE ? left : AT_ONCE;
        rc = take_means(v, pixels + first, count, &r, logits + first * (size_t)v->classes, err);
    }
    room_free(&r);
    return rc;
}
