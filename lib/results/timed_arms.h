// SPDX-License-Identifier: MIT
// timed_arms.h - the folders that time-runs wrote, as a report reads them: trainings that took
// turns (turn_times.h), and the runs whose times they give.
//
// An arm gives the time of a run that has its key and was executed alike. The run's seconds per
// epoch are then the arm's seconds per sample, times the samples of an epoch. Its total time,
// single epochs and the parts of a step stay those of the whole training.
#ifndef LOCKSTEP_RESULTS_TIMED_ARMS_H
#define LOCKSTEP_RESULTS_TIMED_ARMS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/text.h"
#include "results/run_list.h"
#include "results/turn_evidence.h"

typedef struct timed_arms {
    char *folder;
    yaml_node *manifest;
    const yaml_node *arms;           // run.arms of the manifest
    char content[SHA256_TEXT_BYTES]; // of turns.st.zst, which is not necessarily the recorded one
    turn_evidence evidence;
    // The cores that other programs used, on average, and those of the machine; NAN: unknown.
    double others, cores;
    const struct timed_arms *next; // the next folder of the report; NULL after the last one
} timed_arms;

// Reads and fits the turns in a folder. STATUS_INPUT if time-runs did not write it, or the turns
// are damaged. Turns other than the recorded ones are no failure: compare `content`.
status timed_arms_read(const char *folder, timed_arms *t, error *err) MUST_CHECK;
void timed_arms_release(timed_arms *t);

// Links the folders, and gives the runs the times of their arms: `timing`, `arm` and
// `seconds_per_epoch`, from the first folder that has one. STATUS_INPUT if a folder has none for
// any run.
status timed_arms_assign(timed_arms *list, size_t count, run_list *runs, error *err) MUST_CHECK;

// Finds the arm of a run; false if there is none. Of several with its key, one of its own build
// counts first.
bool timed_arms_find(const timed_arms *t, const run *r, size_t *arm);

// The seconds per epoch of a run with a timing: with the 95 % interval, and of one execution.
estimate timed_arms_epoch(const run *r);
double timed_arms_execution(const run *r, size_t execution);

#endif
