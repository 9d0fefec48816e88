// reproduction.h - published reports, each with the runs that stand for its rows: a plan of kind
// `reproduction` (docs/formats.md).
//
// The rows of one report, and the variants of each of its studies, are a report of their own over
// some of the runs (a view), so that every section can be made for them alone.
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
    const char *source, *title; // "R001"; title "" without
    const char *claim_path;     // "" without; then there is no audit either
    claim claim;
    findings audit;
    results rows; // the experiments; each compared with the run that the plan says, if any
    results *studies;
    size_t study_count;
} reproduced;

typedef struct reproduction {
    yaml_node *root;
    const char *name;
    const yaml_node *changed; // the assignments to every run, a list; NULL: as they stand
    reproduced *reports;      // in the order of the plan
    size_t count;
} reproduction;

bool reproduction_is(const yaml_node *plan_root);

// Takes `root` over. The runs are those of `all`, which must outlive *p. STATUS_INPUT when a run of
// the plan is missing or one is there that it does not know, and for a claim that cannot be read.
// Release also after a failure.
status reproduction_open(yaml_node *root, const results *all, reproduction *p,
                         error *err) MUST_CHECK;
void reproduction_release(reproduction *p);

// The epochs that the experiment of that name has when nothing is set; -1 when not known.
int64_t reproduction_full_epochs(const reproduction *p, const char *name);

// What a row is compared with, or NULL.
const comparison *reproduction_comparison(const results *rows, const group *row);

#endif
