// SPDX-License-Identifier: MIT
#include "train/timeline.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

void timeline_init(timeline *t, uint64_t capacity) {
    memset(t, 0, sizeof *t);
    t->capacity = capacity;
    t->loss = memory_new(capacity, sizeof *t->loss);
    t->digest = memory_new(capacity, sizeof *t->digest);
    t->wall = memory_new(capacity, sizeof *t->wall);
    for (int p = 0; p < PHASES; p++) t->time[p] = memory_new(capacity, sizeof *t->time[p]);
}

void timeline_release(timeline *t) {
    free(t->loss);
    free(t->digest);
    free(t->wall);
    for (int p = 0; p < PHASES; p++) free(t->time[p]);
    memset(t, 0, sizeof *t);
}

void timeline_append(timeline *t, const update_result *result, uint64_t wall,
                     const phase_times *times) {
    uint64_t i = t->steps++;
    t->loss[i] = result->loss;
    t->digest[i] = result->digest;
    t->wall[i] = wall;
    for (int p = 0; p < PHASES; p++) t->time[p][i] = times->ns[p];
}

// The series by number, so that storing and loading cannot disagree on a name or a type.
typedef struct series {
    const char *name;
    tensor_type type;
    void *data;
} series;

enum { SERIES = PHASES + 3 };

static series series_of(const timeline *t, int i) {
    switch (i) {
    case 0: return (series){"loss", TENSOR_F32, t->loss};
    case 1: return (series){"digest", TENSOR_U64, t->digest};
    case 2: return (series){"wall", TENSOR_U64, t->wall};
    default: return (series){phase_name((phase)(i - 3)), TENSOR_U64, t->time[i - 3]};
    }
}

void timeline_store(const timeline *t, const char *prefix, tensor_file *f) {
    const int64_t size[1] = {(int64_t)t->steps};
    for (int i = 0; i < SERIES; i++) {
        series s = series_of(t, i);
        char *name = memory_format("%s%s", prefix, s.name);
        tensor_file_add(f, name, s.type, 1, size, s.data);
        free(name);
    }
}

status timeline_load(timeline *t, const char *prefix, uint64_t steps, const tensor_file *f,
                     const char *path, error *err) {
    const int64_t size[1] = {(int64_t)steps};
    for (int i = 0; i < SERIES; i++) {
        const tensor *found;
        series s = series_of(t, i);
        char *name = memory_format("%s%s", prefix, s.name);
        status rc = tensor_file_require(f, path, name, s.type, 1, size, &found, err);
        free(name);
        if (rc != STATUS_OK) return rc;
        memcpy(s.data, found->data, found->bytes);
    }
    t->steps = steps;
    return STATUS_OK;
}
