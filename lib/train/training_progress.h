// training_progress.h - what a person sees while a run goes on, on standard error: a line that
// moves when it is a terminal, else one line an epoch. Nothing with -q.
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
    uint64_t began, drawn;                // clock
    uint64_t images;                      // since it began
} training_progress;

void training_progress_begin(training_progress *p, const logger *log, int epochs,
                             uint64_t steps_per_epoch, uint64_t first_step);

// `step` steps are done in all; the last had `images` images. Draws at most five times a second.
void training_progress_step(training_progress *p, uint64_t step, int images, float loss);

// An epoch (from 0) has ended. `accuracy` is NaN when it was not measured.
void training_progress_epoch(training_progress *p, int epoch, double loss, double accuracy,
                             double seconds);

// Takes the moving line away.
void training_progress_end(training_progress *p);

#endif
