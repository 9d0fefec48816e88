// SPDX-License-Identifier: MIT
#include "data/source/cifar_python.h"

#include <inttypes.h>
#include <string.h>

#include "data/source/pickle.h"

enum { LABELS_MAX = 2 };

static status refuse(const member *m, const char *key, const char *why, error *err) {
    return error_set(err, STATUS_INPUT, "cannot use member '%s': its '%s' %s", m->alias, key, why);
}

// Checks for a list of integers, or an array, of `count` labels.
static status check_labels(const member *m, const pickle_value *v, const char *key, size_t count,
                           error *err) {
    if (!v) return refuse(m, key, "is missing", err);
    const bool array = v->kind == PICKLE_ARRAY && v->rank == 1;
    if (!array && v->kind != PICKLE_LIST) return refuse(m, key, "is not a list", err);
    if ((array ? v->length : v->count) != count)
        return refuse(m, key, "does not have a label for each image", err);
    for (size_t i = 0; !array && i < count; i++)
        if (v->items[i]->kind != PICKLE_INTEGER || v->items[i]->integer < 0 ||
            v->items[i]->integer > 255)
            return refuse(m, key, "holds values other than labels", err);
    return STATUS_OK;
}

static uint8_t label_at(const pickle_value *v, size_t i) {
    return v->kind == PICKLE_ARRAY ? v->bytes[i] : (uint8_t)v->items[i]->integer;
}

static status hand_on(const member *m, const pickle_value *root, member_part *part, void *context,
                      error *err) {
    static const char *const keys[][LABELS_MAX] = {{"labels"}, {"coarse_labels", "fine_labels"}};
    const pickle_value *data = pickle_find(root, "data"), *labels[LABELS_MAX];
    if (!data || data->kind != PICKLE_ARRAY || data->rank != 2 ||
        data->shape[1] != CIFAR_PIXEL_BYTES || data->shape[0] < 1)
        return refuse(m, "data", "is not an array of 3072-byte rows", err);
    const size_t count = (size_t)data->shape[0], record = (size_t)(m->bytes / count);
    const size_t label_bytes = record - CIFAR_PIXEL_BYTES;
    if (m->bytes % count || label_bytes < 1 || label_bytes > LABELS_MAX)
        return refuse(m, "data", "does not have the expected number of images", err);
    uint8_t buffer[LABELS_MAX + CIFAR_PIXEL_BYTES];
    status rc = STATUS_OK;
    for (size_t k = 0; k < label_bytes; k++) {
        const char *key = keys[label_bytes - 1][k];
        labels[k] = pickle_find(root, key);
        TRY(check_labels(m, labels[k], key, count, err));
    }
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < label_bytes; k++) buffer[k] = label_at(labels[k], i);
        memcpy(buffer + label_bytes, data->bytes + i * CIFAR_PIXEL_BYTES, CIFAR_PIXEL_BYTES);
        TRY(part(context, buffer, record, err));
    }
out:
    return rc;
}

status cifar_python_convert(const member *m, const uint8_t *file, size_t bytes, member_part *part,
                            void *context, error *err) {
    pickle p;
    status rc = pickle_parse(file, bytes, m->alias, &p, err);
    if (rc == STATUS_OK) rc = hand_on(m, p.root, part, context, err);
    pickle_release(&p);
    return rc;
}
