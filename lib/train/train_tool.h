// SPDX-License-Identifier: MIT
// train_tool.h - the common part of all train-* tools: the command line, and the run from the
// experiment file to the manifest. A tool is this plus a strategy.
#ifndef LOCKSTEP_TRAIN_TRAIN_TOOL_H
#define LOCKSTEP_TRAIN_TRAIN_TOOL_H

#include "base/cli.h"
#include "train/strategy.h"

// Parses the command line and runs the tool. Outputs are under --out, whole or absent.
// STATUS_STOPPED if a signal stopped the run and its state was saved.
status train_tool_run(const strategy *s, int argc, char **argv, FILE *answers,
                      error *err) MUST_CHECK;

// The whole tool: as cli_main, but a run that SIGINT stopped ends by that signal.
int train_tool_main(const strategy *s, int argc, char **argv);

#endif
