// SPDX-License-Identifier: MIT
// Published figures beside ours as data.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "report/facts_parts.h"

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

static yaml_node *own_node(const char *id, double value, yaml_node *shown) {
    yaml_node *node = yaml_new(YAML_MAPPING);
    yaml_put(node, "id", json_new_text(id));
    yaml_put(node, "value", json_new_number(value));
    yaml_put(node, "text", shown);
    return node;
}

static bool has_speedup(const comparison *c) {
    return c->time.kind != VERDICT_NONE && !isnan(c->speedup.value);
}

// The speed-up of a comparison with a verdict: its interval, if it is undecided.
static yaml_node *speedup_node(const comparison *c) {
    const double value = c->speedup.value;
    text shown = {0};
    if (c->time.kind == VERDICT_UNDECIDED)
        text_format(&shown, "[%.2f, %.2f]", c->speedup.range.low, c->speedup.range.high);
    else
        text_format(&shown, "%.2f", value);
    yaml_node *node = own_node("", value, json_new_text(text_string(&shown)));
    text_release(&shown);
    return node;
}

// Over the run that reproduces the published baseline, under the conditions of a plan's steps, else
// like for like.
static yaml_node *speedup_over(const results *r, const seed_group *g, const char *name) {
    yaml_node *node = NULL;
    for (size_t i = 0; i < r->group_count; i++) {
        comparison c = {0};
        if (strcmp(r->groups[i].name, name) != 0) continue;
        if (compare(g, &r->groups[i], &r->plan.varied, &c, NULL) == STATUS_OK && has_speedup(&c)) {
            yaml_free(node);
            node = speedup_node(&c);
        }
        comparison_release(&c);
    }
    return node ? node : json_new_text(NULL);
}

// A claim names the baseline of its speed-up; other entries mean the baseline of the report.
static yaml_node *own_speedup(const results *r, const seed_group *g) {
    const yaml_node *list = published_of(g->runs[0]);
    const comparison *found = NULL;
    for (size_t i = 0; list && i < list->count; i++) {
        const char *over = yaml_text_at(list->items[i], "over");
        if (*over) return speedup_over(r, g, over);
        if (*yaml_text_at(list->items[i], "claim") && yaml_find(list->items[i], "speed_up"))
            return json_new_text(NULL);
    }
    for (size_t i = 0; i < r->comparison_count; i++)
        if (r->comparisons[i].subject == g && has_speedup(&r->comparisons[i]))
            found = &r->comparisons[i];
    for (size_t i = 0; i < r->plan.count && !r->plan.ladder; i++) {
        const planned *one = &r->plan.items[i];
        if (one->compared && one->runs.runs[0] == g->runs[0] && has_speedup(&one->step))
            found = &one->step;
    }
    return found ? speedup_node(found) : json_new_text(NULL);
}

yaml_node *facts_own_figure(const results *r, const seed_group *g, published_key key) {
    static const metric_style seconds = {NULL, 1, ""};
    const published_kind *k = &kinds[key];
    const run *first = g->runs[0];
    if (!k->metric) return own_speedup(r, g);
    const figure *f = results_group_figure(r, g, k->metric);
    if (!f || isnan(f->value) || (k->scale != 0 && !run_has_time(first)))
        return json_new_text(NULL);
    if (k->scale == 0)
        return own_node(f->id, f->value, facts_shown(f->value, &f->row->style, f->simulated));
    const double value = k->scale * f->value;
    return own_node(f->id, value, facts_shown(value, &seconds, first->simulated));
}

yaml_node *facts_other_epochs(const run *one) {
    const bool same = one->published_epochs == one->planned_epochs;
    return json_new_number(same ? (double)NAN : one->published_epochs);
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

static status append_value(text *out, const yaml_node *node, published_key key, error *err) {
    const published_kind *k = &kinds[key];
    interval ends;
    status rc = published_value(node, k->key, &ends, err);
    if (rc != STATUS_OK) return rc;
    published_append_figure(out, node);
    if (k->percent) text_append(out, " %");
    return rc;
}

static status append_all(text *out, const seed_group *g, published_key key, error *err) {
    const yaml_node *list = published_of(g->runs[0]);
    for (size_t i = 0; list && i < list->count; i++) {
        const yaml_node *entry = list->items[i];
        if (entry->kind != YAML_MAPPING)
            return yaml_error(entry, err, "'published': expected a mapping");
        const yaml_node *node = yaml_find(entry, kinds[key].key);
        if (!node) continue;
        if (out->length) text_append(out, "; ");
        NEED(append_value(out, node, key, err));
    }
    return STATUS_OK;
}

status facts_put_pair(yaml_node *node, const results *r, const seed_group *g, published_key key,
                      error *err) {
    yaml_node *pair = yaml_new(YAML_MAPPING);
    text published = {0};
    const status rc = append_all(&published, g, key, err);
    yaml_put(pair, "published", json_new_text(text_string(&published)));
    yaml_put(pair, "here", facts_own_figure(r, g, key));
    yaml_put(node, kinds[key].key, pair);
    text_release(&published);
    return rc;
}

static status add_rows(const results *r, yaml_node *rows, const seed_group *g,
                       const yaml_node *entry, error *err) {
    for (int k = 0; k < PUBLISHED_KEYS; k++) {
        const char *key = kinds[k].key;
        const yaml_node *node = yaml_find(entry, key);
        text written = {0};
        if (!node) continue;
        const status rc = append_value(&written, node, (published_key)k, err);
        yaml_node *row = yaml_new(YAML_MAPPING);
        yaml_put(row, "experiment", json_new_text(g->name));
        yaml_put(row, "quantity", json_new_text(key));
        yaml_put(row, "published", json_new_text(text_string(&written)));
        yaml_put(row, "other_epochs", facts_other_epochs(g->runs[0]));
        yaml_put(row, "here", facts_own_figure(r, g, (published_key)k));
        yaml_put(row, "source", json_new_text(yaml_text_at(entry, "source")));
        yaml_put(row, "where", json_new_text(yaml_text_at(entry, "where")));
        yaml_put(row, "note", json_new_text(yaml_text_at(entry, "note")));
        yaml_append(rows, row);
        text_release(&written);
        if (rc != STATUS_OK) return rc;
    }
    return STATUS_OK;
}

status facts_published(const results *r, yaml_node **made, error *err) {
    yaml_node *rows = *made = yaml_new(YAML_SEQUENCE);
    for (size_t i = 0; i < r->group_count; i++) {
        const seed_group *g = &r->groups[i];
        const yaml_node *list = published_of(g->runs[0]);
        for (size_t k = 0; list && k < list->count; k++) {
            if (list->items[k]->kind != YAML_MAPPING)
                return yaml_error(list->items[k], err, "'published': expected a mapping");
            const status rc = add_rows(r, rows, g, list->items[k], err);
            if (rc != STATUS_OK) return rc;
        }
    }
    return STATUS_OK;
}
