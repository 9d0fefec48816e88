// naming.h - runs under the names that a plan gives them (docs/formats.md): its entries list the
// keys of their runs, one a seed.
#ifndef LOCKSTEP_RESULTS_NAMING_H
#define LOCKSTEP_RESULTS_NAMING_H

#include <stdbool.h>

#include "base/error.h"
#include "base/yaml_tree.h"
#include "results/run_list.h"

// Is it a plan of kind `runs`, which asks nothing?
bool naming_is_all(const yaml_node *plan_root);
// Does the plan know its runs by keys? One of kind `runs` must.
bool naming_is_given(const yaml_node *plan_root);

// The published figures of the entries, for runs that have the names of these.
void naming_publish(run_list *list, const yaml_node *plan_root);

// Puts the runs of the entries, in their order, in the place of list->runs. A run that several
// entries name stands in the list as often. Name, title, published figures and target accuracy are
// the entry's, where it has them; texts point into the plan, which must outlive the list.
//
// *baseline becomes the name of the first entry that has a run given as baseline, else the one that
// a plan of kind `runs` names so, else NULL; its runs come first.
//
// STATUS_INPUT when a run is missing, one is there that no entry names, or entries are not what
// they should be.
status naming_apply(run_list *list, const yaml_node *plan_root, const char **baseline,
                    error *err) MUST_CHECK;

#endif
