// SPDX-License-Identifier: MIT
// plan_names.h - gives runs the names of a plan (docs/formats.md): its entries list the keys of
// their runs, one per seed.
#ifndef LOCKSTEP_RESULTS_PLAN_NAMES_H
#define LOCKSTEP_RESULTS_PLAN_NAMES_H

#include <stdbool.h>

#include "base/error.h"
#include "base/yaml_tree.h"
#include "results/run_list.h"

// Is it a plan of kind `runs`, which asks no question?
bool plan_names_all(const yaml_node *plan_root);
// Does the plan identify its runs by key? One of kind `runs` must.
bool plan_names_given(const yaml_node *plan_root);

// Copies the published figures of the entries to runs of the same names.
void plan_names_publish(run_list *list, const yaml_node *plan_root);

// Replaces list->runs with the runs of the entries, in their order. A run that several entries name
// appears once for each. An entry may set name, title, published figures and target accuracy; the
// texts point into the plan, which must outlive the list.
//
// Sets *baseline to the name of the first entry with a run given as baseline, else to the name that
// a plan of kind `runs` gives, else to NULL. The baseline's runs come first.
//
// STATUS_INPUT if a run is missing, a run is in no entry, or entries are invalid.
status plan_names_apply(run_list *list, const yaml_node *plan_root, const char **baseline,
                        error *err) MUST_CHECK;

#endif
