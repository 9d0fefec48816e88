// SPDX-License-Identifier: MIT
// rebuild.h - rebuilds a run from the files that it wrote, to check its manifest against them.
#ifndef LOCKSTEP_RESULTS_REBUILD_H
#define LOCKSTEP_RESULTS_REBUILD_H

#include "base/error.h"
#include "results/metrics.h"

typedef struct rebuilt {
    run run; // fields outside the file are copied; values missing from it are NAN
    file_place file;
    char found[SHA256_TEXT_BYTES]; // its content hash
} rebuilt;

// From steps.st.zst: steps, epochs with their phases and accuracies, total time, and derived
// values. From predictions.st.zst: accuracy, test loss and classes. From turns.st.zst, which was
// read with the run: its timing. The run must have the file.
//
// STATUS_INPUT if it is missing or damaged. An intact file that is not the recorded one is no
// failure: compare the hashes.
status rebuild(const run *r, metric_file file, rebuilt *b, error *err) MUST_CHECK;
void rebuilt_release(rebuilt *b);

#endif
