// SPDX-License-Identifier: MIT
// Plans a study: one experiment with every combination of some values.
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "experiment/experiment.h"
#include "experiment/plan.h"
#include "experiment/published.h"

enum { KEYS_MAX = 8, VARIANTS_MAX = 100, NAME_BYTES = 100 };

typedef struct study {
    const char *path, *name;
    yaml_node *root;
    published published;
    const yaml_node *vary;
    char *base; // path of the experiment file
    const char *const *set;
    size_t set_count;
    size_t choice[KEYS_MAX]; // index of each key's value in the current variant
} study;

// ---- The file ----

static status check_values(const yaml_node *vary, size_t at, error *err) {
    const yaml_node *list = vary->items[at];
    const char *key = vary->keys[at];
    if (list->kind != YAML_SEQUENCE || !list->count)
        return yaml_error(list, err, "'vary.%s': expected a list of values", key);
    for (size_t i = 0; i < list->count; i++)
        for (size_t k = 0; k < i; k++)
            if (yaml_equal(list->items[i], list->items[k]))
                return yaml_error(list->items[i], err, "'vary.%s': the same value twice", key);
    return STATUS_OK;
}

static status check_vary(const study *s, error *err) {
    const yaml_node *vary = s->vary;
    size_t variants = 1;
    if (!vary) return yaml_error(s->root, err, "'vary' is missing");
    if (vary->kind != YAML_MAPPING || !vary->count || vary->count > KEYS_MAX)
        return yaml_error(vary, err, "'vary': expected 1 to %d keys with their values", KEYS_MAX);
    for (size_t i = 0; i < vary->count; i++) {
        NEED(check_values(vary, i, err));
        variants *= vary->items[i]->count;
        if (variants > VARIANTS_MAX)
            return yaml_error(vary, err, "'vary': more than %d variants", VARIANTS_MAX);
    }
    if (variants == 1) return yaml_error(vary, err, "'vary': nothing varies");
    return STATUS_OK;
}

static status read_study(study *s, error *err) {
    static const char *const keys[] = {"schema", "name", "title", "base", "vary", "published"};
    NEED(plan_read_source(s->path, "lockstep.study/1", keys, sizeof keys / sizeof *keys, &s->root,
                          err));
    if (!yaml_find(s->root, "name")) return yaml_error(s->root, err, "'name' is missing");
    NEED(yaml_string(yaml_find(s->root, "name"), "name", &s->name, err));
    if (yaml_find(s->root, "published"))
        return yaml_error(yaml_find(s->root, "published"), err,
                          "'published': published figures belong in a claim: a row of claim.yaml "
                          "with 'experiment: %s/VARIANT' (docs/formats.md, Claims)",
                          s->name);
    s->vary = yaml_find(s->root, "vary");
    NEED(check_vary(s, err));
    if (!yaml_find(s->root, "base")) return yaml_error(s->root, err, "'base' is missing");
    return plan_find(s->path, "", yaml_find(s->root, "base"), "base", &s->base, err);
}

// ---- Variants ----

static const yaml_node *value_of(const study *s, size_t key) {
    return s->vary->items[key]->items[s->choice[key]];
}

// "loader_workers-2", with "--" between several; a value unsuitable for a name is replaced by its
// position.
static status name_variant(const study *s, char name[NAME_BYTES], error *err) {
    size_t used = 0;
    for (size_t i = 0; i < s->vary->count; i++) {
        const yaml_node *value = value_of(s, i);
        char place[24];
        snprintf(place, sizeof place, "%zu", s->choice[i] + 1);
        const char *text = value->kind == YAML_SCALAR && *value->text ? value->text : place;
        for (const char *c = text; *c; c++)
            if (!isalnum((unsigned char)*c) && !strchr("._-", *c)) text = place;
        if (s->vary->items[i]->count == 1) continue;
        used += (size_t)snprintf(name + used, NAME_BYTES - used, "%s%s-%s", used ? "--" : "",
                                 s->vary->keys[i], text);
        if (used >= NAME_BYTES)
            return yaml_error(s->vary, err, "'vary': variant names would be longer than %d bytes",
                              NAME_BYTES - 1);
    }
    return STATUS_OK;
}

static void put_values(const study *s, yaml_node *run) {
    yaml_node *values = yaml_new(YAML_MAPPING);
    yaml_put(run, "values", values);
    for (size_t i = 0; i < s->vary->count; i++) {
        if (s->vary->items[i]->count == 1) continue;
        yaml_node *copy = yaml_copy(value_of(s, i));
        copy->flow = true;
        yaml_put(values, s->vary->keys[i], copy);
    }
}

// Is it a valid experiment? If not, the error is the study's, at `vary`.
static status check_variant(const study *s, const yaml_node *run, error *err) {
    experiment e = {0};
    error local = {0};
    status rc = plan_experiment(s->base, yaml_find(run, "set"), &e, &local);
    experiment_release(&e);
    if (rc == STATUS_OK) return rc;
    return yaml_error(s->vary, err, "variant '%s': %s", yaml_find(run, "name")->text,
                      local.message);
}

// Adds the values of the keys that vary, or the settings.
static void add_values(const study *s, yaml_node *run, bool vary) {
    for (size_t i = 0; i < s->vary->count; i++)
        if ((s->vary->items[i]->count > 1) == vary)
            plan_add_value(run, s->vary->keys[i], value_of(s, i));
}

static status add_variant(const study *s, yaml_node *plan, error *err) {
    char name[NAME_BYTES], assignment[NAME_BYTES + 8];
    NEED(name_variant(s, name, err));
    yaml_node *run = plan_add_run(plan, name);
    yaml_put(run, "role", yaml_new_string("variant"));
    add_values(s, run, false);
    for (size_t i = 0; i < s->set_count; i++) plan_add_set(run, s->set[i]);
    add_values(s, run, true);
    snprintf(assignment, sizeof assignment, "name=%s", name);
    plan_add_set(run, assignment);
    published_put(&s->published, run, s->name, name);
    put_values(s, run);
    return check_variant(s, run, err);
}

// Advances to the next combination, the last key fastest; false after the last one.
static bool next_variant(study *s) {
    for (size_t i = s->vary->count; i-- > 0;) {
        if (++s->choice[i] < s->vary->items[i]->count) return true;
        s->choice[i] = 0;
    }
    return false;
}

static status make_plan(study *s, yaml_node **plan, error *err) {
    const yaml_node *title = yaml_find(s->root, "title");
    *plan = plan_new("study", s->base);
    yaml_put(*plan, "name", yaml_new_string(s->name));
    if (title) yaml_put(*plan, "title", yaml_copy(title));
    yaml_node *vary = yaml_new(YAML_SEQUENCE);
    yaml_put(*plan, "vary", vary);
    for (size_t i = 0; i < s->vary->count; i++)
        if (s->vary->items[i]->count > 1) yaml_append(vary, yaml_new_string(s->vary->keys[i]));
    do NEED(add_variant(s, *plan, err));
    while (next_variant(s));
    return STATUS_OK;
}

// Checks the base with the given assignments first: errors in these are not the study's.
static status check_base(const study *s, error *err) {
    experiment e;
    status rc = experiment_read(&e, s->base, s->set, s->set_count, err);
    if (rc == STATUS_OK) experiment_release(&e);
    return rc;
}

status plan_study(const char *path, const char *const *set, size_t set_count, yaml_node **plan,
                  error *err) {
    study s = {.path = path, .set = set, .set_count = set_count};
    *plan = NULL;
    status rc = read_study(&s, err);
    if (rc == STATUS_OK) rc = check_base(&s, err);
    if (rc == STATUS_OK) rc = published_read(&s.published, path, err);
    if (rc == STATUS_OK) rc = make_plan(&s, plan, err);
    if (rc != STATUS_OK) {
        yaml_free(*plan);
        *plan = NULL;
    }
    published_release(&s.published);
    yaml_free(s.root);
    free(s.base);
    return rc;
}
