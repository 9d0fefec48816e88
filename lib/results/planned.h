// planned.h - runs that were planned to answer a question (schema lockstep.plan/1,
// docs/formats.md): the rungs of a ladder from one experiment to another, or the variants of a
// study.
#ifndef LOCKSTEP_RESULTS_PLANNED_H
#define LOCKSTEP_RESULTS_PLANNED_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/yaml_tree.h"
#include "results/compare.h"
#include "results/group.h"
#include "results/published_walk.h"
#include "results/run_list.h"
#include "words/words.h"

typedef enum planned_role {
    PLANNED_START,
    PLANNED_STEP,    // one factor changed against the step before it
    PLANNED_CONTROL, // beside the way: what would have been
    PLANNED_VARIANT
} planned_role;

typedef struct planned {
    const char *name;
    planned_role role;
    const yaml_node *entry; // of the plan
    group runs;             // all repeats, however they were executed
    // A step and a control with the step before them, a variant with the first one.
    bool compared;
    comparison step;
} planned;

typedef struct plan {
    yaml_node *root;       // NULL for a study of a reproduction, whose `head` is borrowed
    const yaml_node *head; // what the plan says of itself: title, name, vary
    bool ladder;           // else a study
    const char *from, *to; // ladder: names of the experiments
    const char *name;      // study
    const yaml_node *vary; // study: the keys that vary
    varied_keys varied;    // what any of its runs varies
    planned *items;        // in the order of the plan
    size_t count;
    planned *last;             // ladder: the last step; study: the last variant
    comparison all;            // ladder: the last step with the start
    published_walks published; // ladder
} plan;

// Reads a document of schema lockstep.plan/1.
status plan_read_file(const char *path, yaml_node **root, error *err) MUST_CHECK;

// Takes `root` over, a ladder or a study, and finds its runs by their names. STATUS_INPUT when a
// run of the plan is missing or one is there that it does not know.
status plan_read(yaml_node *root, const run_list *list, language l, plan *p, error *err) MUST_CHECK;
// A study among the runs of a reproduction: `head` is what its plan says of the study, `runs` the
// list of all its runs, `list` the runs of the study. All must outlive *p.
status plan_read_study(const yaml_node *head, const yaml_node *runs, const run_list *list,
                       language l, plan *p, error *err) MUST_CHECK;
void planned_release(plan *p);

#endif
