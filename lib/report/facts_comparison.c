// SPDX-License-Identifier: MIT
// Comparisons and verdicts, the steps of a ladder, and the variants of a study, as data.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/memory.h"
#include "report/facts.h"

// ---- Verdicts ----

static const char *const kinds[] = {
    [VERDICT_NONE] = "none",   [VERDICT_IDENTICAL] = "identical", [VERDICT_DIFFERENT] = "different",
    [VERDICT_SMALL] = "small", [VERDICT_SAME] = "same",           [VERDICT_UNDECIDED] = "undecided",
    [VERDICT_COST] = "cost"};

static const char *const lacks[] = {[MISSING_NOTHING] = "",
                                    [MISSING_LIKE_FOR_LIKE] = "like-for-like",
                                    [MISSING_EXECUTIONS] = "executions",
                                    [MISSING_INTERLEAVING] = "interleaving",
                                    [MISSING_TEST_DATA] = "test-data",
                                    [MISSING_SEEDS] = "seeds"};

static const char *const tests[] = {
    [TEST_NONE] = "",       [TEST_WELCH] = "welch", [TEST_ROUNDS] = "rounds",
    [TEST_TURNS] = "turns", [TEST_SEEDS] = "seeds", [TEST_SAMPLES] = "samples"};

static yaml_node *verdict_node(const verdict *v) {
    yaml_node *node = yaml_new(YAML_MAPPING);
    yaml_put(node, "kind", facts_string(kinds[v->kind]));
    yaml_put(node, "missing", facts_string(lacks[v->missing]));
    yaml_put(node, "test", facts_string(tests[v->test]));
    yaml_put(node, "of_models", yaml_new_boolean(verdict_is_of_models(v)));
    yaml_put(node, "p", facts_number(v->test == TEST_NONE ? (double)NAN : v->p));
    yaml_put(node, "adjusted", facts_number(v->test == TEST_NONE ? (double)NAN : v->adjusted));
    yaml_put(node, "tests", facts_count((int64_t)v->tests));
    yaml_put(node, "subject", facts_count((int64_t)v->subject));
    yaml_put(node, "baseline", facts_count((int64_t)v->baseline));
    return node;
}

// ---- Comparisons ----

static yaml_node *range_node(double value, interval range) {
    yaml_node *node = yaml_new(YAML_MAPPING);
    yaml_put(node, "value", facts_number(value));
    yaml_put(node, "low", facts_number(range.low));
    yaml_put(node, "high", facts_number(range.high));
    return node;
}

static yaml_node *setting_node(const results *r, const comparison *c) {
    text out = {0};
    if (c->setting)
        like_append_setting(c->subject->runs[0], c->baseline->runs[0], c->setting,
                            r->options.language, &out);
    yaml_node *node = facts_string(text_string(&out));
    text_release(&out);
    return node;
}

yaml_node *facts_comparison(const results *r, const comparison *c, const char *owner) {
    yaml_node *node = yaml_new(YAML_MAPPING);
    yaml_put(node, "name", facts_string(owner));
    yaml_put(node, "subject", facts_string(c->subject->name));
    yaml_put(node, "baseline", facts_string(c->baseline->name));
    yaml_put(node, "unlike", facts_string(c->reasons)); // why not like for like; null: it is
    yaml_put(node, "setting", setting_node(r, c));
    yaml_put(node, "arithmetic", facts_string(c->arithmetic));
    yaml_put(node, "identical", yaml_new_boolean(c->identical));
    yaml_put(node, "simulated", yaml_new_boolean(c->simulated));
    yaml_put(node, "crowd", c->crowded ? facts_crowd(c->crowded) : facts_string(NULL));
    yaml_put(node, "ratio", range_node(c->speedup.value, c->speedup.range));
    yaml_put(node, "spread", range_node((double)NAN, c->spread));
    yaml_put(node, "seconds", range_node(c->seconds.value, c->seconds.range));
    yaml_put(node, "total", range_node(c->total.value, c->total.range));
    yaml_put(node, "points",
             range_node(100 * c->accuracy_difference,
                        (interval){100 * c->accuracy_range.low, 100 * c->accuracy_range.high}));
    yaml_put(node, "time", verdict_node(&c->time));
    yaml_put(node, "accuracy_verdict", verdict_node(&c->accuracy));
    return node;
}

// ---- Plans ----

static const char *const roles[] = {[PLANNED_START] = "start",
                                    [PLANNED_STEP] = "step",
                                    [PLANNED_CONTROL] = "control",
                                    [PLANNED_VARIANT] = "variant"};

// A list in the plan, or an empty one.
static yaml_node *list_of(const planned *one, const char *key) {
    const yaml_node *list = yaml_find(one->entry, key);
    return list && list->kind == YAML_SEQUENCE ? yaml_copy(list) : yaml_new(YAML_SEQUENCE);
}

static yaml_node *changes_of(const planned *one) {
    const yaml_node *changes = yaml_find(one->entry, "changes");
    yaml_node *list = yaml_new(YAML_SEQUENCE);
    for (size_t i = 0; changes && changes->kind == YAML_MAPPING && i < changes->count; i++) {
        yaml_node *change = yaml_new(YAML_MAPPING);
        yaml_put(change, "key", facts_string(changes->keys[i]));
        yaml_put(change, "from", facts_string(run_text(changes->items[i], "0")));
        yaml_put(change, "to", facts_string(run_text(changes->items[i], "1")));
        yaml_append(list, change);
    }
    return list;
}

// The value of each key that a study varies: a scalar as written, a collection as JSON.
static yaml_node *values_of(const plan *p, const planned *one) {
    const yaml_node *values = yaml_find(one->entry, "values");
    yaml_node *list = yaml_new(YAML_SEQUENCE);
    for (size_t i = 0; p->vary && i < p->vary->count; i++) {
        const char *key = p->vary->items[i]->kind == YAML_SCALAR ? p->vary->items[i]->text : "";
        const yaml_node *own = values ? yaml_find(values, key) : NULL;
        yaml_node *value = yaml_new(YAML_MAPPING);
        char *json = NULL;
        if (own && own->kind != YAML_SCALAR && json_from_yaml(own, &json, NULL) != STATUS_OK)
            json = NULL;
        yaml_put(value, "key", facts_string(key));
        yaml_put(value, "value",
                 own && own->kind == YAML_SCALAR ? yaml_copy(own) : facts_string(json));
        yaml_append(list, value);
        free(json);
    }
    return list;
}

static yaml_node *item_node(const results *r, const plan *p, const planned *one) {
    yaml_node *node = yaml_new(YAML_MAPPING), *runs = yaml_new(YAML_SEQUENCE);
    yaml_put(node, "name", facts_string(one->name));
    yaml_put(node, "role", facts_string(roles[one->role]));
    for (size_t i = 0; i < one->runs.count; i++)
        yaml_append(runs, json_new_string(one->runs.runs[i]->name));
    yaml_put(node, "runs", runs);
    yaml_put(node, "simulated", yaml_new_boolean(seed_group_is_simulated(&one->runs)));
    yaml_put(node, "model_hash", facts_string(one->runs.runs[0]->model_content));
    yaml_put(node, "factors", list_of(one, "factors"));
    yaml_put(node, "changes", changes_of(one));
    yaml_put(node, "values", values_of(p, one));
    yaml_put(node, "kept", facts_string(run_text(one->entry, "kept")));
    yaml_put(node, "because", facts_string(run_text(one->entry, "because")));
    yaml_put(node, "published", list_of(one, "published"));
    yaml_put(node, "compared",
             one->compared ? facts_comparison(r, &one->step, one->name) : facts_string(NULL));
    return node;
}

yaml_node *facts_plan(const results *r) {
    const plan *p = &r->plan;
    if (!p->count) return facts_string(NULL);
    yaml_node *node = yaml_new(YAML_MAPPING), *items = yaml_new(YAML_SEQUENCE);
    yaml_put(node, "title", facts_string(run_text(p->head, "title")));
    yaml_put(node, "from", facts_string(p->from));
    yaml_put(node, "to", facts_string(p->to));
    yaml_put(node, "study", facts_string(p->name));
    yaml_put(node, "vary",
             p->vary && p->vary->kind == YAML_SEQUENCE ? yaml_copy(p->vary)
                                                       : yaml_new(YAML_SEQUENCE));
    for (size_t i = 0; i < p->count; i++) yaml_append(items, item_node(r, p, &p->items[i]));
    yaml_put(node, "items", items);
    yaml_put(node, "all", p->ladder ? facts_comparison(r, &p->all, "all") : facts_string(NULL));
    return node;
}
