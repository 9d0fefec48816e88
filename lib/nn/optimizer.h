// SPDX-License-Identifier: MIT
// optimizer.h - an experiment's optimizer, learning-rate schedule and average of the weights. The
// backend's kernels compute the updates.
#ifndef LOCKSTEP_NN_OPTIMIZER_H
#define LOCKSTEP_NN_OPTIMIZER_H

#include <stdbool.h>
#include <stdint.h>

#include "compute/optimizer_kinds.h"

typedef struct optimizer {
    optimizer_kind kind;
    double lr;                     // before scaling and schedule
    double hyper[HYPERPARAMETERS]; // those that the kind takes
    double weight_decay;
    double clip_norm; // of the gradient, at most; 0: any
} optimizer;

// The schedules as one table: ROW(kind, the values of its schedule_traits). Their keys are in
// experiment/experiment_fields.c.
#define SCHEDULES(ROW)                       \
    ROW(CONSTANT, "constant", false, true)   \
    ROW(MULTISTEP, "multistep", false, true) \
    ROW(COSINE, "cosine", true, true)        \
    ROW(LINEAR, "linear", false, false)      \
    ROW(ONE_CYCLE, "one_cycle", true, false) \
    ROW(PLATEAU, "plateau", false, true)

#define SCHEDULE_KIND(kind, ...) SCHEDULE_##kind,
typedef enum schedule_kind { SCHEDULES(SCHEDULE_KIND) } schedule_kind;
#undef SCHEDULE_KIND

typedef struct schedule_traits {
    const char *word; // in experiments
    bool needs_total; // the rate of a step depends on the number of steps to come
    bool warms_up;    // can begin with a warm-up
} schedule_traits;

extern const schedule_traits schedule_kind_traits[];

typedef enum anneal_kind { ANNEAL_COS, ANNEAL_LINEAR } anneal_kind;

enum { SCHEDULE_MAX_MILESTONES = 64, SCHEDULE_MAX_POINTS = 64 };

typedef struct schedule_point {
    double epoch, factor;
} schedule_point;

typedef struct schedule {
    schedule_kind kind;
    int milestones[SCHEDULE_MAX_MILESTONES]; // epochs, increasing
    int milestone_count;
    double gamma;
    int warmup_epochs;
    bool by_epoch; // cosine: all steps of an epoch have the rate of its first one
    schedule_point points[SCHEDULE_MAX_POINTS]; // linear: epochs increasing
    int point_count;
    double pct_start, div_factor, final_div_factor; // one_cycle, as in OneCycleLR
    anneal_kind anneal;
    double factor, threshold, min_lr; // plateau, as in ReduceLROnPlateau
    int patience, cooldown;           // epochs
} schedule;

typedef enum averaging_kind { AVERAGING_NONE, AVERAGING_EMA, AVERAGING_LOOKAHEAD } averaging_kind;

// An average of the weights over the steps (train/average.h).
typedef struct averaging {
    averaging_kind kind;
    double decay;
    int every; // steps
    int ramp;  // lookahead: exponent of the progress
} averaging;

typedef enum lr_scaling_kind {
    LR_SCALING_NONE,
    LR_SCALING_LINEAR,
    LR_SCALING_SQRT
} lr_scaling_kind;

typedef struct lr_scaling {
    lr_scaling_kind kind;
    int base_batch;
} lr_scaling;

// Returns the learning rate of global step `step` (from 0) of `total_steps`: optimizer.lr, times
// (batch / base_batch) or its square root, times a factor of the schedule:
//
// multistep   gamma for each milestone passed
// cosine      half a cosine from the end of the warm-up down to 0 at the end of training; by_epoch:
//             CosineAnnealingLR, stepped once an epoch
// linear      straight lines between the points, at step / steps_per_epoch; before the first point
//             and after the last one, their factors (numpy.interp)
// one_cycle   torch.optim.lr_scheduler.OneCycleLR in two phases, with optimizer.lr as the maximum
//             and without a cycle of the momentum. A first phase without steps is left out, where
//             PyTorch divides by 0
// plateau     torch.optim.lr_scheduler.ReduceLROnPlateau in its mode min, stepped once an epoch
//             with that epoch's loss. `losses` holds them, at least those of the epochs before the
//             step's; a NaN was not measured, and does not count. Other schedules need none: NULL
//
// So the rate depends on a run's past only by numbers that the run records: who recomputes it needs
// no more, and a resumed run none but those. They are rank 0's on every rank, of validation samples
// if the experiment has some, else of training, and never of test data (train/checkpoint.h).
//
// and, if the schedule has one, times (step + 1) / warm-up steps during the warm-up. In double; the
// caller rounds.
double learning_rate(const optimizer *o, const schedule *s, const lr_scaling *scaling,
                     int global_batch, uint64_t step, uint64_t steps_per_epoch,
                     uint64_t total_steps, const double *losses);

// Returns the trait of the schedule of that word; false for an unknown one.
bool schedule_needs_total(const char *word);

#endif
