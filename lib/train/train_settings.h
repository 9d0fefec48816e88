// SPDX-License-Identifier: MIT
// train_settings.h - the settings of a run of a train tool, from its command line.
#ifndef LOCKSTEP_TRAIN_TRAIN_SETTINGS_H
#define LOCKSTEP_TRAIN_TRAIN_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cli.h"
#include "base/log.h"
#include "compute/devices.h"
#include "train/strategy.h"
#include "train/turn_taker.h"

// The strings are the caller's. A NULL path: not requested.
typedef struct train_settings {
    const char *tool; // its name
    const strategy *strategy;
    world world;
    const char *train, *test, *out, *init, *trace, *dump_order;
    const char *tensorboard; // folder for an event file that grows with the run
    cli_list init_except;    // patterns: the tensors that `init` does not give
    devices devices;         // opened, unless nothing will be computed
    const char *isa;         // NULL: the best
    int threads;             // per rank; 0: this host's cores, divided among its ranks
    int loader_workers;
    bool reduce_fast; // requested, and the strategy reduces
    bool resume;
    const turn_taker
        *turns;   // only trains in turns, to be timed, and writes nothing; NULL: no turns
    bool dry_run; // only check; reads only the headers of data files with a manifest
    uint64_t stop_after_steps, checkpoint_steps, checkpoint_ns; // 0: never
    // The command that resumes after a stop: as typed, if another program started the tool on its
    // behalf; else the tool's own arguments, argc of them.
    const char *command;
    char **argv;
    int argc;
    int keep_states;  // segments whose ends are kept (kept_states.h); 0: none
    int max_restarts; // after the death of a process; above 0 only if the world is supervised
    const logger *log;
} train_settings;

// Is this process rank 0, or will it start rank 0? That process writes files and messages.
static inline bool train_settings_lead(const train_settings *s) {
    return !s->world.environment.joined || s->world.environment.rank == 0;
}

#endif
