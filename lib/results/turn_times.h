// SPDX-License-Identifier: MIT
// turn_times.h - trainings that took turns: the steps of every turn, as time-runs writes them, and
// the time per sample of each training.
//
// The trainings, *arms*, ran together for an *execution*, in which each had one turn a *round*, in
// an order drawn anew for each round. Where a turn is a whole run, an execution is one round, and a
// turn has one entry: a step is then an epoch, or the run of a command that is no training. A
// change of the machine meets the arms of a round alike, so arms are compared within rounds.
// Executions differ in what a process keeps for its life, such as where its memory lies; so they,
// not rounds, are what an interval counts.
//
// The estimate, for the logarithm y of the time per sample of each turn:
//  1. The first steps of a turn, which find cold caches and a loader at rest, are left out: as many
//     as minimise the standard error of the others' mean (MSER; White, Simulation 69, 1997), in the
//     series of medians over all turns of the arm of the k-th step. All arms leave out the same
//     share of a turn, the largest of these: where noise is skewed, the median of means of fewer
//     steps is another one.
//  2. In each execution, y = round + arm + rest is fitted by median polish (Tukey, Exploratory Data
//     Analysis, 1977): for two arms, their difference is the median of the rounds' differences. A
//     disturbed round counts no more than another.
//  3. The executions' arms are averaged, and the mean of their differences has Student's t interval
//     with executions - 1 degrees of freedom: that of a mixed model with executions as the outer
//     level, whatever the correlation of the rounds within.
#ifndef LOCKSTEP_RESULTS_TURN_TIMES_H
#define LOCKSTEP_RESULTS_TURN_TIMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/demand.h"
#include "base/error.h"
#include "data/tensor/tensor_file.h"
#include "dist/turn_messages.h"
#include "results/statistics.h"

typedef struct turn {
    uint32_t execution, round, arm;
    uint32_t entries; // of the steps
    // How many threads of other programs were runnable while all arms rested, before the round or
    // after it, whichever was more; the same for all turns of a round.
    uint32_t demand;
} turn;

// In order of time. A round has one turn of each arm.
typedef struct turn_log {
    turn *turns;
    size_t turn_count, turn_room;
    turn_step *steps; // of all turns
    size_t step_count, step_room;
    double *others; // of each execution: the cores that other programs used; NAN: unknown
    size_t execution_count, execution_room;
} turn_log;

#define TURNS_FILE "turns.st.zst"

// Appends a turn, with `entries` entries of `steps`.
void turn_log_add(turn_log *l, const turn *t, const turn_step *steps);
// Sets the demand of the last round, whose turns were all added.
void turn_log_demand(turn_log *l, size_t arms, uint32_t demand);
// Ends an execution, after its last turn.
void turn_log_end(turn_log *l, double others);
// Appends the turns of another log; its executions follow.
void turn_log_append(turn_log *l, const turn_log *more);
// Adds the executions that ended as tensors, for which the log must outlive the file, and reads
// them back from the file named `path`. STATUS_INPUT if the tensors are no such log of that many
// arms.
void turn_log_store(const turn_log *l, tensor_file *f);
status turn_log_load(turn_log *l, size_t arms, const tensor_file *f, const char *path,
                     error *err) MUST_CHECK;
void turn_log_release(turn_log *l);

typedef struct turn_fit {
    size_t arms, executions;
    double *log_ns;  // per sample: [execution * arms + arm]
    size_t *rounds;  // of each execution
    size_t *skipped; // entries left out at the beginning of each turn of an arm
} turn_fit;

// Of the executions that ended, the rounds with at most that demand; DEMAND_UNKNOWN: all. An
// execution that has fewer than TURN_ROUNDS_LEAST of them, and lacks some, does not count.
enum { TURN_ROUNDS_LEAST = 3 };
void turn_fit_make(const turn_log *l, size_t arms, uint32_t demand, turn_fit *f);
void turn_fit_release(turn_fit *f);

// The logarithm of how many times as long a sample takes arm `a` as arm `b`.
mean_estimate turn_fit_difference(const turn_fit *f, size_t a, size_t b);
// Seconds per sample of an arm: in one execution, and the geometric mean over all.
double turn_fit_execution(const turn_fit *f, size_t execution, size_t arm);
estimate turn_fit_seconds(const turn_fit *f, size_t arm);

// Half the width of a difference's 95 % interval, as a fraction: 0.01 is ±1 %.
double turn_half_width(const mean_estimate *difference);
// The fewest executions for an interval of that half width.
size_t turn_executions_least(double precision);

#endif
