// SPDX-License-Identifier: MIT
// names.h - words that become folder names and parts of commands.
#ifndef LOCKSTEP_BASE_NAMES_H
#define LOCKSTEP_BASE_NAMES_H

#include <stdbool.h>

// Returns whether `name` has only letters, digits, '.', '_' and '-', at least one of them, and does
// not begin with '.' or '-'.
bool name_is_plain(const char *name);

#endif
