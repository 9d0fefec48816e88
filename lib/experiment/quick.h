// SPDX-License-Identifier: MIT
// quick.h - assignments that shorten a reproduction's runs.
#ifndef LOCKSTEP_EXPERIMENT_QUICK_H
#define LOCKSTEP_EXPERIMENT_QUICK_H

#include "base/error.h"
#include "base/yaml_tree.h"

// Adds the mapping `quick` to the assignments of `trial`, and checks the resulting experiment
// `file`. An error gives the place of the bad assignment in the list. `quick` may be NULL; `name`
// is the run's.
status quick_try(yaml_node *trial, const yaml_node *quick, const char *file, const char *name,
                 error *err) MUST_CHECK;

// Returns the assignment of `quick` that an error is about, if its assignments were given as those
// from number `first` on; NULL if it is about none of them. `quick` may be NULL.
const yaml_node *quick_find_fault(const yaml_node *quick, size_t first, const error *why);

#endif
