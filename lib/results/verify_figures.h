// SPDX-License-Identifier: MIT
// verify_figures.h - do the figures in a run's manifests match its files?
//
// A manifest is text that can be edited. The figures that steps.st.zst, predictions.st.zst and
// turns.st.zst carry are recomputed (rebuild.h, timed_arms.h) and compared with it, one by one,
// before they are shown.
#ifndef LOCKSTEP_RESULTS_VERIFY_FIGURES_H
#define LOCKSTEP_RESULTS_VERIFY_FIGURES_H

#include "base/error.h"
#include "data/manifest_check.h"
#include "results/results.h"

// Appends a line for each figure of the manifest at `path` that comes out differently. STATUS_INPUT
// if a file is missing, damaged, or not the one that the manifest recorded. A manifest that neither
// a train tool, evaluate nor time-runs wrote, or that lists no such file, has no such figures.
status verify_figures_of_manifest(const char *path, manifest_findings *f, error *err) MUST_CHECK;

// Verifies all executions and timings of the results: STATUS_FINDING with the first such line, if
// there is one.
status verify_figures_of_results(const results *r, error *err) MUST_CHECK;

#endif
