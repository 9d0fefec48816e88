// SPDX-License-Identifier: MIT
// planned.h - runs planned to answer a question (schema lockstep.plan/1, docs/formats.md): the
// rungs of a ladder from one experiment to another, or the variants of a study.
#ifndef LOCKSTEP_RESULTS_PLANNED_H
#define LOCKSTEP_RESULTS_PLANNED_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/yaml_tree.h"
#include "results/compare.h"
#include "results/published_walk.h"
#include "results/run_list.h"
#include "results/seed_group.h"

typedef enum planned_role {
    PLANNED_START,
    PLANNED_STEP,    // one factor changed from the step before it
    PLANNED_CONTROL, // off the ladder's path: a counterfactual
    PLANNED_VARIANT
} planned_role;

typedef struct planned {
    const char *name;
    planned_role role;
    const yaml_node *entry; // of the plan
    seed_group runs;        // all repeats, however they were executed
    // Steps and controls are compared with the step before them, variants with the first one.
    bool compared;
    comparison step;
} planned;

typedef struct plan {
    yaml_node *root;       // NULL for a study of a reproduction, whose `head` is borrowed
    const yaml_node *head; // the plan's description: title, name, vary
    bool ladder;           // else a study
    const char *from, *to; // ladder: names of the experiments
    const char *name;      // study
    const yaml_node *vary; // study: the keys that vary
    varied_keys varied;    // by any of its runs
    planned *items;        // in the order of the plan
    size_t count;
    planned *last;             // ladder: the last step; study: the last variant
    comparison all;            // ladder: the last step against the start
    published_walks published; // ladder
} plan;

// Returns a variant's value of a key that a study varies; NULL: none.
const yaml_node *planned_value(const planned *one, const char *key);

// Return the step of a ladder that certainly changed the time of an epoch, or the accuracy, more
// than every other step: the nearer end of its 95 % interval lies beyond the farther ends of
// theirs. NULL: none, there is no other step, or one has no interval, or only that of a single
// seed.
const planned *planned_largest_in_time(const plan *p);
const planned *planned_largest_in_accuracy(const plan *p);

// Reads a document of schema lockstep.plan/1.
status plan_read_file(const char *path, yaml_node **root, error *err) MUST_CHECK;

// Takes ownership of `root`, a ladder or a study, and finds its runs by name. STATUS_INPUT if a run
// of the plan is missing, or a run is not in the plan.
status plan_read(yaml_node *root, const run_list *list, plan *p, error *err) MUST_CHECK;
// Reads a study that is part of a reproduction: `head` is its description in the plan, `runs` the
// list of all runs of the plan, `list` the runs of the study. All must outlive *p.
status plan_read_study(const yaml_node *head, const yaml_node *runs, const run_list *list, plan *p,
                       error *err) MUST_CHECK;
void planned_release(plan *p);

#endif
