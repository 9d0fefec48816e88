#include "results/joint_metrics.h"

#include <math.h>
#include <string.h>

// ---- Of comparisons ----

static estimate get_speedup(const comparison *c) {
    return c->speedup;
}

static estimate get_seconds(const comparison *c) {
    return c->seconds;
}

static estimate get_total(const comparison *c) {
    return c->total;
}

static estimate get_accuracy(const comparison *c) {
    return (estimate){c->accuracy_difference, c->accuracy_range};
}

// How much of the ideal speed-up came: of the baseline's, by its ranks.
static estimate get_efficiency(const comparison *c) {
    const double ideal =
        (double)c->subject->runs[0]->world_size / (double)c->baseline->runs[0]->world_size;
    const interval range = {c->speedup.range.low / ideal, c->speedup.range.high / ideal};
    return (estimate){c->speedup.value / ideal, range};
}

// ---- Of predictions ----

#define HERE(name, expression)                 \
    static double name(const prediction *p) {  \
        return p->reason ? NAN : (expression); \
    }
HERE(predicted_load, p->here.load)
HERE(predicted_compute, p->here.compute)
HERE(predicted_update, p->here.update)
HERE(predicted_communication, p->here.communication)
HERE(predicted_seconds, epoch_parts_sum(&p->here))
HERE(prediction_error, p->error)
HERE(projected_load, p->there.load)
HERE(projected_compute, p->there.compute)
HERE(projected_update, p->there.update)
HERE(projected_communication, p->there.communication)
HERE(projected_seconds, epoch_parts_sum(&p->there))
HERE(projected_ratio, p->basis_seconds / epoch_parts_sum(&p->there))

// ---- The table ----

// clang-format off
#define SECONDS {NULL, 1, ""}
#define PARTS   {"%.4f", 1, ""}
#define TIMES   {"%.2f", 1, "×"}
#define POINTS  {"%+.2f", 100, ""}
#define EPOCH   .part = "seconds_per_epoch"

static const joint_metric table[] = {
    {{"speedup", "x", WORD("Speed-up"), TIMES, .kind = METRIC_JOINT}, JOINT_COMPARISON, EPOCH,
     .compared = get_speedup, .always = true},
    {{"accuracy_difference", "fraction", WORD("Accuracy difference"), POINTS, .kind = METRIC_JOINT},
     JOINT_COMPARISON, .part = "accuracy", .compared = get_accuracy},

    {{"seconds_per_epoch_effect", "s", WORD("Effect"), SECONDS, .kind = METRIC_JOINT}, JOINT_STEP, EPOCH,
     .compared = get_seconds, .always = true},
    {{"total_seconds_effect", "s", WORD("Effect"), SECONDS, .kind = METRIC_JOINT}, JOINT_STEP,
     .part = "total_seconds", .compared = get_total, .always = true},
    {{"time_ratio", "x", WORD("Times as fast"), TIMES, .kind = METRIC_JOINT}, JOINT_STEP, EPOCH,
     .compared = get_speedup, .always = true},
    {{"efficiency", "fraction", WORD("Efficiency"), {"%.0f", 100, " %"}, .kind = METRIC_JOINT}, JOINT_VARIANT,
     EPOCH, .compared = get_efficiency},
    {{"accuracy_effect", "fraction", WORD("Effect"), POINTS, .kind = METRIC_JOINT}, JOINT_STEP,
     .part = "accuracy", .compared = get_accuracy, .always = true},
    {{"load_share", "fraction", WORD("Load share"), {"%.1f", 100, " %"}, .kind = METRIC_JOINT}, JOINT_RUNS,
     .part = "step.load"},

    {{"predicted_load_seconds", "s", WORD("Load, s"), PARTS, .kind = METRIC_JOINT}, JOINT_PREDICTION, EPOCH,
     .predicted = predicted_load},
    {{"predicted_compute_seconds", "s", WORD("Compute, s"), PARTS, .kind = METRIC_JOINT}, JOINT_PREDICTION,
     EPOCH, .predicted = predicted_compute},
    {{"predicted_update_seconds", "s", WORD("Update, s"), PARTS, .kind = METRIC_JOINT}, JOINT_PREDICTION,
     EPOCH, .predicted = predicted_update},
    {{"predicted_communication_seconds", "s", WORD("Communication, s"), PARTS, .kind = METRIC_JOINT},
     JOINT_PREDICTION, EPOCH, .predicted = predicted_communication},
    {{"predicted_seconds_per_epoch", "s", WORD("Predicted s / epoch"), SECONDS, .kind = METRIC_JOINT},
     JOINT_PREDICTION, EPOCH, .predicted = predicted_seconds, .always = true},
    {{"prediction_error", "fraction", WORD("Error of the prediction"), {"%+.1f", 100, " %"},
      .kind = METRIC_JOINT}, JOINT_PREDICTION, EPOCH, .predicted = prediction_error, .always = true},
    {{"projected_load_seconds", "s", WORD("Load, s"), PARTS, .kind = METRIC_JOINT}, JOINT_PROJECTION, EPOCH,
     .predicted = projected_load},
    {{"projected_compute_seconds", "s", WORD("Compute, s"), PARTS, .kind = METRIC_JOINT}, JOINT_PROJECTION,
     EPOCH, .predicted = projected_compute},
    {{"projected_update_seconds", "s", WORD("Update, s"), PARTS, .kind = METRIC_JOINT}, JOINT_PROJECTION,
     EPOCH, .predicted = projected_update},
    {{"projected_communication_seconds", "s", WORD("Communication, s"), PARTS, .kind = METRIC_JOINT},
     JOINT_PROJECTION, EPOCH, .predicted = projected_communication},
    {{"projected_seconds_per_epoch", "s", WORD("Projected s / epoch"), SECONDS, .kind = METRIC_JOINT},
     JOINT_PROJECTION, EPOCH, .predicted = projected_seconds, .always = true},
    {{"projected_ratio", "x", WORD("Projected times as fast as"), TIMES, .kind = METRIC_JOINT},
     JOINT_PROJECTION, EPOCH, .predicted = projected_ratio, .always = true},
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
