// verify.h - are the figures in a run's manifests those that its files give?
//
// A manifest is text that anyone can edit. What steps.st.zst and predictions.st.zst carry is
// computed again from them (rebuild.h) and held against it, figure by figure, before it is shown.
#ifndef LOCKSTEP_RESULTS_VERIFY_H
#define LOCKSTEP_RESULTS_VERIFY_H

#include "base/error.h"
#include "data/manifest_check.h"
#include "results/results.h"
#include "results/run.h"

// Appends a line for each figure of an execution that comes out differently. STATUS_INPUT when a
// file is missing, damaged, or not the one that the manifest recorded.
status verify_run(const run *r, manifest_findings *f, error *err) MUST_CHECK;

// The same of the manifest at `path`, alone. One that neither a train tool nor evaluate wrote, or
// that lists no such file, has no such figures.
status verify_manifest(const char *path, manifest_findings *f, error *err) MUST_CHECK;

// All executions of the results: STATUS_FINDING, with the first line, when there is one.
status verify_results(const results *r, error *err) MUST_CHECK;

#endif
