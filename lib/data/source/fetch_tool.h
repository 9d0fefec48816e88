// fetch_tool.h - what the fetch-* tools have in common: the command line, and the way from
// published files to tensor files. A tool is its texts and the two functions of its format.
#ifndef LOCKSTEP_DATA_SOURCE_FETCH_TOOL_H
#define LOCKSTEP_DATA_SOURCE_FETCH_TOOL_H

#include "data/source/members.h"
#include "data/source/raw_dataset.h"

typedef struct fetch_tool {
    const char *name, *summary, *usage, *notes; // as in cli_tool
    const char *dataset;                        // the default of --dataset
    const char *datasets;                       // "cifar10 or cifar100"
    const char *dataset_help, *from_help;
    // What a dataset is published as; NULL for a name that is none.
    const member_set *(*find)(const char *name);
    // Both splits of it; raw_dataset_release whatever happens.
    status (*read)(const member_set *set, const char *const *sources, size_t source_count,
                   const logger *log, raw_dataset *r, member_origin *origin, error *err);
} fetch_tool;

// The whole of main; returns the exit code.
int fetch_tool_main(const fetch_tool *t, int argc, char **argv);

#endif
