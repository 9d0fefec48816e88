// SPDX-License-Identifier: MIT
// fetch_tool.h - the fetch-* tools: from the published files of a data set to tensor files. A tool
// fetches the data sets whose row in dataset_list.h names it, and adds nothing but its own texts.
#ifndef LOCKSTEP_DATA_SOURCE_FETCH_TOOL_H
#define LOCKSTEP_DATA_SOURCE_FETCH_TOOL_H

#include "base/cli.h"

cli_function fetch_cifar_tool, fetch_mnist_tool;

// For the functions above: the common part.
typedef struct fetch_tool {
    const char *name;
    const char *from_help;          // of --from
    const char *sources, *examples; // for --help: what a source may be; lines of at most 80 columns
} fetch_tool;

status fetch_tool_run(const fetch_tool *t, int argc, char **argv, FILE *answers,
                      error *err) MUST_CHECK;

#endif
