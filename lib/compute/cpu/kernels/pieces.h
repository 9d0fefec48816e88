// SPDX-License-Identifier: MIT
// pieces.h - the rows of an activation in pieces, for kernels that go through the channels of each
// position; included only by kernels/*.c. Positions and samples lie side by side: each float of a
// row is one of its own.
#ifndef LOCKSTEP_COMPUTE_CPU_KERNELS_PIECES_H
#define LOCKSTEP_COMPUTE_CPU_KERNELS_PIECES_H

#include "simd.h"

enum { PIECE = 8 * LANES, PIECE_VECS = PIECE / VL };

// Neighbouring floats of a row: at most so many that a few sums of each stay in registers.
typedef struct piece {
    int y;
    size_t first; // in the row
    int vecs;
} piece;

static inline size_t row_floats(const layer_task *t) {
    return (size_t)t->x.width * LANES;
}

// Steps to the next piece of all rows. The one before the first is all zeros.
static inline bool next_piece(const layer_task *t, piece *p) {
    p->first += (size_t)p->vecs * VL;
    if (p->first == row_floats(t)) {
        p->y++;
        p->first = 0;
    }
    const size_t left = row_floats(t) - p->first;
    p->vecs = (int)((left < PIECE ? left : PIECE) / VL);
    return p->y < t->x.height;
}

// Returns a piece of channel c.
static inline float *piece_of(const view *v, int c, const piece *p) {
    return v->data + (size_t)c * v->plane + (size_t)p->y * v->row + p->first;
}

// Returns where it begins among the values of a plane, or of all planes, without borders.
static inline size_t piece_in_plane(const layer_task *t, const piece *p) {
    return (size_t)p->y * row_floats(t) + p->first;
}
static inline size_t piece_dense(const layer_task *t, int c, const piece *p) {
    return (size_t)c * (size_t)t->x.height * row_floats(t) + piece_in_plane(t, p);
}

#endif
