// names.h - words that become names of folders and parts of commands.
#ifndef LOCKSTEP_BASE_NAMES_H
#define LOCKSTEP_BASE_NAMES_H

#include <stdbool.h>

// Letters, digits, '.', '_' and '-', at least one of them, and not '.' or '-' first?
bool name_is_plain(const char *name);

#endif
