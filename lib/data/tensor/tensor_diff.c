// SPDX-License-Identifier: MIT
#include "data/tensor/tensor_diff.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/paths.h"
#include "data/manifest_folders.h"
#include "data/tensor/tensor_half.h"
#include "data/tensor/tensor_text.h"

// Subtracts the smaller from the larger, so that the difference of 64-bit integers is exact.
static double gap_unsigned(uint64_t a, uint64_t b) {
    return (double)(a > b ? a - b : b - a);
}

static double element(const tensor *t, int64_t i) {
    switch (t->type) {
    case TENSOR_U8: return ((const uint8_t *)t->data)[i];
    case TENSOR_U32: return ((const uint32_t *)t->data)[i];
    case TENSOR_U64: return (double)((const uint64_t *)t->data)[i];
    case TENSOR_I64: return (double)((const int64_t *)t->data)[i];
    case TENSOR_F32: return (double)((const float *)t->data)[i];
    case TENSOR_F64: return ((const double *)t->data)[i];
    case TENSOR_F16: return (double)float_from_f16(((const uint16_t *)t->data)[i]);
    case TENSOR_BF16: return (double)float_from_bf16(((const uint16_t *)t->data)[i]);
    }
    return 0;
}

static double gap(const tensor *a, const tensor *b, int64_t i) {
    if (a->type == TENSOR_U64)
        return gap_unsigned(((const uint64_t *)a->data)[i], ((const uint64_t *)b->data)[i]);
    if (a->type == TENSOR_I64) {
        int64_t x = ((const int64_t *)a->data)[i], y = ((const int64_t *)b->data)[i];
        // Flipping the sign bit keeps the order and makes the numbers unsigned.
        return gap_unsigned((uint64_t)x ^ (1ull << 63), (uint64_t)y ^ (1ull << 63));
    }
    double x = element(a, i), y = element(b, i);
    if (isnan(x) && isnan(y)) return 0;
    if (isnan(x) || isnan(y)) return INFINITY;
    return x == y ? 0 : fabs(x - y); // infinity minus itself would be NaN
}

typedef struct tensor_difference {
    int64_t count;       // elements that differ
    int64_t first;       // index of the first one, counted through the whole tensor; -1: none
    double max_absolute; // over those that differ; infinite if only one side is a NaN
    double max_relative; // |a - b| / max(|a|, |b|), likewise
} tensor_difference;

// The tensors must have the same type and shape.
static tensor_difference tensor_compare(const tensor *a, const tensor *b,
                                        tensor_tolerance tolerance) {
    tensor_difference d = {.first = -1};
    const bool exact = tolerance.absolute == 0 && tolerance.relative == 0;
    const size_t size = tensor_type_bytes(a->type);
    const unsigned char *p = a->data, *q = b->data;
    if (a->bytes == 0 || memcmp(p, q, a->bytes) == 0) return d;
    for (int64_t i = 0; i < tensor_elements(a); i++, p += size, q += size) {
        if (memcmp(p, q, size) == 0) continue;
        double distance = gap(a, b, i);
        double x = fabs(element(a, i)), y = fabs(element(b, i)), larger = fmax(x, y);
        if (!exact && distance <= tolerance.absolute + tolerance.relative * (isnan(y) ? 0 : y) &&
            distance < INFINITY)
            continue;
        if (d.count++ == 0) d.first = i;
        double relative = distance == 0 || distance == INFINITY ? distance : distance / larger;
        d.max_absolute = fmax(d.max_absolute, distance);
        d.max_relative = fmax(d.max_relative, relative);
    }
    return d;
}

// Both sides of a comparison.
typedef struct comparison {
    const char *path_a, *path_b;
    tensor_file a, b;
    tensor_tolerance tolerance;
    yaml_node *differences;
} comparison;

static void PRINTF_LIKE(2, 3) differ(comparison *c, const char *format, ...) {
    va_list args;
    va_start(args, format);
    char *line = memory_format_list(format, args);
    va_end(args);
    yaml_append(c->differences, yaml_new_string(line));
    free(line);
}

static void only_in(comparison *c, const char *kind, const char *name, const char *path) {
    differ(c, "%s%s: only in %s", kind, name, path);
}

static void diff_tensor(comparison *c, const tensor *a, const tensor *b) {
    char shape[TENSOR_SHAPE_TEXT_BYTES], other[TENSOR_SHAPE_TEXT_BYTES];
    char value[TENSOR_ELEMENT_TEXT_BYTES], second[TENSOR_ELEMENT_TEXT_BYTES];
    tensor_shape_text(shape, a->type, a->rank, a->shape);
    tensor_shape_text(other, b->type, b->rank, b->shape);
    if (strcmp(shape, other) != 0) {
        differ(c, "%s: %s and %s", a->name, shape, other);
        return;
    }
    tensor_difference d = tensor_compare(a, b, c->tolerance);
    if (!d.count) return;
    tensor_place_text(other, a, d.first);
    tensor_element_text(value, a, d.first);
    tensor_element_text(second, b, d.first);
    differ(c,
           "%s: %s: %" PRId64 " of %" PRId64 " elements differ, first at %s: "
           "%s and %s; largest difference %.9g, relative %.9g",
           a->name, shape, d.count, tensor_elements(a), other, value, second, d.max_absolute,
           d.max_relative);
}

static void diff_named(comparison *c, const char *name) {
    const tensor *a = tensor_file_find(&c->a, name), *b = tensor_file_find(&c->b, name);
    if (a && b) {
        diff_tensor(c, a, b);
        return;
    }
    if (a || b) only_in(c, "", name, a ? c->path_a : c->path_b);
}

// A file may hold hundreds of thousands of tensors, so the other file's are found by binary search.
typedef struct name_index {
    const tensor **tensors; // by name
    size_t count;
} name_index;

static int by_name(const void *a, const void *b) {
    return strcmp((*(const tensor *const *)a)->name, (*(const tensor *const *)b)->name);
}

static void name_index_init(name_index *x, const tensor_file *f) {
    x->tensors = memory_new(f->count, sizeof(tensor *));
    x->count = f->count;
    for (size_t i = 0; i < x->count; i++) x->tensors[i] = &f->tensors[i];
    qsort(x->tensors, x->count, sizeof(tensor *), by_name);
}

static const tensor *name_index_find(const name_index *x, const tensor *named) {
    const tensor **found = bsearch(&named, x->tensors, x->count, sizeof(tensor *), by_name);
    return found ? *found : NULL;
}

static void diff_tensors(comparison *c) {
    name_index a = {0}, b = {0};
    name_index_init(&a, &c->a);
    name_index_init(&b, &c->b);
    for (size_t i = 0; i < c->a.count; i++) {
        const tensor *t = &c->a.tensors[i], *other = name_index_find(&b, t);
        if (other)
            diff_tensor(c, t, other);
        else
            only_in(c, "", t->name, c->path_a);
    }
    for (size_t i = 0; i < c->b.count; i++) {
        const tensor *t = &c->b.tensors[i];
        if (!name_index_find(&a, t)) only_in(c, "", t->name, c->path_b);
    }
    free(a.tensors);
    free(b.tensors);
}

// Metadata read from a file are sorted by key, so one pass over both sides is enough.
static void diff_metadata(comparison *c) {
    const tensor_pair *a = c->a.metadata, *b = c->b.metadata;
    const tensor_pair *const end_a = a + c->a.metadata_count, *const end_b =
                                                                  b + c->b.metadata_count;
    while (a < end_a || b < end_b) {
        const int order = a == end_a ? 1 : b == end_b ? -1 : strcmp(a->key, b->key);
        if (order != 0) {
            only_in(c, "metadata ", (order < 0 ? a : b)->key, order < 0 ? c->path_a : c->path_b);
        } else if (strcmp(a->value, b->value) != 0) {
            differ(c, "metadata %s: '%s' and '%s'", a->key, a->value, b->value);
        }
        a += order <= 0;
        b += order >= 0;
    }
}

static const tensor *step_digests(const tensor_file *f) {
    const tensor *t = tensor_file_find(f, "digest");
    return t && t->type == TENSOR_U64 && t->rank == 1 ? t : NULL;
}

// Digests show at which step the parameters diverged; the losses show how much it matters.
static void diff_steps(comparison *c, const tensor *a, const tensor *b) {
    const uint64_t *x = a->data, *y = b->data;
    int64_t both = a->shape[0] < b->shape[0] ? a->shape[0] : b->shape[0], step = 0;
    while (step < both && x[step] == y[step]) step++;
    if (step < both) {
        differ(c, "runs differ from step %" PRId64 " on: digest %016" PRIx64 " and %016" PRIx64,
               step + 1, x[step], y[step]);
    } else if (a->shape[0] != b->shape[0]) {
        differ(c, "runs agree in %" PRId64 " step%s; %s continues to step %" PRId64, both,
               both == 1 ? "" : "s", a->shape[0] > both ? c->path_a : c->path_b,
               a->shape[0] > both ? a->shape[0] : b->shape[0]);
        return;
    }
    diff_named(c, "loss");
}

static status diff_files(comparison *c, uint64_t max_bytes, error *err) {
    status rc = STATUS_OK;
    TRY(tensor_file_read(c->path_a, max_bytes, &c->a, err));
    TRY(tensor_file_read(c->path_b, max_bytes, &c->b, err));
    const tensor *a = step_digests(&c->a), *b = step_digests(&c->b);
    if (a && b) {
        diff_steps(c, a, b);
    } else {
        diff_tensors(c);
        diff_metadata(c);
    }
out:
    tensor_file_release(&c->a);
    tensor_file_release(&c->b);
    return rc;
}

// Compares one file of two runs; *found if at least one run has it.
static status diff_member(comparison *c, const char *member, uint64_t max_bytes, bool *found,
                          error *err) {
    status rc = STATUS_OK;
    comparison inner = {.tolerance = c->tolerance, .differences = c->differences};
    char *a = memory_format("%s/%s", c->path_a, member);
    char *b = memory_format("%s/%s", c->path_b, member);
    bool in_a = access(a, F_OK) == 0, in_b = access(b, F_OK) == 0;
    inner.path_a = a;
    inner.path_b = b;
    *found = *found || in_a || in_b;
    if (in_a && in_b)
        TRY(diff_files(&inner, max_bytes, err));
    else if (in_a || in_b)
        only_in(&inner, "", member, in_a ? c->path_a : c->path_b);
out:
    free(a);
    free(b);
    return rc;
}

static status diff_runs(comparison *c, uint64_t max_bytes, error *err) {
    bool found = false;
    status rc = diff_member(c, "steps.st.zst", max_bytes, &found, err);
    if (rc == STATUS_OK) rc = diff_member(c, "model.st.zst", max_bytes, &found, err);
    if (rc != STATUS_OK || found) return rc;
    char *hint = manifest_hint_runs(c->path_a);
    rc = error_set(err, STATUS_INPUT,
                   "cannot compare runs: '%s': neither folder holds steps.st.zst or "
                   "model.st.zst%s%s",
                   c->path_a, hint,
                   manifest_is_run_folder(c->path_a) ? ": its folder 'train' does" : "");
    free(hint);
    return rc;
}

status tensor_diff(const char *a, const char *b, tensor_tolerance tolerance, uint64_t max_bytes,
                   yaml_node *differences, error *err) {
    comparison c = {.path_a = a, .path_b = b, .tolerance = tolerance, .differences = differences};
    bool folder = paths_is_folder(a);
    if (folder != paths_is_folder(b))
        return error_set(err, STATUS_INPUT, "cannot compare: '%s': '%s' is a folder, this is not",
                         folder ? b : a, folder ? a : b);
    if (strcmp(a, "-") == 0 && strcmp(b, "-") == 0)
        return error_set(err, STATUS_USAGE,
                         "cannot compare: '-': only one side can be standard input");
    return folder ? diff_runs(&c, max_bytes, err) : diff_files(&c, max_bytes, err);
}
