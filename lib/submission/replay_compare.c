// SPDX-License-Identifier: MIT
#include "submission/replay_compare.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static status find_series(const tensor_file *f, const char *path, const char *prefix,
                          const char *name, tensor_type type, const tensor **found, error *err) {
    const int64_t any[1] = {-1};
    char whole[32];
    snprintf(whole, sizeof whole, "%s%s", prefix, name);
    return tensor_file_require(f, path, whole, type, 1, any, found, err);
}

// Finds the first difference of one series in [first, end), at most at *end.
static void compare_series(const tensor *a, const tensor *b, uint64_t first, uint64_t *end) {
    const size_t size = tensor_type_bytes(a->type);
    const char *x = a->data, *y = b->data;
    for (uint64_t i = first; i < *end; i++)
        if (memcmp(x + i * size, y + i * size, size) != 0) *end = i;
}

status replay_compare_steps(const tensor_file *a, const char *a_prefix, const char *path,
                            const tensor_file *b, const char *b_prefix, uint64_t first,
                            uint64_t end, uint64_t *differs, error *err) {
    static const struct {
        const char *name;
        tensor_type type;
    } series[] = {{"loss", TENSOR_F32}, {"digest", TENSOR_U64}};
    uint64_t equal = end;
    for (size_t i = 0; i < sizeof series / sizeof *series; i++) {
        const tensor *x, *y;
        status rc = find_series(a, path, a_prefix, series[i].name, series[i].type, &x, err);
        if (rc == STATUS_OK)
            rc = find_series(b, path, b_prefix, series[i].name, series[i].type, &y, err);
        if (rc != STATUS_OK) return rc;
        const uint64_t shorter = (uint64_t)(x->shape[0] < y->shape[0] ? x->shape[0] : y->shape[0]);
        if (equal > shorter) equal = shorter;
        compare_series(x, y, first, &equal);
    }
    *differs = equal < end ? equal + 1 : 0;
    return STATUS_OK;
}

static bool is_series(const char *name) {
    return strncmp(name, "steps.", 6) == 0 || strncmp(name, "epochs.", 7) == 0;
}

static bool equal(const tensor *x, const tensor *y) {
    return x->type == y->type && x->rank == y->rank && x->bytes == y->bytes &&
           memcmp(x->shape, y->shape, (size_t)x->rank * sizeof *x->shape) == 0 &&
           memcmp(x->data, y->data, x->bytes) == 0;
}

const char *replay_compare_tensors(const tensor_file *a, const tensor_file *b) {
    for (size_t i = 0; i < a->count; i++) {
        const tensor *x = &a->tensors[i], *y = tensor_file_find(b, x->name);
        if (!is_series(x->name) && (!y || !equal(x, y))) return x->name;
    }
    for (size_t i = 0; i < b->count; i++)
        if (!is_series(b->tensors[i].name) && !tensor_file_find(a, b->tensors[i].name))
            return b->tensors[i].name;
    return NULL;
}

static const tensor *find_prefixed(const tensor_file *f, const char *prefix, const char *name) {
    const size_t length = strlen(prefix);
    for (size_t i = 0; i < f->count; i++)
        if (strncmp(f->tensors[i].name, prefix, length) == 0 &&
            strcmp(f->tensors[i].name + length, name) == 0)
            return &f->tensors[i];
    return NULL;
}

const char *replay_compare_prefixed(const tensor_file *model, const tensor_file *state,
                                    const char *prefix) {
    const size_t length = strlen(prefix);
    for (size_t i = 0; i < model->count; i++) {
        const tensor *x = &model->tensors[i], *y = find_prefixed(state, prefix, x->name);
        if (!y || !equal(x, y)) return x->name;
    }
    for (size_t i = 0; i < state->count; i++) {
        const char *name = state->tensors[i].name;
        if (strncmp(name, prefix, length) == 0 && !tensor_file_find(model, name + length))
            return name + length;
    }
    return NULL;
}

static const char *find_other(const tensor_file *a, const tensor_file *b) {
    for (size_t i = 0; i < a->metadata_count; i++) {
        const char *value = tensor_file_metadata(b, a->metadata[i].key);
        if (!value || strcmp(value, a->metadata[i].value) != 0) return a->metadata[i].key;
    }
    return NULL;
}

const char *replay_compare_metadata(const tensor_file *a, const tensor_file *b) {
    const char *key = find_other(a, b);
    return key ? key : find_other(b, a);
}
