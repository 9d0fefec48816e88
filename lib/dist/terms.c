// SPDX-License-Identifier: MIT
#include "dist/terms.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

void terms_init(terms *t, int size) {
    const size_t ranks = (size_t)size, most = ranks * TERMS_MAX;
    *t = (terms){.size = size};
    t->cover = memory_new(most, sizeof *t->cover);
    t->first = memory_new(ranks + 1, sizeof *t->first);
    t->at = memory_new(most, sizeof *t->at);
}

void terms_release(terms *t) {
    free(t->cover);
    free(t->first);
    free(t->at);
    *t = (terms){0};
}

void terms_set_exact(terms *t, const comm_ownership *own) {
    t->tree = own->tree;
    t->first[0] = 0;
    for (int r = 0; r < t->size; r++)
        t->first[r + 1] =
            t->first[r] + reduction_tree_cover(own->tree, own->first[r], own->first[r + 1],
                                               t->cover + t->first[r]);
}

void terms_set_fast(terms *t) {
    t->tree = NULL;
    for (int r = 0; r <= t->size; r++) t->first[r] = r;
}

int terms_count(const terms *t, int rank) {
    return t->first[rank + 1] - t->first[rank];
}

int terms_most(const terms *t) {
    int most = 0;
    for (int r = 0; r < t->size; r++)
        if (terms_count(t, r) > most) most = terms_count(t, r);
    return most;
}

void terms_sum(const terms *t, float *out, size_t n) {
    if (t->tree) {
        reduction_tree_sum(t->tree, t->cover, t->at, t->first[t->size], out, n);
        return;
    }
    if (out != t->at[0]) memcpy(out, t->at[0], n * sizeof *out);
    for (int r = 1; r < t->size; r++) reduction_add(out, t->at[r], out, n);
}

slice slice_of(size_t n, int size, int rank) {
    const size_t line = SLICE_ALIGNMENT / sizeof(float), lines = (n + line - 1) / line;
    const size_t low = lines * (size_t)rank / (size_t)size * line;
    const size_t high = lines * ((size_t)rank + 1) / (size_t)size * line;
    return (slice){low < n ? low : n, high < n ? high : n};
}
