// SPDX-License-Identifier: MIT
// cuda_kernels.h - the CUDA kernels: their data layout, and the functions that launch them.
//
// **Sample layout.** An activation of one shard is [channels][height][width][lanes] floats: samples
// are innermost, so neighbouring threads read neighbouring floats in every operation. `lanes` is
// the number of samples of a shard in a full step, rounded up to LANE_ROUND. The activations of an
// engine's shards follow each other: shard s begins at s · size · lanes. Per-sample inputs
// (targets, ids, rows) are [shard][lanes] likewise.
//
// **Lanes without a sample** (the last step of an epoch is shorter) hold finite values that forward
// ignores, and exact zeros in every gradient. Kernels that sum over lanes in forward (moments)
// leave them out by `count`; kernels that make gradients from anything but gradients (loss, the
// epilogue of a batch norm) write zeros there.
//
// **Bits.** A shard's numbers depend on the layer and on `lanes`, never on the number of the
// engine's shards, the shard's index, or concurrent work. No kernel adds floats atomically. A
// multiply and an add are rounded once only if the source says fmaf (nvcc -fmad=false).
//
// **Everything that changes from step to step is in device memory** (step_numbers, counts, rows),
// never in a launch argument: a step is captured once as a graph and then replayed.
//
// **Names.** cuda_X launches what a cuda_X_task says. A CPU's X_task (cpu/kernels.h) is for one
// group of samples, a cuda_X_task for all shards of an engine. Tasks in .cu files are arguments of
// kernels.
//
// All pointers are to device memory unless stated otherwise. A launch function returns at once; it
// reports errors through cudaGetLastError(), which the engine checks after each step.
#ifndef LOCKSTEP_COMPUTE_CUDA_KERNELS_CUDA_KERNELS_H
#define LOCKSTEP_COMPUTE_CUDA_KERNELS_CUDA_KERNELS_H

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "compute/augmentation.h"
#include "compute/layer_sums.h"
#include "compute/optimizer_kinds.h"
#include "compute/program.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    LANE_ROUND = 4, // float4
    MAX_GRID_YZ = 65535
};

// The target of a launch. `after_kernel`: whether the last work in the stream is a kernel of these
// folders; then the blocks of the next one may start before it has ended (device.cuh). NULL: each
// kernel starts after the end of the one before.
typedef struct launch_stream {
    cudaStream_t stream;
    bool *after_kernel;
} launch_stream;

// Called after other work has been put into the stream, or a wait for an event.
static inline void launch_after_other(launch_stream s) {
    if (s.after_kernel) *s.after_kernel = false;
}

// The shards of an engine that a launch works on.
typedef struct cut {
    int first, end;   // of the engine's shards; one dimension of each grid is end - first
    int lanes;        // see above
    const int *count; // [engine's shards]: samples in this step
} cut;

// The gradient buffers of the engine's shards: shard s begins at base + s · stride.
typedef struct gradient_set {
    float *base;
    size_t stride;
} gradient_set;

// What a group of parameters has of its own in an update.
typedef struct group_numbers {
    float lr, weight_decay, correction1, correction2;
    bool frozen;
} group_numbers;

// The step's numbers for update, dropout and augmentation.
typedef struct step_numbers {
    uint32_t epoch;
    int32_t samples;       // of the whole step, over all engines
    update_numbers update; // of group 0
    int32_t result;        // index of this step's result
    // Those of groups 1 …; only written and read if parameters are in groups.
    group_numbers groups[PARAMETER_GROUPS - 1];
} step_numbers;

// The results of a step.
typedef struct step_output {
    uint64_t digest; // of the parameters after it
    float loss;      // sum over its samples
} step_output;

// ---- load.cu: bytes of images to augmented, normalised floats, samples innermost ----

typedef struct load_task {
    shape size;
    const uint8_t *images;       // [image][C][H][W]
    const uint32_t *rows;        // [shard][lanes]: image index
    augment_list augment;        // applied to it; count 0: nothing
    uint64_t seed;               // for augmentation, like ids and numbers
    const uint32_t *ids;         // [shard][lanes]
    const step_numbers *numbers; // its epoch
    float scale[ENGINE_MAX_CHANNELS],
        shift[ENGINE_MAX_CHANNELS]; // x = byte · scale + shift, one rounding
    float *x;                       // lanes without a sample: like a black image
} load_task;
void cuda_load(launch_stream s, const cut *c, const load_task *t);

// ---- conv.cu, conv_weight.cu: convolutions; and linear layers, as those of 1×1 images ----

typedef struct cuda_conv_task {
    bool linear;
    bool winograd; // CPUs compute it by Winograd's algorithm (compute/layer_sums.h)
    // Parts of the channels that are convolved apart, and the shapes of one of them. In memory the
    // parts of a shard follow each other as shards do, and so do their weights and biases.
    int channel_parts;
    shape in, out;
    int kernel_h, kernel_w, stride_y, stride_x, pad_y, pad_x;
    const float *x, *weight, *bias; // weight [out][in][kh][kw]; bias NULL: none
    float *z;                       // forward: the result. Backward: dz
    float *dx;
    gradient_set gradients;    // weight gradients of each shard go to its gradient buffer
    size_t weight_at, bias_at; // in a gradient buffer; bias_at only matters if there is a bias
    // For the weight gradient: cuda_conv_workspace or cuda_exact_workspace floats, and as many
    // counters, which are zero before and after a launch.
    float *workspace;
    unsigned *counters;
    float *transforms; // for the others, if they use that algorithm: cuda_exact_transforms floats
} cuda_conv_task;
// Returns a layer's geometry and offsets; the caller sets the pointers.
static inline cuda_conv_task cuda_conv_task_of(const layer *l) {
    cuda_conv_task t;
    memset(&t, 0, sizeof t);
    t.channel_parts = layer_groups(l);
    t.in = l->in;
    t.out = l->out;
    t.in.channels /= t.channel_parts;
    t.out.channels /= t.channel_parts;
    t.linear = l->kind == LAYER_LINEAR;
    t.winograd = winograd_pays(l);
    t.kernel_h = t.linear ? 1 : l->kernel_h;
    t.kernel_w = t.linear ? 1 : l->kernel_w;
    t.stride_y = t.linear ? 1 : l->stride_h;
    t.stride_x = t.linear ? 1 : l->stride_w;
    t.pad_y = l->pad_h;
    t.pad_x = l->pad_w;
    t.weight_at = l->weight;
    t.bias_at = l->bias;
    return t;
}
size_t cuda_conv_workspace(const cuda_conv_task *t, int lanes, int shards);
size_t cuda_conv_counters(const cuda_conv_task *t, int lanes, int shards);
void cuda_conv(launch_stream s, const cut *c, const cuda_conv_task *t);
void cuda_conv_input(launch_stream s, const cut *c, const cuda_conv_task *t); // z → dx
void cuda_conv_weight(launch_stream s, const cut *c,
                      const cuda_conv_task *t); // x, z → gradient buffers

// ---- exact/: the same in the CPU's order ----

size_t cuda_exact_workspace(const cuda_conv_task *t, int lanes, int shards);
size_t cuda_exact_counters(const cuda_conv_task *t, int lanes, int shards);
size_t cuda_exact_transforms(const cuda_conv_task *t, int lanes, int shards);
void cuda_exact_conv(launch_stream s, const cut *c, const cuda_conv_task *t);
void cuda_exact_conv_input(launch_stream s, const cut *c, const cuda_conv_task *t);
void cuda_exact_weight(launch_stream s, const cut *c, const cuda_conv_task *t);
// Of a linear layer, and of a convolution that CPUs compute directly: parts of cuda_exact_weight.
void cuda_exact_linear_weight(launch_stream s, const cut *c, const cuda_conv_task *t);
void cuda_exact_direct_weight(launch_stream s, const cut *c, const cuda_conv_task *t);
size_t cuda_exact_direct_counters(const cuda_conv_task *t, int shards);
// Of a convolution that CPUs compute by Winograd's algorithm: parts of the three functions above.
// The weight gradient goes to sums[shard][group][weight], not to the gradient buffers; `room`:
// cuda_exact_winograd_workspace floats.
void cuda_exact_winograd(launch_stream s, const cut *c, const cuda_conv_task *t);
void cuda_exact_winograd_input(launch_stream s, const cut *c, const cuda_conv_task *t);
void cuda_exact_winograd_weight(launch_stream s, const cut *c, const cuda_conv_task *t, float *sums,
                                float *room);
size_t cuda_exact_winograd_workspace(const cuda_conv_task *t, int lanes, int shards);

// ---- rows.cu: the parts of matrix products that cuBLAS does not do (linear.c) ----

// z[shard][row][lane] = bias[row]
void cuda_fill_rows(launch_stream s, const cut *c, int rows, const float *bias, float *z);
// gradients[shard][at + row] = sum over the lanes of z[shard][row]
void cuda_sum_rows(launch_stream s, const cut *c, int rows, const float *z, const gradient_set *r,
                   size_t at);

// ---- epilogue.cu: batch norm's scale and shift, sum, activation, 2×2 max pooling, in one pass
// ----

typedef struct cuda_epilogue_task {
    shape size;                 // of z; y is that, or half as high and wide (rounded down)
    activation_kind activation; // with pool: none or ReLU
    activation_numbers numbers; // its
    bool pool;
    bool norm;
    // Per channel, for shard s at s · norm_stride; only read if `norm`. norm_stride 0: the same for
    // all shards (inference). The mean is mean + mean_rest; a NULL `mean` is 0.
    const float *scale, *shift, *mean, *mean_rest, *inv_std;
    float *from_dy, *from_z, *from_one;
    size_t norm_stride;
    bool sync;           // norm_task.sync
    float *z;            // forward: read. Backward: becomes dz, unless that replaces dy
    const float *second; // added before the activation; then no pooling. NULL: nothing
    float *y;
    uint8_t *argmax; // pool: index of the maximum, 0 … 3 in row-major order; the first of equals.
                     // 4: none passes the ReLU
    float *dy;
    bool dz_replaces_dy; // not with pooling
    double *sums;        // sync, backward: [shard][2][channels], sum of dt and of dt · xhat
    const float *weight; // the norm's
    gradient_set gradients;
    size_t weight_at, bias_at; // of the norm's gradients in a gradient buffer
    // For the sums: room as cuda_epilogue_sums_room or cuda_conv_input_sums_room returns it. The
    // counters are zero before and after a launch.
    double *parts;
    unsigned *counters;
} cuda_epilogue_task;
typedef struct parts_room {
    size_t parts, counters; // doubles, integers
} parts_room;
// y = pool(activation((z - mean) · scale + shift + second))
void cuda_epilogue(launch_stream s, const cut *c, const cuda_epilogue_task *t);
// cuda_conv and cuda_epilogue in one launch, if scale and shift are known or there is no norm; does
// not touch z. Rows and columns of z outside all pooling windows are not computed.
void cuda_conv_epilogue(launch_stream s, const cut *c, const cuda_conv_task *t,
                        const cuda_epilogue_task *epilogue);
// dy becomes the gradient of what the activation reads, for the functions below, which know only
// ReLU: after another activation, and if `second`, whose gradient it is then too, has been added.
void cuda_epilogue_activation(launch_stream s, const cut *c, const cuda_epilogue_task *t);
// With dt the gradient of batch norm's output (dy where ReLU and pooling passed the value, else 0):
// writes the gradients of weight (dt · xhat) and bias (dt) to the gradient buffers, and with sync
// `sums`, otherwise the results of cuda_norm_backward.
void cuda_epilogue_sums(launch_stream s, const cut *c, const cuda_epilogue_task *t);
parts_room cuda_epilogue_sums_room(const cuda_epilogue_task *t, int lanes, int shards);
// cuda_conv_input and cuda_epilogue_sums of the preceding unit, whose dy is this dx, channel for
// channel, in one launch, with the same bits. Only for convolutions of stride 1.
void cuda_conv_input_sums(launch_stream s, const cut *c, const cuda_conv_task *t,
                          const cuda_epilogue_task *front);
parts_room cuda_conv_input_sums_room(const cuda_conv_task *t, int lanes, int shards);
// Replaces z (or dy) by dz = dt, or with a norm by dt · from_dy + (z - mean) · from_z + from_one;
// zero in lanes without a sample. Without a norm it reads y or argmax instead of z: forward may
// have left no z.
void cuda_epilogue_backward(launch_stream s, const cut *c, const cuda_epilogue_task *t);

// ---- norm.cu: batch norm's statistics ----

// If each shard is normalised alone, the kernels that sum over a shard (cuda_norm_moments,
// cuda_epilogue_sums and the like) also compute the results that follow from the sums, which saves
// a launch. With `sync` they write numbers, [2][channels] doubles per shard: mean and M2 (sum of
// squared distances) in forward, two sums in backward. `own` holds those of the engine's shards,
// `all` those of all V shards; the two differ only if several engines normalise together.
typedef struct norm_task {
    shape size;
    double eps;
    bool sync;  // over the whole step, along the tree of the shards; else each shard alone
    int shards; // V
    const int *all_count; // [V]: samples of every shard
    const float *z;
    double *own, *all;
    // For moments: room as cuda_norm_moments_room or cuda_conv_moments_room returns it. The
    // counters are zero before and after a launch.
    double *parts;
    unsigned *counters;
    const float *weight, *bias; // this norm's parameters
    // Results, for shard s at s · stride. The mean is mean + mean_rest.
    float *mean, *mean_rest, *inv_std, *scale, *shift;
    float *from_dy, *from_z, *from_one;
    size_t stride;
    gradient_set gradients;
    // In a gradient buffer: statistics times the shard's number of elements.
    size_t mean_at, variance_at;
} norm_task;
// Mean and M2 of every channel over positions and samples: into `own`, or without sync all the
// results of cuda_norm_forward
void cuda_norm_moments(launch_stream s, const cut *c, const norm_task *t);
parts_room cuda_norm_moments_room(shape size, int lanes, int shards);
// cuda_conv and cuda_norm_moments in one launch, and cuda_epilogue too if `epilogue` is not NULL.
// The epilogue must neither pool nor wait for other shards (sync), and one block works on each of
// its channels: for few elements.
void cuda_conv_moments(launch_stream s, const cut *c, const cuda_conv_task *t, const norm_task *n,
                       const cuda_epilogue_task *epilogue);
parts_room cuda_conv_moments_room(const cuda_conv_task *t, int lanes, int shards);
// Sync: mean, mean_rest, inv_std, scale, shift, and the weighted statistics into the gradient
// buffers
void cuda_norm_forward(launch_stream s, const cut *c, const norm_task *t);
// Sync: from_dy, from_z, from_one, from the sums of cuda_epilogue_sums
void cuda_norm_backward(launch_stream s, const cut *c, const norm_task *t);

// ---- exact_norm.cu: as cuda_norm_moments and cuda_epilogue_sums, in the CPU's order ----

parts_room cuda_exact_moments_room(shape size, int lanes, int shards);
void cuda_exact_moments(launch_stream s, const cut *c, const norm_task *t);
parts_room cuda_exact_epilogue_sums_room(const cuda_epilogue_task *t, int lanes, int shards);
void cuda_exact_epilogue_sums(launch_stream s, const cut *c, const cuda_epilogue_task *t);

// ---- norm.cu again: inference ----

// scale and shift of inference, from parameters and running statistics; [channels]
void cuda_norm_inference(launch_stream s, int channels, double eps, const float *weight,
                         const float *bias, const float *mean, const float *variance, float *scale,
                         float *shift);

// ---- Unfused layers ----

// The fields are those of a reference_task.
typedef struct cuda_layer_task {
    const layer *l;          // in host memory
    const float *x, *second; // second: if the layer has one
    float *y;
    uint8_t *choices;            // has_choices
    const float *weight, *bias;  // if it has them
    const uint32_t *ids;         // [shard][lanes]; NULL: inference
    const step_numbers *numbers; // its epoch
    uint64_t seed;
    const float *dy;
    float *dx, *dsecond;    // NULL: not needed. If both are one array, the second gradient is added
    bool second_adds;       // add to the values in dsecond
    double *parts;          // backward: room as cuda_unfused_room returns it
    gradient_set gradients; // of weight and bias, at their places in the parameter arena
} cuda_layer_task;

// cuda_WORD and cuda_WORD_backward of each. The order of their sums is the CPU's, also with --math
// fast.
#define LAYER_LAUNCHES(to, KIND, word, ...)                                    \
    void cuda_##word(launch_stream s, const cut *c, const cuda_layer_task *t); \
    void cuda_##word##_backward(launch_stream s, const cut *c, const cuda_layer_task *t);
UNFUSED_LAYERS(LAYER_LAUNCHES, )
#undef LAYER_LAUNCHES
parts_room cuda_unfused_room(const layer *l, int lanes, int shards);

// A range of the features of each shard, to a range as long: of activations that may be larger.
typedef struct cuda_range_task {
    size_t features;
    const float *from;
    float *to;                         // not the place of `from`
    size_t from_features, to_features; // of the activations
    bool adds;                         // to the values there
    // The whole activation at `to` is written, with zeros outside of `features` from this one on.
    bool clears;
    size_t first;
} cuda_range_task;
void cuda_range(launch_stream s, const cut *c, const cuda_range_task *t);

// to = a + b, or a copy of a if b is NULL. `to` may be a or b.
void cuda_sum(launch_stream s, const cut *c, size_t features, const float *a, const float *b,
              float *to);

// ---- loss.cu: softmax cross-entropy ----

typedef struct cuda_loss_task {
    int classes;
    float smoothing;              // of the labels: engine_options
    const sample_target *targets; // [shard][lanes]
    float *logits; // become the gradient of the sum of the losses; 0 without a sample
    // [shard][⌈lanes / GROUP⌉]: sums of GROUP samples, added by halves: 8 + 8, 4 + 4, …; 0 if a
    // group has no sample
    float *losses;
    gradient_set gradients; // base NULL: not written
    size_t loss_at;         // in a gradient buffer
    unsigned *counters;     // [shard]: zero before and after a launch; for the gradient buffers
} cuda_loss_task;
// The losses and their sum, as cuda_loss_sums makes it.
void cuda_loss(launch_stream s, const cut *c, const cuda_loss_task *t);
// Adds the shard's losses along the tree, into gradients[shard][at], followed by GRADIENT_TAIL - 1
// zeros. `first_group`: index of each shard's first loss in `losses`, which has one for each group
// with samples. NULL: the layout of cuda_loss.
void cuda_loss_sums(launch_stream s, const cut *c, const float *losses, const int *first_group,
                    const gradient_set *r, size_t at);

// ---- reduce.cu: shards' gradient buffers to the gradient buffers that leave the engine ----

// A stack machine over the engine's shards [first, end): it pushes a shard's gradient buffer, then
// adds the top two merges[shard] times (reduction_tree_merges); a shard whose merges are
// REDUCE_SKIP is left out. The final stack is written to out[0], out[1], … from the bottom,
// out_stride floats apart. n: floats of a gradient buffer.
enum { REDUCE_SKIP = -1 };
typedef struct reduce_task {
    gradient_set gradients;
    const float *const *places; // [engine's shards], replaces `gradients` if it is not NULL:
                                // each gradient buffer, possibly on another device
    const int *merges;          // [engine's shards]
    size_t n;
    float *out;
    size_t out_stride;
} reduce_task;
void cuda_reduce(launch_stream s, const cut *c, const reduce_task *t);

// A gradient buffer assembled from slices of others: slice q, floats [q · slice, (q + 1) · slice)
// of n, comes from gradient buffer q, except the `own` one, which is already in `out`.
typedef struct slices_task {
    const float *const *places; // [slices]: the gradient buffers
    int slices, own;
    size_t slice, n; // multiples of 4
    float *out;
} slices_task;
void cuda_gather_slices(launch_stream s, const slices_task *t);

// ---- update.cu: the end of a step: optimizer, running statistics, and results ----

// One step of a batch norm's running statistics. `mean` and `variance` of the reduced gradient
// buffer are sums weighted by elements; positions: height · width.
typedef struct norm_running_task {
    int channels, positions;
    double momentum;
    const float *mean_sum, *variance_sum; // in the reduced gradient buffer
    float *mean, *variance;               // in the buffer arena
} norm_running_task;
typedef struct norm_running_list {
    int shards;           // V
    const int *all_count; // [V]: samples of every shard
    bool sync;            // norm_task.sync
    int count;
    const norm_running_task *items;
} norm_running_list;

// Partial results of an update's blocks, for the last of them; all zero before and after a launch.
typedef struct update_progress {
    uint64_t digest; // of the parameters; see kernels/update.c
    unsigned blocks; // finished
} update_progress;

typedef struct cuda_update_task {
    optimizer_kind kind;
    const step_numbers *numbers;
    size_t first, end; // of the arenas: the part that this engine updates
    const uint8_t
        *parameter_groups; // of each line of ARENA_ALIGNMENT parameters; NULL: all are in group 0
    float *parameters, *state, *state2;
    const float *gradient, *loss; // the reduced gradient buffer, and the loss in it
    norm_running_list norms;
    update_progress *progress;
    step_output *results; // this step's: the digest of the parameters after it, and the loss
} cuda_update_task;
void cuda_update(launch_stream s, const cuda_update_task *t);

// ---- blocks.cu: activations as engines exchange them ----

// Blocks are [group][features][GROUP]; shard s begins at group first_group[s].
typedef struct blocks_task {
    size_t features;
    const int *first_group; // [engine's shards]
    float *activation;      // [shard][features][lanes]
    float *blocks;
} blocks_task;
void cuda_blocks_import(launch_stream s, const cut *c, const blocks_task *t); // blocks → activation
void cuda_blocks_export(launch_stream s, const cut *c, const blocks_task *t); // zeros in dead lanes

#ifdef __cplusplus
}
#endif

#endif
