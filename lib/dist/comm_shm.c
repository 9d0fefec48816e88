#include "dist/comm_shm.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

static_assert((int)COMM_ALIVE_MS == (int)SEGMENT_PATIENCE_MS, "both count in the same steps");

enum { COVER = 2 * REDUCTION_TREE_MAX_DEPTH }; // nodes that cover any range of leaves

typedef struct group {
    comm base;
    segment *segment;
    bool owns_segment;
    unsigned gathers; // rounds so far; which of the two areas is next
    int stalled;      // how often in turn alive() has found a rank stopped
    // Of the reduction in progress: the covers of all ranks, one after the other.
    int *cover;
    int *first; // where each rank's part begins; size + 1
    const float **term;
} group;

// A range of a vector that is reduced in one round, and the part of it that this rank sums.
typedef struct piece {
    size_t first, length;
    size_t low, high; // relative to `first`
    size_t stride;    // of the vectors that a rank lays down
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
    memcpy(segment_gather(g->segment, parity, g->base.rank, &room), mine, bytes);
    status rc = segment_meet(g->segment, g->base.rank, err);
    if (rc != STATUS_OK) return rc;
    for (int r = 0; r < g->base.size; r++)
        memcpy(all + (size_t)r * stride, segment_gather(g->segment, parity, r, &room), bytes);
    return STATUS_OK;
}

static status all_gather(comm *c, const void *mine, size_t bytes, void *all, error *err) {
    group *g = group_of(c);
    size_t room;
    status rc = STATUS_OK;
    (void)segment_gather(g->segment, 0, 0, &room);
    for (size_t at = 0; at < bytes; at += room)
        TRY(gather_round(g, (const unsigned char *)mine + at, smaller(room, bytes - at), bytes,
                         (unsigned char *)all + at, err));
    c->bytes_sent += bytes * (size_t)(c->size - 1);
    c->bytes_received += bytes * (size_t)(c->size - 1);
out:
    return rc;
}

// ---- Reducing ----

// Slices begin on cache lines, so that no two ranks write to one.
static piece make_piece(const comm *c, size_t first, size_t length) {
    const size_t line = SEGMENT_ALIGNMENT / sizeof(float);
    const size_t lines = (length + line - 1) / line, size = (size_t)c->size, rank = (size_t)c->rank;
    return (piece){
        .first = first,
        .length = length,
        .low = smaller(lines * rank / size * line, length),
        .high = smaller(lines * (rank + 1) / size * line, length),
        .stride = lines * line,
    };
}

// How many floats of a vector go in one round when a rank has up to `terms` of them.
static size_t round_length(const group *g, size_t terms) {
    const size_t line = SEGMENT_ALIGNMENT / sizeof(float);
    size_t vectors, result;
    (void)segment_vectors(g->segment, 0, &vectors);
    (void)segment_result(g->segment, &result);
    return terms > 1 ? smaller(vectors / terms / line * line, result) : result;
}

// Everything but the own slice, which nobody else reads.
static void lay_down(const group *g, const float *const *term, int terms, const piece *p) {
    size_t room;
    float *to = segment_vectors(g->segment, g->base.rank, &room);
    for (int k = 0; k < terms; k++, to += p->stride) {
        const float *from = term[k] + p->first;
        memcpy(to, from, p->low * sizeof *to);
        memcpy(to + p->high, from + p->high, (p->length - p->high) * sizeof *to);
    }
}

// Points g->term at this rank's slice of all vectors.
static void find_terms(const group *g, const float *const *mine, const piece *p) {
    size_t room;
    for (int r = 0; r < g->base.size; r++) {
        const float *from = segment_vectors(g->segment, r, &room);
        const int first = g->first[r], count = g->first[r + 1] - first;
        for (int k = 0; k < count; k++, from += p->stride)
            g->term[first + k] = (r == g->base.rank ? mine[k] + p->first : from) + p->low;
    }
}

static void sum_ranks(const group *g, float *out, size_t n) {
    memcpy(out, g->term[0], n * sizeof *out);
    for (int r = 1; r < g->base.size; r++) reduction_add(out, g->term[r], out, n);
}

static void count_bytes(group *g, const piece *p) {
    const size_t slice = p->high - p->low, others = p->length - slice;
    const size_t all = (size_t)g->first[g->base.size];
    const size_t mine = (size_t)(g->first[g->base.rank + 1] - g->first[g->base.rank]);
    const size_t peers = (size_t)g->base.size - 1;
    g->base.bytes_sent += (mine * others + slice * peers) * sizeof(float);
    g->base.bytes_received += ((all - mine) * slice + others) * sizeof(float);
}

// One round; `tree` is NULL for the sum in the order of ranks.
static status reduce_round(group *g, const reduction_tree *tree, const float *const *term,
                           float *out, const piece *p, error *err) {
    const int rank = g->base.rank;
    size_t room;
    float *result = segment_result(g->segment, &room);
    status rc;
    lay_down(g, term, g->first[rank + 1] - g->first[rank], p);
    TRY(segment_meet(g->segment, rank, err));
    find_terms(g, term, p);
    if (tree)
        reduction_tree_sum(tree, g->cover, g->term, g->first[g->base.size], result + p->low,
                           p->high - p->low);
    else
        sum_ranks(g, result + p->low, p->high - p->low);
    TRY(segment_meet(g->segment, rank, err));
    memcpy(out + p->first, result, p->length * sizeof *out);
    count_bytes(g, p);
out:
    return rc;
}

static status reduce(group *g, const reduction_tree *tree, int most_terms, const float *const *term,
                     float *out, size_t n, error *err) {
    const size_t length = round_length(g, (size_t)most_terms);
    status rc = STATUS_OK;
    for (size_t at = 0; at < n; at += length) {
        const piece p = make_piece(&g->base, at, smaller(length, n - at));
        TRY(reduce_round(g, tree, term, out, &p, err));
    }
out:
    return rc;
}

static status reduce_exact(comm *c, const comm_ownership *own, const float *const *term, float *out,
                           size_t n, error *err) {
    group *g = group_of(c);
    int most = 0;
    g->first[0] = 0;
    for (int r = 0; r < c->size; r++) {
        const int count = reduction_tree_cover(own->tree, own->first[r], own->first[r + 1],
                                               g->cover + g->first[r]);
        g->first[r + 1] = g->first[r] + count;
        if (count > most) most = count;
    }
    return reduce(g, own->tree, most, term, out, n, err);
}

static status reduce_fast(comm *c, float *values, size_t n, error *err) {
    group *g = group_of(c);
    const float *const term[] = {values};
    for (int r = 0; r <= c->size; r++) g->first[r] = r;
    return reduce(g, NULL, 1, term, values, n, err);
}

// ---- Life ----

static status barrier(comm *c, error *err) {
    return segment_meet(group_of(c)->segment, c->rank, err);
}

static status alive(comm *c, error *err) {
    group *g = group_of(c);
    return segment_look(g->segment, &g->stalled, err);
}

static void free_group(group *g) {
    free(g->cover);
    free(g->first);
    free(g->term);
    free(g);
}

static void release(comm *c) {
    group *g = group_of(c);
    segment_leave(g->segment, c->rank);
    if (g->owns_segment) segment_free(g->segment);
    free_group(g);
}

static const comm_ops ops = {
    .name = "shared memory",
    .all_gather = all_gather,
    .reduce_exact = reduce_exact,
    .reduce_fast = reduce_fast,
    .barrier = barrier,
    .alive = alive,
    .free = release,
};

status comm_shm(segment *s, int rank, bool own, comm **out, error *err) {
    const size_t size = (size_t)segment_size(s);
    status rc = STATUS_FAILED;
    *out = NULL;
    group *g = memory_new(1, sizeof *g, err);
    if (!g) goto out;
    g->base = (comm){.ops = &ops, .rank = rank, .size = (int)size};
    g->segment = s;
    g->cover = memory_new(size * COVER, sizeof *g->cover, err);
    g->first = memory_new(size + 1, sizeof *g->first, err);
    g->term = memory_new(size * COVER, sizeof *g->term, err);
    if (!g->cover || !g->first || !g->term) goto out;
    TRY(segment_attach(s, rank, err));
    g->owns_segment = own;
    *out = &g->base;
    return STATUS_OK;
out:
    if (g) free_group(g);
    if (own) segment_free(s);
    return rc;
}
