// SPDX-License-Identifier: MIT
// trainer.h - the training loop, the same for every strategy and in every process.
#ifndef LOCKSTEP_TRAIN_TRAINER_H
#define LOCKSTEP_TRAIN_TRAINER_H

#include <stdint.h>

#include "base/error.h"
#include "base/log.h"
#include "data/dataset.h"
#include "data/holdout.h"
#include "train/checkpoint.h"
#include "train/strategy.h"
#include "train/turn_taker.h"

typedef struct trainer_options {
    const strategy *strategy;
    executor_options executor;
    const dataset *train;
    const holdout *left_out; // of `train`; NULL: nothing
    const dataset *test; // evaluated after every epoch: left_out's samples, if there are any, else
                         // test data; NULL: no evaluation
    int loader_workers;
    bool threads_follow;                      // executor.threads are the most (thread_number.h)
    uint64_t stop_after_steps;                // of the whole run; 0: train to the end
    uint64_t checkpoint_steps, checkpoint_ns; // also save this often, not only after epochs; 0: no
    run_identity run;
    const char *state_path; // where rank 0 saves; NULL: nowhere
    int keep_states;        // segments whose ends are kept (kept_states.h); 0: none
    const char *out;        // the folder for them
    yaml_node *segment;     // describes this segment of the run; the trainer completes it
    turn_taker *turns;      // trains only in turns, and saves nothing; NULL: trains to the end
    const logger *log;      // of rank 0
    // Rank 0 calls it once, when all ranks are ready, right before the first step. May be NULL. If
    // it fails, the run ends.
    status (*ready)(void *argument, error *err);
    void *ready_argument;
    // Rank 0 calls it when the checkpoint's timeline has grown, or when the last of `epochs` epochs
    // was tested. May be NULL.
    void (*watch)(void *argument, int epochs);
    void *watch_argument;
} trainer_options;

typedef enum trainer_end {
    TRAINER_FINISHED,  // all epochs are done
    TRAINER_PAUSED,    // stop_after_steps was reached
    TRAINER_TIMED,     // its turns are over
    TRAINER_SIGNALLED, // a signal asked one of the processes to stop
} trainer_end;

// Trains from `c` on, and leaves the state reached in `c` (complete on rank 0; on other ranks only
// the step). If early stopping ends it, c->epochs is the number of epochs done, and on rank 0 the
// kept model of `keep: best` is in c->best. If it stops without an error, rank 0 has saved.
// STATUS_FAILED, without saving, if the loss is no longer finite; all ranks fail at the same step.
// STATUS_FINDING, without saving, if a rank holds other numbers than the rest (state_check.h).
status trainer_run(const trainer_options *o, checkpoint *c, trainer_end *end,
                   error *err) MUST_CHECK;

// Returns the sizes of the largest messages that a run on `ranks` ranks sends.
message_sizes trainer_message_sizes(const experiment *e, int ranks);

#endif
