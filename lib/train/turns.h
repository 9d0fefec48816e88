// SPDX-License-Identifier: MIT
// turns.h - a training that takes turns with others, to be timed against them (lib/timing).
//
// A turn is a number of steps. Between two turns everything of the training rests: loader workers,
// ranks and threads. Each rank connects to the program that gives the turns (`time-runs`), and
// waits for the next one there; so the ranks need not agree on it, and when either side dies the
// other one sees a closed connection.
//
// The program sends a turn_order to every rank. Each rank answers, when it rests again, with a
// turn_report, which rank 0 follows up with the steps of the turn. A rank begins with a turn_hello,
// which rank 0 follows up with the training's manifest so far, as text.
#ifndef LOCKSTEP_TRAIN_TURNS_H
#define LOCKSTEP_TRAIN_TURNS_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum { TURN_STEPS = 8192 }; // at most so many steps a turn

typedef struct turn_hello {
    uint32_t arm, rank, ranks; // the arm's number, as in its address
    uint32_t bytes;            // of the manifest's text; 0: none follows
} turn_hello;

typedef struct turn_order {
    uint64_t steps; // 0: the last turn is over
} turn_order;

typedef struct turn_report {
    uint64_t count; // turn_step entries that follow, in one message; 0: none
} turn_report;

// Steps whose results arrived together: one, on a CPU.
typedef struct turn_step {
    uint64_t ns;
    uint32_t steps, samples;
} turn_step;

// One rank's side. Zero-initialise it, and set the first four fields.
typedef struct turn_taker {
    int endpoint; // where the program listens (dist/endpoint.h)
    uint32_t arm;
    uint32_t rank, ranks;
    char *description; // rank 0: the manifest's text; owned
    int connection;    // -1 before turns_join
    turn_step *done;   // of this turn
    size_t count;
} turn_taker;

// Reads "ENDPOINT/ARM". STATUS_USAGE if it is none.
status turns_parse(const char *address, turn_taker *t, error *err) MUST_CHECK;

// Connects, and says that this rank is ready to train. STATUS_FAILED if nobody listens.
status turns_join(turn_taker *t, error *err) MUST_CHECK;
// Waits for the next turn. *steps = 0: there is none. STATUS_STOPPED after a signal, or if the
// program has ended.
status turns_wait(turn_taker *t, uint64_t *steps, error *err) MUST_CHECK;
// Notes steps of this turn that took `ns` together.
void turns_record(turn_taker *t, uint32_t steps, uint32_t samples, uint64_t ns);
// Ends the turn.
void turns_pass(turn_taker *t);

void turns_release(turn_taker *t);

#endif
