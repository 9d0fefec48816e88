// SPDX-License-Identifier: MIT
// scaling_model.h - predicts an epoch on many ranks from an epoch on one.
//
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
#ifndef LOCKSTEP_RESULTS_SCALING_MODEL_H
#define LOCKSTEP_RESULTS_SCALING_MODEL_H

#include <stdint.h>

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

#endif
