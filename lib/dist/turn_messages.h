// SPDX-License-Identifier: MIT
// turn_messages.h - what a training that takes turns (train/turn_taker.h), and the program that
// gives them (timing/), send each other, over an endpoint.
//
// A rank begins with a turn_hello. With that of rank 0 comes a file: the training's manifest so
// far, as text, which may be longer than a message. The program sends a turn_order to every rank.
// Each rank answers, when it rests again, with a turn_report, which rank 0 follows up with the
// steps of the turn.
#ifndef LOCKSTEP_DIST_TURN_MESSAGES_H
#define LOCKSTEP_DIST_TURN_MESSAGES_H

#include <stdint.h>

enum { TURN_STEPS = 8192 }; // at most so many steps a turn

typedef struct turn_hello {
    uint32_t arm, rank, ranks; // the arm's number, as in its address
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

#endif
