// SPDX-License-Identifier: MIT
#include "nn/optimizer.h"

#include <math.h>

static double scaling_factor(const lr_scaling *scaling, int global_batch) {
    switch (scaling->kind) {
    case LR_SCALING_NONE: break;
    case LR_SCALING_LINEAR: return (double)global_batch / scaling->base_batch;
    case LR_SCALING_SQRT: return sqrt((double)global_batch / scaling->base_batch);
    }
    return 1;
}

static double multistep_factor(const schedule *s, uint64_t epoch) {
    double factor = 1;
    for (int i = 0; i < s->milestone_count && epoch >= (uint64_t)s->milestones[i]; i++)
        factor *= s->gamma;
    return factor;
}

// Half a cosine from the end of the warm-up to the end of training.
static double cosine_factor(uint64_t step, uint64_t warmup_steps, uint64_t total_steps) {
    const double pi = 3.14159265358979323846;
    if (step < warmup_steps || total_steps <= warmup_steps) return 1;
    if (step >= total_steps) return 0;
    double progress = (double)(step - warmup_steps) / (double)(total_steps - warmup_steps);
    return 0.5 * (1 + cos(pi * progress));
}

double learning_rate(const optimizer *o, const schedule *s, const lr_scaling *scaling,
                     int global_batch, uint64_t step, uint64_t steps_per_epoch, int epochs) {
    uint64_t warmup_steps = (uint64_t)s->warmup_epochs * steps_per_epoch;
    double lr = o->lr * scaling_factor(scaling, global_batch);
    switch (s->kind) {
    case SCHEDULE_CONSTANT: break;
    case SCHEDULE_MULTISTEP:
        lr *= multistep_factor(s, steps_per_epoch ? step / steps_per_epoch : 0);
        break;
    case SCHEDULE_COSINE:
        lr *= cosine_factor(step, warmup_steps, (uint64_t)epochs * steps_per_epoch);
        break;
    }
    if (step < warmup_steps) lr *= (double)(step + 1) / (double)warmup_steps;
    return lr;
}
