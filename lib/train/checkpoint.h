// SPDX-License-Identifier: MIT
// checkpoint.h - state.st.zst: everything a run needs to resume, in one file.
#ifndef LOCKSTEP_TRAIN_CHECKPOINT_H
#define LOCKSTEP_TRAIN_CHECKPOINT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/sha256.h"
#include "base/yaml_tree.h"
#include "compute/backend.h"
#include "nn/model_values.h"
#include "train/timeline.h"

// Identity of a run, independent of the machine. A state can be resumed only by the run that saved
// it.
typedef struct run_identity {
    const yaml_node *parameters; // the resolved experiment
    const char *data;            // content hash of the unsharded training data
    const char *init;            // of the first weights (train_start.c); "" without --init
    int bits;                    // revision of the arithmetic that makes the steps
} run_identity;

// A run so far.
typedef struct checkpoint {
    const model *model;                      // not owned
    optimizer_kind kind;                     // selects the optimizer state
    uint64_t step;                           // steps done, over all epochs
    float *parameters, *buffers, *optimizer; // arenas; `optimizer`: optimizer_states of them
    float *average, *average_buffers;        // of the weights (average.h); NULL: none
    bool average_is_model;                   // else the average only serves training
    timeline timeline;                       // of the steps done
    int epochs;
    double *accuracy;           // accuracy after each epoch; NaN: not measured
    double *losses;             // of each epoch, for a plateau schedule: the loss on validation
                                // samples after it, if there are any, else that of its training;
                                // the same on every rank; NaN: not measured; NULL: not kept
    float *best, *best_buffers; // model of the epoch with the best accuracy so far; NULL: not kept
    int best_epoch;             // that epoch, from 1; 0: none yet
    uint64_t total_ns;          // wall time of all segments so far
    yaml_node *execution;       // list of segments: tool, devices, ranks, …
} checkpoint;

// Key of a segment that --max-restarts started: the number of restarts since the segment before it,
// including those that saved nothing.
#define CHECKPOINT_RESTARTS "restarts"

// Name of the tensor that holds `losses`.
#define CHECKPOINT_LOSSES "epochs.loss"

// Prepares an empty run with room for `steps` steps in `epochs` epochs; the arenas are zero.
status checkpoint_init(checkpoint *c, const model *m, optimizer_kind kind, int epochs,
                       uint64_t steps, error *err) MUST_CHECK;
// Makes room for the best model.
status checkpoint_begin_best(checkpoint *c, error *err) MUST_CHECK;
// If there is room for the best model, and the accuracy after this epoch (from 0) is better than
// all before it, keeps the current model.
void checkpoint_keep_best(checkpoint *c, int epoch);
// Makes room for the losses of epochs, none of which is measured yet.
void checkpoint_begin_losses(checkpoint *c);
// A zeroed struct is fine.
void checkpoint_release(checkpoint *c);

// Adds an average, which begins with the current weights. A state then has one, too.
status checkpoint_begin_average(checkpoint *c, bool is_model, error *err) MUST_CHECK;
// The weights and statistics that are the model after the current step.
static inline const float *checkpoint_model(const checkpoint *c, const float **buffers) {
    *buffers = c->average_is_model ? c->average_buffers : c->buffers;
    return c->average_is_model ? c->average : c->parameters;
}
// Those that a finished run writes: of the best epoch, if it was kept.
static inline const float *checkpoint_best_model(const checkpoint *c, const float **buffers) {
    const float *parameters = checkpoint_model(c, buffers);
    if (c->best_epoch == 0) return parameters;
    *buffers = c->best_buffers;
    return c->best;
}

// Writes `path`, whole or not at all. Stores the file's hashes in `f`, which may be NULL; release
// it.
status checkpoint_write(const checkpoint *c, const run_identity *run, const char *path,
                        tensor_file *f, error *err) MUST_CHECK;

// Adds the series of epochs, which point into `c`.
void checkpoint_store_epochs(const checkpoint *c, tensor_file *f);

// Fills `c`, which checkpoint_init prepared. STATUS_INPUT, with the reason, if this run cannot
// resume from the state; a state for fewer epochs is accepted (experiment_continues). STATUS_INPUT,
// naming the tensor, if it holds a value that training cannot produce.
status checkpoint_read(checkpoint *c, const run_identity *run, const char *path,
                       error *err) MUST_CHECK;

// A value that training cannot resume from: one that is not finite, or a running variance or second
// moment below 0.
typedef struct bad_place {
    const char *prefix; // of the tensor's name in a state: "model.", "optimizer.momentum."
    const model_tensor *tensor;
    bad_value value;
} bad_place;

// Finds the first bad value, in the order parameters, buffers, optimizer. False if there is none.
bool checkpoint_find_bad(const checkpoint *c, bad_place *bad);

// STATUS_INPUT if the saved steps in `path` have another revision (`theirs`, 0: unknown) than the
// steps to come (`mine`): no run and no key has the bits of such a mixture.
status checkpoint_check_bits(int mine, int64_t theirs, const char *path, error *err) MUST_CHECK;

// Total over all segments.
int64_t checkpoint_restarts(const checkpoint *c);

// STATUS_INPUT, with the reason, if `mine` cannot continue `theirs`, which was read from `path`
// (experiment_continues).
status checkpoint_check_parameters(const yaml_node *mine, const yaml_node *theirs, const char *path,
                                   error *err) MUST_CHECK;

#endif
