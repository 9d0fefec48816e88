// SPDX-License-Identifier: MIT
#include "compute/cpu/team_members.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

void member_mark(team_member *m, phase spent) {
    const uint64_t now = clock_now();
    m->ns[spent] += now - m->last;
    trace_phase(m->track, phase_name(spent), m->last, now);
    m->last = now;
}

uint64_t members_run(team_member *members, team *t, void (*body)(void *, int), void *argument) {
    const int threads = team_size(t);
    const uint64_t start = clock_now();
    for (int i = 0; i < threads; i++) members[i].last = start;
    team_run(t, body, argument);
    const uint64_t end = clock_now();
    for (int i = 0; i < threads; i++) {
        team_member *m = &members[i];
        m->ns[PHASE_WAIT] += end - m->last;
        trace_phase(m->track, phase_name(PHASE_WAIT), m->last, end);
    }
    return end - start;
}

phase_times members_times(team_member *members, int all, int threads) {
    phase_times mean = {.ns = {0}};
    for (int i = 0; i < all; i++) {
        for (int p = 0; p < PHASES; p++) mean.ns[p] += members[i].ns[p];
        memset(members[i].ns, 0, sizeof members[i].ns);
    }
    for (int p = 0; p < PHASES; p++) mean.ns[p] /= (uint64_t)threads;
    return mean;
}

void members_free(team_member *members, int threads) {
    for (int i = 0; members && i < threads; i++) {
        free(members[i].scratch);
        free(members[i].images);
        free(members[i].values);
        free(members[i].added);
    }
    free(members);
}
