// SPDX-License-Identifier: MIT
#include "train/evaluate_images.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/elementary.h"
#include "base/memory.h"
#include "compute/backend.h"
#include "data/images/image.h"
#include "data/images/image_resize.h"
#include "data/labels.h"
#include "nn/model_values.h"

// ---- Names ----

static status read_names(image_answers *a, const trained_model *t, const image_settings *s,
                         error *err) {
    a->names = s->classes ? labels_split(s->classes) : trained_model_classes(t);
    if (!a->names && s->classes) return STATUS_FAILED;
    if (!a->names)
        return error_set(err, STATUS_INPUT,
                         "cannot name classes: '%s': it has no 'classes' of its %d outputs in its "
                         "metadata; give --classes NAME,NAME,...",
                         s->model.path, a->classes);
    if (a->names->count == (size_t)a->classes) return STATUS_OK;
    return error_set(err, STATUS_USAGE,
                     "cannot name classes: '--classes %s': expected %d names, got %zu", s->classes,
                     a->classes, a->names->count);
}

// ---- Pictures ----

static status check_input(const trained_model *t, const char *path, error *err) {
    const shape *in = &t->model.program.input;
    const bool square = in->height == in->width && in->height <= IMAGE_RESIZE_MAX;
    if (square && (in->channels == 1 || in->channels == 3)) return STATUS_OK;
    return error_set(err, STATUS_INPUT,
                     "cannot use pictures: '%s': its inputs are %d×%d×%d, and a picture becomes a "
                     "square of at most %d with 1 or 3 channels",
                     path, in->channels, in->height, in->width, (int)IMAGE_RESIZE_MAX);
}

static status read_picture(const char *path, const shape *in, uint8_t *planes, error *err) {
    image i = {0};
    error why = {0};
    status rc = image_read_file(path, in->channels, &i, &why);
    if (rc == STATUS_OK) rc = image_square(&i, in->height, planes, &why);
    image_release(&i);
    if (rc == STATUS_OK) return rc;
    return error_set(err, rc, "cannot read image: '%s': %s", path, why.message);
}

static status read_pictures(const image_settings *s, const shape *in, uint8_t *planes,
                            const uint8_t **pixels, error *err) {
    for (size_t i = 0; i < s->count; i++) {
        uint8_t *mine = planes + i * shape_size(*in);
        NEED(read_picture(s->paths[i], in, mine, err));
        pixels[i] = mine;
    }
    return STATUS_OK;
}

// ---- Answers ----

static int by_probability(const void *a, const void *b) {
    const image_class *x = a, *y = b;
    if (x->probability != y->probability) return x->probability < y->probability ? 1 : -1;
    return x->label - y->label;
}

static status rank(const float *logits, int classes, const char *path, image_class *ranked,
                   error *err) {
    bad_value bad;
    double top = -INFINITY, sum = 0;
    if (values_find_bad(logits, (size_t)classes, false, &bad))
        return error_set(err, STATUS_FAILED,
                         "cannot evaluate: '%s': its logit of class %zu is %g: the numbers of the "
                         "model become too large on the way",
                         path, bad.element, bad.value);
    for (int k = 0; k < classes; k++) top = fmax(top, (double)logits[k]);
    for (int k = 0; k < classes; k++) {
        ranked[k] = (image_class){k, elementary_exp((double)logits[k] - top)};
        sum += ranked[k].probability;
    }
    for (int k = 0; k < classes; k++) ranked[k].probability /= sum;
    qsort(ranked, (size_t)classes, sizeof *ranked, by_probability);
    return STATUS_OK;
}

static status infer(const trained_model *t, const image_settings *s, const uint8_t *const *pixels,
                    float *logits, error *err) {
    const backend *b = devices_backend(s->devices, 0);
    engine *e = NULL;
    status rc;
    TRY(trained_model_open(t, s->devices, s->threads, s->isa, &e, err));
    TRY(b->infer(e, pixels, s->count, logits, err));
out:
    if (e) b->close(e);
    return rc;
}

static status answer(image_answers *a, const trained_model *t, const image_settings *s,
                     error *err) {
    const shape *in = &t->model.program.input;
    const size_t classes = (size_t)a->classes;
    uint8_t *planes = memory_try_new(s->count, shape_size(*in), err);
    const uint8_t **pixels = memory_new(s->count, sizeof *pixels);
    float *logits = memory_try_new(s->count * classes, sizeof *logits, err);
    status rc = STATUS_FAILED;
    a->ranked = memory_new(s->count * classes, sizeof *a->ranked);
    if (!planes || !logits) goto out;
    TRY(read_pictures(s, in, planes, pixels, err));
    TRY(infer(t, s, pixels, logits, err));
    for (size_t i = 0; i < s->count; i++)
        TRY(rank(logits + i * classes, a->classes, s->paths[i], a->ranked + i * classes, err));
out:
    free(planes);
    free(pixels);
    free(logits);
    return rc;
}

status image_answers_compute(image_answers *a, const image_settings *s, error *err) {
    trained_model t = {0};
    status rc;
    *a = (image_answers){0};
    TRY(trained_model_read(&t, &s->model, err));
    a->classes = t.model.program.classes;
    TRY(check_input(&t, s->model.path, err));
    TRY(read_names(a, &t, s, err));
    TRY(answer(a, &t, s, err));
out:
    trained_model_release(&t);
    return rc;
}

void image_answers_release(image_answers *a) {
    yaml_free(a->names);
    free(a->ranked);
    *a = (image_answers){0};
}
