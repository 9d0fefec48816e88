// SPDX-License-Identifier: MIT
#include "nn/optimizer.h"

#include <math.h>
#include <string.h>

#include "base/elementary.h"

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

// (1 + cos πx) / 2 for x from 0 to 1. Computed as cos² πx/2, it does not cancel near its end.
static double half_cosine(double x) {
    const double cosine = elementary_cosine(x);
    return cosine * cosine;
}

// Half a cosine from the end of the warm-up to the end of training.
static double cosine_factor(uint64_t step, uint64_t warmup_steps, uint64_t total_steps) {
    if (step < warmup_steps || total_steps <= warmup_steps) return 1;
    if (step >= total_steps) return 0;
    double progress = (double)(step - warmup_steps) / (double)(total_steps - warmup_steps);
    return half_cosine(progress);
}

static double linear_factor(const schedule *s, uint64_t step, uint64_t steps_per_epoch) {
    const double epoch = steps_per_epoch ? (double)step / (double)steps_per_epoch : 0;
    const schedule_point *p = s->points;
    const int last = s->point_count - 1;
    int i = 0;
    if (epoch <= p[0].epoch) return p[0].factor;
    if (epoch >= p[last].epoch) return p[last].factor;
    while (epoch >= p[i + 1].epoch) i++;
    const double slope = (p[i + 1].factor - p[i].factor) / (p[i + 1].epoch - p[i].epoch);
    return slope * (epoch - p[i].epoch) + p[i].factor;
}

static double anneal(anneal_kind kind, double from, double to, double part) {
    if (kind == ANNEAL_LINEAR) return (to - from) * part + from;
    return to + (from - to) * half_cosine(part);
}

// The two phases end at steps that need not be whole.
static double one_cycle_factor(const schedule *s, uint64_t step, uint64_t total_steps) {
    const double first = 1 / s->div_factor, last = first / s->final_div_factor;
    const double end = (double)total_steps - 1, here = (double)step;
    const double top = s->pct_start * (double)total_steps - 1;
    if (here >= end) return s->pct_start < 1 ? last : 1;
    if (here < top) return anneal(s->anneal, first, 1, here / top);
    return anneal(s->anneal, 1, last, (here - top) / (end - top));
}

// Goes through the epochs so far like step() of ReduceLROnPlateau, whose `eps` is 1e-8.
static double plateau_rate(const schedule *s, double lr, const double *losses, uint64_t epochs) {
    static const double eps = 1e-8; // a fall by less is left out
    double best = INFINITY;
    int bad = 0, cooling = 0; // epochs
    for (uint64_t i = 0; losses && i < epochs; i++) {
        if (isnan(losses[i])) continue;
        const bool better = losses[i] < best * (1 - s->threshold);
        if (better) best = losses[i];
        bad = better || cooling > 0 ? 0 : bad + 1;
        if (cooling > 0) cooling--;
        if (bad <= s->patience) continue;
        const double next = fmax(lr * s->factor, s->min_lr);
        if (lr - next > eps) lr = next;
        cooling = s->cooldown;
        bad = 0;
    }
    return lr;
}

#define ROW(kind, ...) [SCHEDULE_##kind] = {__VA_ARGS__},
const schedule_traits schedule_kind_traits[] = {SCHEDULES(ROW)};
#undef ROW

bool schedule_needs_total(const char *word) {
    const size_t kinds = sizeof schedule_kind_traits / sizeof *schedule_kind_traits;
    for (size_t k = 0; k < kinds; k++)
        if (strcmp(schedule_kind_traits[k].word, word) == 0)
            return schedule_kind_traits[k].needs_total;
    return false;
}

double learning_rate(const optimizer *o, const schedule *s, const lr_scaling *scaling,
                     int global_batch, uint64_t step, uint64_t steps_per_epoch,
                     uint64_t total_steps, const double *losses) {
    const uint64_t warmup_steps = (uint64_t)s->warmup_epochs * steps_per_epoch;
    const uint64_t epoch = steps_per_epoch ? step / steps_per_epoch : 0;
    double lr = o->lr * scaling_factor(scaling, global_batch);
    switch (s->kind) {
    case SCHEDULE_CONSTANT: break;
    case SCHEDULE_MULTISTEP: lr *= multistep_factor(s, epoch); break;
    case SCHEDULE_COSINE:
        lr *=
            cosine_factor(s->by_epoch ? epoch * steps_per_epoch : step, warmup_steps, total_steps);
        break;
    case SCHEDULE_LINEAR: lr *= linear_factor(s, step, steps_per_epoch); break;
    case SCHEDULE_ONE_CYCLE: lr *= one_cycle_factor(s, step, total_steps); break;
    case SCHEDULE_PLATEAU: lr = plateau_rate(s, lr, losses, epoch); break;
    }
    if (step < warmup_steps) lr *= (double)(step + 1) / (double)warmup_steps;
    return lr;
}
