// SPDX-License-Identifier: MIT
// check.h - report's --check: figures against bands.
#ifndef LOCKSTEP_RESULTS_CHECK_H
#define LOCKSTEP_RESULTS_CHECK_H

#include "base/error.h"
#include "base/text.h"
#include "base/yaml_tree.h"
#include "results/results.h"

// Checks figures against a file of bands, each "METRIC: [LOW, HIGH]" or "RUN.METRIC: [LOW, HIGH]".
// A metric alone is checked for every experiment, on the mean over its repeats. Writes one line per
// check to `out`. STATUS_FINDING if a figure is outside its band or cannot be shown.
status results_check(const results *r, const char *path, text *out, error *err) MUST_CHECK;
// The same for --json: appends {figure, value, low, high, inside} per check to `list`.
status results_check_list(const results *r, const char *path, yaml_node *list,
                          error *err) MUST_CHECK;

#endif
