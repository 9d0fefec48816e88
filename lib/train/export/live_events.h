// SPDX-License-Identifier: MIT
// live_events.h - the event file of a training that goes on (--tensorboard): TensorBoard shows its
// curves as they grow. The tags are those of tensorboard.h.
//
// The file begins with all steps that the checkpoint holds, so a run that is resumed has one file,
// without the steps that were lost. It is replaced then; records are appended afterwards, each
// second and at the end of each epoch.
#ifndef LOCKSTEP_TRAIN_EXPORT_LIVE_EVENTS_H
#define LOCKSTEP_TRAIN_EXPORT_LIVE_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/log.h"
#include "base/text.h"
#include "experiment/experiment.h"
#include "train/checkpoint.h"

typedef struct live_events {
    // Filled in by the caller, before live_events_open.
    const char *folder; // --tensorboard; NULL: there is no file, and the functions do nothing
    const experiment *experiment;
    const checkpoint *checkpoint;
    uint32_t samples; // that are trained on
    bool validated;   // accuracies are those of validation samples
    const logger *log;

    int file;
    text pending;         // records that are not written yet
    double begin;         // of the first step, if there had been no interruptions
    uint64_t steps;       // of the timeline, in records; and their nanoseconds
    uint64_t ns, written; // clock of the last write
    int epochs;           // in records
} live_events;

// Returns FOLDER/TENSORBOARD_FILE; free() it.
char *live_events_path(const char *folder) MUST_CHECK;

status live_events_open(live_events *l, error *err) MUST_CHECK;
// Adds what the checkpoint has gained; `epochs` epochs are over, and tested. A failure to write is
// a warning, and the last record: training goes on.
void live_events_follow(live_events *l, int epochs);
void live_events_close(live_events *l);

#endif
