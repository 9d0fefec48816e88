// SPDX-License-Identifier: MIT
#include "report/charts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/memory.h"
#include "report/drawing.h"
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

yaml_node *chart_add_interval(yaml_node *chart, const figure *f, const char *label) {
    if (!f || !isfinite(f->value)) return NULL;
    yaml_node *item = chart_add(chart, label);
    yaml_put(item, "id", yaml_new_string(f->id));
    yaml_put(item, "value", json_new_number(f->value));
    yaml_put(item, "low", json_new_number(f->low));
    yaml_put(item, "high", json_new_number(f->high));
    return item;
}

bool chart_shows(const verdict *v) {
    return v->kind != VERDICT_NONE;
}

bool chart_is_pale(const verdict *v) {
    return v->kind == VERDICT_UNDECIDED || v->kind == VERDICT_SAME || v->kind == VERDICT_COST;
}

yaml_node *chart_new_stacked(const char *words, const chart_parts *parts, size_t count) {
    yaml_node *chart = chart_new("stacked", words);
    yaml_node *names = yaml_new(YAML_SEQUENCE), *colours = yaml_new(YAML_SEQUENCE);
    for (size_t i = 0; i < count; i++) {
        yaml_append(names, yaml_new_string(parts[i].name));
        yaml_append(colours, yaml_new_integer(parts[i].colour));
    }
    yaml_put(chart, "parts", names);
    yaml_put(chart, "colours", colours);
    return chart;
}

void chart_add_stack(yaml_node *chart, const results *r, const char *label, const char *of,
                     const char *owner, const char *prefix) {
    const yaml_node *parts = yaml_find(chart, "parts");
    yaml_node *values = yaml_new(YAML_SEQUENCE);
    bool any = false, simulated = false;
    for (size_t i = 0; i < parts->count; i++) {
        char *metric = memory_format("%s%s", prefix, parts->items[i]->text);
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
    if (*of) yaml_put(item, "part", yaml_new_string(of));
    yaml_put(item, "values", values);
    yaml_put(item, "simulated", yaml_new_boolean(simulated));
}

void chart_put(yaml_node *charts, const char *name, yaml_node *chart, bool whole) {
    const bool shown = whole && yaml_find(chart, "items")->count;
    if (!shown) yaml_free(chart);
    yaml_put(charts, name, shown ? chart : json_new_text(NULL));
}

// ---- Drawing ----

static char *word_of(const plot *p, const char *what) {
    char *key = memory_format("%s.%s", yaml_text_at(p->chart, "words"), what);
    char *found = memory_string(p->word(p->context, "charts", key));
    free(key);
    return found;
}

// Returns the label of a row: as given, or the names of factors; then the word for its `part`.
static char *label_of(const plot *p, const yaml_node *item) {
    const yaml_node *factors = yaml_find(item, "factors");
    text out = {0};
    text_append(&out, yaml_text_at(item, "label"));
    for (size_t i = 0; factors && i < factors->count; i++) {
        if (i) text_append(&out, " + ");
        text_append(&out, p->word(p->context, "factors", factors->items[i]->text));
    }
    const char *part = yaml_text_at(item, "part");
    if (*part) text_format(&out, ", %s", p->word(p->context, "parts", part));
    return text_take(&out);
}

static plot open_plot(const yaml_node *chart, const char *id, chart_word word, void *context) {
    const yaml_node *items = yaml_find(chart, "items");
    plot p = {.chart = chart,
              .items = memory_new(items->count, sizeof *p.items),
              .count = items->count,
              .id = id,
              .word = word,
              .context = context};
    p.title = word_of(&p, "title");
    p.x = word_of(&p, "x");
    p.y = word_of(&p, "y");
    p.labels = memory_new(p.count, sizeof *p.labels);
    for (size_t i = 0; i < p.count; i++) {
        p.items[i] = items->items[i];
        p.labels[i] = label_of(&p, p.items[i]);
    }
    return p;
}

static void close_plot(plot *p) {
    for (size_t i = 0; i < p->count; i++) free(p->labels[i]);
    free(p->labels);
    free(p->items);
    free(p->title);
    free(p->x);
    free(p->y);
}

status chart_draw(const yaml_node *chart, chart_word word, void *context, drawing *d, error *err) {
    plot p = open_plot(chart, d->id, word, context);
    status rc = STATUS_OK;
    if (strcmp(yaml_text_at(chart, "kind"), "pictures") == 0) {
        text svg = {0};
        plot_pictures(&p, &svg);
        d->svg = text_take(&svg);
    } else {
        rc = plot_script(&p, &d->script, err);
    }
    d->title = memory_string(p.title);
    close_plot(&p);
    return rc;
}
