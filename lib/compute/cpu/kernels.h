// SPDX-License-Identifier: MIT
// kernels.h - the CPU's inner loops: one table of functions per instruction set, all with
// bit-identical results.
//
// Every kernel works on one group of samples, which are innermost: `lanes` of them, GROUP = 16, or
// 4 if a group never has more. An activation is [channel][row][column][lanes]; a kernel is a plain
// loop over features with the samples in a vector register. kernels/*.c are compiled once per
// instruction set, from the same source, with explicit fused multiply-adds in one order of
// summation. Instruction sets differ in how many outputs are held in registers at once, but not in
// which values are added in which order, so the results agree in every bit.
//
// Sizes and strides are in floats unless stated otherwise. Lanes of absent samples (in a group of
// fewer than `lanes`) hold arbitrary finite values in activations and exact zeros in gradients of
// the loss, so they contribute nothing.
#ifndef LOCKSTEP_COMPUTE_CPU_KERNELS_H
#define LOCKSTEP_COMPUTE_CPU_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "compute/backend.h"
#include "compute/layer_sums.h"
#include "compute/plan/slices.h"

// An activation in memory: element (c, y, x) of sample n is at data[c·plane + y·row + x·lanes + n].
// Rows may be longer than the image: the border around it is zero (padding of a convolution) and
// never written.
typedef struct view {
    float *data; // element (0, 0, 0)
    int channels, height, width;
    size_t row, plane;
} view;

// How many blocks of so many cover n.
static inline int blocks_of(int n, int block) {
    return (n + block - 1) / block;
}

// A part of a view: some rows, and some channels (the columns of the area).
static inline view view_part(view v, slice_area a) {
    v.data += (size_t)a.columns.first * v.plane + (size_t)a.rows.first * v.row;
    v.channels = a.columns.end - a.columns.first;
    v.height = a.rows.end - a.rows.first;
    return v;
}

// A convolution, or its input gradient, as one correlation: out(o, y, x) starts from bias[o] and
// adds, for input channels c, kernel rows, kernel columns in this order, weight(o, c, ky, kx) ·
// in(c, y·stride_y + ky - pad_y, x·stride_x + kx - pad_x). Kernel rows outside the input are
// skipped; columns outside read the border, which is zero. An input gradient may take several
// correlations: see conv_phase.
typedef struct conv_task {
    view in, out;
    const float *packed; // [block of outputs][c][ky][kx][outputs of the block], see conv_pack
    const float *bias;   // NULL: zero
    float *scratch;      // winograd: winograd_scratch floats
    int kernel_h, kernel_w, stride_y, stride_x, pad_y, pad_x;
    int skip_x; // columns of `out` between two that are computed, which are left alone
    // conv_input, of some outputs: the first of them among those in `packed`, and the number of
    // those, of whole blocks; 0: `packed` has those of `out`.
    int packed_first, packed_outputs;
} conv_task;

// The input gradient of a convolution with a stride is one correlation for each remainder of
// position + padding: along one axis, `count` positions from `first` on, every stride-th, read
// `taps` kernel elements, the remainder and every stride-th after it, the last one first, with
// stride 1 and padding `pad`.
typedef struct conv_phase {
    int taps, first, count, pad;
} conv_phase;

static inline conv_phase conv_phase_of(int kernel, int stride, int padding, int remainder,
                                       int size) {
    conv_phase p = {.taps = remainder < kernel ? (kernel - remainder + stride - 1) / stride : 0};
    p.first = ((remainder - padding) % stride + stride) % stride;
    p.count = size > p.first ? (size - p.first + stride - 1) / stride : 0;
    p.pad = p.taps - 1 - (p.first + padding - remainder) / stride;
    return p;
}

// Weight gradient: dw(o, c, ky, kx) (+)= the sum over positions of dout(o, y, x) · in(c, y·stride_y
// + ky - pad_y, …), in the parts of layer_sums.h; samples are added by halves.
enum { CONV_SCRATCH_OUTPUTS = 4 }; // outputs whose weight gradients are summed at once

typedef struct conv_weight_task {
    view in, dout;
    float *dw, *db;  // [out][in][kh][kw] and [out]; db NULL: none
    size_t dw_row;   // conv_weight: floats from one output's weights to the next; 0: `in`'s
    float *scratch;  // CONV_SCRATCH_OUTPUTS · in.channels · kernel_h · kernel_w · 16;
                     // winograd_weight: winograd_scratch
    bool accumulate; // add to the existing values
    int kernel_h, kernel_w, stride_y, stride_x, pad_y, pad_x;
} conv_weight_task;

typedef struct linear_task {
    int inputs, outputs;
    size_t row;                 // linear_transposed: floats from one output's weights to the next
    const float *weight, *bias; // [outputs][inputs]; bias NULL: zero
    const float *x;             // [inputs][16]
    float *z;                   // [outputs][16]
} linear_task;

typedef struct linear_weight_task {
    int inputs, outputs;
    size_t row; // floats from one output's weights to the next
    const float *x, *dz;
    float *dw, *db; // db NULL: none
    float *scratch; // inputs rounded up to 16, times 16: x transposed
    bool accumulate;
} linear_weight_task;

// The layers after a convolution or linear layer z, in one pass: batch norm (y = scale·(z - mean) +
// shift), an activation, 2×2 max pooling (then ReLU or none). Here and in other pools a NaN
// propagates, as in PyTorch, so that it reaches the loss.
typedef struct epilogue_task {
    view z;          // output of the layer; epilogue_backward replaces it by its gradient, dz
    view y;          // result
    uint8_t *argmax; // pool: [c][h/2][w/2][16] index of the largest of four, the first of
                     // equals; 4: zeroed by the ReLU
    const float *scale, *shift; // batch norm, one per channel; NULL: none
    const float *mean;          // likewise: of the shard, for training; NULL: 0
    activation_kind activation;
    activation_numbers numbers; // its
    bool pool;
    bool adds;   // forward: after batch norm and before ReLU, y += second; then no pooling
    view second; // of the same shape
    int samples; // of this group: 1 … 16
    // Backward:
    float *dy; // [c][y.height][y.width][16]; after an activation but ReLU, epilogue_backward_sums
               // replaces it by the gradient of batch norm's output, which epilogue_backward then
               // expects
    size_t plane;        // floats from one channel of dy to the next, and bytes of argmax; 0: y's
    bool dz_replaces_dy; // and not z; without pooling
    const float *mean_rest;      // batch norm: what the rounding of `mean` to a float left out
    const float *inv_std;        // likewise of the shard
    float *sum_dy, *sum_dy_xhat; // epilogue_backward_sums: of this group, one per channel
    const float *from_dy, *from_z,
        *from_one; // epilogue_backward: dz = from_dy·dy' + from_z·(z - mean) + from_one
} epilogue_task;

// An unfused layer (compute/layer_kinds.h). The fields are those of a reference_task.
typedef struct layer_task {
    const layer *l;
    view x, second, y;          // second: if the layer has one
    uint8_t *choices;           // has_choices: [y's features][lanes], written by forward
    const float *weight, *bias; // if it has them, as dweight and dbias
    const uint32_t *ids;        // dropout: of the samples; NULL: inference
    uint32_t leader, epoch;     // likewise; leader: id of the first sample of their shard
    uint64_t seed;
    size_t feature;      // likewise: the first one of y among those of the layer
    int samples;         // of this group: 1 … 16
    float *scratch;      // layer_kept floats for each lane
    const float *dy;     // dense, like the gradients of inputs
    float *dx, *dsecond; // NULL: not needed. If both are one array, the second gradient is added
    bool second_adds;    // add to the values in dsecond
    float *dweight, *dbias;
    bool accumulate; // add to the values in these
} layer_task;

typedef struct layer_kernels {
    void (*forward)(const layer_task *t);
    void (*backward)(const layer_task *t);
} layer_kernels;

// x(c, y, x) = scale[c] · byte + shift[c]; absent samples repeat the first.
typedef struct load_task {
    const uint8_t *const *pixels; // of each sample: [channels][height][width]
    size_t first, plane;          // byte of x's element (0, 0, 0); bytes of a channel
    int samples;                  // of this group: 1 … 16
    const float *scale, *shift;   // of each channel of x
    view x;
} load_task;

typedef struct loss_task {
    int classes, samples;         // samples of this group: 1 … 16
    float smoothing;              // of the labels: engine_options
    float *logits;                // [classes][16]; replaced by the gradient
    const sample_target *targets; // [samples]
} loss_task;

typedef struct update_task {
    optimizer_kind kind;
    update_numbers numbers;
    float *parameters, *state, *state2;
    const float *gradient; // sums
    size_t first, count;   // elements; first is a multiple of 16
} update_task;

// The kernels: X(suffix, result, name, parameters) for each. The struct, the prototypes and the
// tables come from this list, and for unfused layers from that of compute/layer_kinds.h.
#define KERNELS(X, suffix)                                                                         \
    /* Returns how many outputs a packed block holds, for a layer of `outputs` outputs. */         \
    X(suffix, int, conv_block_size, (int outputs, int width))                                      \
    X(suffix, void, conv, (const conv_task *t, int block))                                         \
    /* The input gradient: `in` is dz, `out` is dx, `packed` the transposed weights; kernel,       \
       strides and padding are the layer's. */                                                     \
    X(suffix, void, conv_input, (const conv_task *t, int block))                                   \
    X(suffix, void, conv_weight, (const conv_weight_task *t))                                      \
    /* The same for 3×3 kernels with stride 1 and padding up to 2, by Winograd's F(4×4, 3×3): a \
       quarter of the multiplications, but different rounding. `packed` is the result of           \
       winograd_pack, which makes its blocks [first, end) of WINOGRAD_OUTPUTS outputs.             \
       winograd_scratch returns the scratch memory of a thread, in floats. winograd takes one task \
       per group; the tasks differ only in `in.data`, `out.data` and `scratch`. The outputs of all \
       their images are in winograd_blocks blocks, of which it computes [first, end). */           \
    X(suffix, size_t, winograd_scratch, (const layer *l))                                          \
    X(suffix, void, winograd_pack,                                                                 \
      (const layer *l, const float *weight, bool transpose, int first, int end, float *packed))    \
    X(suffix, int, winograd_blocks, (const conv_task *t, int count))                               \
    X(suffix, void, winograd, (const conv_task *tasks, int count, int first, int end))             \
    /* The two halves of a block: the patches of channels [first, end), and from those of all      \
       channels the outputs of packed blocks [first, end). */                                      \
    X(suffix, void, winograd_patches,                                                              \
      (const conv_task *tasks, int count, int block, int first, int end, float *patches))          \
    X(suffix, void, winograd_outputs,                                                              \
      (const conv_task *tasks, int count, int block, int first, int end, const float *patches))    \
    X(suffix, void, winograd_weight, (const conv_weight_task *t))                                  \
    /* The same in slices, block by block: a part of a block's patches, and from all of them the   \
       sums of outputs [first, end). After the last block these are the gradients. */              \
    X(suffix, int, winograd_weight_blocks, (const conv_weight_task *t))                            \
    X(suffix, void, winograd_weight_patches,                                                       \
      (const conv_weight_task *t, int block, op_slice s, float *patches))                          \
    X(suffix, void, winograd_weight_sums,                                                          \
      (const conv_weight_task *t, int block, int first, int end, float *patches))                  \
    X(suffix, void, linear, (const linear_task *t))                                                \
    /* z[inputs] = weightᵀ · x[outputs]: the input gradient. */                                 \
    X(suffix, void, linear_transposed, (const linear_task *t))                                     \
    X(suffix, void, linear_weight, (const linear_weight_task *t))                                  \
    X(suffix, void, load, (const load_task *t))                                                    \
    /* Per channel over all positions of the first `samples` lanes: mean, and sum of squared       \
       differences from it. */                                                                     \
    X(suffix, void, moments, (const view *z, int samples, double *mean, double *m2))               \
    X(suffix, void, epilogue_forward, (const epilogue_task *t))                                    \
    X(suffix, void, epilogue_backward_sums, (const epilogue_task *t))                              \
    X(suffix, void, epilogue_backward, (const epilogue_task *t))                                   \
    /* ReLU by its output: clears the elements of dy where y is not above zero. dy is dense. */    \
    X(suffix, void, relu_backward, (const view *y, float *dy))                                     \
    /* Softmax cross-entropy: returns the sum of the losses. Logits become probabilities minus     \
       the smoothed one-hot labels, absent lanes zero. */                                          \
    X(suffix, float, loss, (const loss_task *t))                                                   \
    X(suffix, void, update, (const update_task *t))                                                \
    /* Returns the sum over elements [first, first + count) of their bits times an odd key per     \
       element, modulo 2^64. The digests of parts add up. */                                       \
    X(suffix, uint64_t, digest, (const float *parameters, size_t first, size_t count))             \
    /* sum += term */                                                                              \
    X(suffix, void, add, (float *sum, const float *term, size_t n))                                \
    /* to = a + b, or a if b is NULL. All have the same shape, and borders of their own. */        \
    X(suffix, void, sum, (const view *a, const view *b, const view *to))

#define KERNEL_MEMBER(suffix, result, name, parameters) result(*name) parameters;
typedef struct kernels {
    const char *isa;
    int lanes;
    KERNELS(KERNEL_MEMBER, )
    layer_kernels layers[LAYER_KINDS];
} kernels;

// Returns the number of lanes, 4, 8 or GROUP, for groups of at most `samples` samples. Sixteen
// would leave most of a register empty: with four, one of AVX-512 holds four neighbouring elements.
//
// Eight and sixteen lanes give the same bits; four add the positions of a weight gradient in
// another order. So the number must depend on the experiment alone.
int kernels_lanes(int samples);

// Returns the table with that number of lanes: the best one for this processor, or the one named by
// `isa`. NULL if the processor cannot run it.
const kernels *kernels_find(const char *isa, int lanes);

// For the convolutions that winograd_pays for (compute/layer_sums.h):
enum { WINOGRAD_OUTPUTS = 16 }; // outputs of a packed block: [block][36][c][outputs of the block]
int winograd_packed_blocks(const layer *l, bool transpose);
size_t winograd_packed_floats(const layer *l, bool transpose);
enum { WINOGRAD_TILES = 4 }; // 4×4 outputs each, computed together
// Returns for how many groups winograd should be called at once: the tiles of their images fill
// whole blocks of WINOGRAD_TILES. At most WINOGRAD_TILES.
int winograd_groups(const layer *l);

// Packs conv weights for `conv`; the packed copy has conv_packed_floats floats. With `transpose`,
// for the input gradient: the roles of the channels are exchanged, and each phase has its own
// kernel, [row remainder][column remainder][block of outputs]…; of stride 1 it is the whole one,
// rotated by 180 degrees. The layer has no groups.
size_t conv_packed_floats(const layer *l, int block, bool transpose);
void conv_pack(const layer *l, const float *weight, int block, bool transpose, float *packed);

#endif
