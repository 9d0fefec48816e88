// backend.h - how the rest of the program computes: one table of operations a device kind.
//
// An *engine* is one replica of a program on one device: parameters, batch norm statistics,
// optimizer state, activations. It works on the virtual shards that it is given and knows nothing
// of ranks, files or strategies.
//
// One training step of a rank, as the training loop drives it:
//
//     step()      load, forward, loss, backward for the local shards; leaves one *record* for each
//     node of the
//                 reduction tree that covers the local leaves (usually one)
//     (comm)      the exact all-reduce of the records of all ranks, into reduced()
//     update()    the optimizer and the running statistics, from reduced()
//
// A record is a float vector: the gradient sums in the layout of the parameter arena; then, in the
// layout of the buffer arena, the batch norm statistics of the step, weighted by counts; then
// RECORD_EXTRA floats, of which the first is the sum of the samples' losses; the others are zero,
// and the caller's to fill before the reduction. Everything that ranks must agree on rides on one
// reduction.
//
// The arithmetic (order of every sum) is fixed by the program and the shards' sample counts alone:
// not by threads, not by the instruction set, not by which engine holds which shard. See
// docs/architecture.md.
#ifndef LOCKSTEP_COMPUTE_BACKEND_H
#define LOCKSTEP_COMPUTE_BACKEND_H

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/reduction_tree.h"
#include "base/trace.h"
#include "compute/augmentation.h"
#include "compute/program.h"

enum {
    GROUP = 16, // samples of a group: the leaves of the reduction tree, the lanes of a vector
    RECORD_EXTRA = 16, // floats after the arenas in a record
    RECORD_LOSS = 0,   // tail[0]: sum of the losses
    ENGINE_MAX_CHANNELS = 16,
    ENGINE_MAX_SHARDS = 1024,                // of a step
    ENGINE_MAX_SHARD_SAMPLES = 1024 * GROUP, // of a shard in a step
};

typedef enum phase { // of the wall time of a step; docs/formats.md
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

// Nanoseconds by phase, as means over the threads of an engine.
typedef struct phase_times {
    uint64_t ns[PHASES];
    uint64_t hidden_comm; // of reductions, beside other phases; in none of them
} phase_times;

// The samples of one step, or of one piece of an evaluation.
typedef struct batch {
    int shards;       // V, of the whole step
    const int *count; // samples of every shard [shards]; none may follow one that is empty
    int first_shard, end_shard; // the shards of this engine
    const uint8_t *const
        *pixels;            // of this engine's samples, shard after shard: [C][H][W] bytes each
    const uint32_t *labels; // likewise
    const uint32_t *ids;    // likewise; what dropout and augmentation are keyed by
    const uint32_t *rows;   // likewise; which image of the data set that the engine was given. An
                            // engine without one does not look at it, one with one not at pixels
    uint32_t epoch;
} batch;

// Exchange for sync_batch_norm between engines: all[s] = `bytes` of shard s for all shards, given
// the own shards' in `mine`. Called from one thread of each engine, in the same order on all. NULL
// when one engine has all shards.
typedef status (*engine_exchange)(void *context, const void *mine, size_t bytes_per_shard,
                                  void *all, error *err);

typedef struct engine_options {
    int threads;
    bool spin;         // may threads busy-wait briefly? Only when there is a core for each
    const char *isa;   // "v4", "v3", "baseline"; NULL: the best that the processor has
    int device;        // index of the device, as in "cuda:1"; 0 on a cpu
    int shards;        // V
    int local_shards;  // how many of them at most come to this engine
    int shard_samples; // samples of a shard in a step, at most
    float mean[ENGINE_MAX_CHANNELS],
        std[ENGINE_MAX_CHANNELS]; // pixels become (byte/255 - mean) / std
    uint64_t seed;                // of dropout and augmentation
    bool sync_batch_norm;
    engine_exchange exchange;
    void *exchange_context;
    bool deferred; // updates may be pending: whoever steps collects their results
    bool apart;    // forward and backward will be called apart: all activations of a step are kept
    // On a GPU each kernel is launched when the one in front has ended, also where it could wait in
    // place: to compare with.
    bool serial_launches;
    // The data set that a batch's rows count in, and what is done to its images in a step. NULL:
    // batches bring their pixels, augmented already. Only where the backend keeps_data; both must
    // outlive the engine. Inference brings its own pixels, and they are taken as they are.
    const uint8_t *const *images;
    uint32_t image_count;
    const augment_list *augment; // NULL: nothing
    // A stage of a pipeline: the program is a part of a network, and runs shard by shard.
    // `receives`: its input is an activation, not bytes; `sends`: its output is one, not logits.
    bool stage, receives, sends;
    // Where the phases are recorded; read when the engine is opened. NULL: nowhere. `track` is that
    // of the thread that calls; those of others are added, under the name of `track_name` and a
    // number.
    trace *trace;
    trace_track *track;
    const char *track_name;
} engine_options;

// A byte of channel c becomes byte · scale + *shift.
static inline float engine_input_scale(const engine_options *o, int c, float *shift) {
    *shift = (float)(-(double)o->mean[c] / (double)o->std[c]);
    return (float)(1.0 / (255.0 * (double)o->std[c]));
}

// Can pixels be normalised with these: is what becomes of them a number?
static inline bool engine_can_normalise(float mean, float std) {
    const double scale = 1.0 / (255.0 * (double)std), shift = (double)mean / (double)std;
    return std > 0 && std <= FLT_MAX && scale <= (double)FLT_MAX &&
           fabs(shift) <= (double)FLT_MAX; // no NaN passes
}

// Everything that an update needs besides the reduced record.
typedef enum update_kind { UPDATE_SGD, UPDATE_ADAM, UPDATE_ADAMW } update_kind;

typedef struct update_rule {
    update_kind kind;
    float lr, weight_decay;
    float momentum;
    bool nesterov;
    float beta1, beta2, eps;
    uint64_t step; // global step, from 0: Adam's bias correction
} update_rule;

typedef struct update_result {
    float loss;      // mean over the samples of the step, before the update
    uint64_t digest; // of all parameters after the update: equal bits, equal digest
    bool pending;    // neither is here yet: the device is at work, and collect() brings them
} update_result;

enum { ENGINE_PENDING = 256 }; // so many results at most are pending

typedef struct engine engine;

// One of several copies that are made together.
typedef struct engine_copy {
    float *to;
    const float *from;
    size_t floats;
} engine_copy;

// ---- Engines that reduce among themselves ----

enum { BACKEND_ALIVE_MS = 100 };

// What an engine is told of the group of ranks that its rank is in; processes of one host.
typedef struct engine_group {
    int rank, size;
    size_t bucket; // floats: no part of a reduction is smaller, if it has parts (group_way)
    // all[r · bytes …] = mine of rank r, on every rank; it returns when all have come. Fails on all
    // ranks that are alive when one is not.
    status (*all_gather)(void *context, const void *mine, size_t bytes, void *all, error *err);
    // Whoever waits for others by other means asks this every BACKEND_ALIVE_MS, and fails with what
    // it says when it fails.
    status (*alive)(void *context, error *err);
    void *context;
} engine_group;

// How a group reduces.
typedef struct group_way {
    const char *transport; // "nccl", "cuda ipc"; NULL: not at all
    // Above 0: the reduction goes to the device with its step, in so many parts, the *buckets*;
    // each is reduced as soon as backward has made it, beside the rest of backward. 0: behind the
    // step.
    int buckets;
} group_way;

// What one reduction was, for this rank.
typedef struct group_traffic {
    int vectors;         // that it brought
    uint64_t bytes_sent; // to others
} group_traffic;

typedef struct backend {
    const char *name; // "cpu"
    bool keeps_data;  // its engines want the data set (engine_options)

    // The optimizer state that an update kind keeps, in floats a parameter (sgd 1, adam 2).
    status (*open)(const program *p, const engine_options *o, update_kind kind, engine **e,
                   error *err);
    void (*close)(engine *e); // NULL is fine

    // Room for what engines of one process give each other: zeroed floats where this engine
    // computes, freed with it; NULL with `err` filled. The host may not look inside. "Any memory"
    // below is what any of these engines allocated, or the host's. memory() counts it only where
    // it is a device's.
    float *(*allocate)(engine *e, size_t floats, error *err);
    // From any memory to any. All are made when it returns.
    status (*copy)(engine *e, const engine_copy *copies, int count, error *err);
    // Prepares engines to give each other something, once; they work without, too. Returns how it
    // travels: "peer copies". NULL where that is no question.
    const char *(*connect)(engine *const *engines, int count);

    // Whole arenas in and out, of any memory: parameters, buffers, optimizer state (state_arrays ×
    // parameters). A NULL is left alone. A function of this table that returns no status and fails,
    // because a device does, leaves that to the next one that does.
    void (*write)(engine *e, const float *parameters, const float *buffers, const float *state);
    status (*read)(engine *e, float *parameters, float *buffers, float *state, error *err);

    // The local part of a step. Afterwards records[k] (count of them) belongs to the k-th node of
    // the cover of the local leaves in *tree (owned by the engine; valid until the next step; node
    // numbers by reduction_tree_cover). An engine that has all shards leaves one record, and it is
    // the reduced one: a caller that has nothing to add to it may call update() at once, and it
    // then never leaves the device.
    status (*step)(engine *e, const batch *b, error *err);
    const reduction_tree *(*tree)(const engine *e);
    // first[v] for v = 0 … V: the first leaf of each shard; first[V]: all leaves.
    const int *(*shard_leaves)(const engine *e);
    // In host memory, to read and to write. When they could not be brought there the next call
    // that returns a status says why.
    float *const *(*records)(engine *e, int *count);

    // The same in parts, for strategies that compute the loss elsewhere (DataParallel). Logits and
    // their gradients travel as blocks of [classes][GROUP], one a group of this engine, in order:
    // logits_floats of the last batch, of any memory. forward() may only be called on an engine
    // that was opened with `apart`; backward() completes the step.
    status (*forward)(engine *e, const batch *b, error *err);
    size_t (*logits_floats)(const engine *e);
    void (*gather_logits)(engine *e, float *logits);
    // The loss of all groups of `whole`, a batch of all shards: logits become gradients, losses[g]
    // the sum of group g. Both lie where this engine computes.
    void (*loss)(engine *e, const batch *whole, float *logits, float *losses);
    status (*backward)(engine *e, const float *gradients, const float *losses, error *err);

    // A step of a pipeline stage: for each range of shards, in order, forward and later backward;
    // then stage_reduce. Activations and their gradients travel as blocks of [features][GROUP], one
    // a group; `in`, `out` and so on hold those of all groups of the step (NULL at the ends of the
    // pipeline). `in` and `dout` lie where this engine computes, `out` and `din` are any memory.
    // stage_floats: of a block.
    size_t (*stage_floats)(const engine *e, bool output);
    status (*stage_forward)(engine *e, const batch *b, int first_shard, int end_shard,
                            const float *in, float *out, error *err);
    status (*stage_backward)(engine *e, int first_shard, int end_shard, const float *dout,
                             float *din, error *err);
    // Sums the records of the ranges into reduced().
    void (*stage_reduce)(engine *e);

    // Where the reduced record goes: record_floats(program) floats of host memory. It may be one of
    // the records. Whoever asks for it is going to write it; update() then takes it from there.
    float *(*reduced)(engine *e);
    status (*update)(engine *e, const update_rule *rule, update_result *result, error *err);
    // Instead of records() and reduced(): the records of engines of one process, which have all
    // shards between them in order, become the reduced one of the first. `exact`: along the tree;
    // else one after the other. NULL where records are on the host anyway.
    status (*reduce_engines)(engine *const *engines, int count, bool exact, error *err);
    // The results of the last `count` updates, all that are pending, in their order; waits for
    // them. NULL where updates are never pending.
    status (*collect)(engine *e, update_result *results, int count, error *err);

    // Engines of several ranks may reduce among themselves, where their memory is, instead of by
    // records() and reduced(). All three are NULL where a backend cannot.
    // All ranks together, once, behind open(). *way says how they will; its transport is NULL, on
    // all ranks, where they cannot, and `why` says why not. The engine leaves the group when it is
    // closed.
    status (*group_join)(engine *e, const engine_group *g, group_way *way, error *why, error *err);
    // All ranks together, between step() and update(): from the records to the reduced one. Rank r
    // owns the leaves [first_leaf[r], first_leaf[r + 1]). `exact`: along the tree; else in an order
    // that depends on the world size. The last n floats of a record's tail are filled with
    // `wishes`; n < RECORD_EXTRA. A reduction in buckets is done by update(), and its time is among
    // times(). Who measures it may call it again without a step: it sums whatever the records hold,
    // at once, and takes as long as one behind a step.
    status (*group_reduce)(engine *e, const int *first_leaf, bool exact, const float *wishes, int n,
                           group_traffic *traffic, error *err);
    // Behind that, and behind update() where it does it: the sums of the wishes. Waits for the
    // reduction: with buckets, whoever does not ask lets the device go on from step to step.
    status (*group_result)(engine *e, float *wishes, int n, error *err);

    // Logits [samples][classes] of a batch in inference mode (running statistics; no dropout). Any
    // number of samples.
    status (*infer)(engine *e, const uint8_t *const *pixels, size_t samples, float *logits,
                    error *err);

    // Time since the last call, by phase, mean over threads; resets. Covers step, update and infer:
    // their sum is the wall time spent inside these calls.
    phase_times (*times)(engine *e);

    const char *(*isa)(const engine *e); // instruction set in use
    int (*threads)(const engine *e);
    size_t (*memory)(const engine *e); // bytes that the engine holds
    // Does it have the images of its data set where it computes? If not, every step sends those
    // that it needs. NULL where a backend does not keep data.
    bool (*has_images)(const engine *e);
} backend;

// Floats in a record of this program.
static inline size_t record_floats(const program *p) {
    return p->parameters + p->buffers + RECORD_EXTRA;
}

// Optimizer state arrays of an update kind: 1 (momentum) or 2 (moments).
static inline int update_state_arrays(update_kind kind) {
    return kind == UPDATE_SGD ? 1 : 2;
}

// The backend of that name, or NULL. "cpu" is always there.
const backend *backend_find(const char *name);

#endif
