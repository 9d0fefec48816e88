// SPDX-License-Identifier: MIT
// Comparisons and verdicts, the steps of a ladder, and the variants of a study, as data.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/memory.h"
#include "report/facts_parts.h"
#include "results/leader.h"

// ---- Verdicts ----

static const char *const kinds[] = {
    [VERDICT_NONE] = "none",   [VERDICT_IDENTICAL] = "identical", [VERDICT_DIFFERENT] = "different",
    [VERDICT_SMALL] = "small", [VERDICT_SAME] = "same",           [VERDICT_UNDECIDED] = "undecided",
    [VERDICT_COST] = "cost"};

static const char *const lacks[] = {[MISSING_NOTHING] = "",
                                    [MISSING_LIKE_FOR_LIKE] = "like-for-like",
                                    [MISSING_TURNS] = "turns",
                                    [MISSING_EXECUTIONS] = "executions",
                                    [MISSING_QUIET] = "quiet",
                                    [MISSING_DEMAND] = "demand",
                                    [MISSING_TEST_DATA] = "test-data",
                                    [MISSING_SEEDS] = "seeds"};

static const char *const tests[] = {[TEST_NONE] = "",
                                    [TEST_TURNS] = "turns",
                                    [TEST_SEEDS] = "seeds",
                                    [TEST_APART] = "apart",
                                    [TEST_SAMPLES] = "samples"};

static yaml_node *verdict_node(const verdict *v) {
    yaml_node *node = yaml_new(YAML_MAPPING);
    yaml_put(node, "kind", json_new_text(kinds[v->kind]));
    yaml_put(node, "missing", json_new_text(lacks[v->missing]));
    yaml_put(node, "test", json_new_text(tests[v->test]));
    yaml_put(node, "of_models", yaml_new_boolean(verdict_is_of_models(v)));
    yaml_put(node, "p", json_new_number(v->test == TEST_NONE ? (double)NAN : v->p));
    yaml_put(node, "adjusted", json_new_number(v->test == TEST_NONE ? (double)NAN : v->adjusted));
    yaml_put(node, "tests", json_new_count((int64_t)v->tests));
    yaml_put(node, "subject", json_new_count((int64_t)v->subject));
    yaml_put(node, "baseline", json_new_count((int64_t)v->baseline));
    const size_t needed = verdict_seeds_needed(v);
    yaml_put(node, "seeds_needed", json_new_count(needed ? (int64_t)needed : -1));
    return node;
}

yaml_node *facts_rules(void) {
    yaml_node *node = yaml_new(YAML_MAPPING);
    yaml_put(node, "executions", yaml_new_integer(VERDICT_EXECUTIONS));
    yaml_put(node, "seeds", yaml_new_integer(VERDICT_SEEDS));
    yaml_put(node, "time_margin", yaml_new_number(VERDICT_TIME_MARGIN));
    yaml_put(node, "accuracy_margin", yaml_new_number(VERDICT_ACCURACY_MARGIN));
    return node;
}

// ---- Values of several parts ----

yaml_node *facts_names(const seed_group *g) {
    yaml_node *names = yaml_new(YAML_SEQUENCE);
    for (size_t i = 0; i < g->count; i++) yaml_append(names, json_new_string(g->runs[i]->name));
    return names;
}

yaml_node *facts_range(estimate e) {
    yaml_node *node = yaml_new(YAML_MAPPING);
    yaml_put(node, "value", json_new_number(e.value));
    yaml_put(node, "low", json_new_number(e.range.low));
    yaml_put(node, "high", json_new_number(e.range.high));
    return node;
}

yaml_node *facts_reasons(const reason_list *list) {
    yaml_node *nodes = yaml_new(YAML_SEQUENCE);
    for (size_t i = 0; i < list->count; i++) {
        yaml_node *node = yaml_new(YAML_MAPPING);
        yaml_put(node, "of", yaml_new_string(list->items[i].of));
        yaml_put(node, "a", json_new_text(list->items[i].a));
        yaml_put(node, "b", json_new_text(list->items[i].b));
        yaml_append(nodes, node);
    }
    return nodes;
}

// ---- Comparisons ----

static yaml_node *setting_node(const comparison *c) {
    reason_list setting = {0};
    if (c->setting) like_setting(c->subject->runs[0], c->baseline->runs[0], c->setting, &setting);
    yaml_node *node = facts_reasons(&setting);
    reasons_release(&setting);
    return node;
}

static yaml_node *points_node(estimate difference) {
    const interval range = {100 * difference.range.low, 100 * difference.range.high};
    return facts_range((estimate){100 * difference.value, range});
}

// A count of the baseline and of the subject; null if they are equal, or one is unknown.
static yaml_node *change_node(int64_t from, int64_t to) {
    if (from < 1 || to < 1 || from == to) return json_new_text(NULL);
    yaml_node *node = yaml_new(YAML_MAPPING);
    yaml_put(node, "from", json_new_count(from));
    yaml_put(node, "to", json_new_count(to));
    return node;
}

// How another V changes the models of runs; a comparison of arms alone has none.
static void put_shards(yaml_node *node, const comparison *c) {
    const run *to = c->subject->count ? c->subject->runs[0] : NULL;
    const run *from = c->baseline->count ? c->baseline->runs[0] : NULL;
    const bool known = from && to;
    yaml_put(node, "shards",
             known ? change_node(from->virtual_shards, to->virtual_shards) : json_new_text(NULL));
    yaml_put(node, "batch_norm",
             known ? change_node(like_batch_norm_samples(from), like_batch_norm_samples(to))
                   : json_new_text(NULL));
    yaml_put(node, "but_shards", yaml_new_boolean(known && like_but_shards(to, from)));
}

yaml_node *facts_comparison(const comparison *c, const char *owner) {
    yaml_node *node = yaml_new(YAML_MAPPING);
    yaml_put(node, "name", json_new_text(owner));
    yaml_put(node, "subject", json_new_text(c->subject->name));
    yaml_put(node, "baseline", json_new_text(c->baseline->name));
    yaml_put(node, "unlike", facts_reasons(&c->unlike)); // why not like for like; empty: it is
    yaml_put(node, "setting", setting_node(c));
    yaml_put(node, "arithmetic", facts_reasons(&c->arithmetic));
    put_shards(node, c);
    yaml_put(node, "identical", yaml_new_boolean(c->identical));
    yaml_put(node, "simulated", yaml_new_boolean(c->simulated));
    yaml_put(node, "crowd", c->crowded ? facts_crowd(c->crowded) : json_new_text(NULL));
    yaml_put(node, "ratio", facts_range(c->speedup));
    yaml_put(node, "beside", facts_range(c->beside));
    yaml_put(node, "others", json_new_number(c->timing ? c->timing->others : (double)NAN));
    yaml_put(node, "cores", json_new_number(c->timing ? c->timing->cores : (double)NAN));
    yaml_put(node, "spread", facts_range((estimate){(double)NAN, c->spread}));
    yaml_put(node, "seconds", facts_range(c->seconds));
    yaml_put(node, "total", facts_range(c->total));
    yaml_put(node, "points", points_node(c->accuracy_difference));
    yaml_put(node, "time", verdict_node(&c->time));
    yaml_put(node, "accuracy_verdict", verdict_node(&c->accuracy));
    return node;
}

// ---- Plans ----

// Where batch norm averages over other samples, that is what V changes, in a reader's words.
yaml_node *facts_factor(const char *name, const run *from, const run *to) {
    const int64_t before = like_batch_norm_samples(from), after = like_batch_norm_samples(to);
    const bool norm = strcmp(name, "virtual-shards") == 0 && before && after && before != after;
    return json_new_text(norm ? "batch-norm" : name);
}

yaml_node *facts_factors(const planned *one) {
    const yaml_node *list = yaml_find(one->entry, "factors");
    yaml_node *factors = yaml_new(YAML_SEQUENCE);
    const run *to = one->runs.runs[0], *from = one->compared ? one->step.baseline->runs[0] : to;
    for (size_t i = 0; list && list->kind == YAML_SEQUENCE && i < list->count; i++)
        if (list->items[i]->kind == YAML_SCALAR)
            yaml_append(factors, facts_factor(list->items[i]->text, from, to));
    return factors;
}

// A published figure as written: "72.80", "55–65". Digits beyond use are rounded away.
static yaml_node *published_text(const yaml_node *entry, const char *key) {
    const yaml_node *own = yaml_find(entry, key);
    text out = {0};
    if (own) published_append_figure(&out, own);
    yaml_node *node = json_new_text(text_string(&out));
    text_release(&out);
    return node;
}

// The figures that each source published for a run: the entry that the walk uses.
static yaml_node *published_of_item(const planned *one) {
    static const char *const keys[] = {"accuracy", "seconds_per_epoch", "total_seconds"};
    const yaml_node *list = yaml_find(one->entry, "published");
    yaml_node *all = yaml_new(YAML_SEQUENCE);
    for (size_t i = 0; list && list->kind == YAML_SEQUENCE && i < list->count; i++) {
        const char *source = yaml_text_at(list->items[i], "source");
        if (published_entry(one->entry, source, NULL) != list->items[i]) continue;
        yaml_node *node = yaml_new(YAML_MAPPING);
        yaml_put(node, "source", json_new_text(source));
        for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
            yaml_put(node, keys[k], published_text(list->items[i], keys[k]));
        yaml_put(node, "other_epochs", facts_other_epochs(one->runs.runs[0]));
        yaml_append(all, node);
    }
    return all;
}

static yaml_node *changes_of(const planned *one) {
    const yaml_node *changes = yaml_find(one->entry, "changes");
    yaml_node *list = yaml_new(YAML_SEQUENCE);
    for (size_t i = 0; changes && changes->kind == YAML_MAPPING && i < changes->count; i++) {
        yaml_node *change = yaml_new(YAML_MAPPING);
        yaml_put(change, "key", json_new_text(changes->keys[i]));
        yaml_put(change, "from", json_new_text(yaml_text_at(changes->items[i], "0")));
        yaml_put(change, "to", json_new_text(yaml_text_at(changes->items[i], "1")));
        yaml_append(list, change);
    }
    return list;
}

// The value of each key that a study varies: a scalar as written, a collection as JSON.
static yaml_node *values_of(const plan *p, const planned *one) {
    yaml_node *list = yaml_new(YAML_SEQUENCE);
    for (size_t i = 0; p->vary && i < p->vary->count; i++) {
        const char *key = p->vary->items[i]->text;
        const yaml_node *own = planned_value(one, key);
        yaml_node *value = yaml_new(YAML_MAPPING);
        char *json = own && own->kind != YAML_SCALAR ? json_from_yaml(own) : NULL;
        yaml_put(value, "key", json_new_text(key));
        yaml_put(value, "value",
                 own && own->kind == YAML_SCALAR ? yaml_copy(own) : json_new_text(json));
        yaml_append(list, value);
        free(json);
    }
    return list;
}

// Of a control, whose learning rate was scaled with the batch: the step that it is compared with,
// if that one lost accuracy and the control gives some of it back. `most`: at least half. null: the
// rate is not the cause, or there is no verdict.
static yaml_node *cause_of(const plan *p, const planned *control) {
    const planned *batch = NULL;
    for (size_t i = 0; control->role == PLANNED_CONTROL && i < p->count; i++)
        if (&p->items[i].runs == control->step.baseline) batch = &p->items[i];
    if (!batch || !batch->compared) return json_new_text(NULL);
    const verdict *came = &control->step.accuracy, *went = &batch->step.accuracy;
    const double back = control->step.accuracy_difference.value,
                 lost = -batch->step.accuracy_difference.value;
    if (!verdict_is_difference(came) || !verdict_is_difference(went) || !(back > 0) || !(lost > 0))
        return json_new_text(NULL);
    yaml_node *node = yaml_new(YAML_MAPPING);
    yaml_put(node, "most", yaml_new_boolean(back >= lost / 2));
    yaml_put(node, "step", json_new_text(batch->name));
    yaml_put(node, "one_seed",
             yaml_new_boolean(verdict_is_of_models(came) || verdict_is_of_models(went)));
    return node;
}

static yaml_node *item_node(const plan *p, const planned *one) {
    yaml_node *node = yaml_new(YAML_MAPPING);
    yaml_put(node, "name", json_new_text(one->name));
    yaml_put(node, "role", json_new_text(yaml_text_at(one->entry, "role")));
    yaml_put(node, "runs", facts_names(&one->runs));
    yaml_put(node, "simulated", yaml_new_boolean(seed_group_is_simulated(&one->runs)));
    yaml_put(node, "model_hash", json_new_text(one->runs.runs[0]->model_content));
    yaml_put(node, "factors", facts_factors(one));
    yaml_put(node, "changes", changes_of(one));
    yaml_put(node, "values", values_of(p, one));
    yaml_put(node, "kept", json_new_text(yaml_text_at(one->entry, "kept")));
    yaml_put(node, "because", json_new_text(yaml_text_at(one->entry, "because")));
    yaml_put(node, "published", published_of_item(one));
    yaml_put(node, "cause", cause_of(p, one));
    yaml_put(node, "compared",
             one->compared ? facts_comparison(&one->step, one->name) : json_new_text(NULL));
    return node;
}

static bool varies(const plan *p, const char *key) {
    for (size_t i = 0; p->vary && i < p->vary->count; i++)
        if (strcmp(p->vary->items[i]->text, key) == 0) return true;
    return false;
}

// Variants with the same model, seed by seed, differ in time alone.
static bool is_of_time(const plan *p) {
    for (size_t i = 0; i < p->count; i++)
        if (p->items[i].compared && !p->items[i].step.identical) return false;
    return true;
}

status facts_put_standings(yaml_node *nodes, const seed_group *const *groups,
                           const comparison *const *with_first, const varied_keys *varied,
                           error *err) {
    static const char *const standings[] = {[STANDING_FIRST] = "first",
                                            [STANDING_LEVEL] = "level",
                                            [STANDING_BEHIND] = "behind",
                                            [STANDING_UNKNOWN] = ""};
    const size_t count = nodes->count;
    leader l;
    NEED(leader_compare(groups, count, leader_in_time(with_first, count), varied, &l, err));
    for (size_t i = 0; i < count; i++)
        yaml_put(nodes->items[i], "in_time",
                 json_new_text(standings[leader_standing_in_time(&l, i)]));
    leader_release(&l);
    return STATUS_OK;
}

// Adds to each variant whether it is the best, whether it can be told from the best one, and how
// far it is behind; and how many seeds would tell all of them.
static status put_best(const results *r, const seed_group *const *groups, yaml_node *node,
                       const yaml_node *items, error *err) {
    const plan *p = &r->plan;
    double *means = memory_new(p->count, sizeof *means);
    leader l;
    for (size_t i = 0; i < p->count; i++) means[i] = results_group_value(r, groups[i], "accuracy");
    const size_t best = p->ladder ? p->count : leader_in_accuracy(means, p->count);
    size_t needed = 0;
    status rc = leader_compare(groups, p->count, best, &p->varied, &l, err);
    for (size_t i = 0; rc == STATUS_OK && i < p->count; i++) {
        const comparison *c = best < p->count && i != best ? &l.against[i] : NULL;
        yaml_put(items->items[i], "best", yaml_new_boolean(i == best));
        yaml_put(items->items[i], "against_best",
                 c ? verdict_node(&c->accuracy) : json_new_text(NULL));
        yaml_put(items->items[i], "behind_best",
                 c ? points_node(c->accuracy_difference) : json_new_text(NULL));
        if (c && verdict_seeds_needed(&c->accuracy) > needed)
            needed = verdict_seeds_needed(&c->accuracy);
    }
    yaml_put(node, "seeds_needed", json_new_count(needed ? (int64_t)needed : -1));
    if (rc == STATUS_OK) leader_release(&l);
    free(means);
    return rc;
}

// Both, for the variants of a study.
static status put_leaders(const results *r, yaml_node *node, yaml_node *items, error *err) {
    const plan *p = &r->plan;
    const seed_group **groups = memory_new(p->count, sizeof *groups);
    const comparison **with_first = memory_new(p->count, sizeof *with_first);
    for (size_t i = 0; i < p->count; i++) {
        groups[i] = &p->items[i].runs;
        with_first[i] = p->items[i].compared ? &p->items[i].step : NULL;
    }
    status rc = put_best(r, groups, node, items, err);
    if (rc == STATUS_OK && !p->ladder)
        rc = facts_put_standings(items, groups, with_first, &p->varied, err);
    free(groups);
    free(with_first);
    return rc;
}

// ---- A sweep of two keys ----

size_t facts_differing_keys(const plan *p, const char *keys[2]) {
    size_t count = 0;
    for (size_t k = 0; p->vary && k < p->vary->count; k++) {
        const char *key = p->vary->items[k]->text;
        bool differs = false;
        for (size_t i = 0; i < p->count; i++) {
            const yaml_node *own = planned_value(&p->items[i], key);
            if (!own || own->kind != YAML_SCALAR) return 0;
            differs |= strcmp(own->text, planned_value(&p->items[0], key)->text) != 0;
        }
        if (differs && count < 2) keys[count] = key;
        count += differs;
    }
    return count;
}

// Adds a value to a list of different ones.
static void add_value(yaml_node *list, const yaml_node *value) {
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->items[i]->text, value->text) == 0) return;
    yaml_append(list, yaml_copy(value));
}

// The variant with these values; null: none.
static yaml_node *cell_of(const plan *p, const char *const keys[2], const yaml_node *row,
                          const yaml_node *column) {
    for (size_t i = 0; i < p->count; i++) {
        const planned *one = &p->items[i];
        if (strcmp(planned_value(one, keys[0])->text, row->text) != 0) continue;
        if (strcmp(planned_value(one, keys[1])->text, column->text) != 0) continue;
        yaml_node *node = yaml_new(YAML_MAPPING);
        yaml_put(node, "name", json_new_text(one->name));
        yaml_put(node, "runs", facts_names(&one->runs));
        return node;
    }
    return json_new_text(NULL);
}

// The variants of a sweep of two keys: `rows` of the first, `columns` of the second; null: it is
// none.
static yaml_node *grid_of(const plan *p) {
    const char *keys[2];
    if (p->ladder || facts_differing_keys(p, keys) != 2) return json_new_text(NULL);
    yaml_node *node = yaml_new(YAML_MAPPING), *rows = yaml_new(YAML_SEQUENCE);
    yaml_node *values = yaml_new(YAML_SEQUENCE), *columns = yaml_new(YAML_SEQUENCE);
    for (size_t i = 0; i < p->count; i++) {
        add_value(values, planned_value(&p->items[i], keys[0]));
        add_value(columns, planned_value(&p->items[i], keys[1]));
    }
    for (size_t r = 0; r < values->count; r++) {
        yaml_node *row = yaml_new(YAML_MAPPING), *cells = yaml_new(YAML_SEQUENCE);
        for (size_t c = 0; c < columns->count; c++)
            yaml_append(cells, cell_of(p, keys, values->items[r], columns->items[c]));
        yaml_put(row, "value", yaml_copy(values->items[r]));
        yaml_put(row, "cells", cells);
        yaml_append(rows, row);
    }
    yaml_put(node, "row_key", json_new_text(keys[0]));
    yaml_put(node, "column_key", json_new_text(keys[1]));
    yaml_put(node, "columns", columns);
    yaml_put(node, "rows", rows);
    yaml_free(values);
    return node;
}

// Whether loading or computing bounds the time of a step; null: no times.
static yaml_node *bound_of(const results *r, const planned *one) {
    static const char *const bounds[LOAD_BOUNDS] = {[LOAD_BOUND_LOADER] = "loader",
                                                    [LOAD_BOUND_COMPUTE] = "compute",
                                                    [LOAD_BOUND_UNDECIDED] = "undecided",
                                                    [LOAD_BOUND_UNKNOWN] = ""};
    const figure *f = results_figure(r, one->name, "load_share");
    const load_bound b =
        f ? load_bound_of(f->value, (interval){f->low, f->high}) : LOAD_BOUND_UNKNOWN;
    return json_new_text(bounds[b]);
}

status facts_plan(const results *r, yaml_node **made, error *err) {
    const plan *p = &r->plan;
    *made = p->count ? yaml_new(YAML_MAPPING) : json_new_text(NULL);
    if (!p->count) return STATUS_OK;
    yaml_node *node = *made, *items = yaml_new(YAML_SEQUENCE);
    const planned *in_time = planned_largest_in_time(p);
    const planned *in_accuracy = planned_largest_in_accuracy(p);
    yaml_put(node, "title", json_new_text(yaml_text_at(p->head, "title")));
    yaml_put(node, "from", json_new_text(p->from));
    yaml_put(node, "to", json_new_text(p->to));
    yaml_put(node, "study", json_new_text(p->name));
    yaml_put(node, "vary", p->vary ? yaml_copy(p->vary) : yaml_new(YAML_SEQUENCE));
    for (size_t i = 0; i < p->count; i++) {
        yaml_node *item = item_node(p, &p->items[i]);
        yaml_put(item, "bound", bound_of(r, &p->items[i]));
        yaml_append(items, item);
    }
    yaml_put(node, "grid", grid_of(p));
    yaml_put(node, "of_time", yaml_new_boolean(is_of_time(p)));
    yaml_put(node, "of_loader", yaml_new_boolean(varies(p, "loader_workers")));
    yaml_put(node, "of_ranks", yaml_new_boolean(varies(p, "world_size")));
    yaml_put(node, "items", items);
    yaml_put(node, "largest_in_time", json_new_text(in_time ? in_time->name : NULL));
    yaml_put(node, "largest_in_accuracy", json_new_text(in_accuracy ? in_accuracy->name : NULL));
    yaml_put(node, "all", p->ladder ? facts_comparison(&p->all, "all") : json_new_text(NULL));
    return put_leaders(r, node, items, err);
}
