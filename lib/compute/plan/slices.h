// SPDX-License-Identifier: MIT
// slices.h - operations of a plan cut into slices, for several threads that share a group of
// samples.
//
// A slice is some of an operation's output elements. Each of these is computed whole, in the one
// order of its sums, by one thread; so neither the number of slices nor who computes one changes a
// bit, and nothing is added between threads. What an operation writes element by element is cut
// into rows and channels (*areas*). Sums over positions and samples are cut into channels, or the
// filters of a weight gradient, but never into rows: parts of long sums stay together.
//
// The plan says how each operation is cut. Some are not: a single thread is done with them before
// the others could begin. Small images are loaded by each thread, for itself: what one thread
// writes and all read costs more than to write it everywhere. The executor decides how many slices
// there are (cpu/ownership.h), which is the number of threads that share the group: each takes one,
// of every operation. They meet before and after an operation that is cut, since it may read what
// all of them have written.
#ifndef LOCKSTEP_COMPUTE_PLAN_SLICES_H
#define LOCKSTEP_COMPUTE_PLAN_SLICES_H

#include <stdbool.h>
#include <stddef.h>

typedef enum operation_cut {
    CUT_NOT,
    CUT_AREAS,    // rows and channels of what it writes
    CUT_CHANNELS, // of its sums over positions
    CUT_EACH,     // not: each thread does all of it, for itself
} operation_cut;

// Slice `number` of `count`.
typedef struct op_slice {
    int number, count;
} op_slice;

static const op_slice SLICE_WHOLE = {0, 1};

typedef struct slice_range {
    int first, end;
} slice_range;

// Returns the slice's part of n things in a row.
static inline slice_range slice_of(op_slice s, int n) {
    return (slice_range){(int)((long long)n * s.number / s.count),
                         (int)((long long)n * (s.number + 1) / s.count)};
}

typedef struct float_range {
    size_t first, end;
} float_range;

// Returns the slice's part of an array, in whole cache lines.
static inline float_range slice_floats(op_slice s, size_t n) {
    enum { LINE = 16 };
    const size_t lines = (n + LINE - 1) / LINE, count = (size_t)s.count, number = (size_t)s.number;
    const size_t end = lines * (number + 1) / count * LINE;
    return (float_range){lines * number / count * LINE, end < n ? end : n};
}

typedef struct slice_area {
    slice_range rows, columns;
} slice_area;

// Returns the slice's part of a rectangle, perhaps none. The cut is the one whose largest part is
// smallest; if several are, the one into more rows, which reads the fewest elements that other
// threads have written.
static inline slice_area slice_area_of(op_slice s, int rows, int columns) {
    int best = 1;
    long long least = -1;
    for (int r = s.count; r >= 1; r--) {
        const int c = s.count / r;
        const long long largest = (long long)((rows + r - 1) / r) * ((columns + c - 1) / c);
        if (least >= 0 && largest >= least) continue;
        least = largest;
        best = r;
    }
    const int across = s.count / best;
    if (s.number >= best * across) return (slice_area){{0, 0}, {0, 0}};
    return (slice_area){slice_of((op_slice){s.number / across, best}, rows),
                        slice_of((op_slice){s.number % across, across}, columns)};
}

static inline bool slice_is_empty(slice_area a) {
    return a.rows.first >= a.rows.end || a.columns.first >= a.columns.end;
}

#endif
