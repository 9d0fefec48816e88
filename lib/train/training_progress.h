// SPDX-License-Identifier: MIT
// training_progress.h - a run's progress on standard error. On a terminal there is a moving line
// (base/progress.h), and every epoch leaves a line. Otherwise, or with more epochs than a person
// reads, there is at most one line every few seconds, and about fifty in a long run. The first and
// the last epoch always have one. With -q there is none; as part of a larger job at a terminal
// (progress_is_part) there is only the moving line.
#ifndef LOCKSTEP_TRAIN_TRAINING_PROGRESS_H
#define LOCKSTEP_TRAIN_TRAINING_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/log.h"

typedef struct training_progress {
    const logger *log; // NULL: silent
    bool terminal;
    int epochs;
    uint64_t steps_per_epoch, steps; // in total
    uint64_t first_step;             // of this segment
    uint64_t began, drawn;           // clock (ns)
    uint64_t said, said_epoch;       // clock of the last permanent line; of the last epoch's
    uint64_t images;                 // since `began`
    double accuracy;                 // of the last epoch; NaN: not measured
} training_progress;

// `now` is the clock, here and below (base/clock.h).
void training_progress_begin(training_progress *p, const logger *log, uint64_t now, int epochs,
                             uint64_t steps_per_epoch, uint64_t steps, uint64_t first_step);

// `step` steps are done in total; `images` is the number of images since the last call.
void training_progress_step(training_progress *p, uint64_t now, uint64_t step, int images,
                            float loss);

// The figures of an epoch; `accuracy` is NaN if it was not measured. Epochs count from 0.
typedef struct epoch_figures {
    double loss, accuracy, seconds;
    bool validated; // the accuracy is that of validation samples
} epoch_figures;
void training_progress_epoch(training_progress *p, uint64_t now, int epoch,
                             const epoch_figures *figures);

// Removes the moving line.
void training_progress_end(training_progress *p);

#endif
