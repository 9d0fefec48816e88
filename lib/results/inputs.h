// SPDX-License-Identifier: MIT
// inputs.h - the files that results come from, as the inputs of a report's manifest.
#ifndef LOCKSTEP_RESULTS_INPUTS_H
#define LOCKSTEP_RESULTS_INPUTS_H

#include "base/error.h"
#include "data/manifest.h"
#include "results/results.h"

// Adds all of them, and the parameters that select them.
status inputs_add(const results *r, manifest *m, error *err) MUST_CHECK;

// Adds a file, with the hash of its bytes on disk.
status inputs_add_file(manifest *m, const char *path, error *err) MUST_CHECK;

#endif
