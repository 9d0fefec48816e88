// plan.h - which runs answer a question: the rungs between two experiments, the variants of a
// study, the rows of published reports.
//
// A plan is a YAML tree (schema lockstep.plan/1, docs/formats.md). Every run in it is an experiment
// file and a list of --set assignments, so whoever carries it out only loops; report takes the same
// file and shows the runs as an answer.
#ifndef LOCKSTEP_EXPERIMENT_PLAN_H
#define LOCKSTEP_EXPERIMENT_PLAN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/yaml_tree.h"
#include "experiment/experiment.h"

// The way from experiment file `from` to `to`, one factor at a time and in this order: loader
// workers; strategy and world size; V and what batch norm normalises over; global batch;
// learning-rate rule; epochs; whatever else differs, together. A factor that cannot change yet (a
// world size that does not divide V) waits for the first later one that can; where none can alone,
// factors change together. The last run is `to`, but for names and the seed's repeats.
//
// Where the batch changes and the learning rate does not follow it, a run beside the way shows the
// batch with a rate that does.
//
// A run that is one of the experiment files in the folders of the two says so, and carries what was
// published about that file (known_experiments.h); EPOCHS alone, of all that `set` may change, does
// not make it another experiment.
//
// `set` is applied to both files. STATUS_USAGE when they do not differ.
status plan_ladder(const char *from, const char *to, const char *const *set, size_t set_count,
                   yaml_node **plan, error *err) MUST_CHECK;

// The variants of a study file (schema lockstep.study/1): its base experiment with every
// combination of the values that it varies, the first key changing slowest. A key with one value is
// a setting: it has no part in the names of the variants, and `set` may replace it.
status plan_study(const char *path, const char *const *set, size_t set_count, yaml_node **plan,
                  error *err) MUST_CHECK;

// The runs of a list of reports (schema lockstep.reproduction/1): the experiments that stand for
// the rows of each, and the variants of its studies. Every run has its name, the experiment file,
// its folder below that of all artifacts, and the number of epochs that it has when nothing is set.
// A run that is the experiment as it stands lies where `make experiment` puts it, any other one in
// the folder of the list. `quick` sets what the list says makes runs short, and leaves out those
// that it says to leave out.
status plan_reproduction(const char *path, bool quick, const char *const *set, size_t set_count,
                         yaml_node **plan, error *err) MUST_CHECK;

// One line a run: its name (of a reproduction: its folder), the experiment file and the
// assignments, with tabs between. free() it.
status plan_lines(const yaml_node *plan, char **lines, error *err) MUST_CHECK;

// For the planners. "KEY=VALUE" as --set takes it, on one line; NULL (the value is absent)
// becomes null.
status plan_assignment(const char *key, const yaml_node *value, char **assignment,
                       error *err) MUST_CHECK;
// A new run with an empty list `set`, or a failure.
status plan_add_run(yaml_node *plan, const char *name, yaml_node **run, error *err) MUST_CHECK;
// Appends an assignment to the run's `set`.
status plan_add_set(yaml_node *run, const char *assignment, error *err) MUST_CHECK;
// {schema, kind, experiment}: the last is the file of all runs, and left out where it is NULL.
status plan_new(const char *kind, const char *file, yaml_node **plan, error *err) MUST_CHECK;
// "KEY=VALUE" of what plan_assignment takes, appended to the run's `set`.
status plan_add_value(yaml_node *run, const char *key, const yaml_node *value,
                      error *err) MUST_CHECK;
// The same of every key of a mapping, which may be NULL.
status plan_add_mapping(yaml_node *run, const yaml_node *mapping, error *err) MUST_CHECK;
// The experiment or study that a value of the file `from` names, as names_find_run finds it. A
// fault is told at the place of the value. free() it.
status plan_find(const char *from, const char *folder, const yaml_node *value, const char *key,
                 char **path, error *err) MUST_CHECK;
// Reads the experiment of a run: the file with its `set`.
status plan_experiment(const char *file, const yaml_node *set, experiment *e,
                       error *err) MUST_CHECK;
// A document of that schema, whose keys are all among `keys`. STATUS_INPUT; *root is NULL then.
status plan_read_source(const char *path, const char *schema, const char *const *keys,
                        size_t key_count, yaml_node **root, error *err) MUST_CHECK;

#endif
