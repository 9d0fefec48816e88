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

void published_own_cell(const results *r, document *d, const seed_group *g, published_key key) {
    published_own own;
    published_own_figure(r, g, key, &own);
    document_cell(d, CELL_NUMBER, "%s", own.text);
    if (*own.id) document_cell_id(d, 0, own.id);
}

static status published_rows(const results *r, document *d, const seed_group *g,
                             const yaml_node *entry, error *err) {
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const yaml_node *node = yaml_find(entry, kinds[i].key);
        if (!node) continue;
        text value = {0};
        status rc = published_append_value(&value, node, (published_key)i, err);
        document_cell(d, CELL_STRONG, "%s", g->name);
        document_cell(d, CELL_TEXT, "%s", say(r, kinds[i].label));
        document_cell(d, CELL_NUMBER, "%s", text_string(&value));
        text_release(&value);
        if (rc != STATUS_OK) return rc;
        published_own_cell(r, d, g, (published_key)i);
        const char *where = run_text(entry, "where");
        document_cell(d, CELL_TEXT, "%s%s%s", run_text(entry, "source"), *where ? ", " : "", where);
        document_cell(d, CELL_TEXT, "%s", run_text(entry, "note"));
    }
    return STATUS_OK;
}

status section_published_table(const results *r, document *d, error *err) {
    static const wording head[] = {"Experiment",    "Quantity", "Published",
                                   "Measured here", "Source",   "Note"};
    bool any = false;
    for (size_t i = 0; i < r->group_count; i++) {
        const seed_group *g = &r->groups[i];
        const yaml_node *list = published_of(g->runs[0]);
        for (size_t k = 0; list && k < list->count; k++) {
            if (!any) {
                document_add(d, BLOCK_HEADING, "%s", say(r, "Published figures"));
                document_table(d, 6, "");
                head_cells(r, d, head, 6);
            }
            any = true;
            if (list->items[k]->kind != YAML_MAPPING)
                return yaml_error(list->items[k], err, "'published': expected a mapping");
            status rc = published_rows(r, d, g, list->items[k], err);
            if (rc != STATUS_OK) return rc;
        }
    }
    return STATUS_OK;
}
