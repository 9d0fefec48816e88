// SPDX-License-Identifier: MIT
// team.h - a set of threads that run one function together and meet at barriers.
//
// The caller is member 0, so a team of one has no threads and costs nothing. With `spin` (there is
// a core for each member) a waiting member spins briefly; then it sleeps on a futex. Where other
// programs have left two members one core, the one that waits sleeps at once: the other needs the
// core to arrive. So ranks that outnumber the cores never waste each other's CPU time.
#ifndef LOCKSTEP_COMPUTE_CPU_TEAM_H
#define LOCKSTEP_COMPUTE_CPU_TEAM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

typedef struct team team;

// Starts the threads of a team of `room` members, all of which run.
status team_new(int room, bool spin, team **t, error *err) MUST_CHECK;
void team_free(team *t); // NULL is fine

// From the next team_run() on, the first `size` members run, 1 … room; the others sleep.
void team_resize(team *t, int size);
// Returns the number of members that run.
int team_size(const team *t);

// Runs body(argument, member) on the members at once and returns when all have returned.
void team_run(team *t, void (*body)(void *argument, int member), void *argument);

// Called inside a body. Returns when all members that run have called it.
void team_barrier(team *t);

// Neighbours of a team, which meet apart from the others. Different crews have no common member.
typedef struct crew {
    int first, size;
    bool spin;
} crew;

// Likewise, when all members of the crew, which is the caller's, have called it.
void team_meet(team *t, crew c);
// Returns for how many nanoseconds members slept there since the last call, all together.
uint64_t team_slept(team *t);

#endif
