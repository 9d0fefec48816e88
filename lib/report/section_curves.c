// SPDX-License-Identifier: MIT
// The course of training: loss and accuracy by epoch, as drawings and as a table.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "report/plot.h"
#include "report/sections.h"
#include "results/steps.h"

enum { THIN_TO = 500, RAW_RUNS_MAX = 2 };

// The points of one curve; a plot_curve points into them.
typedef struct points {
    double *x, *y;
    size_t count;
} points;

static void new_points(points *p, size_t room) {
    *p = (points){.x = memory_new(room, sizeof(double)), .y = memory_new(room, sizeof(double))};
}

static void free_points(points *p, size_t count) {
    for (size_t i = 0; p && i < count; i++) {
        free(p[i].x);
        free(p[i].y);
    }
    free(p);
}

// Reads every n-th step of the run, so that at most THIN_TO remain.
static status raw_losses(const run *one, points *p, error *err) {
    steps s;
    status rc = steps_read(one, &s, err);
    if (rc != STATUS_OK) return rc;
    rc = run_check_content(one->folder, one->train, "steps.st.zst", s.file.content, err);
    size_t stride = (s.count + THIN_TO - 1) / THIN_TO;
    const double per_epoch = one->epoch_count ? one->steps_per_epoch : (double)s.count;
    if (rc == STATUS_OK) new_points(p, THIN_TO);
    for (size_t i = 0; rc == STATUS_OK && i < s.count; i += stride) {
        p->x[p->count] = ((double)i + 0.5) / per_epoch;
        p->y[p->count++] = s.loss[i];
    }
    steps_release(&s);
    return rc;
}

// Places an epoch's mean loss at its middle, and the accuracy after it at its end.
static void by_epoch(const run *one, bool loss, points *p) {
    new_points(p, one->epoch_count);
    for (size_t i = 0; i < one->epoch_count; i++) {
        const double length = run_epoch_steps(one, i) / one->steps_per_epoch;
        p->x[p->count] = (double)i + (loss ? length / 2 : length);
        p->y[p->count++] = loss ? one->epochs[i].loss : 100 * one->epochs[i].accuracy;
    }
}

// Places the accuracy after each epoch at the seconds of training up to its end.
static void by_time(const run *one, points *p) {
    new_points(p, one->epoch_count);
    double seconds = 0;
    for (size_t i = 0; i < one->epoch_count; i++) {
        seconds += one->epochs[i].seconds;
        p->x[p->count] = seconds;
        p->y[p->count++] = 100 * one->epochs[i].accuracy;
    }
}

// What the accuracies after epochs are of.
typedef enum measured_on { ON_TEST_DATA, ON_VALIDATION, ON_BOTH } measured_on;

static measured_on measured(const results *r) {
    size_t trained = 0, validated = 0;
    for (size_t i = 0; i < r->list.count; i++) {
        const run *one = &r->list.runs[i];
        trained += one->train != NULL;
        validated += *run_text(one->train, "parameters.validation.samples") != 0;
    }
    return !validated ? ON_TEST_DATA : validated == trained ? ON_VALIDATION : ON_BOTH;
}

static wording accuracy_name(const results *r) {
    static const wording names[] = {[ON_TEST_DATA] = WORD("Test accuracy"),
                                    [ON_VALIDATION] = WORD("Validation accuracy"),
                                    [ON_BOTH] = WORD("Accuracy")};
    return names[measured(r)];
}

// Repeats share a colour. Only the first is in the legend, and there is no legend for a single
// experiment.
static plot_curve curve_of(const results *r, const run *one, const points *p, bool faint) {
    plot_curve curve = {.faint = faint, .x = p->x, .y = p->y, .count = p->count};
    for (size_t i = 0; i < r->group_count; i++) {
        const seed_group *g = &r->groups[i];
        for (size_t k = 0; k < g->count; k++) {
            if (g->runs[k] != one) continue;
            curve.colour = (int)i;
            if (k == 0 && !faint && r->group_count > 1) curve.name = g->name;
        }
    }
    return curve;
}

void section_drawing(const results *r, document *d, const char *id, char *svg,
                     const char *caption) {
    if (svg)
        document_figure(d, id, svg, caption);
    else
        document_add(d, BLOCK_NOTE, "%s",
                     say(r, "No drawing: gnuplot was not found when the report was made."));
}

static status loss_figure(const results *r, document *d, error *err) {
    status rc = STATUS_OK;
    size_t runs = r->list.count, count = 0;
    bool raw = runs <= RAW_RUNS_MAX;
    points *p = memory_new(2 * runs, sizeof *p);
    plot_curve *curves = memory_new(2 * runs, sizeof *curves);
    for (size_t i = 0; raw && i < runs; i++) {
        if (!r->list.runs[i].train) continue;
        TRY(raw_losses(&r->list.runs[i], &p[count], err));
        curves[count] = curve_of(r, &r->list.runs[i], &p[count], true);
        count++;
    }
    for (size_t i = 0; i < runs; i++) {
        if (!r->list.runs[i].epoch_count) continue;
        by_epoch(&r->list.runs[i], true, &p[count]);
        curves[count] = curve_of(r, &r->list.runs[i], &p[count], false);
        count++;
    }
    if (!count) goto out;
    char *svg;
    plot_axes axes = {
        .id = "loss", .title = say(r, "Train loss"), .x = say(r, "Epoch"), .y = say(r, "Loss")};
    TRY(plot_curves(&axes, curves, count, &svg, err));
    section_drawing(
        r, d, axes.id, svg,
        say(r, raw ? WORD("Training loss. Pale: single steps, thinned; strong: mean of each epoch.")
                   : WORD("Training loss, mean of each epoch. Repeats of an experiment have one "
                          "colour.")));
out:
    free_points(p, p ? 2 * runs : 0);
    free(curves);
    return rc;
}

static bool has_accuracies(const run *one) {
    for (size_t i = 0; i < one->epoch_count; i++)
        if (!isnan(one->epochs[i].accuracy)) return true;
    return false;
}

static bool has_times(const run *one) {
    double seconds = 0;
    for (size_t i = 0; i < one->epoch_count; i++) seconds += one->epochs[i].seconds;
    return run_has_time(one) && isfinite(seconds);
}

// The curves of accuracy, by epoch or by time. *count: those that there are.
static void accuracy_curves(const results *r, bool time, points *p, plot_curve *curves,
                            size_t *count) {
    *count = 0;
    for (size_t i = 0; i < r->list.count; i++) {
        const run *one = &r->list.runs[i];
        if (!has_accuracies(one) || (time && !has_times(one))) continue;
        if (time)
            by_time(one, &p[*count]);
        else
            by_epoch(one, false, &p[*count]);
        curves[*count] = curve_of(r, one, &p[*count], false);
        ++*count;
    }
}

static status accuracy_figure(const results *r, document *d, const plot_axes *axes,
                              const char *caption, error *err) {
    const size_t runs = r->list.count;
    size_t count;
    char *svg;
    points *p = memory_new(runs, sizeof *p);
    plot_curve *curves = memory_new(runs, sizeof *curves);
    status rc = STATUS_OK;
    accuracy_curves(r, axes->seconds, p, curves, &count);
    if (!count) goto out;
    TRY(plot_curves(axes, curves, count, &svg, err));
    section_drawing(r, d, axes->id, svg, caption);
out:
    free_points(p, p ? runs : 0);
    free(curves);
    return rc;
}

status section_accuracy_figure(const results *r, document *d, error *err) {
    const plot_axes axes = {.id = "accuracy",
                            .title = say(r, accuracy_name(r)),
                            .x = say(r, "Epoch"),
                            .y = say(r, accuracy_name(r)),
                            .percent = true};
    return accuracy_figure(r, d, &axes,
                           say(r, measured(r) == ON_TEST_DATA
                                      ? WORD("Test accuracy after each epoch.")
                                      : WORD("Accuracy after each epoch.")),
                           err);
}

// Nothing for a single experiment: its curve is the same as by epoch.
static status time_figure(const results *r, document *d, error *err) {
    const bool validated = measured(r) != ON_TEST_DATA;
    const plot_axes axes = {.id = "accuracytime",
                            .title = say(r, validated ? WORD("Accuracy over training time")
                                                      : WORD("Test accuracy over training time")),
                            .x = say(r, "Seconds of training"),
                            .y = say(r, accuracy_name(r)),
                            .seconds = true,
                            .percent = true};
    bool simulated = false;
    for (size_t i = 0; i < r->list.count; i++) simulated |= r->list.runs[i].simulated;
    if (r->group_count < 2) return STATUS_OK;
    return accuracy_figure(
        r, d, &axes,
        say(r, validated && simulated
                   ? WORD("Accuracy over training time, without tests and saves. Some of these "
                          "times are simulated.")
               : validated ? WORD("Accuracy over training time, without tests and saves.")
               : simulated ? WORD("Test accuracy over training time, without tests and saves. Some "
                                  "of these times are simulated.")
                           : WORD("Test accuracy over training time, without tests and saves.")),
        err);
}

// A table of a single run; with several it would be too wide, and report.csv has all values.
static void epoch_table(const results *r, document *d, const run *one) {
    const wording head[] = {"Epoch", "Train loss", accuracy_name(r), "Seconds"};
    static const char *const columns[] = {"loss", "accuracy", "seconds"};
    document_table(d, 4, "");
    head_cells(r, d, head, 4);
    for (size_t i = 0; i < one->epoch_count; i++) {
        document_cell(d, CELL_STRONG, "%zu", i + 1);
        for (size_t k = 0; k < sizeof columns / sizeof *columns; k++) {
            char metric[48];
            snprintf(metric, sizeof metric, "epochs.%zu.%s", i + 1, columns[k]);
            cell_figure(r, d, one->name, metric);
        }
    }
    document_add(d, BLOCK_NOTE, "%s", say(r, "Seconds are for training only."));
}

status section_curves(const results *r, document *d, bool accuracy, error *err) {
    bool trained = false;
    for (size_t i = 0; i < r->list.count; i++) trained |= r->list.runs[i].train != NULL;
    if (!trained) return STATUS_OK;
    document_add(d, BLOCK_HEADING, "%s", say(r, "Training curves"));
    status rc = loss_figure(r, d, err);
    if (rc == STATUS_OK && accuracy) rc = section_accuracy_figure(r, d, err);
    if (rc == STATUS_OK) rc = time_figure(r, d, err);
    if (r->list.count == 1 && r->list.runs[0].epoch_count) epoch_table(r, d, &r->list.runs[0]);
    return rc;
}
