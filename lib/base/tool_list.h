// SPDX-License-Identifier: MIT
// tool_list.h - all tools, with a group and a summary each. `lockstep` lists them; --help and the
// manual page of a tool begin with its summary.
#ifndef LOCKSTEP_BASE_TOOL_LIST_H
#define LOCKSTEP_BASE_TOOL_LIST_H

#include <stddef.h>

typedef enum tool_group { TOOLS_DATA, TOOLS_TRAIN, TOOLS_RESULTS, TOOLS_EXPERIMENTS } tool_group;

typedef struct tool_entry {
    const char *name;
    tool_group group;
    const char *summary; // one line, no full stop
} tool_entry;

// Every tool but `lockstep` itself, by groups.
extern const tool_entry tool_list[];
extern const size_t tool_count;

// Returns the summary of that tool; NULL for any other name.
const char *tool_summary(const char *name);

#endif
