// SPDX-License-Identifier: MIT
#include "report/charts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/memory.h"
#include "report/plot.h"

// ---- Building ----

yaml_node *chart_new(const char *kind, const char *words) {
    yaml_node *chart = yaml_new(YAML_MAPPING);
    yaml_put(chart, "kind", yaml_new_string(kind));
    yaml_put(chart, "words", yaml_new_string(words));
    yaml_put(chart, "items", yaml_new(YAML_SEQUENCE));
    return chart;
}

yaml_node *chart_add(yaml_node *chart, const char *label) {
    yaml_node *item = yaml_new(YAML_MAPPING);
    yaml_put(item, "label", json_new_string(label));
    yaml_append((yaml_node *)(uintptr_t)yaml_find(chart, "items"), item);
    return item;
}

yaml_node *chart_add_interval(yaml_node *chart, const results *r, const char *label,
                              const char *owner, const char *metric, bool pale) {
    const figure *f = results_figure(r, owner, metric);
    if (!f || !isfinite(f->value)) return NULL;
    yaml_node *item = chart_add(chart, label);
    yaml_put(item, "id", yaml_new_string(f->id));
    yaml_put(item, "value", json_new_number(f->value));
    yaml_put(item, "low", json_new_number(f->low));
    yaml_put(item, "high", json_new_number(f->high));
    yaml_put(item, "pale", yaml_new_boolean(pale));
    return item;
}

void chart_add_stack(yaml_node *chart, const results *r, const char *label, const char *part,
                     const char *owner, const char *prefix, const char *const *metrics,
                     size_t count) {
    yaml_node *values = yaml_new(YAML_SEQUENCE);
    bool any = false, simulated = false;
    for (size_t i = 0; i < count; i++) {
        char *metric = memory_format("%s%s", prefix, metrics[i]);
        const figure *f = results_figure(r, owner, metric);
        const bool known = f && isfinite(f->value);
        any |= known;
        simulated |= known && f->simulated;
        yaml_append(values, json_new_number(known ? f->value : 0));
        free(metric);
    }
    if (!any) {
        yaml_free(values);
        return;
    }
    yaml_node *item = chart_add(chart, label);
    if (*part) yaml_put(item, "part", yaml_new_string(part));
    yaml_put(item, "values", values);
    yaml_put(item, "simulated", yaml_new_boolean(simulated));
}

// ---- Drawing ----

typedef struct chart_reader {
    const yaml_node *chart, *items;
    const char *id;
    chart_word word;
    void *context;
    char *title, *x, *y; // in words
    char **labels;
} chart_reader;

static char *word_of(const chart_reader *c, const char *what) {
    char *key = memory_format("%s.%s", yaml_text_at(c->chart, "words"), what);
    char *found = memory_string(c->word(c->context, "charts", key));
    free(key);
    return found;
}

// Returns the label of a row: as given, or the names of factors; then the word for its `part`.
static char *label_of(const chart_reader *c, const yaml_node *item) {
    const yaml_node *factors = yaml_find(item, "factors");
    text out = {0};
    text_append(&out, yaml_text_at(item, "label"));
    for (size_t i = 0; factors && i < factors->count; i++) {
        if (i) text_append(&out, " + ");
        text_append(&out, c->word(c->context, "factors", factors->items[i]->text));
    }
    const char *part = yaml_text_at(item, "part");
    if (*part) text_format(&out, ", %s", c->word(c->context, "parts", part));
    text_append(&out, ""); // so that there is a string
    return text_take(&out);
}

static void open_chart(chart_reader *c) {
    c->items = yaml_find(c->chart, "items");
    c->title = word_of(c, "title");
    c->x = word_of(c, "x");
    c->y = word_of(c, "y");
    c->labels = memory_new(c->items->count, sizeof *c->labels);
    for (size_t i = 0; i < c->items->count; i++) c->labels[i] = label_of(c, c->items->items[i]);
}

static void close_chart(chart_reader *c) {
    for (size_t i = 0; i < c->items->count; i++) free(c->labels[i]);
    free(c->labels);
    free(c->title);
    free(c->x);
    free(c->y);
}

static bool is_set(const yaml_node *node, const char *key) {
    return strcmp(yaml_text_at(node, key), "true") == 0;
}

// Reads a list of numbers into `to`, which has room for it.
static size_t read_numbers(const yaml_node *item, const char *key, double *to) {
    const yaml_node *list = yaml_find(item, key);
    for (size_t i = 0; list && i < list->count; i++)
        to[i] = yaml_scalar_type(list->items[i]) == YAML_NULL ? (double)NAN
                                                              : strtod(list->items[i]->text, NULL);
    return list ? list->count : 0;
}

static size_t list_size(const yaml_node *item, const char *key) {
    const yaml_node *list = yaml_find(item, key);
    return list ? list->count : 0;
}

static status draw_curves(const chart_reader *c, char **svg, error *err) {
    const size_t count = c->items->count;
    plot_curve *curves = memory_new(count, sizeof *curves);
    double **numbers = memory_new(count, sizeof *numbers);
    for (size_t i = 0; i < count; i++) {
        const yaml_node *item = c->items->items[i];
        const size_t points = list_size(item, "x");
        numbers[i] = memory_new(2 * points, sizeof **numbers);
        read_numbers(item, "x", numbers[i]);
        if (list_size(item, "y") == points) read_numbers(item, "y", numbers[i] + points);
        curves[i] = (plot_curve){.name = *c->labels[i] ? c->labels[i] : NULL,
                                 .colour = (int)yaml_number_at(item, "colour"),
                                 .faint = is_set(item, "faint"),
                                 .x = numbers[i],
                                 .y = numbers[i] + points,
                                 .count = points};
    }
    const plot_axes axes = {.id = c->id,
                            .title = c->title,
                            .x = c->x,
                            .y = c->y,
                            .seconds = is_set(c->chart, "seconds"),
                            .percent = is_set(c->chart, "percent")};
    const status rc = plot_curves(&axes, curves, count, svg, err);
    for (size_t i = 0; i < count; i++) free(numbers[i]);
    free(numbers);
    free(curves);
    return rc;
}

static status draw_stacked(const chart_reader *c, char **svg, error *err) {
    const yaml_node *parts = yaml_find(c->chart, "parts");
    const size_t count = c->items->count, n = parts->count;
    double *values = memory_new(count * n, sizeof *values),
           *colours = memory_new(n, sizeof *colours);
    bool *hatched = memory_new(count, sizeof *hatched);
    int *colour = memory_new(n, sizeof *colour);
    const char **names = memory_new(n, sizeof *names);
    const double given = yaml_number_at(c->chart, "scale"), scale = isnan(given) ? 1 : given;
    const bool coloured = read_numbers(c->chart, "colours", colours) == n;
    for (size_t k = 0; k < n; k++) {
        names[k] = c->word(c->context, "parts", parts->items[k]->text);
        colour[k] = coloured ? (int)colours[k] : (int)k;
    }
    for (size_t i = 0; i < count; i++) {
        read_numbers(c->items->items[i], "values", values + i * n);
        for (size_t k = 0; k < n; k++) values[i * n + k] *= scale;
        hatched[i] = is_set(c->items->items[i], "simulated");
    }
    const plot_bars bars = {.id = c->id,
                            .title = c->title,
                            .x = c->x,
                            .bars = (const char *const *)c->labels,
                            .parts = names,
                            .bar_count = count,
                            .part_count = n,
                            .value = values,
                            .colours = colour,
                            .hatched = hatched};
    const status rc = plot_stacked(&bars, svg, err);
    free(values);
    free(colours);
    free(hatched);
    free(colour);
    free(names);
    return rc;
}

static status draw_intervals(const chart_reader *c, char **svg, error *err) {
    const size_t count = c->items->count;
    plot_interval *rows = memory_new(count, sizeof *rows);
    const double given = yaml_number_at(c->chart, "scale"), scale = isnan(given) ? 1 : given;
    for (size_t i = 0; i < count; i++) {
        const yaml_node *item = c->items->items[i];
        rows[i] = (plot_interval){.name = c->labels[i],
                                  .value = scale * yaml_number_at(item, "value"),
                                  .low = scale * yaml_number_at(item, "low"),
                                  .high = scale * yaml_number_at(item, "high"),
                                  .pale = is_set(item, "pale")};
    }
    const plot_intervals p = {.id = c->id,
                              .title = c->title,
                              .x = c->x,
                              .rows = rows,
                              .count = count,
                              .reference = yaml_number_at(c->chart, "reference")};
    const status rc = plot_intervals_draw(&p, svg, err);
    free(rows);
    return rc;
}

static status draw_cloud(const chart_reader *c, char **svg, error *err) {
    const size_t count = c->items->count;
    plot_point *points = memory_new(count, sizeof *points);
    for (size_t i = 0; i < count; i++) {
        const yaml_node *item = c->items->items[i];
        points[i] = (plot_point){.name = *c->labels[i] ? c->labels[i] : NULL,
                                 .x = yaml_number_at(item, "x.value"),
                                 .x_low = yaml_number_at(item, "x.low"),
                                 .x_high = yaml_number_at(item, "x.high"),
                                 .y = yaml_number_at(item, "y.value"),
                                 .y_low = yaml_number_at(item, "y.low"),
                                 .y_high = yaml_number_at(item, "y.high"),
                                 .pale = is_set(item, "pale")};
    }
    const char *key = yaml_text_at(c->chart, "key"); // of an experiment: what the x axis is
    const plot_cloud p = {.id = c->id,
                          .title = c->title,
                          .x = *key ? key : c->x,
                          .y = c->y,
                          .points = points,
                          .count = count,
                          .joined = is_set(c->chart, "joined"),
                          .log = is_set(c->chart, "log"),
                          .percent = is_set(c->chart, "percent")};
    const status rc = plot_cloud_draw(&p, svg, err);
    free(points);
    return rc;
}

static status draw_walk(const chart_reader *c, char **svg, error *err) {
    const size_t count = c->items->count;
    plot_step *steps = memory_new(count, sizeof *steps);
    for (size_t i = 0; i < count; i++) {
        const yaml_node *item = c->items->items[i];
        steps[i] = (plot_step){.name = c->labels[i],
                               .from = yaml_number_at(item, "from"),
                               .to = yaml_number_at(item, "to"),
                               .low = yaml_number_at(item, "low"),
                               .high = yaml_number_at(item, "high"),
                               .total = is_set(item, "total"),
                               .pale = is_set(item, "pale")};
    }
    const plot_walk p = {.id = c->id,
                         .title = c->title,
                         .x = c->x,
                         .steps = steps,
                         .count = count,
                         .more_is_better = is_set(c->chart, "more_is_better")};
    const status rc = plot_walk_draw(&p, svg, err);
    free(steps);
    return rc;
}

static status draw_pictures(const chart_reader *c, char **svg, error *err) {
    text out = {0};
    (void)err;
    chart_draw_pictures(c->items, c->id, c->title, c->word, c->context, &out);
    *svg = text_take(&out);
    return STATUS_OK;
}

status chart_draw(const yaml_node *chart, const char *id, chart_word word, void *context,
                  char **svg, error *err) {
    static const struct {
        const char *kind;
        status (*draw)(const chart_reader *c, char **svg, error *err);
    } kinds[] = {{"curves", draw_curves}, {"stacked", draw_stacked}, {"intervals", draw_intervals},
                 {"points", draw_cloud},  {"walk", draw_walk},       {"pictures", draw_pictures}};
    chart_reader c = {.chart = chart, .id = id, .word = word, .context = context};
    const char *kind = yaml_text_at(chart, "kind");
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (strcmp(kinds[i].kind, kind) != 0) continue;
        open_chart(&c);
        const status rc = kinds[i].draw(&c, svg, err);
        close_chart(&c);
        return rc;
    }
    return error_set(err, STATUS_INPUT, "cannot draw '%s': there is no chart of kind '%s'", id,
                     kind);
}
