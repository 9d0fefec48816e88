// SPDX-License-Identifier: MIT
// Published figures next to ours.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/published_figures.h"

const yaml_node *published_of(const run *one) {
    return one->published && one->published->kind == YAML_SEQUENCE ? one->published : NULL;
}

// ---- Our figures ----

typedef struct published_kind {
    const char *key;
    const char *metric; // NULL: the speed-up of a comparison
    double scale;       // from milliseconds to its unit; 0: in the metric's own style
    bool percent;
} published_kind;

static const published_kind kinds[PUBLISHED_KEYS] = {
    [PUBLISHED_ACCURACY] = {"accuracy", "accuracy", 0, true},
    [PUBLISHED_SECONDS_PER_EPOCH] = {"seconds_per_epoch", "seconds_per_epoch", 0, false},
    [PUBLISHED_TOTAL_SECONDS] = {"total_seconds", "total_seconds", 0, false},
    [PUBLISHED_TRAIN_LOSS] = {"train_loss", "train_loss", 0, false},
    [PUBLISHED_BATCH_MS] = {"batch_ms", "step.wall", 1, false},
    [PUBLISHED_LOAD_SECONDS] = {"load_seconds", "step.load", 1e-3, false},
    // The reports' "update" is the whole step after the load.
    [PUBLISHED_UPDATE_SECONDS] = {"update_seconds", "step.rest", 1e-3, false},
    [PUBLISHED_SPEED_UP] = {"speed_up", NULL, 0, false},
};

// Sets the speed-up of a comparison, as far as it has a verdict.
static void set_speedup(published_own *own, const comparison *c) {
    if (c->time.kind == VERDICT_NONE || isnan(c->speedup.value)) return;
    own->value = c->speedup.value;
    if (c->time.kind == VERDICT_UNDECIDED)
        snprintf(own->text, sizeof own->text, "[%.2f, %.2f]", c->speedup.range.low,
                 c->speedup.range.high);
    else
        snprintf(own->text, sizeof own->text, "%.2f", own->value);
}

// Over the run that reproduces the published baseline, under the conditions of a plan's steps, else
// like for like.
static void set_speedup_over(published_own *own, const results *r, const seed_group *g,
                             const char *name) {
    for (size_t i = 0; i < r->group_count; i++) {
        comparison c = {0};
        error err = {0};
        if (strcmp(r->groups[i].name, name) != 0) continue;
        if (compare(g, &r->groups[i], &r->plan.varied, &c, &err) == STATUS_OK) set_speedup(own, &c);
        comparison_release(&c);
    }
}

// A claim names the baseline of its speed-up; other entries mean the baseline of the report.
static void set_own_speedup(published_own *own, const results *r, const seed_group *g) {
    const yaml_node *list = published_of(g->runs[0]);
    for (size_t i = 0; list && i < list->count; i++) {
        const char *over = run_text(list->items[i], "over");
        if (*over) {
            set_speedup_over(own, r, g, over);
            return;
        }
        if (*run_text(list->items[i], "claim") && yaml_find(list->items[i], "speed_up")) return;
    }
    for (size_t i = 0; i < r->comparison_count; i++)
        if (r->comparisons[i].subject == g) set_speedup(own, &r->comparisons[i]);
    for (size_t i = 0; i < r->plan.count && !r->plan.ladder; i++)
        if (r->plan.items[i].compared && r->plan.items[i].runs.runs[0] == g->runs[0])
            set_speedup(own, &r->plan.items[i].step);
}

// ---- As printed ----

// Rounds numbers with more digits than are useful.
static void append_number(text *out, const char *number) {
    enum { DIGITS_SHOWN = 8 };
    if (!number) return; // no figure: the input was never checked
    if (strlen(number) > DIGITS_SHOWN)
        text_format(out, "%.5g", strtod(number, NULL));
    else
        text_append(out, number);
}

void published_append_figure(text *out, const yaml_node *node) {
    const bool range = node->kind == YAML_SEQUENCE;
    for (size_t i = 0; range && i < node->count; i++) {
        if (i) text_append(out, "–");
        append_number(out, node->items[i]->text);
    }
    if (!range) append_number(out, node->text);
}

// ---- Rows ----

const char *published_key_name(published_key key) {
    return kinds[key].key;
}

status published_append_value(text *out, const yaml_node *node, published_key key, error *err) {
    const published_kind *k = &kinds[key];
    interval ends;
    status rc = published_value(node, k->key, &ends, err);
    if (rc != STATUS_OK) return rc;
    published_append_figure(out, node);
    if (k->percent) text_append(out, " %");
    return rc;
}

status published_append(text *out, const seed_group *g, published_key key, error *err) {
    const yaml_node *list = published_of(g->runs[0]);
    for (size_t i = 0; list && i < list->count; i++) {
        const yaml_node *entry = list->items[i];
        if (entry->kind != YAML_MAPPING)
            return yaml_error(entry, err, "'published': expected a mapping");
        const yaml_node *node = yaml_find(entry, kinds[key].key);
        if (!node) continue;
        if (out->length) text_append(out, "; ");
        status rc = published_append_value(out, node, key, err);
        if (rc != STATUS_OK) return rc;
    }
    return STATUS_OK;
}

// Writes a value in the style of its metric, or as seconds.
static void write_own(published_own *own, const metric_style *style, bool simulated) {
    const double shown = own->value * (style ? style->scale : 1);
    const char *sign = style ? style->sign : "", *mark = simulated ? "†" : "";
    char number[40];
    if (!isfinite(shown)) return;
    if (style && style->format)
        snprintf(number, sizeof number, style->format, shown);
    else
        snprintf(number, sizeof number, "%.*f", shown < 0.99995 ? 4 : 2, shown);
    snprintf(own->text, sizeof own->text, "%s%s%s", number, sign, mark);
}

void published_own_figure(const results *r, const seed_group *g, published_key key,
                          published_own *own) {
    const published_kind *k = &kinds[key];
    const figure *f = k->metric ? results_group_figure(r, g, k->metric) : NULL;
    *own = (published_own){.value = (double)NAN, .id = f ? f->id : ""};
    if (!k->metric) {
        set_own_speedup(own, r, g);
    } else if (f && k->scale == 0) {
        own->value = f->value;
        write_own(own, &f->row->style, f->simulated);
    } else if (f && run_has_time(g->runs[0])) {
        own->value = k->scale * f->value;
        write_own(own, NULL, g->runs[0]->simulated);
    }
}
