// SPDX-License-Identifier: MIT
// prediction.h - predicted scaling, to compare with the measured: the run that a prediction starts
// from, the cost of its communication on this machine, or the reason why there is none. Of the
// predicted run only the settings are used (ranks, threads, model and batch), none of its
// measurements.
#ifndef LOCKSTEP_RESULTS_PREDICTION_H
#define LOCKSTEP_RESULTS_PREDICTION_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "results/collectives.h"
#include "results/group.h"
#include "results/scaling_model.h"
#include "words/words.h"

typedef struct prediction {
    const group *subject;
    const group *basis;     // a run of one rank that did the same work; NULL if there is none
    const collective *cost; // the measured cost of its communication; NULL if there is none
    char *reason;           // why nothing is predicted; NULL if something is
    double measured;        // seconds per epoch of the subject
    double basis_seconds;   // and of the basis
    double bytes;           // of a step's communication, as counted for the prediction
    epoch_parts here;       // predicted on this machine, mean over the executions of the basis
    interval range;         // 95 %, of its sum if there are three or more executions; else NAN
    double error;           // predicted / measured - 1
    // With one device per rank, like that of the one-rank run; if this machine has fewer.
    bool projects;
    epoch_parts there;
} prediction;

// Is there a prediction to make: is this a group of several ddp ranks or dp replicas?
bool prediction_is_due(const group *g);

// Predicts the epoch of `subject` from a one-rank group among `groups` that is like it for like
// (compare.h). Among several, prefers one of the same strategy, then one of train-single.
status prediction_make(const group *subject, const group *groups, size_t count,
                       const collectives *measured, language l, prediction *p,
                       error *err) MUST_CHECK;
void prediction_release(prediction *p);

#endif
