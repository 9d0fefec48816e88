// SPDX-License-Identifier: MIT
// time_runs.h - times commands against each other. Trainings run together, and take turns of a
// twentieth of a second, or half a second if they have several threads or ranks
// (results/turn_times.h).
//
// An execution starts all arms anew, and gives each 50 turns, or 5 long ones. There are at least
// six executions, and more until the 95 % interval of every pair of arms is as narrow as asked for,
// or a tenth of their difference, or the time is over; with precision 0, only until the time is
// over. If ±5 % or more is enough, there are at least three, and fewer turns.
//
// With `whole`, a turn is one whole run of a command, which may be any; an execution gives each arm
// one turn. If all arms are trainings, the time of an epoch counts, else that of the run.
//
// Arms that differ in threads, ranks or loader workers are compared in quiet rounds only
// (results/turn_evidence.h), as are commands whose load nobody knows. A round then begins when no
// other program wants a core, if that happens in some seconds, with turns of a tenth of a second.
#ifndef LOCKSTEP_TIMING_TIME_RUNS_H
#define LOCKSTEP_TIMING_TIME_RUNS_H

#include "base/error.h"
#include "base/log.h"
#include "data/manifest.h"
#include "results/turn_evidence.h"
#include "timing/arm.h"

typedef struct time_options {
    const char *const *commands; // for the shell; of train tools, without --out
    size_t count;                // 2 or more
    const char *out;             // folder, which exists and is locked; NULL: writes nothing
    double precision;            // half the interval's width, as a fraction: 0.01
    double limit;                // seconds; three executions may take longer
    bool whole;                  // a turn is a whole run; else all commands are trainings
    const logger *log;
} time_options;

// The result, and the arms behind it.
typedef struct timing {
    arm *arms;
    size_t count;
    turn_log log;
    turn_evidence evidence;
    double widest;  // half the width of the widest pair's interval, as a fraction
    bool settled;   // there are enough executions (turn_evidence_settles)
    bool by_epochs; // times are per sample; else per run of a command
} timing;

// Times the arms, and continues with the turns that an earlier call left in `out`. Each execution
// that ends is saved there, as turns.st.zst, and manifest.yaml last. `m` is the manifest that was
// begun. STATUS_STOPPED after a signal: the executions until then are kept, and the arms have
// ended, as after every failure. Release `t` even after a failure.
status time_runs(const time_options *o, manifest *m, timing *t, error *err) MUST_CHECK;
// Prints the key of the folder that these options fill; starts no training.
status time_runs_key(const time_options *o, manifest *m, error *err) MUST_CHECK;
void timing_release(timing *t);

#endif
