// trainer.h - the training loop: the only one, for every strategy, the same in every process.
#ifndef LOCKSTEP_TRAIN_TRAINER_H
#define LOCKSTEP_TRAIN_TRAINER_H

#include <stdint.h>

#include "base/error.h"
#include "base/log.h"
#include "data/dataset.h"
#include "train/checkpoint.h"
#include "train/strategy.h"

typedef struct trainer_options {
    const strategy *strategy;
    executor_options executor;
    const dataset *train;
    const dataset *test; // evaluated behind every epoch; NULL: not
    int loader_workers;
    uint64_t stop_after_steps;                // of the whole run; 0: train to the end
    uint64_t checkpoint_steps, checkpoint_ns; // save this often, beside every epoch; 0: not
    run_identity run;
    const char *state_path; // where rank 0 saves; NULL: nowhere
    yaml_node *segment;     // describes this segment of the run; the trainer completes it
    const logger *log;      // of rank 0
    // Rank 0 calls it once when all ranks have all that they need, right before the first step;
    // NULL: not. A failure of it ends the run.
    status (*ready)(void *argument, error *err);
    void *ready_argument;
} trainer_options;

typedef enum trainer_end {
    TRAINER_FINISHED,  // all epochs are done
    TRAINER_PAUSED,    // stop_after_steps was reached
    TRAINER_SIGNALLED, // a signal asked one of the processes to stop
} trainer_end;

// Trains from where `c` is, and leaves `c` where it came to (complete on rank 0; in the others
// only the step). Whenever it stops without an error, rank 0 has saved. Fails with STATUS_FAILED,
// and saves nothing more, when the loss is no longer finite; all fail at the same step.
status trainer_run(const trainer_options *o, checkpoint *c, trainer_end *end,
                   error *err) MUST_CHECK;

// Steps of an epoch over `samples` training samples.
uint64_t trainer_steps_per_epoch(const experiment *e, uint32_t samples);

// The largest messages that a run sends among `ranks` ranks.
message_sizes trainer_message_sizes(const experiment *e, int ranks);

// Of an epoch (from 0), the steps of which are done: the mean loss over its samples, and its wall
// time without the evaluation and saving.
double trainer_epoch_loss(const checkpoint *c, const experiment *e, uint32_t samples, int epoch);
double trainer_epoch_seconds(const checkpoint *c, uint64_t steps_per_epoch, int epoch);

#endif
