// SPDX-License-Identifier: MIT
// same_facts.h - compares two report.json. Their numbers have all digits, and the last of these
// depend on the C library of the machine.
#ifndef LOCKSTEP_SUBMISSION_SAME_FACTS_H
#define LOCKSTEP_SUBMISSION_SAME_FACTS_H

#include "base/yaml_tree.h"

// Returns the place of the first difference, "figures.12.value", with numbers compared to nine
// digits; NULL if there is none. free() it.
char *facts_differ(const yaml_node *a, const yaml_node *b);

#endif
