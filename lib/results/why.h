// SPDX-License-Identifier: MIT
// why.h - report's --why: the way from a figure back to the files.
#ifndef LOCKSTEP_RESULTS_WHY_H
#define LOCKSTEP_RESULTS_WHY_H

#include "base/error.h"
#include "base/text.h"
#include "results/results.h"

// Explains a figure: its value, and that of each figure that it is made of, when recomputed from
// the files; then these files, their hashes, and where their inputs came from. Writes the text to
// `out` also with STATUS_FINDING, which means that a file is not the recorded one, or that the
// figure comes out differently. For an unknown figure the status is STATUS_USAGE and the message
// names those that it may mean.
status results_why(const results *r, const char *id, text *out, error *err) MUST_CHECK;

#endif
