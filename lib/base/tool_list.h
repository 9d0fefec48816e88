// SPDX-License-Identifier: MIT
// tool_list.h - all tools, with a group and a summary each, and their folder. `lockstep` lists
// them; --help and the manual page of a tool begin with its summary. Installations and packages
// take from it which tools are commands; each tool is tools/NAME.c, which make finds by itself.
#ifndef LOCKSTEP_BASE_TOOL_LIST_H
#define LOCKSTEP_BASE_TOOL_LIST_H

#include <limits.h>
#include <stddef.h>

#include "base/error.h"

typedef enum tool_group { TOOLS_DATA, TOOLS_TRAIN, TOOLS_RESULTS, TOOLS_EXPERIMENTS } tool_group;

// The commands of an installation: only `lockstep NAME`, because the name is too common for a
// shared folder, or NAME as well. make/install.mk reads the table for this.
typedef enum tool_command { SUBCOMMAND, OWN_NAME } tool_command;

typedef struct tool_entry {
    const char *name;
    tool_group group;
    tool_command command;
    const char *summary; // one line, no full stop
} tool_entry;

// Every tool but `lockstep` itself, by groups.
extern const tool_entry tool_list[];
extern const size_t tool_count;

// Returns the summary of that tool; NULL for any other name.
const char *tool_summary(const char *name);

// Finds the folder of the running program, with links resolved and without a slash at the end. All
// tools are there, also if the program was started by a link in PREFIX/bin.
status tool_folder(char folder[PATH_MAX], error *err) MUST_CHECK;

#endif
