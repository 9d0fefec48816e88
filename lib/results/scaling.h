// SPDX-License-Identifier: MIT
// scaling.h - predicts an epoch on many ranks from an epoch on one, to compare with the measured.
#ifndef LOCKSTEP_RESULTS_SCALING_H
#define LOCKSTEP_RESULTS_SCALING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "results/collectives.h"
#include "results/reasons.h"
#include "results/seed_group.h"

// ---- The model ----

// The seconds of the one-rank epoch come in parts: load (waiting for the batch), compute (forward,
// backward, and threads waiting for each other in them) and update. W ranks of t threads keep
// c = min(W · t, cores) cores busy; the one-rank run kept c1 busy:
//
//                     ddp                             dp (the master loads, updates and copies)
//     load            load / min(W, cores)            load
//     compute         compute · c1 / c                compute · c1 / c
//     update          W · update · c1 / c             update · c1 / min(t, cores)
//     communication   steps · (α + β · bytes)         steps · (messages · α + β · bytes)
//
// That is: samples are divided among the ranks; compute and update spread evenly over the cores;
// every ddp rank updates all parameters; no communication is hidden, and no rank waits for a slower
// one. Effects outside this model appear as the prediction's error.
typedef struct epoch_parts { // seconds
    double load, compute, update, communication;
} epoch_parts;

static inline double epoch_parts_sum(const epoch_parts *e) {
    return e->load + e->compute + e->update + e->communication;
}

// The ranks, the threads of each, and the cores that they share. All at least 1.
typedef struct scaling_place {
    int64_t ranks, threads, cores;
} scaling_place;

// Returns the number of busy cores.
int64_t scaling_cores(const scaling_place *place);

typedef enum scaling_strategy { SCALING_DDP, SCALING_DP } scaling_strategy;

// Predicts the epoch at `to`, from the epoch `one` of one rank at `from` (its own communication is
// ignored) and the seconds of communication expected at `to`.
epoch_parts scaling_predict(scaling_strategy strategy, const epoch_parts *one,
                            const scaling_place *from, const scaling_place *to,
                            double communication);

// ---- Predictions of runs ----

// The run that a prediction starts from, the cost of its communication on this machine, or the
// reason why there is none. Of the predicted run only the settings are used (ranks, threads, model
// and batch), none of its measurements.
typedef struct prediction {
    const seed_group *subject;
    const seed_group *basis; // a run of one rank that did the same work; NULL if there is none
    const collective *cost;  // the measured cost of its communication; NULL if there is none
    reason_list reason;      // why nothing is predicted; empty if something is
    double measured;         // seconds per epoch of the subject
    double basis_seconds;    // and of the basis
    double bytes;            // of a step's communication, as counted for the prediction
    epoch_parts here;        // predicted on this machine, mean over the executions of the basis
    interval range;          // 95 %, of its sum if there are three or more executions; else NAN
    double error;            // predicted / measured - 1
    // With one device per rank, like that of the one-rank run; if this machine has fewer.
    bool projects;
    epoch_parts there;
} prediction;

// Is there a prediction to make: is this a group of several ddp ranks or dp replicas?
bool prediction_is_due(const seed_group *g);

// Predicts the epoch of `subject` from a one-rank group among `groups` that is like it for like
// (compare.h). Among several, prefers one of the same strategy, then one of train-single.
status prediction_make(const seed_group *subject, const seed_group *groups, size_t count,
                       const collectives *measured, prediction *p, error *err) MUST_CHECK;
void prediction_release(prediction *p);

#endif
