// SPDX-License-Identifier: MIT
// team_members.h - the threads of an engine: what each has to itself, and how it spends its time.
#ifndef LOCKSTEP_COMPUTE_CPU_TEAM_MEMBERS_H
#define LOCKSTEP_COMPUTE_CPU_TEAM_MEMBERS_H

#include "compute/backend.h"
#include "compute/cpu/team.h"

typedef struct team_member {
    float *scratch;            // of kernels
    float *images;             // of a group that it shares with others; NULL: they share them, too
    float *values;             // y that are computed again: of each group of a chunk
    float *added;              // likewise: gradients before they are added to others
    uint64_t ns[PHASES], last; // time spent; start of the current phase
    trace_track *track;
    uint64_t digest; // of the parameters that it updated
} team_member;

// Charges the time since the last call to `spent`, and records it if there is a trace.
void member_mark(team_member *m, phase spent);
// Runs a body on the team, whose members these are, and charges the whole wall time, which it
// returns, to phases of every member.
uint64_t members_run(team_member *members, team *t, void (*body)(void *argument, int member),
                     void *argument);
// Returns the time per phase since the last call, averaged over the threads that compute.
phase_times members_times(team_member *members, int all, int threads);
void members_free(team_member *members, int threads); // NULL is fine

#endif
