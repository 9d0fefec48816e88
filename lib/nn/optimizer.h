// SPDX-License-Identifier: MIT
// optimizer.h - descriptions of update rules and learning-rate schedules. The backend's kernels
// compute the updates.
#ifndef LOCKSTEP_NN_OPTIMIZER_H
#define LOCKSTEP_NN_OPTIMIZER_H

#include <stdbool.h>
#include <stdint.h>

typedef enum optimizer_kind { OPTIMIZER_SGD, OPTIMIZER_ADAM, OPTIMIZER_ADAMW } optimizer_kind;

typedef struct optimizer {
    optimizer_kind kind;
    double lr;                // before scaling and schedule
    double momentum;          // sgd
    bool nesterov;            // sgd
    double beta1, beta2, eps; // adam, adamw
    double weight_decay;
} optimizer;

typedef enum schedule_kind { SCHEDULE_CONSTANT, SCHEDULE_MULTISTEP, SCHEDULE_COSINE } schedule_kind;

enum { SCHEDULE_MAX_MILESTONES = 64 };

typedef struct schedule {
    schedule_kind kind;
    int milestones[SCHEDULE_MAX_MILESTONES]; // epochs, increasing
    int milestone_count;
    double gamma;
    int warmup_epochs;
} schedule;

typedef enum lr_scaling_kind {
    LR_SCALING_NONE,
    LR_SCALING_LINEAR,
    LR_SCALING_SQRT
} lr_scaling_kind;

typedef struct lr_scaling {
    lr_scaling_kind kind;
    int base_batch;
} lr_scaling;

// Returns the learning rate of global step `step` (from 0): optimizer.lr, times (batch /
// base_batch) or its square root, times gamma for each milestone passed (or half a cosine from the
// end of the warm-up down to 0 at the end of training), times (step + 1) / warm-up steps during the
// warm-up. In double; the caller rounds.
double learning_rate(const optimizer *o, const schedule *s, const lr_scaling *scaling,
                     int global_batch, uint64_t step, uint64_t steps_per_epoch, int epochs);

#endif
