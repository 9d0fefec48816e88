// SPDX-License-Identifier: MIT
// turn_taker.h - a training that takes turns with others, to be timed against them (lib/timing).
//
// A turn is a number of steps. Between two turns everything of the training rests: loader workers,
// ranks and threads. Each rank connects to the program that gives the turns (`time-runs`), and
// waits for the next one there; so the ranks need not agree on it, and when either side dies the
// other one sees a closed connection.
#ifndef LOCKSTEP_TRAIN_TURN_TAKER_H
#define LOCKSTEP_TRAIN_TURN_TAKER_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "dist/turn_messages.h"

// One rank's side. Zero-initialise it, and set the first four fields.
typedef struct turn_taker {
    int endpoint; // where the program listens (dist/endpoint.h)
    uint32_t arm;
    uint32_t rank, ranks;
    char *description; // rank 0: the manifest's text; owned
    int connection;    // -1 before turn_taker_join
    turn_step *done;   // of this turn
    size_t count;
} turn_taker;

// Reads "ENDPOINT/ARM". STATUS_USAGE if it is none.
status turn_taker_parse(const char *address, turn_taker *t, error *err) MUST_CHECK;

// Connects, and says that this rank is ready to train. STATUS_FAILED if nobody listens.
status turn_taker_join(turn_taker *t, error *err) MUST_CHECK;
// Waits for the next turn. *steps = 0: there is none. STATUS_STOPPED after a signal; STATUS_FAILED
// if the program has ended.
status turn_taker_wait(turn_taker *t, uint64_t *steps, error *err) MUST_CHECK;
// Notes steps of this turn that took `ns` together.
void turn_taker_record(turn_taker *t, uint32_t steps, uint32_t samples, uint64_t ns);
// Ends the turn.
void turn_taker_pass(turn_taker *t);

void turn_taker_release(turn_taker *t);

#endif
