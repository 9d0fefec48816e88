// run_plan.h - which runs answer a question: the rungs between two experiments, the variants of a
// study.
//
// A plan is a YAML tree (schema lockstep.plan/1, docs/formats.md). Every run in it is an experiment
// file and a list of --set assignments, so whoever carries it out only loops; report takes the same
// file and shows the runs as an answer.
#ifndef LOCKSTEP_TRAIN_RUN_PLAN_H
#define LOCKSTEP_TRAIN_RUN_PLAN_H

#include <stddef.h>

#include "base/error.h"
#include "base/yaml_tree.h"

// The way from experiment file `from` to `to`, one factor at a time and in this order: loader
// workers; strategy and world size; V and what batch norm normalises over; global batch;
// learning-rate rule; epochs; whatever else differs, together. A factor that cannot change yet (a
// world size that does not divide V) waits for the first later one that can; where none can alone,
// factors change together. The last run is `to`, but for names and the seed's repeats.
//
// Where the batch changes and the learning rate does not follow it, a run beside the way shows the
// batch with a rate that does.
//
// `set` is applied to both files. STATUS_USAGE when they do not differ.
status plan_ladder(const char *from, const char *to, const char *const *set, size_t set_count,
                   yaml_node **plan, error *err) MUST_CHECK;

// The variants of a study file (schema lockstep.study/1): its base experiment with every
// combination of the values that it varies, the first key changing slowest. `set` is applied to the
// base. A key with one value is a setting: it has no part in the names of the variants.
status plan_study(const char *path, const char *const *set, size_t set_count, yaml_node **plan,
                  error *err) MUST_CHECK;

// One line a run: its name, the experiment file and the assignments, with tabs between. free() it.
status plan_lines(const yaml_node *plan, char **lines, error *err) MUST_CHECK;

// For the two planners. "KEY=VALUE" as --set takes it, on one line; NULL (the value is absent)
// becomes null.
status plan_assignment(const char *key, const yaml_node *value, char **assignment,
                       error *err) MUST_CHECK;
// A new run with an empty list `set`, or a failure.
status plan_add_run(yaml_node *plan, const char *name, yaml_node **run, error *err) MUST_CHECK;
// Appends an assignment to the run's `set`.
status plan_add_set(yaml_node *run, const char *assignment, error *err) MUST_CHECK;
// {schema, kind, experiment}.
status plan_new(const char *kind, const char *experiment, yaml_node **plan, error *err) MUST_CHECK;

#endif
