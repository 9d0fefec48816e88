// SPDX-License-Identifier: MIT
// machine.h - what other programs used of this machine while trainings took turns.
#ifndef LOCKSTEP_TIMING_MACHINE_H
#define LOCKSTEP_TIMING_MACHINE_H

#include <stdint.h>

#include "base/clock.h"

// The kernel counts processor time in ticks.
typedef struct machine_moment {
    uint64_t clock;
    double own; // processor seconds of this program, and of those that it waited for
    core_use cores;
} machine_moment;

void machine_note(machine_moment *now);
// The cores that other programs used on average, of those available here; NAN: unknown.
double machine_others(const machine_moment *begin, const machine_moment *end);

#endif
