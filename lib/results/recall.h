// SPDX-License-Identifier: MIT
// recall.h - the runs that a report was made of, as its manifest records them.
#ifndef LOCKSTEP_RESULTS_RECALL_H
#define LOCKSTEP_RESULTS_RECALL_H

#include <stdbool.h>

#include "base/cli.h"
#include "base/error.h"
#include "base/yaml_tree.h"

typedef struct recalled {
    bool found;          // the path is that of a report
    char *base;          // the folder that it was made in: its paths are relative to it
    cli_list folders;    // of its runs
    yaml_node *manifest; // owns the texts
    char **words;        // of its command
} recalled;

// Reads the manifest of the report in the folder `path`, or of which `path` is a file, and the
// command that made it: the options of `tool`, whose --out goes to *out, and the folders. If there
// is none, `found` is false. STATUS_INPUT if the runs are not where they were. Release *r also
// after a failure.
status recall_report(const char *path, const cli_tool *tool, const char *const *out, recalled *r,
                     error *err) MUST_CHECK;
void recall_release(recalled *r);

#endif
