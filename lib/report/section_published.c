// SPDX-License-Identifier: MIT
// Published figures next to ours.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/effects.h"
#include "report/section_published.h"
#include "report/sections.h"

const yaml_node *published_of(const run *one) {
    return one->published && one->published->kind == YAML_SEQUENCE ? one->published : NULL;
}

// ---- Our figures ----

typedef struct published_kind {
    const char *key;
    const char *label;
    const char *metric; // NULL: the speed-up of a comparison
    double scale;       // from milliseconds to its unit; 0: in the metric's own style
    bool percent;
} published_kind;

static const published_kind kinds[PUBLISHED_KEYS] = {
    [PUBLISHED_ACCURACY] = {"accuracy", WORD("Test accuracy"), "accuracy", 0, true},
    [PUBLISHED_SECONDS_PER_EPOCH] = {"seconds_per_epoch", WORD("s / epoch"), "seconds_per_epoch", 0,
                                     false},
    [PUBLISHED_TOTAL_SECONDS] = {"total_seconds", WORD("Total s"), "total_seconds", 0, false},
    [PUBLISHED_TRAIN_LOSS] = {"train_loss", WORD("Train loss"), "train_loss", 0, false},
    [PUBLISHED_BATCH_MS] = {"batch_ms", WORD("ms / step"), "step.wall", 1, false},
    [PUBLISHED_LOAD_SECONDS] = {"load_seconds", WORD("Load, s / step"), "step.load", 1e-3, false},
    // The reports' "update" is the whole step after the load.
    [PUBLISHED_UPDATE_SECONDS] = {"update_seconds", WORD("Step without load, s"), "step.rest", 1e-3,
                                  false},
    [PUBLISHED_SPEED_UP] = {"speed_up", WORD("Speed-up"), NULL, 0, false},
};

// The speed-up over the run that reproduces the published baseline, under the conditions of a
// plan's steps, else like for like; NAN if not comparable.
static double speedup_over(const results *r, const seed_group *g, const char *name) {
    double value = NAN;
    for (size_t i = 0; i < r->group_count; i++) {
        comparison c = {0};
        error err = {0};
        if (strcmp(r->groups[i].name, name) != 0) continue;
        status rc = compare(g, &r->groups[i], &r->plan.varied, r->options.language, &c, &err);
        if (rc == STATUS_OK) value = c.speedup.value;
        comparison_release(&c);
    }
    return value;
}

// A claim names the baseline of its speed-up; other entries mean the baseline of the report.
static double own_speedup(const results *r, const seed_group *g) {
    const yaml_node *list = published_of(g->runs[0]);
    for (size_t i = 0; list && i < list->count; i++) {
        const char *over = run_text(list->items[i], "over");
        if (*over) return speedup_over(r, g, over);
        if (*run_text(list->items[i], "claim") && yaml_find(list->items[i], "speed_up")) return NAN;
    }
    for (size_t i = 0; i < r->comparison_count; i++)
        if (r->comparisons[i].subject == g) return r->comparisons[i].speedup.value;
    for (size_t i = 0; i < r->plan.count && !r->plan.ladder; i++)
        if (r->plan.items[i].compared && r->plan.items[i].runs.runs[0] == g->runs[0])
            return r->plan.items[i].step.speedup.value;
    return NAN;
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
    effect_append_figure(out, node);
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
    const char *sign = style ? style->sign : "", *mark = simulated ? SIMULATED_MARK : "";
    char number[TIME_TEXT];
    if (!isfinite(shown)) return;
    if (style && style->format)
        snprintf(number, sizeof number, style->format, shown);
    else
        snprintf(number, sizeof number, "%.*f", seconds_digits(shown), shown);
    snprintf(own->text, sizeof own->text, "%.40s%s%s", number, sign, mark);
}

void published_own_figure(const results *r, const seed_group *g, published_key key,
                          published_own *own) {
    const published_kind *k = &kinds[key];
    const figure *f = k->metric ? results_group_figure(r, g, k->metric) : NULL;
    *own = (published_own){.value = (double)NAN, .id = f ? f->id : ""};
    if (!k->metric) {
        own->value = own_speedup(r, g);
        if (!isnan(own->value)) snprintf(own->text, sizeof own->text, "%.2f", own->value);
    } else if (f && k->scale == 0) {
        own->value = f->value;
        write_own(own, &f->row->style, f->simulated);
    } else if (f && run_has_time(g->runs[0])) {
        own->value = k->scale * f->value;
        write_own(own, NULL, g->runs[0]->simulated);
    }
}
