// SPDX-License-Identifier: MIT
// plan.h - plans the runs that answer a question: the rungs between two experiments, the variants
// of a study, the rows of published reports.
//
// A plan is a YAML tree (schema lockstep.plan/1, docs/formats.md). Every run in it is an experiment
// file and a list of --set assignments, so executing a plan is a loop. `report` reads the same file
// and presents the runs as an answer.
#ifndef LOCKSTEP_EXPERIMENT_PLAN_H
#define LOCKSTEP_EXPERIMENT_PLAN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/yaml_tree.h"
#include "experiment/experiment.h"

// Plans the runs from experiment file `from` to `to`, one factor at a time and in this order:
// loader workers; strategy and world size; V and the samples that batch norm normalises over;
// global batch; learning-rate rule; epochs; each pattern of `tensors`; the other factors of
// factors.h as they are numbered there, the last of which is all that is left. A factor that cannot
// change yet (a world size that does not divide V) waits for the first later one that can; if none
// can alone, factors change together. The last run is `to`, except for names and the number of
// repeats.
//
// If the batch changes and the learning rate does not scale with it, an additional control run has
// the same batch with a scaled rate.
//
// A run that equals one of the experiment files in the folders of the two names it, and carries the
// figures published about that file. Of the keys in `set`, only `epochs` does
// not make it another experiment.
//
// `set` is applied to both files. STATUS_USAGE if they do not differ.
status plan_ladder(const char *from, const char *to, const char *const *set, size_t set_count,
                   yaml_node **plan, error *err) MUST_CHECK;

// Plans the variants of a study file (schema lockstep.study/1): its base experiment with every
// combination of the values that it varies, the first key changing slowest. A key with a single
// value is a setting: it does not appear in the variants' names, and `set` may replace it.
status plan_study(const char *path, const char *const *set, size_t set_count, yaml_node **plan,
                  error *err) MUST_CHECK;

// Plans the runs of a list of reports (schema lockstep.reproduction/1): the experiments for the
// rows of each report, and the variants of its studies. Every run has its name, the experiment
// file, its folder below the artifacts folder, and its number of epochs without assignments. A run
// of an unchanged experiment lies where `make experiment` puts it, any other one in the list's
// folder. `quick` applies the list's assignments that shorten runs, and leaves out the runs that
// the list marks.
status plan_reproduction(const char *path, bool quick, const char *const *set, size_t set_count,
                         yaml_node **plan, error *err) MUST_CHECK;

// Returns one line per run: its name (in a reproduction: its folder), the experiment file and the
// assignments, separated by tabs. free() it.
char *plan_lines(const yaml_node *plan);

// For the planners. Returns the VALUE of a --set, on one line; of NULL (absent), null. free() it.
char *plan_value_text(const yaml_node *value);
// Returns "KEY=VALUE" for --set. free() it.
char *plan_assignment(const char *key, const yaml_node *value);
// Appends a new run with an empty list `set`, and returns it.
yaml_node *plan_add_run(yaml_node *plan, const char *name);
// Appends an assignment to the run's `set`.
void plan_add_set(yaml_node *run, const char *assignment);
// Creates a plan {schema, kind, experiment}. `file`, the experiment of all runs, may be NULL.
yaml_node *plan_new(const char *kind, const char *file);
// Appends "KEY=VALUE", as from plan_assignment, to the run's `set`.
void plan_add_value(yaml_node *run, const char *key, const yaml_node *value);
// The same for every key of a mapping, which may be NULL.
void plan_add_mapping(yaml_node *run, const yaml_node *mapping);
// Finds the experiment or study that `value` in the file `from` names (lookup_run). Errors give
// the place of the value. free() `path`.
status plan_find(const char *from, const char *folder, const yaml_node *value, const char *key,
                 char **path, error *err) MUST_CHECK;
// Reads a run's experiment: the file with the run's `set`.
status plan_experiment(const char *file, const yaml_node *set, experiment *e,
                       error *err) MUST_CHECK;
// Reads a document of the given schema, whose keys must all be among `keys`. Else STATUS_INPUT, and
// *root is NULL.
status plan_read_source(const char *path, const char *schema, const char *const *keys,
                        size_t key_count, yaml_node **root, error *err) MUST_CHECK;
// Adds the mapping `quick` to the assignments of `trial`, and checks the resulting experiment
// `file`. An error gives the place of the bad assignment in the list. `quick` may be NULL; `name`
// is the run's.
status plan_try_quick(yaml_node *trial, const yaml_node *quick, const char *file, const char *name,
                      error *err) MUST_CHECK;

// Returns the assignment of `quick` that an error is about, if its assignments were given as those
// from number `first` on; NULL if it is about none of them. `quick` may be NULL.
const yaml_node *plan_quick_fault(const yaml_node *quick, size_t first, const error *why);

#endif
