// SPDX-License-Identifier: MIT
// train_tool.h - the common part of all train-* tools: the command line, and the run from the
// experiment file to the manifest. A tool is this plus a strategy.
#ifndef LOCKSTEP_TRAIN_TRAIN_TOOL_H
#define LOCKSTEP_TRAIN_TRAIN_TOOL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cli.h"
#include "train/strategy.h"

enum { TRAIN_TOOL_OPTIONS = 27 };

typedef struct train_tool {
    const strategy *strategy;
    cli_tool cli;
    cli_option options[TRAIN_TOOL_OPTIONS];

    // The command line.
    const char *experiment, *train, *test, *out;
    cli_list set, init_except;
    const char *device, *math, *reduce, *init, *checkpoint_every, *trace, *dump_order, *turns;
    int64_t threads, loader_workers, world_size, stop_after_steps, max_restarts; // -1: not given
    int64_t keep_states;                                                         // 0: not given
    bool resume, dry_run, print_key, print_parameters, print_plan;
} train_tool;

// Fills in the option table and the defaults. `t` must stay where it is.
void train_tool_init(train_tool *t, const strategy *s, const char *name);

// Parses the command line and runs the tool. Outputs are under --out, whole or absent.
// STATUS_STOPPED if a signal stopped the run and its state was saved.
status train_tool_run(train_tool *t, int argc, char **argv, error *err) MUST_CHECK;

// Ends main: as cli_finish, but a run that SIGINT stopped ends by that signal.
int train_tool_finish(const train_tool *t, status rc, error *err);

#endif
