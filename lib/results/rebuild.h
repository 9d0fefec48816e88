// SPDX-License-Identifier: MIT
// rebuild.h - rebuilds a run from the files that it wrote, to check its manifest against them.
#ifndef LOCKSTEP_RESULTS_REBUILD_H
#define LOCKSTEP_RESULTS_REBUILD_H

#include "base/error.h"
#include "results/run.h"

typedef struct rebuilt {
    run run;          // fields outside the file are copied; values missing from it are NAN
    const char *file; // its name
    char recorded[SHA256_TEXT_BYTES], found[SHA256_TEXT_BYTES]; // content hashes
} rebuilt;

// From steps.st.zst: steps, epochs with their phases and accuracies, total time, and derived
// values. From predictions.st.zst: accuracy, test loss and classes. From turns.st.zst, which was
// read with the run: its timing.
//
// STATUS_INPUT if the file is missing or damaged. An intact file that is not the recorded one is no
// failure: compare the hashes.
status rebuild_from_steps(const run *r, rebuilt *b, error *err) MUST_CHECK;
status rebuild_from_predictions(const run *r, rebuilt *b, error *err) MUST_CHECK;
void rebuild_from_turns(const run *r, rebuilt *b);
void rebuilt_release(rebuilt *b);

#endif
