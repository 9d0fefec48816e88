// prediction.h - predicted scaling beside the measured: which run a prediction starts from, what
// its communication costs on this machine, and why there is none. Of the run that is predicted only
// its settings count: ranks, threads, model and batch, and nothing that it measured.
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
    const group *basis;     // a run of one rank that did the same work; NULL when there is none
    const collective *cost; // what its communication is counted with; NULL when there is none
    char *reason;           // why nothing is predicted; NULL when it is
    double measured;        // seconds an epoch of the subject
    double basis_seconds;   // and of the basis
    double bytes;           // that the communication of a step is counted with
    epoch_parts here;       // predicted on this machine, mean over the executions of the basis
    interval range;         // 95 %, of its sum over three executions or more; NAN without
    double error;           // predicted / measured - 1
    // With a device for each rank, such as the one-rank run had: where this machine has fewer.
    bool projects;
    epoch_parts there;
} prediction;

// Is there anything to predict: a group of several ranks of ddp or replicas of dp?
bool prediction_is_due(const group *g);

// Predicts the epoch of `subject` from the group of one rank among `groups` that is like it for
// like (compare.h); of several one of its own strategy, then one of train-single.
status prediction_make(const group *subject, const group *groups, size_t count,
                       const collectives *measured, language l, prediction *p,
                       error *err) MUST_CHECK;
void prediction_release(prediction *p);

#endif
