// SPDX-License-Identifier: MIT
// fetch_tool.h - the common part of the fetch-* tools: the command line, and the way from published
// files to tensor files. A tool adds its texts and the two functions of its format.
#ifndef LOCKSTEP_DATA_SOURCE_FETCH_TOOL_H
#define LOCKSTEP_DATA_SOURCE_FETCH_TOOL_H

#include "data/source/members.h"
#include "data/source/raw_dataset.h"

typedef struct fetch_tool {
    const char *name, *usage, *notes; // as in cli_tool
    const char *dataset;              // the default of --dataset
    const char *datasets;             // "cifar10 or cifar100"
    const char *dataset_help, *from_help;
    // Returns a dataset's member set; NULL for an unknown name.
    const member_set *(*find)(const char *name);
    const char *const *(*class_names)(const member_set *set, size_t *count);
    // Reads both splits of a set; call raw_dataset_release in any case.
    status (*read)(const member_set *set, const char *const *sources, size_t source_count,
                   const logger *log, raw_dataset *r, member_origin *origin, error *err);
} fetch_tool;

// Runs the whole tool; returns the exit code.
int fetch_tool_main(const fetch_tool *t, int argc, char **argv);

#endif
