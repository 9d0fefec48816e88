// SPDX-License-Identifier: MIT
// strategy.h - how the work of a step is divided among ranks, replicas or stages: one table of
// hooks per strategy.
//
// The training loop (trainer.h) is the same for all strategies. In every process it drives one
// *executor*: the strategy's engines and connections there. In all processes it calls the hooks in
// the same order with the same arguments, except for the batch, which holds the executor's own
// shards. ("Worker" is the loader's word: a thread that prepares batches.)
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
#include "dist/launch_environment.h"
#include "dist/launch_local.h"
#include "experiment/experiment.h"
#include "train/model_file.h"

// The processes that train together.
typedef struct world {
    int size;
    launch_environment environment; // joined: this process is one rank, started by a launcher
    bool supervised; // a separate process waits for the training processes and sees how they end
} world;

// Ranks, replicas or stages on this host.
static inline int world_ranks_here(const world *w) {
    return w->environment.joined ? w->environment.local_size : w->size;
}

// The largest messages that the executors will send.
typedef struct message_sizes {
    size_t floats;       // of a reduction
    size_t gather_bytes; // one rank's part of an all-gather
} message_sizes;

// A request of one executor to all, shared through the step's reduction at no extra cost: if any
// executor sets one, all of them act on it, after the same step.
enum { REQUEST_STOP, REQUEST_CHECKPOINT, REQUESTS };

typedef struct executor_options {
    const backend *backend;
    const devices *devices; // devices_index gives the one of each rank, replica or stage
    const experiment *experiment;
    normalization normalization;
    const augment_list *augment; // the experiment's, with the means of the data set
    const dataset *data;         // for backends that keep it; NULL: batches bring their pixels
    comm *comm;
    int world_size;  // ranks; replicas or stages in one process
    int local_rank;  // among the ranks of this host, which take its devices in turn
    int threads;     // of each rank, replica or stage
    bool spin;       // there is a processor for each thread of all ranks on this host
    int cores;       // for each rank on this host
    const char *isa; // NULL: the best
    bool reduce_fast;
    const logger *log;
    trace *trace; // its first track is the one of the thread that calls the hooks; NULL: no trace
} executor_options;

typedef struct step_result {
    update_result update;
    bool agreed[REQUESTS];
} step_result;

typedef struct executor executor;

typedef struct strategy {
    const char *name;  // as in experiment files
    const char *track; // name of the first track of a trace: "thread 0"
    bool processes;    // is each rank a process of its own?
    bool mixes;        // can some ranks compute on the cpu, and others on GPUs?
    bool reduces; // do ranks or replicas add up gradient buffers, in the order that --reduce sets?

    // Finds which processes there will be. `wanted` is --world-size, or 0 if not given; `listed` is
    // the number of devices in --device: several mean as many ranks, unless set otherwise.
    status (*find_world)(const experiment *e, int wanted, int listed, world *w, error *err);
    // Runs `body` once in each rank of the world that this process starts or is. For a supervised
    // world `death` is as in launch_local; for any other no death is reported.
    status (*launch)(const world *w, const message_sizes *sizes, launch_body body, void *argument,
                     launch_death *death, const logger *log, error *err);

    status (*open)(const executor_options *o, executor **x, error *err);
    // Ends what the executors share, after the last step of all of them; not after a failure. NULL:
    // they share nothing.
    status (*leave)(executor *x, error *err);
    void (*close)(executor *x); // NULL is fine
    // The shards that this executor's batches hold: [*first, *end).
    void (*shards)(const executor *x, int *first, int *end);

    // Copy whole arenas in and out, as in backend.h.
    void (*write)(executor *x, const float *parameters, const float *buffers, const float *state);
    status (*read)(executor *x, float *parameters, float *buffers, float *state, error *err);

    // One step: forward, backward, reduction, update. The same result on every executor.
    status (*step)(executor *x, const batch *b, const update_rule *rule,
                   const bool request[REQUESTS], step_result *result, error *err);
    // Collects the results of the last `count` steps, all that are pending (backend.h). NULL if
    // results are never pending.
    status (*collect)(executor *x, update_result *results, int count, error *err);
    // Computes logits in inference mode, on this executor alone.
    status (*infer)(executor *x, const uint8_t *const *pixels, size_t samples, float *logits,
                    error *err);
    // Returns the time spent in `step` and `infer` since the last call, by phase.
    phase_times (*times)(executor *x);

    // Describes this executor's engines together: the memory of all, and what is true of all.
    engine_description (*engines)(const executor *x);
    // Adds strategy-specific figures (traffic, busy fractions) to this run's segment in
    // `run.execution`.
    void (*describe)(const executor *x, yaml_node *segment);
} strategy;

extern const strategy strategy_single, strategy_dp, strategy_ddp, strategy_mp;

// World size for strategies with several ranks, replicas or stages: the first step of their
// find_world.
int strategy_world_size(const experiment *e, int wanted, int listed);
// Within one process each listed device has one replica or stage. STATUS_USAGE if --world-size
// differs.
status strategy_check_devices(int wanted, int listed, error *err) MUST_CHECK;

// A launch hook: one process does all the work, this one or, if supervised, a child.
status strategy_launch_one(const world *w, const message_sizes *sizes, launch_body body,
                           void *argument, launch_death *death, const logger *log,
                           error *err) MUST_CHECK;

// The busy time of a device: all but copying, communication and waiting.
static inline uint64_t strategy_busy(const phase_times *t) {
    return t->ns[PHASE_LOAD] + t->ns[PHASE_FORWARD] + t->ns[PHASE_BACKWARD] + t->ns[PHASE_UPDATE];
}

// The `engines` hook of a strategy with several engines.
engine_description strategy_describe(const backend *b, engine *const *engines, int count);

// Passes the data set, if there is one, and its augmentation to an engine that trains.
void strategy_give_data(const executor_options *o, engine_options *e);
// Returns what the engines of all strategies have in common, for one that has all shards, on the
// device of rank, replica or stage `number`.
engine_options strategy_engine_options(const executor_options *o, int number);

#endif
