// SPDX-License-Identifier: MIT
// The series of all charts.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/memory.h"
#include "report/charts.h"
#include "report/facts_parts.h"
#include "results/steps.h"

// ---- Curves of training ----

enum { THIN_TO = 500, RAW_RUNS_MAX = 2 };

// A curve under construction.
typedef struct series {
    yaml_node *x, *y;
} series;

static void add_point(series *s, double x, double y) {
    yaml_append(s->x, json_new_number(x));
    yaml_append(s->y, json_new_number(y));
}

// Repeats share a colour. Only the first is in the legend, and there is no legend for a single
// experiment.
static series add_curve(yaml_node *chart, const results *r, const run *one, bool faint) {
    const char *label = "";
    size_t colour = 0;
    for (size_t i = 0; i < r->group_count; i++)
        for (size_t k = 0; k < r->groups[i].count; k++) {
            if (r->groups[i].runs[k] != one) continue;
            colour = i;
            if (k == 0 && !faint && r->group_count > 1) label = r->groups[i].name;
        }
    yaml_node *curve = chart_add(chart, label);
    const series s = {yaml_new(YAML_SEQUENCE), yaml_new(YAML_SEQUENCE)};
    yaml_put(curve, "run", json_new_text(one->name));
    yaml_put(curve, "colour", yaml_new_integer((int64_t)colour));
    yaml_put(curve, "faint", yaml_new_boolean(faint));
    yaml_put(curve, "x", s.x);
    yaml_put(curve, "y", s.y);
    return s;
}

// Has some curve more than a point? Lone dots with axes say less than a line of the table.
static bool has_course(const yaml_node *chart) {
    const yaml_node *curves = yaml_find(chart, "items");
    for (size_t i = 0; i < curves->count; i++)
        if (yaml_find(curves->items[i], "x")->count > 1) return true;
    return false;
}

// Every n-th step of the run, so that at most THIN_TO remain.
static status add_raw_losses(yaml_node *chart, const results *r, const run *one, error *err) {
    steps s;
    status rc = steps_read(one, &s, err);
    if (rc != STATUS_OK) return rc;
    const file_place file = metric_file_of(FILE_STEPS, one);
    rc = run_check_content(&file, s.file.content, err);
    const size_t stride = (s.count + THIN_TO - 1) / THIN_TO;
    const double per_epoch = one->epoch_count ? one->steps_per_epoch : (double)s.count;
    if (rc == STATUS_OK) {
        series curve = add_curve(chart, r, one, true);
        for (size_t i = 0; i < s.count; i += stride)
            add_point(&curve, ((double)i + 0.5) / per_epoch, s.loss[i]);
    }
    steps_release(&s);
    return rc;
}

// An epoch's mean loss is placed at its middle.
static status put_loss(yaml_node *charts, const results *r, error *err) {
    yaml_node *chart = chart_new("curves", "loss");
    const bool raw = r->list.count <= RAW_RUNS_MAX;
    status rc = STATUS_OK;
    yaml_put(chart, "raw", yaml_new_boolean(raw));
    for (size_t i = 0; raw && rc == STATUS_OK && i < r->list.count; i++)
        if (r->list.runs[i].train) rc = add_raw_losses(chart, r, &r->list.runs[i], err);
    for (size_t i = 0; rc == STATUS_OK && i < r->list.count; i++) {
        const run *one = &r->list.runs[i];
        if (!one->epoch_count) continue;
        series curve = add_curve(chart, r, one, false);
        for (size_t k = 0; k < one->epoch_count; k++)
            add_point(&curve, (double)k + run_epoch_steps(one, k) / one->steps_per_epoch / 2,
                      one->epochs[k].loss);
    }
    chart_put(charts, "loss", chart, has_course(chart));
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

// The accuracy after an epoch is placed at its end: by epochs, or by the seconds of training.
static void put_accuracy(yaml_node *charts, const results *r, const char *name, const char *words,
                         bool time) {
    yaml_node *chart = chart_new("curves", words);
    yaml_put(chart, "seconds", yaml_new_boolean(time));
    yaml_put(chart, "percent", yaml_new_boolean(true));
    for (size_t i = 0; i < r->list.count; i++) {
        const run *one = &r->list.runs[i];
        double seconds = 0;
        if (!has_accuracies(one) || (time && !has_times(one))) continue;
        series curve = add_curve(chart, r, one, false);
        for (size_t k = 0; k < one->epoch_count; k++) {
            seconds += one->epochs[k].seconds;
            add_point(&curve,
                      time ? seconds : (double)k + run_epoch_steps(one, k) / one->steps_per_epoch,
                      100 * one->epochs[k].accuracy);
        }
    }
    chart_put(charts, name, chart, has_course(chart));
}

// What the accuracies after epochs are of: the words of their charts.
static const char *accuracy_words(const results *r, bool time) {
    size_t trained = 0, validated = 0;
    for (size_t i = 0; i < r->list.count; i++) {
        const run *one = &r->list.runs[i];
        trained += one->train != NULL;
        validated += *yaml_text_at(one->train, "parameters.validation.samples") != 0;
    }
    if (!validated) return time ? "accuracy_time" : "accuracy";
    if (validated == trained) return time ? "validation_time" : "validation";
    return time ? "mixed_accuracy_time" : "mixed_accuracy";
}

// ---- Comparisons ----

static yaml_node *percent_of(const figure *f) {
    return facts_range((estimate){100 * f->value, {100 * f->low, 100 * f->high}});
}

// The time of an experiment, with the interval that its verdict is about: of the ratio to the
// baseline.
static yaml_node *time_of(const results *r, const comparison *c, const figure *time) {
    const figure *baseline = c ? results_group_figure(r, c->baseline, "seconds_per_epoch") : NULL;
    interval range = {time->low, time->high};
    if (baseline)
        range = (interval){baseline->value / c->speedup.range.high,
                           baseline->value / c->speedup.range.low};
    return facts_range((estimate){time->value, range});
}

// Each experiment by its time and its accuracy. A time without a verdict is not drawn: it may be
// that of a disturbed machine.
static void put_time_accuracy(yaml_node *charts, const results *r) {
    yaml_node *chart = chart_new("points", "time_accuracy");
    size_t judged = 0;
    yaml_put(chart, "percent", yaml_new_boolean(true));
    for (size_t i = 0; i <= r->comparison_count && i < r->group_count; i++) {
        const seed_group *g = &r->groups[i];
        const comparison *c = i ? &r->comparisons[i - 1] : NULL;
        const figure *time = results_group_figure(r, g, "seconds_per_epoch");
        const figure *accuracy = results_group_figure(r, g, "accuracy");
        if (c && !chart_shows(&c->time)) continue;
        if (!time || !accuracy || isnan(time->value) || isnan(accuracy->value)) continue;
        judged += i > 0;
        char *label = memory_format("%s%s", g->name, time->simulated ? "†" : "");
        yaml_node *item = chart_add(chart, label);
        yaml_put(item, "x", time_of(r, c, time));
        yaml_put(item, "y", percent_of(accuracy));
        yaml_put(item, "pale", yaml_new_boolean(c && chart_is_pale(&c->time)));
        free(label);
    }
    chart_put(charts, "time_accuracy", chart, judged);
}

static void put_accuracies(yaml_node *charts, const results *r) {
    yaml_node *chart = chart_new("intervals", "accuracies");
    yaml_put(chart, "scale", yaml_new_integer(100));
    for (size_t i = 0; i < r->group_count; i++)
        (void)chart_add_interval(chart, results_group_figure(r, &r->groups[i], "accuracy"),
                                 r->groups[i].name);
    chart_put(charts, "accuracies", chart, r->group_count > 1);
}

// ---- A ladder ----

// From the start to the end of a ladder, a row each step; controls lead nowhere. If a step has no
// verdict, there is no walk: its bar would be a claim.
static void put_walk(yaml_node *charts, const results *r, bool time) {
    const char *name = time ? "time_walk" : "accuracy_walk";
    const double scale = time ? 1 : 100;
    const plan *p = &r->plan;
    yaml_node *chart = chart_new("walk", name);
    double before = (double)NAN;
    bool whole = p->count && p->ladder;
    yaml_put(chart, "more_is_better", yaml_new_boolean(!time));
    for (size_t i = 0; whole && i < p->count; i++) {
        const planned *one = &p->items[i];
        const comparison *c = &one->step;
        const estimate *change = time ? &c->seconds : &c->accuracy_difference;
        const verdict *v = time ? &c->time : &c->accuracy;
        const double own =
            scale * results_group_value(r, &one->runs, time ? "seconds_per_epoch" : "accuracy");
        if (one->role == PLANNED_CONTROL) continue;
        whole = isfinite(own) && (one->role == PLANNED_START || chart_shows(v));
        yaml_node *item = chart_add(chart, one->role == PLANNED_START ? p->from : "");
        yaml_put(item, "factors", facts_factors(one));
        yaml_put(item, "from", json_new_number(one->role == PLANNED_START ? own : before));
        yaml_put(item, "to", json_new_number(own));
        yaml_put(item, "low", json_new_number(before + scale * change->range.low));
        yaml_put(item, "high", json_new_number(before + scale * change->range.high));
        yaml_put(item, "total", yaml_new_boolean(one->role == PLANNED_START));
        yaml_put(item, "pale", yaml_new_boolean(one->role == PLANNED_STEP && chart_is_pale(v)));
        before = own;
    }
    if (whole) {
        yaml_node *end = chart_add(chart, p->to);
        yaml_put(end, "from", json_new_number(before));
        yaml_put(end, "to", json_new_number(before));
        yaml_put(end, "total", yaml_new_boolean(true));
    }
    chart_put(charts, name, chart, whole);
}

// ---- A study ----

// The only key that differs, if its values are numbers: *values, one each variant; else NULL.
static const char *number_key(const plan *p, double *values) {
    const char *keys[2];
    if (facts_differing_keys(p, keys) != 1) return NULL;
    for (size_t i = 0; i < p->count; i++) {
        const yaml_node *own = planned_value(&p->items[i], keys[0]);
        const yaml_type type = yaml_scalar_type(own);
        if (type != YAML_INTEGER && type != YAML_NUMBER) return NULL;
        values[i] = strtod(own->text, NULL);
    }
    return keys[0];
}

// A range of more than a decade has a logarithmic axis.
static bool is_wide(const double *values, size_t count) {
    double least = values[0], most = values[0];
    for (size_t i = 1; i < count; i++) least = fmin(least, values[i]), most = fmax(most, values[i]);
    return least > 0 && most > 10 * least;
}

static int by_value(const void *a, const void *b) {
    const double *const *x = a, *const *y = b;
    return **x < **y ? -1 : **x > **y;
}

// The accuracy against the value of the only key that varies.
static void put_study_curve(yaml_node *charts, const results *r) {
    const plan *p = &r->plan;
    yaml_node *chart = chart_new("points", "study");
    if (p->count && !p->ladder && p->vary) {
        double *values = memory_new(p->count, sizeof *values);
        const double **order = memory_new(p->count, sizeof *order);
        const char *key = number_key(p, values);
        for (size_t i = 0; i < p->count; i++) order[i] = &values[i];
        qsort(order, p->count, sizeof *order, by_value);
        for (size_t i = 0; key && i < p->count; i++) {
            const size_t at = (size_t)(order[i] - values);
            const figure *f = results_group_figure(r, &p->items[at].runs, "accuracy");
            if (!f || isnan(f->value)) continue;
            yaml_node *item = chart_add(chart, "");
            yaml_put(item, "x", facts_range((estimate){values[at], {NAN, NAN}}));
            yaml_put(item, "y", percent_of(f));
        }
        yaml_put(chart, "key", json_new_text(key));
        yaml_put(chart, "joined", yaml_new_boolean(true));
        yaml_put(chart, "percent", yaml_new_boolean(true));
        yaml_put(chart, "log", yaml_new_boolean(is_wide(values, p->count)));
        free(values);
        free(order);
    }
    chart_put(charts, "study", chart, true);
}

// Appends "loader_workers 4", "ddp, 8": the values of a variant.
static void append_variant(text *out, const plan *p, const planned *one) {
    if (p->vary->count == 1) text_format(out, "%s ", p->vary->items[0]->text);
    for (size_t i = 0; i < p->vary->count; i++) {
        const yaml_node *own = planned_value(one, p->vary->items[i]->text);
        if (!own) continue;
        char *json = json_from_yaml(own);
        text_format(out, "%s%s", i ? ", " : "", own->kind == YAML_SCALAR ? own->text : json);
        free(json);
    }
}

// The speed of the variants relative to the first one.
static void put_study_times(yaml_node *charts, const results *r) {
    const plan *p = &r->plan;
    yaml_node *chart = chart_new("intervals", "study_times");
    yaml_put(chart, "reference", yaml_new_integer(1));
    for (size_t i = 0; p->count && !p->ladder && p->vary && i < p->count; i++) {
        const planned *one = &p->items[i];
        text label = {0};
        if (!one->compared || !chart_shows(&one->step.time)) continue;
        append_variant(&label, p, one);
        yaml_node *item = chart_add_interval(chart, results_figure(r, one->name, "time_ratio"),
                                             text_string(&label));
        if (item) yaml_put(item, "pale", yaml_new_boolean(chart_is_pale(&one->step.time)));
        text_release(&label);
    }
    chart_put(charts, "study_times", chart, true);
}

// ---- The time of a step ----

static void put_split(yaml_node *charts, const results *r) {
    static const chart_parts parts[RUN_PHASES] = {
        {"load", CHART_LOAD},         {"copy", CHART_COPY}, {"forward", CHART_FORWARD},
        {"backward", CHART_BACKWARD}, {"comm", CHART_COMM}, {"wait", CHART_WAIT},
        {"update", CHART_UPDATE}};
    yaml_node *chart = chart_new_stacked("split", parts, RUN_PHASES);
    yaml_put(chart, "wait", json_new_text(facts_wait(r)));
    for (size_t i = 0; i < r->list.count; i++) {
        const run *one = &r->list.runs[i];
        char *label = memory_format("%s%s", one->name, one->simulated ? "†" : "");
        if (one->train && !isnan(results_value(r, one->name, "sample.sum")))
            chart_add_stack(chart, r, label, "", one->name, "sample.");
        free(label);
    }
    chart_put(charts, "split", chart, true);
}

status facts_charts(const results *r, yaml_node **made, error *err) {
    yaml_node *charts = *made = yaml_new(YAML_MAPPING);
    const status rc = put_loss(charts, r, err);
    put_accuracy(charts, r, "accuracy", accuracy_words(r, false), false);
    put_accuracy(charts, r, "accuracy_time", accuracy_words(r, true), true);
    put_time_accuracy(charts, r);
    put_accuracies(charts, r);
    put_walk(charts, r, true);
    put_walk(charts, r, false);
    put_study_curve(charts, r);
    put_study_times(charts, r);
    put_split(charts, r);
    chart_put(charts, "use", facts_use_chart(r), true);
    return rc;
}
