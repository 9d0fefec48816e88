// training_progress.h - the talk of a run while it goes on, on standard error. On a terminal a
// line moves (base/progress.h) and every epoch leaves one; else, and of more epochs than a person
// reads, there is a line at most every few seconds, and about fifty in a long run. The first and
// the last epoch always have one. Nothing with -q.
#ifndef LOCKSTEP_TRAIN_TRAINING_PROGRESS_H
#define LOCKSTEP_TRAIN_TRAINING_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/log.h"

typedef struct training_progress {
    const logger *log; // NULL: silent
    bool terminal;
    int epochs;
    uint64_t steps_per_epoch, first_step; // of this run of the program
    uint64_t began, drawn;                // clock (ns)
    uint64_t said, said_epoch;            // clock of the last line that stays; of one of an epoch
    uint64_t images;                      // since it began
} training_progress;

// `now` is the clock, here and below (base/clock.h).
void training_progress_begin(training_progress *p, const logger *log, uint64_t now, int epochs,
                             uint64_t steps_per_epoch, uint64_t first_step);

// `step` steps are done in all; the last had `images` images.
void training_progress_step(training_progress *p, uint64_t now, uint64_t step, int images,
                            float loss);

// The figures of an epoch; `accuracy` is NaN when it was not measured. Epochs count from 0.
typedef struct epoch_figures {
    double loss, accuracy, seconds;
} epoch_figures;
void training_progress_epoch(training_progress *p, uint64_t now, int epoch,
                             const epoch_figures *figures);

// Takes the moving line away.
void training_progress_end(training_progress *p);

#endif
