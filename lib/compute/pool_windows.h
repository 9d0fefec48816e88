// SPDX-License-Identifier: MIT
// pool_windows.h - the windows of a pool along one axis: the positions of the input that each of
// them takes, and the windows that take a position. A window is that of an output. It never lacks
// positions inside the input (nn/layer_types.c sees to that).
#ifndef LOCKSTEP_COMPUTE_POOL_WINDOWS_H
#define LOCKSTEP_COMPUTE_POOL_WINDOWS_H

#include "base/host_device.h"
#include "compute/program.h"

typedef struct pool_axis {
    int in, out;             // positions of the input, windows
    int kernel, stride, pad; // kernel 0: adaptive, windows of in / out positions or more
    bool leaves_out_pad;     // layer.leaves_out_pad
} pool_axis;

static inline pool_axis pool_rows(const layer *l) {
    const pool_axis a = {l->in.height, l->out.height, l->kernel_h,
                         l->stride_h,  l->pad_h,      l->leaves_out_pad};
    return a;
}

static inline pool_axis pool_columns(const layer *l) {
    const pool_axis a = {l->in.width, l->out.width, l->kernel_w,
                         l->stride_w, l->pad_w,     l->leaves_out_pad};
    return a;
}

// The positions [first, end) of window i that are inside the input.
HOST_DEVICE static inline int pool_first(pool_axis a, int i) {
    if (a.kernel == 0) return i * a.in / a.out;
    const int first = i * a.stride - a.pad;
    return first < 0 ? 0 : first;
}

HOST_DEVICE static inline int pool_end(pool_axis a, int i) {
    if (a.kernel == 0) return ((i + 1) * a.in + a.out - 1) / a.out;
    const int end = i * a.stride - a.pad + a.kernel;
    return end < a.in ? end : a.in;
}

// Returns the positions of window i that a mean counts: with the padding, but without what a
// window that ceil_mode adds has beyond it.
HOST_DEVICE static inline int pool_counted(pool_axis a, int i) {
    if (a.kernel == 0 || a.leaves_out_pad) return pool_end(a, i) - pool_first(a, i);
    const int beyond = i * a.stride + a.kernel - (a.in + 2 * a.pad);
    return a.kernel - (beyond > 0 ? beyond : 0);
}

// Returns the positions of window i, wherever they are: the order of its sum depends on them
// (layer_sums.h).
HOST_DEVICE static inline int pool_extent(pool_axis a, int i) {
    return a.kernel ? a.kernel : pool_end(a, i) - pool_first(a, i);
}

// The windows [first, end) that take position `at` of the input.
HOST_DEVICE static inline int pool_first_over(pool_axis a, int at) {
    if (a.kernel == 0) return at * a.out / a.in;
    const int behind = at + a.pad - a.kernel; // start of a window that just misses it
    return behind < 0 ? 0 : behind / a.stride + 1;
}

HOST_DEVICE static inline int pool_end_over(pool_axis a, int at) {
    const int end = a.kernel ? (at + a.pad) / a.stride + 1 : ((at + 1) * a.out + a.in - 1) / a.in;
    return end < a.out ? end : a.out;
}

#endif
