// SPDX-License-Identifier: MIT
#include "results/joint_metrics.h"

#include <math.h>
#include <string.h>

#include "results/figures.h"

#define ESTIMATE(name, expression)          \
    static estimate name(const figure *f) { \
        return expression;                  \
    }
ESTIMATE(speedup, f->compared->speedup)
ESTIMATE(seconds, f->compared->seconds)
ESTIMATE(total, f->compared->total)
ESTIMATE(accuracy, f->compared->accuracy_difference)
ESTIMATE(share, seed_group_load_share(f->of))

// The share of the ideal speed-up over the baseline that was reached; the ratio of ranks is ideal.
static estimate efficiency(const figure *f) {
    const double ideal =
        (double)f->of->runs[0]->world_size / (double)f->against->runs[0]->world_size;
    const estimate *e = &f->compared->speedup;
    return (estimate){e->value / ideal, {e->range.low / ideal, e->range.high / ideal}};
}

// Predictions for this machine, and for more devices. NAN if there is a reason against them.
#define PREDICTED(name, expression) \
    ESTIMATE(name, ((estimate){f->predicted->reason.count ? NAN : (expression), {NAN, NAN}}))
#define PARTS(name, parts)                                             \
    PREDICTED(name##_load, f->predicted->parts.load)                   \
    PREDICTED(name##_compute, f->predicted->parts.compute)             \
    PREDICTED(name##_update, f->predicted->parts.update)               \
    PREDICTED(name##_communication, f->predicted->parts.communication) \
    PREDICTED(name##_seconds, epoch_parts_sum(&f->predicted->parts))
PARTS(predicted, here)
ESTIMATE(predicted_epoch, ((estimate){predicted_seconds(f).value, f->predicted->range}))
PARTS(projected, there)
PREDICTED(prediction_error, f->predicted->error)
PREDICTED(projected_ratio, f->predicted->basis_seconds / epoch_parts_sum(&f->predicted->there))

// ---- The table ----

// clang-format off
#define SECONDS .style = {NULL, 1, ""}
#define CHANGE  .style = {"+", 1, ""}
#define PART    .style = {"%.4f", 1, ""}
#define TIMES   .style = {"%.2f", 1, "×"}
#define POINTS  .style = {"%+.2f", 100, ""}
#define EPOCH   "seconds_per_epoch"

static const joint_metric table[] = {
    {{"speedup", "x", TIMES}, JOINT_COMPARISON, EPOCH, .value = speedup, .always = true},
    {{"accuracy_difference", "fraction", POINTS}, JOINT_COMPARISON, "accuracy", .value = accuracy},

    {{"seconds_per_epoch_effect", "s", CHANGE}, JOINT_STEP, EPOCH,
     .value = seconds, .always = true},
    {{"total_seconds_effect", "s", CHANGE}, JOINT_STEP, "total_seconds",
     .value = total, .always = true},
    {{"time_ratio", "x", TIMES}, JOINT_STEP, EPOCH, .value = speedup, .always = true},
    {{"efficiency", "fraction", .style = {"%.0f", 100, " %"}}, JOINT_VARIANT, EPOCH,
     .value = efficiency},
    {{"accuracy_effect", "fraction", POINTS}, JOINT_STEP, "accuracy",
     .value = accuracy, .always = true},
    {{"load_share", "fraction", .style = {"%.1f", 100, " %"}}, JOINT_RUNS, "step.load",
     .value = share},

    {{"predicted_load_seconds", "s", PART}, JOINT_PREDICTION, EPOCH, .value = predicted_load},
    {{"predicted_compute_seconds", "s", PART}, JOINT_PREDICTION, EPOCH, .value = predicted_compute},
    {{"predicted_update_seconds", "s", PART}, JOINT_PREDICTION, EPOCH, .value = predicted_update},
    {{"predicted_communication_seconds", "s", PART}, JOINT_PREDICTION, EPOCH,
     .value = predicted_communication},
    {{"predicted_seconds_per_epoch", "s", SECONDS}, JOINT_PREDICTION, EPOCH,
     .value = predicted_epoch, .always = true},
    {{"prediction_error", "fraction", .style = {"%+.1f", 100, " %"}}, JOINT_PREDICTION, EPOCH,
     .value = prediction_error, .always = true},
    {{"projected_load_seconds", "s", PART}, JOINT_PROJECTION, EPOCH, .value = projected_load},
    {{"projected_compute_seconds", "s", PART}, JOINT_PROJECTION, EPOCH, .value = projected_compute},
    {{"projected_update_seconds", "s", PART}, JOINT_PROJECTION, EPOCH, .value = projected_update},
    {{"projected_communication_seconds", "s", PART}, JOINT_PROJECTION, EPOCH,
     .value = projected_communication},
    {{"projected_seconds_per_epoch", "s", SECONDS}, JOINT_PROJECTION, EPOCH,
     .value = projected_seconds, .always = true},
    {{"projected_ratio", "x", TIMES}, JOINT_PROJECTION, EPOCH,
     .value = projected_ratio, .always = true},
};
// clang-format on

const joint_metric *joint_metrics_table(size_t *count) {
    *count = sizeof table / sizeof *table;
    return table;
}

const metric_row *joint_metrics_find(const char *name) {
    static const char mean[] = "mean_";
    const size_t length = strlen(mean);
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (strcmp(table[i].head.name, name) == 0) return &table[i].head;
    return metrics_find(strncmp(name, mean, length) == 0 ? name + length : name);
}
