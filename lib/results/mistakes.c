// SPDX-License-Identifier: MIT
#include "results/mistakes.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/elementary.h"
#include "base/memory.h"
#include "base/paths.h"
#include "data/dataset.h"
#include "data/images/image_resize.h"
#include "data/recorded.h"
#include "results/predictions.h"

void mistakes_release(mistakes *m) {
    for (size_t i = 0; i < m->count; i++) free(m->items[i].pixels);
    *m = (mistakes){0};
}

// ---- The images ----

// Returns the path of the only data file in the manifest's inputs, or `test` in its place, and its
// content hash; NULL if there is none, or more than one.
static char *data_path(const run *r, const char *test, const char **content) {
    const yaml_node *inputs = yaml_find(r->evaluate, "inputs"), *data = NULL;
    for (size_t i = 0; inputs && i < inputs->count; i++) {
        const char *own = yaml_text_at(inputs->items[i], "content");
        if (strcmp(own, r->model_content) == 0) continue;
        if (data) return NULL;
        data = inputs->items[i];
    }
    const char *path = data ? yaml_text_at(data, "path") : "";
    *content = data ? yaml_text_at(data, "content") : "";
    if (!*path || strcmp(path, "-") == 0 || !**content) return NULL;
    if (test) return memory_string(test);
    return paths_in(r->evaluation, path);
}

// According to their manifest, these are the data that were evaluated. Then a failure to read them
// is one of the disk or of memory.
static bool is_recorded(const char *path, const char *content) {
    char recorded[SHA256_TEXT_BYTES] = "";
    recorded_content(path, recorded);
    return strcmp(recorded, content) == 0;
}

// *there: the data set that was evaluated is in d, which the caller releases.
static status read_data(const run *r, const char *test, dataset *d, bool *there, error *err) {
    const char *content = "";
    error unreadable = {0};
    *there = false;
    *d = (dataset){0};
    char *path = r->evaluation ? data_path(r, test, &content) : NULL;
    if (!path) return STATUS_OK;
    status rc = dataset_read(path, d, &unreadable);
    if (rc == STATUS_INPUT && is_recorded(path, content)) rc = STATUS_FAILED;
    free(path);
    if (rc == STATUS_FAILED) return error_set(err, rc, "%s", unreadable.message);
    *there = rc == STATUS_OK && (d->channels == 1 || d->channels == 3) && d->file_count == 1 &&
             strcmp(d->files[0].content, content) == 0;
    return STATUS_OK;
}

// Planes [channels][plane] become pixels [plane][channels].
static uint8_t *interleave(const uint8_t *planes, size_t plane, size_t channels) {
    uint8_t *pixels = memory_new(plane, channels);
    for (size_t i = 0; i < plane; i++)
        for (size_t c = 0; c < channels; c++) pixels[i * channels + c] = planes[c * plane + i];
    return pixels;
}

static bool is_large(const dataset *d) {
    return d->height > MISTAKES_MAX_SIDE && d->width > MISTAKES_MAX_SIDE;
}

static uint8_t *shrink(const dataset *d, uint8_t *pixels, error *err) {
    const size_t plane = (size_t)MISTAKES_MAX_SIDE * MISTAKES_MAX_SIDE;
    const size_t channels = (size_t)d->channels;
    const image whole = {.width = d->width,
                         .height = d->height,
                         .channels = d->channels,
                         .orientation = 1,
                         .pixels = pixels};
    uint8_t *planes = memory_new(plane, channels), *small = NULL;
    if (image_square(&whole, MISTAKES_MAX_SIDE, planes, err) == STATUS_OK)
        small = interleave(planes, plane, channels);
    free(planes);
    return small;
}

static uint8_t *copy_image(const dataset *d, size_t sample, error *err) {
    uint8_t *pixels =
        interleave(d->pixels[sample], (size_t)d->height * (size_t)d->width, (size_t)d->channels);
    if (!is_large(d)) return pixels;
    uint8_t *small = shrink(d, pixels, err);
    free(pixels);
    return small;
}

// ---- The list ----

// The softmax of the largest logit is 1 over the sum of all exponentials relative to it.
static double probability(const predictions *p, size_t sample) {
    const float *logits = p->logits + sample * p->classes;
    const double largest = logits[p->predicted[sample]];
    double sum = 0;
    for (size_t k = 0; k < p->classes; k++) sum += elementary_exp(logits[k] - largest);
    return 1 / sum;
}

// The place of a mistake of this probability among the first `count`; of equal ones, the earlier
// sample comes first.
static size_t place_of(const double *probabilities, size_t count, double own) {
    size_t at = count;
    while (at && probabilities[at - 1] < own) at--;
    return at;
}

static size_t choose(const predictions *p, size_t chosen[MISTAKES_MAX],
                     double probabilities[MISTAKES_MAX]) {
    size_t count = 0;
    for (size_t i = 0; i < p->samples; i++) {
        if (p->correct[i]) continue;
        const double own = probability(p, i);
        const size_t at = place_of(probabilities, count, own);
        if (at == MISTAKES_MAX || isnan(own)) continue;
        if (count < MISTAKES_MAX) count++;
        memmove(chosen + at + 1, chosen + at, (count - at - 1) * sizeof *chosen);
        memmove(probabilities + at + 1, probabilities + at,
                (count - at - 1) * sizeof *probabilities);
        chosen[at] = i;
        probabilities[at] = own;
    }
    return count;
}

static status fill(mistakes *m, const predictions *p, const dataset *d, error *err) {
    size_t chosen[MISTAKES_MAX];
    double probabilities[MISTAKES_MAX];
    const size_t count = choose(p, chosen, probabilities);
    m->all = p->samples - (size_t)p->correct_count;
    m->channels = d->channels;
    m->height = is_large(d) ? MISTAKES_MAX_SIDE : d->height;
    m->width = is_large(d) ? MISTAKES_MAX_SIDE : d->width;
    for (size_t i = 0; i < count; i++) {
        uint8_t *pixels = copy_image(d, chosen[i], err);
        if (!pixels) return STATUS_FAILED;
        m->items[m->count++] = (mistake){chosen[i], p->labels[chosen[i]], p->predicted[chosen[i]],
                                         probabilities[i], pixels};
    }
    return STATUS_OK;
}

status mistakes_read(const run *r, const char *test, mistakes *m, error *err) {
    dataset d;
    predictions p = {0};
    bool there;
    *m = (mistakes){0};
    status rc = read_data(r, test, &d, &there, err);
    TRY(rc);
    if (!there) goto out;
    TRY(predictions_read(r->evaluation, &p, err));
    if (p.classes != r->class_count || p.samples != d.samples) goto out;
    if (memcmp(p.ids, d.ids, p.samples * sizeof *p.ids) != 0) goto out;
    rc = fill(m, &p, &d, err);
out:
    predictions_release(&p);
    dataset_release(&d);
    if (rc != STATUS_OK) mistakes_release(m);
    return rc;
}
