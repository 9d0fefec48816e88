// SPDX-License-Identifier: MIT
// recall.h - the runs that a report was made of, as its manifest records them.
#ifndef LOCKSTEP_RESULTS_RECALL_H
#define LOCKSTEP_RESULTS_RECALL_H

#include <stdbool.h>

#include "base/error.h"
#include "base/yaml_tree.h"
#include "results/results.h"

typedef struct recalled {
    bool found; // the path is that of a report
    char *base; // the folder that the report was made in: the paths below are relative to it
    results_options options; // folders, baseline, plan, collectives, turns, test
    const char **folders, **turns;
    yaml_node *manifest; // owns the texts
} recalled;

// Reads the manifest of the report in the folder `path`, or of which `path` is a file. If there is
// none, `found` is false. STATUS_INPUT if the runs are not where they were. Release *r also after a
// failure.
status recall_report(const char *path, recalled *r, error *err) MUST_CHECK;
void recall_release(recalled *r);

#endif
