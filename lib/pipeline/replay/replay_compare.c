// SPDX-License-Identifier: MIT
// Compares the states of two trainings.
#include <stdio.h>
#include <string.h>

#include "pipeline/replay/replay_internal.h"

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

const char *replay_compare_tensors(const tensor_file *a, const tensor_file *b) {
    for (size_t i = 0; i < a->count; i++) {
        const tensor *x = &a->tensors[i], *y = tensor_file_find(b, x->name);
        if (is_series(x->name)) continue;
        const bool alike = y && x->type == y->type && x->rank == y->rank && x->bytes == y->bytes;
        if (!alike || memcmp(x->shape, y->shape, (size_t)x->rank * sizeof *x->shape) != 0 ||
            memcmp(x->data, y->data, x->bytes) != 0)
            return x->name;
    }
    return NULL;
}
