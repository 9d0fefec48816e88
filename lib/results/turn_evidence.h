// SPDX-License-Identifier: MIT
// turn_evidence.h - which rounds of turns (turn_times.h) are evidence on which pair of arms.
//
// Arms that load a machine alike, with as many threads, ranks and loader workers, meet other
// programs alike: every round compares them. Arms that do not, suffer unlike from the same program:
// by fair shares of two cores, a busy loop gets 0.4 of one beside four ranks, and a whole one
// beside one thread. So the difference of two such arms is evidence on them only in rounds before
// and after which no other program wanted a core. That is read while all arms rest: read beside a
// running arm, it would depend on the arm. A round counts for all arms or for none, and no arm's
// own times decide it.
#ifndef LOCKSTEP_RESULTS_TURN_EVIDENCE_H
#define LOCKSTEP_RESULTS_TURN_EVIDENCE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/yaml_tree.h"
#include "results/turn_times.h"

// How an arm loads a machine. NAN: nobody knows, so it is unlike any other.
typedef struct turn_load {
    double threads, ranks, loader_workers; // threads and loader workers of a rank
} turn_load;

// Of an arm's `run.execution`; NULL: the arm is no training of ours.
turn_load turn_load_read(const yaml_node *execution);
bool turn_load_equal(const turn_load *a, const turn_load *b);
// Are there two arms that load a machine unlike?
bool turn_loads_differ(const turn_load *loads, size_t arms);
// How many threads of other programs may be runnable on a machine of so many cores while it counts
// as quiet: as many as the widest arm leaves cores. The manifest of turns has it as `run.quiet`.
uint32_t turn_quiet_demand(const turn_load *loads, size_t arms, double cores);

typedef struct turn_evidence {
    turn_fit all;   // of all rounds
    turn_fit quiet; // of the quiet rounds, in the executions that have enough of them
    turn_load *loads;
    bool known; // what other programs wanted, in some round
} turn_evidence;

// Of the executions that ended; of `loads`, one for each arm, a copy is kept. `quiet`: the demand
// with which a round is quiet.
void turn_evidence_make(const turn_log *l, const turn_load *loads, size_t arms, uint32_t quiet,
                        turn_evidence *e);
void turn_evidence_release(turn_evidence *e);

// Returns the fit that compares two arms. It may have no execution.
const turn_fit *turn_evidence_on(const turn_evidence *e, size_t a, size_t b);
// Returns the fit whose times a table shows for all arms: that of the quiet rounds, if there are
// unlike arms and enough of these rounds for a verdict.
const turn_fit *turn_evidence_shown(const turn_evidence *e);

// Whether there are enough executions for time-runs to end before its limit: at least
// turn_executions_least on every pair of arms, and an interval as narrow as `precision`, or as a
// tenth of their difference. A speed-up of 1.6 need not be known as well as one of 1.02. Precision
// 0 is never reached. *widest: half the width of the widest interval; NULL: not wanted.
bool turn_evidence_settles(const turn_evidence *e, double precision, double *widest);

#endif
