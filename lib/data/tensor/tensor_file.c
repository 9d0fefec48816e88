// SPDX-License-Identifier: MIT
#include "data/tensor/tensor_file.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "data/tensor/tensor_file_internal.h"

static const struct {
    const char *name;
    size_t bytes;
} types[] = {
    [TENSOR_U8] = {"U8", 1},   [TENSOR_U32] = {"U32", 4},   [TENSOR_U64] = {"U64", 8},
    [TENSOR_I64] = {"I64", 8}, [TENSOR_F32] = {"F32", 4},   [TENSOR_F64] = {"F64", 8},
    [TENSOR_F16] = {"F16", 2}, [TENSOR_BF16] = {"BF16", 2},
};

size_t tensor_type_bytes(tensor_type type) {
    return types[type].bytes;
}

const char *tensor_type_name(tensor_type type) {
    return types[type].name;
}

bool tensor_type_parse(const char *name, tensor_type *type) {
    for (unsigned i = 0; i < TENSOR_TYPES; i++) {
        if (strcmp(types[i].name, name) != 0) continue;
        *type = (tensor_type)i;
        return true;
    }
    return false;
}

int64_t tensor_elements(const tensor *t) {
    return (int64_t)(t->bytes / tensor_type_bytes(t->type));
}

bool tensor_shape_bytes(tensor_type type, int rank, const int64_t *shape, uint64_t *bytes) {
    bool empty = false, overflow = false;
    uint64_t product = tensor_type_bytes(type);
    for (int i = 0; i < rank; i++) {
        if (shape[i] < 0) return false;
        empty = empty || shape[i] == 0;
        overflow = overflow || __builtin_mul_overflow(product, (uint64_t)shape[i], &product);
    }
    *bytes = empty ? 0 : product;
    return !overflow && *bytes <= INT64_MAX;
}

tensor *tensor_file_append(tensor_file *f, const char *name) {
    f->tensors = memory_grow(f->tensors, &f->capacity, f->count + 1, sizeof *f->tensors);
    tensor *t = &f->tensors[f->count];
    *t = (tensor){.name = memory_string(name)};
    f->count++;
    return t;
}

void tensor_file_add_metadata(tensor_file *f, const char *key, const char *value) {
    f->metadata =
        memory_grow(f->metadata, &f->metadata_capacity, f->metadata_count + 1, sizeof *f->metadata);
    f->metadata[f->metadata_count++] =
        (tensor_pair){.key = memory_string(key), .value = memory_string(value)};
}

void tensor_file_release(tensor_file *f) {
    for (size_t i = 0; i < f->count; i++) {
        free(f->tensors[i].name);
        if (f->tensors[i].owned) free(f->tensors[i].data);
    }
    for (size_t i = 0; i < f->metadata_count; i++) {
        free(f->metadata[i].key);
        free(f->metadata[i].value);
    }
    free(f->tensors);
    free(f->metadata);
    free(f->buffer);
    *f = (tensor_file){0};
}

const tensor *tensor_file_find(const tensor_file *f, const char *name) {
    for (size_t i = 0; i < f->count; i++)
        if (strcmp(f->tensors[i].name, name) == 0) return &f->tensors[i];
    return NULL;
}

const char *tensor_file_metadata(const tensor_file *f, const char *key) {
    for (size_t i = 0; i < f->metadata_count; i++)
        if (strcmp(f->metadata[i].key, key) == 0) return f->metadata[i].value;
    return NULL;
}

// Writes "[1,2,3]"; negative sizes as "?".
static void list_text(char *text, size_t room, int rank, const int64_t *values) {
    size_t used = (size_t)snprintf(text, room, "[");
    for (int i = 0; i < rank; i++) {
        char value[24] = "?";
        if (values[i] >= 0) snprintf(value, sizeof value, "%" PRId64, values[i]);
        used += (size_t)snprintf(text + used, room - used, "%s%s", i ? "," : "", value);
    }
    snprintf(text + used, room - used, "]");
}

void tensor_shape_text(char text[TENSOR_SHAPE_TEXT_BYTES], tensor_type type, int rank,
                       const int64_t *shape) {
    int used = snprintf(text, TENSOR_SHAPE_TEXT_BYTES, "%s ", tensor_type_name(type));
    list_text(text + used, TENSOR_SHAPE_TEXT_BYTES - (size_t)used, rank, shape);
}

void tensor_place_text(char text[TENSOR_SHAPE_TEXT_BYTES], const tensor *t, int64_t index) {
    int64_t place[TENSOR_MAX_RANK];
    for (int i = t->rank; i-- > 0; index /= t->shape[i]) place[i] = index % t->shape[i];
    list_text(text, TENSOR_SHAPE_TEXT_BYTES, t->rank, place);
}

status tensor_file_require(const tensor_file *f, const char *path, const char *name,
                           tensor_type type, int rank, const int64_t *shape, const tensor **found,
                           error *err) {
    char want[TENSOR_SHAPE_TEXT_BYTES], have[TENSOR_SHAPE_TEXT_BYTES];
    const tensor *t = tensor_file_find(f, name);
    *found = NULL;
    tensor_shape_text(want, type, rank, shape);
    if (!t)
        return error_set(err, STATUS_INPUT,
                         "cannot use tensor file: '%s': it has no tensor '%s' (expected %s)", path,
                         name, want);
    bool fits = t->type == type && t->rank == rank;
    for (int i = 0; fits && i < rank; i++) fits = shape[i] < 0 || shape[i] == t->shape[i];
    tensor_shape_text(have, t->type, t->rank, t->shape);
    if (!fits)
        return error_set(err, STATUS_INPUT,
                         "cannot use tensor file: '%s': tensor '%s' is %s, expected %s", path, name,
                         have, want);
    *found = t;
    return STATUS_OK;
}

void tensor_file_give(tensor_file *f, const char *name, tensor_type type, int rank,
                      const int64_t *shape, void *data) {
    uint64_t bytes = 0;
    tensor *t = tensor_file_append(f, name);
    (void)tensor_shape_bytes(type, rank, shape, &bytes); // fits: the data are in memory
    t->type = type;
    t->rank = rank;
    if (rank) memcpy(t->shape, shape, (size_t)rank * sizeof *shape);
    t->bytes = bytes;
    t->data = data;
    t->owned = true;
}

void tensor_file_add(tensor_file *f, const char *name, tensor_type type, int rank,
                     const int64_t *shape, const void *data) {
    // Tensors are read and written through one struct; nothing writes through this pointer.
    tensor_file_give(f, name, type, rank, shape, (void *)(uintptr_t)data);
    f->tensors[f->count - 1].owned = false;
}
