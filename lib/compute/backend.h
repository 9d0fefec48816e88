// SPDX-License-Identifier: MIT
// backend.h - the interface to the compute engines: one table of operations per device kind.
//
// An *engine* is one replica of a program on one device: parameters, batch norm statistics,
// optimizer state, activations. It computes the virtual shards that it is given and is independent
// of ranks, files and strategies.
//
// One training step of a rank, as the training loop drives it:
//
//     run()       load, forward, loss and backward for the local shards; leaves one
//                 *gradient buffer* for each node of the reduction tree that covers the local
//                 leaves (usually one)
//     (comm)      the exact all-reduce of all ranks' gradient buffers, into reduced()
//     update()    the optimizer and the running statistics, from reduced()
//
// A gradient buffer is a float vector. It holds the gradient sums, in the layout of the parameter
// arena; then the step's batch norm statistics, weighted by counts, in the layout of the buffer
// arena; then GRADIENT_TAIL floats, the *tail*. The first float of the tail is the sum of the
// samples' losses. The others are zero, and the caller may fill them before the reduction. So one
// reduction carries everything that ranks must agree on.
//
// The arithmetic (the order of every sum) depends only on the program and the sample counts of the
// shards: not on threads, not on the instruction set, not on which engine holds which shard. See
// docs/architecture.md.
#ifndef LOCKSTEP_COMPUTE_BACKEND_H
#define LOCKSTEP_COMPUTE_BACKEND_H

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/elementary.h"
#include "base/error.h"
#include "base/reduction_tree.h"
#include "base/trace.h"
#include "compute/augmentation.h"
#include "compute/optimizer_kinds.h"
#include "compute/program.h"

enum {
    TAIL_LOSS = 0,                           // tail[0]: sum of the losses
    ENGINE_MAX_SHARDS = 1024,                // per step
    ENGINE_MAX_SHARD_SAMPLES = 1024 * GROUP, // per shard and step
};

typedef enum phase { // of the wall time of a step; see docs/formats.md
    PHASE_LOAD,
    PHASE_COPY,
    PHASE_FORWARD,
    PHASE_BACKWARD,
    PHASE_COMM,
    PHASE_WAIT,
    PHASE_UPDATE,
    PHASES
} phase;

static inline const char *phase_name(phase p) {
    static const char *const names[PHASES] = {
        [PHASE_LOAD] = "load",         [PHASE_COPY] = "copy", [PHASE_FORWARD] = "forward",
        [PHASE_BACKWARD] = "backward", [PHASE_COMM] = "comm", [PHASE_WAIT] = "wait",
        [PHASE_UPDATE] = "update",
    };
    return names[p];
}

// Nanoseconds per phase, averaged over the threads of an engine.
typedef struct phase_times {
    uint64_t ns[PHASES];
    uint64_t hidden_comm; // of reductions that overlap other phases; not included in `ns`
} phase_times;

// The samples of one step, or of one piece of an evaluation.
typedef struct batch {
    int shards;                 // V, of the whole step
    const int *count;           // samples of each shard [shards]; empty shards come last
    int first_shard, end_shard; // the shards of this engine
    const uint8_t *const
        *pixels; // of this engine's samples, shard after shard: [C][H][W] bytes each
    const sample_target *targets; // likewise
    const uint32_t *ids;          // likewise; the keys of dropout and augmentation
    const uint32_t *rows; // likewise; indices into the data set of the engine. An engine with a
                          // data set ignores `pixels`; one without it ignores `rows`
    int threads;          // of a CPU engine that compute; 0: all that it was opened with
    uint32_t epoch;
    uint32_t frozen; // bit g: the update leaves parameters of group g alone (parameter_group). An
                     // engine may leave out what only their gradients need; these parts of its
                     // gradient buffers are then undefined
} batch;

// Exchange between engines for sync_batch_norm: takes the values of the engine's shards in `mine`
// and writes those of all shards to `all`, `bytes_per_shard` each. Called from one thread of each
// engine, in the same order on all. NULL if one engine has all shards.
typedef status (*engine_exchange)(void *context, const void *mine, size_t bytes_per_shard,
                                  void *all, error *err);

typedef struct engine_options {
    int threads;       // at most (batch.threads)
    bool spin;         // threads may busy-wait briefly; only if each has its own processor
    int cores;         // threads in excess of these do not share groups of samples, which is for
                       // threads with a core each; 0: unknown, all may share, but do not busy-wait
    const char *isa;   // "v4", "v3", "baseline"; NULL: the best that the processor supports
    int device;        // index of the device, as in "cuda:1"; 0 on a cpu
    int shards;        // V
    int local_shards;  // how many of them this engine gets, at most
    int shard_samples; // samples of a shard in a step, at most
    float mean[ENGINE_MAX_CHANNELS],
        std[ENGINE_MAX_CHANNELS]; // pixels become (byte/255 - mean) / std
    uint64_t seed;                // of dropout and augmentation
    bool sync_batch_norm;
    // s of the loss (1 - s) · CE + s / K · the sum of CE over all K classes as labels; 0: CE alone
    float label_smoothing;
    engine_exchange exchange;
    void *exchange_context;
    bool deferred; // updates may be pending: the caller collects their results
    // GPU: each kernel is launched after the previous one has ended, even if it could wait in
    // place. For comparison.
    bool serial_launches;
    // GPU: every sum is taken in the CPU's order, so that the bits are the CPU's. CPUs ignore it.
    bool exact;
    // The data set that a batch's `rows` index, and the augmentation of its images in a step. NULL:
    // batches carry pixels, already augmented. Only for backends with `keeps_data`; both must
    // outlive the engine. Inference always takes pixels and does not augment them.
    const uint8_t *const *images;
    uint32_t image_count;
    const augment_list *augment; // NULL: none
    // The parameter group of each line of ARENA_ALIGNMENT floats of the parameter arena. NULL: all
    // are in group 0. Must outlive the engine.
    const uint8_t *parameter_groups;
    // An engine may compute only a part of a step; others compute the rest. `stage`: the program is
    // part of a network and may run shard by shard. `receives`: its input is an activation, not
    // bytes. `sends`: its output leaves it (that of a program that is not a stage: the logits), and
    // the output's gradient comes back. A stage, and an engine that sends, run in parts (run_part).
    bool stage, receives, sends;
    // Trace of the phases; read when the engine is opened. NULL: none. `track` is that of the
    // calling thread; tracks for the other threads are added, named `track_name` and a number.
    trace *trace;
    trace_track *track;
    const char *track_name;
} engine_options;

static inline bool engine_runs_in_parts(const engine_options *o) {
    return o->stage || o->sends;
}

// Returns true if the program ends in logits.
static inline bool engine_has_logits(const engine_options *o) {
    return !(o->stage && o->sends);
}

// Returns the scale of channel c and sets its shift: a byte becomes byte · scale + *shift.
static inline float engine_input_scale(const engine_options *o, int c, float *shift) {
    *shift = (float)(-(double)o->mean[c] / (double)o->std[c]);
    return (float)(1.0 / (255.0 * (double)o->std[c]));
}

// Returns true if pixels normalised with these values are finite.
static inline bool engine_can_normalise(float mean, float std) {
    const double scale = 1.0 / (255.0 * (double)std), shift = (double)mean / (double)std;
    return std > 0 && std <= FLT_MAX && scale <= (double)FLT_MAX &&
           fabs(shift) <= (double)FLT_MAX; // false for a NaN
}

// Everything that an update needs in addition to the reduced gradient buffer.
typedef struct update_rule {
    optimizer_kind kind;
    float lr, weight_decay; // of group 0
    float hyper[HYPERPARAMETERS];
    uint64_t step; // global step, from 0: Adam's bias correction
    // The other groups: groups[g - 1] is group g; PARAMETER_GROUPS - 1 of them. Only read if the
    // engine's parameters are in groups.
    const parameter_group *groups;
    // Above 0: the gradient is multiplied by `factor`, which its caller derives from the gradient's
    // norm (train/clipping.h).
    double clip_norm, factor;
} update_rule;

// Returns the factor from sums over the samples of a step to the gradient of the update.
static inline double update_scale(const update_rule *r, int samples) {
    return (r->clip_norm > 0 ? r->factor : 1.0) / samples;
}

// Returns Adam's correction of a mean that began at 0 and has seen steps 0 to `step`.
static inline float update_bias_correction(float beta, uint64_t step) {
    return (float)(1 / (1 - elementary_power((double)beta, step + 1)));
}

// Returns the numbers of an update of group 0 after a step of so many samples.
static inline update_numbers update_numbers_of(const update_rule *r, int samples) {
    update_numbers n = {.scale = (float)update_scale(r, samples),
                        .lr = r->lr,
                        .weight_decay = r->weight_decay,
                        .correction1 = update_bias_correction(r->hyper[HYPER_BETA1], r->step),
                        .correction2 = update_bias_correction(r->hyper[HYPER_BETA2], r->step)};
    memcpy(n.hyper, r->hyper, sizeof n.hyper);
    return n;
}

// Returns the rule of one group: its rate and decay take the place of those of group 0, and its
// steps are counted from its first one.
static inline update_rule parameter_group_rule(const update_rule *rule, int number, bool *frozen) {
    update_rule own = *rule;
    *frozen = false;
    if (number == 0) return own;
    const parameter_group *g = &rule->groups[number - 1];
    own.lr = g->lr;
    own.weight_decay = g->weight_decay;
    own.step = rule->step > g->first_step ? rule->step - g->first_step : 0;
    *frozen = g->frozen;
    return own;
}

typedef struct update_result {
    float loss;      // mean over the samples of the step, before the update
    uint64_t digest; // of all parameters after the update: equal bits, equal digest
    bool pending;    // neither is known yet: the device is still computing; see collect()
} update_result;

enum { ENGINE_PENDING = 256 }; // at most this many results are pending

typedef struct engine engine;
typedef struct unit_list unit_list; // plan/units.h

// A part of a step: forward or backward, of some of the engine's shards. What crosses between
// engines are blocks of [features][GROUP], one for each group of samples: activations forward,
// their gradients backward. `in`, `out` and `losses` hold those of all groups of the engine's step.
typedef struct run_part {
    bool backward;
    int first_shard, end_shard; // from 0: the engine's first one
    // Activations, or gradients of the output. It lies where the engine computes, as do the losses.
    const float *in;
    float *out;          // activations, or gradients of the input; in any memory
    const float *losses; // backward: the sum of each group, if another engine has computed them
} run_part;

// The reduction tree of an engine's last step.
typedef struct engine_tree {
    const reduction_tree *nodes; // numbered by reduction_tree_cover
    const int *shard_leaves;     // [V + 1]: the first leaf of each shard, then the number of leaves
} engine_tree;

// What an engine is, for logs and manifests.
typedef struct engine_description {
    const char *isa; // instruction set in use; of a GPU: its name
    size_t memory;   // bytes that the engine holds
    // Do the images of the data set lie where the engine computes, or was it given none? If not,
    // every step sends the images that it needs. Only if the backend keeps data.
    bool has_images;
    // Do kernels start before those before them have ended? Known after steps. Only if the backend
    // keeps data.
    bool launches_early;
} engine_description;

// One of several copies that are made together.
typedef struct engine_copy {
    float *to;
    const float *from;
    size_t floats;
} engine_copy;

// ---- Engines that reduce among themselves ----

enum { BACKEND_ALIVE_MS = 100 };

// The communicator of an engine's rank, as the engine sees it. All ranks are on one host.
typedef struct engine_comm {
    int rank, size;
    size_t bucket; // floats: the smallest size of a bucket (comm_way)
    // Writes rank r's `mine` to all[r · bytes …] on every rank. Returns when all ranks have called
    // it; if a rank has died, fails on all others.
    status (*all_gather)(void *context, const void *mine, size_t bytes, void *all, error *err);
    // An engine that waits for other ranks by other means calls this every BACKEND_ALIVE_MS. If it
    // fails, the engine fails with the same status and error.
    status (*alive)(void *context, error *err);
    void *context;
} engine_comm;

// How ranks reduce.
typedef struct comm_way {
    const char *transport; // "nccl", "cuda ipc"; NULL: the engines do not reduce
    // Above 0: the reduction is enqueued with its step, in this many parts, the *buckets*. Each is
    // reduced as soon as backward has computed it, concurrently with the rest of backward. 0: the
    // reduction follows the step.
    int buckets;
} comm_way;

// This rank's traffic in one reduction.
typedef struct comm_traffic {
    int vectors;         // contributed
    uint64_t bytes_sent; // to other ranks
} comm_traffic;

typedef struct backend {
    const char *name; // "cpu"
    bool keeps_data;  // its engines hold the data set (engine_options)

    // Cuts a program into units as an engine that is opened with these options runs them, for the
    // plan of its steps (plan/step_plan.h). STATUS_USAGE, naming the layer, if it cannot run the
    // program. units_release() the list.
    status (*units)(const program *p, const engine_options *o, unit_list *units, error *err);

    // Opens an engine; `kind` determines the optimizer state that it keeps (optimizer_states).
    status (*open)(const program *p, const engine_options *o, optimizer_kind kind, engine **e,
                   error *err);
    void (*close)(engine *e); // NULL is fine

    // Allocates zeroed floats where this engine computes, for exchange between engines of one
    // process. They are freed with the engine; the host must not access them. Returns NULL with
    // `err` filled on failure. Below, "any memory" is memory that any of these engines allocated,
    // or host memory. The engine's description counts an allocation only if it is device memory.
    float *(*allocate)(engine *e, size_t floats, error *err);
    // Copies from any memory to any memory. All copies are complete when it returns.
    status (*copy)(engine *e, const engine_copy *copies, int count, error *err);
    // Prepares engines to exchange data, once; optional. Returns the means of transport, for
    // example "peer copies". The function is NULL if the backend has no choice of transport.
    const char *(*connect)(engine *const *engines, int count);

    // Copies whole arenas in or out, in any memory: parameters, buffers, optimizer state
    // (optimizer_states × parameters). An argument that is NULL is skipped. If a function of
    // this table that returns no status fails because its device does, the next function that
    // returns a status reports it.
    void (*write)(engine *e, const float *parameters, const float *buffers, const float *state);
    status (*read)(engine *e, float *parameters, float *buffers, float *state, error *err);

    // Runs the local part of a step. Afterwards gradient buffer k of gradients() belongs to the
    // k-th node of the cover of the local leaves in tree(). The engine owns both; they are valid
    // until the next step. An engine that has all shards leaves one gradient buffer, which is
    // already the reduced one: a caller that adds nothing to it may call update() at once, and the
    // gradient buffer then never leaves the device.
    //
    // `part` is NULL, or for an engine that runs in parts, each part of the step: forward of one
    // range of shards after the other, which together are all that have samples, and then backward
    // of the same ranges in the same order. An engine that is not a stage has a single range. A
    // stage's gradient buffers are those of its ranges, and only for reduce().
    status (*run)(engine *e, const batch *b, const run_part *part, error *err);
    engine_tree (*tree)(const engine *e);
    // Returns the gradient buffers in host memory, for reading and writing. If they could not be
    // copied there, the next call that returns a status reports why.
    float *const *(*gradients)(engine *e, int *count);
    // Computes the loss of all groups of `whole`, a batch of all shards, for engines that send
    // logits. Replaces these by their gradients and writes the sum of group g to losses[g]. Both
    // arrays lie where this engine computes.
    void (*loss)(engine *e, const batch *whole, float *logits, float *losses);
    // Sums the gradient buffers of engines of one process, which together have all shards in order,
    // into the first engine's reduced gradient buffer. `exact`: along the tree; else one after
    // another.
    status (*reduce)(engine *const *engines, int count, bool exact, error *err);

    // Returns the place of the reduced gradient buffer: gradient_floats(program) floats of host
    // memory. It may be one of the gradient buffers. After reduce() it holds the sum; otherwise the
    // caller must write it there. update() then reads it from there.
    float *(*reduced)(engine *e);
    status (*update)(engine *e, const update_rule *rule, update_result *result, error *err);
    // Waits for all pending updates, `count` of them, and writes their results in order. NULL if
    // updates are never pending.
    status (*collect)(engine *e, update_result *results, int count, error *err);

    // Engines of several ranks may reduce among themselves, in their own memory, instead of through
    // gradients() and reduced(). All four functions are NULL if the backend cannot do this.
    //
    // Joins the other ranks. All ranks call it together, once, after open(). *way describes how
    // they will reduce. If they cannot, its transport is NULL on all ranks, and `why` gives the
    // reason.
    status (*comm_join)(engine *e, const engine_comm *c, comm_way *way, error *why, error *err);
    // Reduces the gradient buffers. All ranks call it together, between run() and update(). Rank r
    // owns the leaves [first_leaf[r], first_leaf[r + 1]). `exact`: along the tree; else in an order
    // that depends on the world size. The last n floats of the tail of a gradient buffer are filled
    // with `requests`; n < GRADIENT_TAIL. If there are buckets, update() does the reduction, and
    // times() includes its time. A measurement may call this again without a step: it then sums the
    // current contents of the gradient buffers at once, and takes as long as a reduction after a
    // step.
    status (*comm_reduce)(engine *e, const int *first_leaf, bool exact, const float *requests,
                          int n, comm_traffic *traffic, error *err);
    // Writes the sums of `requests`; called after comm_reduce(), or after update() if that does the
    // reduction. It waits for the reduction. With buckets, the device runs on from step to step as
    // long as this is not called.
    status (*comm_result)(engine *e, float *requests, int n, error *err);
    // Leaves the other ranks. All ranks call it together, after their last reduction and if nothing
    // has failed: none returns before all have given up their access to the others' memory, so that
    // every rank may free its own. An engine that is closed before it has left, after a failure,
    // keeps such memory until the process ends.
    status (*comm_leave)(engine *e, error *err);

    // Writes the logits [samples][classes] of any number of samples in inference mode (running
    // statistics, no dropout).
    status (*infer)(engine *e, const uint8_t *const *pixels, size_t samples, float *logits,
                    error *err);

    // Returns the time per phase since the last call, averaged over threads, and resets it. Covers
    // run, update and infer: the sum over phases is the wall time spent inside these calls.
    phase_times (*times)(engine *e);

    engine_description (*describe)(const engine *e);
} backend;

// Returns the number of floats in a gradient buffer of this program.
static inline size_t gradient_floats(const program *p) {
    return p->parameters + p->buffers + GRADIENT_TAIL;
}

// Returns the number of floats of a block that crosses between engines.
static inline size_t block_floats(shape of) {
    return shape_size(of) * GROUP;
}

// Returns the shape of what an engine with this program sends; it receives the program's input.
static inline shape program_output(const program *p) {
    return p->layers[p->count - 1].out;
}

// Returns the backend of that name, or NULL. "cpu" always exists.
const backend *backend_find(const char *name);

#endif
