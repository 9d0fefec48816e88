// SPDX-License-Identifier: MIT
// reproduction.h - published reports, each with the runs that reproduce its rows: a plan of kind
// `reproduction` (docs/formats.md).
//
// The rows of one report, and the variants of each of its studies, form a separate report over some
// of the runs (a view), so that every section can be written for them alone.
#ifndef LOCKSTEP_RESULTS_REPRODUCTION_H
#define LOCKSTEP_RESULTS_REPRODUCTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "audit/audit.h"
#include "audit/claim.h"
#include "base/error.h"
#include "base/yaml_tree.h"
#include "results/results.h"

typedef struct reproduced {
    const char *source, *title; // "R001"; title: "" if there is none
    const char *claim_path;     // "" if there is none; then there is no audit either
    claim claim;
    findings audit;
    results rows; // the experiments, each compared with the run that the plan names, if any
    results *studies;
    size_t study_count;
} reproduced;

typedef struct reproduction {
    yaml_node *root;
    const char *name;
    const yaml_node *changed; // assignments applied to every run, a list; NULL: none
    reproduced *reports;      // in the order of the plan
    size_t count;
} reproduction;

bool reproduction_is(const yaml_node *plan_root);

// Takes ownership of `root`. The runs are those of `all`, which must outlive *p. STATUS_INPUT if a
// run of the plan is missing, a run is not in the plan, or a claim cannot be read. Release *p also
// after a failure.
status reproduction_open(yaml_node *root, const results *all, reproduction *p,
                         error *err) MUST_CHECK;
void reproduction_release(reproduction *p);

// Returns the epochs of that experiment when nothing is changed; -1 if unknown.
double reproduction_full_epochs(const reproduction *p, const char *name);

// Returns the comparison of a row, or NULL.
const comparison *reproduction_comparison(const results *rows, const seed_group *row);

#endif
