// strategy.h - how the work of a step is divided among those who compute: one table of hooks a
// strategy.
//
// The training loop (trainer.h) is the same for all of them. In every process it drives one
// *executor*: what the strategy keeps open there, engines and connections. All executors call the
// hooks in the same order with the same arguments, but for the batch, which holds the shards of the
// executor. ("Worker" is the loader's word: a thread that prepares batches.)
#ifndef LOCKSTEP_TRAIN_STRATEGY_H
#define LOCKSTEP_TRAIN_STRATEGY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/log.h"
#include "compute/backend.h"
#include "compute/devices.h"
#include "data/dataset.h"
#include "dist/comm.h"
#include "dist/launch.h"
#include "experiment/experiment.h"
#include "train/model_file.h"

// The processes that train together.
typedef struct world {
    int size;
    launch_environment environment; // joined: this process is one rank, started by somebody else
    bool supervised; // a process of its own waits for those that train, and learns how they end
} world;

// Ranks, replicas or stages on this host.
static inline int world_ranks_here(const world *w) {
    return w->environment.joined ? w->environment.local_size : w->size;
}

// The largest messages that the executors will send.
typedef struct message_sizes {
    size_t floats;       // of a reduction
    size_t gather_bytes; // of one rank's part of an all-gather
} message_sizes;

// What one executor may ask of all, agreed on by the step's reduction at no cost of its own: what
// any of them asked for is done by all, behind the same step.
enum { WISH_STOP, WISH_CHECKPOINT, WISHES };

typedef struct executor_options {
    const backend *backend;
    const devices *devices; // devices_index tells each rank, replica or stage its own
    const experiment *experiment;
    normalization normalization;
    const dataset *data; // for backends that keep it; NULL: batches bring their pixels
    comm *comm;
    int world_size;  // ranks; replicas or stages in one process
    int local_rank;  // among the ranks of this host, which take its devices in turn
    int threads;     // of each rank, replica or stage
    bool spin;       // is there a core for each thread of all ranks on this host?
    const char *isa; // NULL: the best
    bool reduce_fast;
    const logger *log;
    trace *trace; // its first track is that of the thread that calls the hooks; NULL: no trace
} executor_options;

typedef struct step_result {
    update_result update;
    bool agreed[WISHES];
} step_result;

typedef struct executor executor;

typedef struct strategy {
    const char *name;  // as in experiment files
    const char *track; // what the first track of a trace is called: "thread 0"
    bool reduces; // do ranks or replicas add up what they bring, in the order that --reduce says?

    // Which processes there will be. `wanted` is --world-size, or 0 when it was not given; `listed`
    // how many devices --device names: several are as many ranks, where nothing else says.
    status (*find_world)(const experiment *e, int wanted, int listed, world *w, error *err);
    // Runs `body` once in each rank of the world that this process starts or is. Of a supervised
    // world `death` tells as launch_local does; of any other none came.
    status (*launch)(const world *w, const message_sizes *sizes, launch_body body, void *argument,
                     launch_death *death, const logger *log, error *err);

    status (*open)(const executor_options *o, executor **x, error *err);
    void (*close)(executor *x); // NULL is fine
    // The shards whose samples this executor wants in its batches: [*first, *end).
    void (*shards)(const executor *x, int *first, int *end);

    // Whole arenas in and out, as backend.h has them.
    void (*write)(executor *x, const float *parameters, const float *buffers, const float *state);
    status (*read)(executor *x, float *parameters, float *buffers, float *state, error *err);

    // One step: forward, backward, reduction, update. The same result on every executor.
    status (*step)(executor *x, const batch *b, const update_rule *rule, const bool wish[WISHES],
                   step_result *result, error *err);
    // The results of the last `count` steps, all that are pending (backend.h). NULL where none ever
    // is.
    status (*collect)(executor *x, update_result *results, int count, error *err);
    // Logits in inference mode, computed by this executor alone.
    status (*infer)(executor *x, const uint8_t *const *pixels, size_t samples, float *logits,
                    error *err);
    // Time spent in step and infer since the last call, by phase.
    phase_times (*times)(executor *x);

    const char *(*isa)(const executor *x);
    size_t (*memory)(const executor *x); // bytes that the engines of this executor hold
    // Do all engines of this executor that were given the data set have its images where they
    // compute? Only asked where the backend keeps_data.
    bool (*has_images)(const executor *x);
    // Adds what else is worth knowing (traffic, busy fractions) to this run's part of
    // `run.execution`.
    status (*describe)(const executor *x, yaml_node *segment, error *err);
} strategy;

extern const strategy strategy_single, strategy_dp, strategy_ddp, strategy_mp;

// What find_world of all strategies with several ranks, replicas or stages begins with.
int strategy_world_size(const experiment *e, int wanted, int listed);
// Inside one process every device of a list has one replica or stage. STATUS_USAGE where
// --world-size says otherwise.
status strategy_check_devices(int wanted, int listed, error *err) MUST_CHECK;

// A launch hook: one process does all work, this one or, supervised, a child.
status strategy_launch_one(const world *w, const message_sizes *sizes, launch_body body,
                           void *argument, launch_death *death, const logger *log,
                           error *err) MUST_CHECK;

// What of the time of a device counts as busy: all but copying, communication and waiting.
static inline uint64_t strategy_busy(const phase_times *t) {
    return t->ns[PHASE_LOAD] + t->ns[PHASE_FORWARD] + t->ns[PHASE_BACKWARD] + t->ns[PHASE_UPDATE];
}

// The data set and what is done to its images, for an engine that trains, where there is one.
void strategy_give_data(const executor_options *o, engine_options *e);

// The update kind of an optimizer: what its state arrays are.
update_kind strategy_update_kind(const optimizer *o);

#endif
