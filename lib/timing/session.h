// SPDX-License-Identifier: MIT
// session.h - a call of time_runs.h: its arms, and what it knows of them. For the files of
// lib/timing.
#ifndef LOCKSTEP_TIMING_SESSION_H
#define LOCKSTEP_TIMING_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/progress.h"
#include "timing/time_runs.h"

// An execution has a turn of each arm in each round. Three of them are the least for an interval.
enum { EXECUTIONS_LEAST = 3 };

typedef struct session {
    const time_options *o;
    timing *t;
    manifest *m;
    turn_step *room;      // for a turn
    yaml_node *trainings; // what the arms said of themselves; NULL before the first execution
    uint32_t rounds, execution;
    turn_load *loads; // of the arms
    bool unlike;      // they load the machine unlike: a quiet machine is waited for
    bool disturbed;   // it was not quiet at times
    uint32_t quiet;   // the demand of other programs at which it is
    double patience;  // seconds to wait for it
    uint64_t began;   // clock
    double longest;   // seconds of an execution
    progress shown;
    // Arms that live for an execution (living_turns.c).
    uint64_t *steps; // of a turn of each arm
    double *pace;    // seconds a step of each
    bool *apart;     // the results of its steps come one by one
    int listener, endpoint;
    // Whole runs (whole_turns.c).
    bool by_epochs; // all arms are trainings; else the clock times the commands
    char *scratch;  // the folder that a training writes; NULL before the first one
} session;

// ---- An execution (living_turns.c, whole_turns.c) ----

// Starts the arms, lets them take their turns, adds these to the log, and ends them. *enough:
// nothing was left to do.
status living_execution(session *s, bool *enough, error *err) MUST_CHECK;
void living_end(session *s);
// Runs each arm once.
status whole_execution(session *s, bool *enough, error *err) MUST_CHECK;
void whole_end(session *s);

// Draws the order in which the arms have their turns in a round (Fisher and Yates).
void session_draw_order(const session *s, uint32_t round, uint32_t *order);
// The options ask for no more executions.
bool session_is_enough(const session *s);
// Fits the turns of the executions that ended.
void session_fit(session *s);
// Says for how long arms take turns at most, of which an execution takes so many seconds.
void session_announce(const session *s, double seconds);
void session_show(session *s);

// ---- A quiet machine (quiet.c) ----

// Returns the demand of other programs, while all arms rest. Where all arms load the machine alike
// it does not matter, and takes time: DEMAND_UNKNOWN.
uint32_t session_demand(const session *s);
// Waits until no other program wants a core; less and less patiently if none ever rests. *demand:
// that of then. Rounds beside others still compare arms that load the machine alike.
status session_await_quiet(session *s, uint32_t *demand, error *err) MUST_CHECK;

// ---- The folder (turn_folder.c) ----

// What the key of the folder is made of: on another machine, with another build, or for a narrower
// interval, the stage is stale.
void session_put_parameters(session *s);
// Takes what the arms say of themselves now. STATUS_FAILED if it is not what they said before:
// their programs and data may have been replaced.
status session_describe_arms(session *s, error *err) MUST_CHECK;
// Puts the turns of an earlier call, if they are of the same arms, before those of the log.
status session_read_earlier(session *s, error *err) MUST_CHECK;
// Saves what there is, and the manifest if it is enough.
status session_save(session *s, bool enough, error *err) MUST_CHECK;

#endif
