// SPDX-License-Identifier: MIT
// optimizer_kinds.h - the optimizers as one table: names, numbers and state of each. Files of
// experiments, checkpoints, engines and tests ask it, and name no optimizer.
//
// A new one is a row, and a rule in reference/updates.c, cpu/kernels/update.c and
// cuda/kernels/update.cu, where the compiler names an optimizer that lacks one.
#ifndef LOCKSTEP_COMPUTE_OPTIMIZER_KINDS_H
#define LOCKSTEP_COMPUTE_OPTIMIZER_KINDS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/host_device.h"

// What a rule takes besides a rate and a decay.
typedef enum hyperparameter {
    HYPER_MOMENTUM,
    HYPER_NESTEROV, // 0 or 1
    HYPER_BETA1,
    HYPER_BETA2,
    HYPER_RHO,
    HYPER_EPS,
    HYPERPARAMETERS
} hyperparameter;

// Their keys, which are those of torch.optim, in the order of a resolved experiment: ROW(the first
// hyperparameter, key, type, lowest and highest value, is this one excluded?). A type of
// experiment/experiment_fields.h: NUMBER, FLAG, or PAIR for two hyperparameters.
#define OPTIMIZER_KEYS(ROW)                                \
    ROW(MOMENTUM, "momentum", NUMBER, 0, 1, .below = true) \
    ROW(NESTEROV, "nesterov", FLAG, 0, 1)                  \
    ROW(BETA1, "betas", PAIR, 0, 1, .below = true)         \
    ROW(RHO, "rho", NUMBER, 0, 1, .below = true)           \
    ROW(EPS, "eps", NUMBER, 0, 1, .above = true)

// The optimizers: ROW(kind, arrays of state, the values of its optimizer_traits).
#define OPTIMIZERS(ROW)                                                                           \
    ROW(SGD, 1, "sgd", {{"optimizer.momentum.", false}},                                          \
        {[HYPER_MOMENTUM] = {true, 0}, [HYPER_NESTEROV] = {true, 0}})                             \
    ROW(ADAM, 2, "adam", {{"optimizer.exp_avg.", false}, {"optimizer.exp_avg_sq.", true}},        \
        {[HYPER_BETA1] = {true, 0.9}, [HYPER_BETA2] = {true, 0.999}, [HYPER_EPS] = {true, 1e-8}}) \
    ROW(ADAMW, 2, "adamw", {{"optimizer.exp_avg.", false}, {"optimizer.exp_avg_sq.", true}},      \
        {[HYPER_BETA1] = {true, 0.9}, [HYPER_BETA2] = {true, 0.999}, [HYPER_EPS] = {true, 1e-8}}) \
    ROW(ADADELTA, 2, "adadelta",                                                                  \
        {{"optimizer.square_avg.", true}, {"optimizer.acc_delta.", true}},                        \
        {[HYPER_RHO] = {true, 0.9}, [HYPER_EPS] = {true, 1e-6}})

#define OPTIMIZER_KIND(kind, ...) OPTIMIZER_##kind,
typedef enum optimizer_kind { OPTIMIZERS(OPTIMIZER_KIND) } optimizer_kind;
#undef OPTIMIZER_KIND

#define OPTIMIZER_ONE(...) +1
enum { OPTIMIZER_KINDS = OPTIMIZERS(OPTIMIZER_ONE), OPTIMIZER_STATES = 2 };
#undef OPTIMIZER_ONE

// An array of state has a number for each parameter, at first 0.
typedef struct optimizer_state {
    const char *prefix; // of the names of its tensors in a training state
    bool never_negative;
} optimizer_state;

typedef struct optimizer_traits {
    const char *word; // in experiments
    optimizer_state states[OPTIMIZER_STATES];
    struct {
        bool taken;
        double otherwise; // the default
    } takes[HYPERPARAMETERS];
} optimizer_traits;

extern const optimizer_traits optimizer_kind_traits[OPTIMIZER_KINDS];

// Parameters form *groups*, as in torch.optim: each is updated with a rate and a decay of its own.
enum { PARAMETER_GROUPS = 32 }; // at most, with group 0

typedef struct parameter_group {
    float lr, weight_decay;
    uint64_t first_step; // in which they are trained: Adam's bias correction counts from it
    bool frozen;         // parameters and their state stay as they are, without decay
} parameter_group;

// The numbers of an update, for every parameter of a group: what a kernel computes with.
typedef struct update_numbers {
    float scale; // from sums over the samples of a step to the gradient
    float lr, weight_decay, hyper[HYPERPARAMETERS];
    float correction1, correction2; // Adam: 1 / (1 - beta^(step + 1))
} update_numbers;

// Returns the number of arrays of state. A constant if `kind` is one.
HOST_DEVICE static inline int optimizer_states(optimizer_kind kind) {
    switch (kind) {
#define OPTIMIZER_CASE(kind, states, ...) \
    case OPTIMIZER_##kind: return states;
        OPTIMIZERS(OPTIMIZER_CASE)
#undef OPTIMIZER_CASE
    }
    return 0;
}

#endif
