// strategy.h - how the work of a step is divided among workers: one table of hooks a strategy.
//
// The training loop (trainer.h) is the same for all of them. In every process it drives one
// *worker*: what the strategy keeps open there, engines and connections. All workers call the hooks
// in the same order with the same arguments, but for the batch, which holds the shards of the
// worker.
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
#include "train/experiment.h"
#include "train/model_file.h"

// The processes that train together.
typedef struct world {
    int size;
    launch_environment environment; // joined: this process is one rank, started by somebody else
} world;

// The largest messages that the workers will send.
typedef struct message_sizes {
    size_t floats;       // of a reduction
    size_t gather_bytes; // of one rank's part of an all-gather
} message_sizes;

// What one worker may ask of all, agreed on by the step's reduction at no cost of its own: what any
// worker asked for is done by all, behind the same step.
enum { WISH_STOP, WISH_CHECKPOINT, WISHES };

typedef struct worker_options {
    const backend *backend;
    const devices *devices; // devices_index tells each rank, replica or stage its own
    const experiment *experiment;
    normalization normalization;
    const dataset *data; // for backends that keep it; NULL: batches bring their pixels
    comm *comm;
    int world_size;  // ranks; replicas or stages in one process
    int threads;     // of each rank, replica or stage
    bool spin;       // is there a core for each thread of all ranks on this host?
    const char *isa; // NULL: the best
    bool reduce_fast;
    const logger *log;
    trace *trace; // its first track is that of the thread that calls the hooks; NULL: no trace
} worker_options;

typedef struct step_result {
    update_result update;
    bool agreed[WISHES];
} step_result;

typedef struct worker worker;

typedef struct strategy {
    const char *name;  // as in experiment files
    const char *track; // what the first track of a trace is called: "thread 0"

    // Which processes there will be. `wanted` is --world-size, or 0 when it was not given; `listed`
    // how many devices --device names: several are as many workers, where nothing else says.
    status (*find_world)(const experiment *e, int wanted, int listed, world *w, error *err);
    // Runs `body` once in each rank of the world that this process starts or is.
    status (*launch)(const world *w, const message_sizes *sizes, launch_body body, void *argument,
                     const logger *log, error *err);

    status (*open)(const worker_options *o, worker **w, error *err);
    void (*close)(worker *w); // NULL is fine
    // The shards whose samples this worker wants in its batches: [*first, *end).
    void (*shards)(const worker *w, int *first, int *end);

    // Whole arenas in and out, as backend.h has them.
    void (*write)(worker *w, const float *parameters, const float *buffers, const float *state);
    status (*read)(worker *w, float *parameters, float *buffers, float *state, error *err);

    // One step: forward, backward, reduction, update. The same result on every worker.
    status (*step)(worker *w, const batch *b, const update_rule *rule, const bool wish[WISHES],
                   step_result *result, error *err);
    // The results of the last `count` steps, all that are pending (backend.h). NULL where none ever
    // is.
    status (*collect)(worker *w, update_result *results, int count, error *err);
    // Logits in inference mode, computed by this worker alone.
    status (*infer)(worker *w, const uint8_t *const *pixels, size_t samples, float *logits,
                    error *err);
    // Time spent in step and infer since the last call, by phase.
    phase_times (*times)(worker *w);

    const char *(*isa)(const worker *w);
    size_t (*memory)(const worker *w); // bytes that the engines of this worker hold
    // Do all engines of this worker that were given the data set have its images where they
    // compute? Only asked where the backend keeps_data.
    bool (*has_images)(const worker *w);
    // Adds what else is worth knowing (traffic, busy fractions) to this run's part of
    // `run.execution`.
    status (*describe)(const worker *w, yaml_node *segment, error *err);
} strategy;

extern const strategy strategy_single, strategy_dp, strategy_ddp, strategy_mp;

// What find_world of all strategies with several workers begins with.
int strategy_world_size(const experiment *e, int wanted, int listed);
// Inside one process every device of a list has one worker. STATUS_USAGE where --world-size says
// otherwise.
status strategy_check_devices(int wanted, int listed, error *err) MUST_CHECK;

// A launch hook: all work is done in this process.
status strategy_launch_here(const world *w, const message_sizes *sizes, launch_body body,
                            void *argument, const logger *log, error *err) MUST_CHECK;

// What of the time of a device counts as busy: all but copying, communication and waiting.
static inline uint64_t strategy_busy(const phase_times *t) {
    return t->ns[PHASE_LOAD] + t->ns[PHASE_FORWARD] + t->ns[PHASE_BACKWARD] + t->ns[PHASE_UPDATE];
}

// The data set and what is done to its images, for an engine that trains, where there is one.
void strategy_give_data(const worker_options *o, engine_options *e);

// The update kind of an optimizer: what its state arrays are.
update_kind strategy_update_kind(const optimizer *o);

#endif
