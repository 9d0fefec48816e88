// SPDX-License-Identifier: MIT
#include "dist/comm_shm.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "dist/terms.h"

static_assert((int)COMM_ALIVE_MS == (int)SHARED_POLL_MS, "both count in the same steps");

static_assert((int)SHARED_ALIGNMENT == (int)SLICE_ALIGNMENT, "vectors begin as slices do");

typedef struct group {
    comm base;
    shared_memory *shared;
    bool owns_shared;
    unsigned gathers; // rounds so far; selects one of the two areas
    int stalled;      // how often in a row alive() has found a rank stopped
    terms terms;      // of the reduction in progress
} group;

// A range of a vector that is reduced in one round.
typedef struct piece {
    size_t first, length;
    slice own;     // relative to `first`
    size_t stride; // of the vectors that a rank writes
} piece;

static size_t smaller(size_t a, size_t b) {
    return a < b ? a : b;
}

static group *group_of(comm *c) {
    return (group *)(void *)c; // its first member
}

// ---- Gathering ----

static status gather_round(group *g, const unsigned char *mine, size_t bytes, size_t stride,
                           unsigned char *all, error *err) {
    size_t room;
    const int parity = (int)(g->gathers++ % 2);
    memcpy(shared_gather(g->shared, parity, g->base.rank, &room), mine, bytes);
    NEED(shared_barrier(g->shared, g->base.rank, err));
    for (int r = 0; r < g->base.size; r++)
        memcpy(all + (size_t)r * stride, shared_gather(g->shared, parity, r, &room), bytes);
    return STATUS_OK;
}

static status all_gather(comm *c, const void *mine, size_t bytes, void *all, error *err) {
    group *g = group_of(c);
    size_t room;
    (void)shared_gather(g->shared, 0, 0, &room);
    for (size_t at = 0; at < bytes; at += room)
        NEED(gather_round(g, (const unsigned char *)mine + at, smaller(room, bytes - at), bytes,
                          (unsigned char *)all + at, err));
    c->bytes_sent += bytes * (size_t)(c->size - 1);
    c->bytes_received += bytes * (size_t)(c->size - 1);
    return STATUS_OK;
}

// ---- Reducing ----

static piece make_piece(const comm *c, size_t first, size_t length) {
    const size_t line = SHARED_ALIGNMENT / sizeof(float);
    return (piece){
        .first = first,
        .length = length,
        .own = slice_of(length, c->size, c->rank),
        .stride = (length + line - 1) / line * line,
    };
}

// Returns how many floats of a vector fit in one round if a rank has up to `most` vectors.
static size_t round_length(const group *g, size_t most) {
    const size_t line = SHARED_ALIGNMENT / sizeof(float);
    size_t vectors, result;
    (void)shared_vectors(g->shared, 0, &vectors);
    (void)shared_result(g->shared, &result);
    return most > 1 ? smaller(vectors / most / line * line, result) : result;
}

// Writes everything but this rank's own slice, which no other rank reads.
static void write_terms(const group *g, const float *const *term, const piece *p) {
    const slice own = p->own;
    size_t room;
    float *to = shared_vectors(g->shared, g->base.rank, &room);
    for (int k = 0; k < terms_count(&g->terms, g->base.rank); k++, to += p->stride) {
        const float *from = term[k] + p->first;
        memcpy(to, from, own.low * sizeof *to);
        memcpy(to + own.high, from + own.high, (p->length - own.high) * sizeof *to);
    }
}

// Finds this rank's slice of all vectors.
static void find_terms(group *g, const float *const *mine, const piece *p) {
    terms *t = &g->terms;
    size_t room;
    for (int r = 0; r < g->base.size; r++) {
        const float *from = shared_vectors(g->shared, r, &room);
        for (int k = 0; k < terms_count(t, r); k++, from += p->stride)
            t->at[t->first[r] + k] = (r == g->base.rank ? mine[k] + p->first : from) + p->own.low;
    }
}

static void count_bytes(group *g, const piece *p) {
    const size_t own = p->own.high - p->own.low, others = p->length - own;
    const size_t all = (size_t)g->terms.first[g->base.size];
    const size_t mine = (size_t)terms_count(&g->terms, g->base.rank);
    const size_t peers = (size_t)g->base.size - 1;
    g->base.bytes_sent += (mine * others + own * peers) * sizeof(float);
    g->base.bytes_received += ((all - mine) * own + others) * sizeof(float);
}

static status reduce_round(group *g, const float *const *term, float *out, const piece *p,
                           error *err) {
    const int rank = g->base.rank;
    size_t room;
    float *result = shared_result(g->shared, &room);
    write_terms(g, term, p);
    NEED(shared_barrier(g->shared, rank, err));
    find_terms(g, term, p);
    terms_sum(&g->terms, result + p->own.low, p->own.high - p->own.low);
    NEED(shared_barrier(g->shared, rank, err));
    memcpy(out + p->first, result, p->length * sizeof *out);
    count_bytes(g, p);
    return STATUS_OK;
}

static status reduce(group *g, const float *const *term, float *out, size_t n, error *err) {
    const size_t length = round_length(g, (size_t)terms_most(&g->terms));
    for (size_t at = 0; at < n; at += length) {
        const piece p = make_piece(&g->base, at, smaller(length, n - at));
        NEED(reduce_round(g, term, out, &p, err));
    }
    return STATUS_OK;
}

static status reduce_exact(comm *c, const comm_ownership *own, const float *const *term, float *out,
                           size_t n, error *err) {
    group *g = group_of(c);
    terms_set_exact(&g->terms, own);
    return reduce(g, term, out, n, err);
}

static status reduce_fast(comm *c, float *values, size_t n, error *err) {
    group *g = group_of(c);
    const float *const term[] = {values};
    terms_set_fast(&g->terms);
    return reduce(g, term, values, n, err);
}

// ---- Lifetime ----

static status barrier(comm *c, error *err) {
    return shared_barrier(group_of(c)->shared, c->rank, err);
}

static status alive(comm *c, error *err) {
    group *g = group_of(c);
    return shared_check(g->shared, &g->stalled, err);
}

// The other ranks learn that this one failed, and not that it died.
static bool fail_at_death(void *argument, const char *message) {
    const group *g = argument;
    (void)message;
    shared_fail(g->shared, g->base.rank, SHARED_ERROR);
    return false;
}

static void free_group(group *g) {
    memory_forget(fail_at_death, g);
    terms_release(&g->terms);
    free(g);
}

static void release(comm *c) {
    group *g = group_of(c);
    shared_leave(g->shared, c->rank);
    if (g->owns_shared) shared_free(g->shared);
    free_group(g);
}

static const comm_ops ops = {
    .all_gather = all_gather,
    .reduce_exact = reduce_exact,
    .reduce_fast = reduce_fast,
    .barrier = barrier,
    .alive = alive,
    .free = release,
};

status comm_shm(shared_memory *s, int rank, bool own, comm **out, error *err) {
    const int size = shared_size(s);
    status rc = STATUS_OK;
    *out = NULL;
    group *g = memory_new(1, sizeof *g);
    g->base = (comm){.ops = &ops, .transport = "shared memory", .rank = rank, .size = size};
    g->shared = s;
    terms_init(&g->terms, size);
    TRY(shared_attach(s, rank, err));
    g->owns_shared = own;
    memory_at_death(fail_at_death, g);
    *out = &g->base;
    return STATUS_OK;
out:
    free_group(g);
    if (own) shared_free(s);
    return rc;
}
