// SPDX-License-Identifier: MIT
#include "results/plan_names.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "data/tta.h"

bool plan_names_all(const yaml_node *plan_root) {
    return strcmp(yaml_text_at(plan_root, "kind"), "runs") == 0;
}

bool plan_names_given(const yaml_node *plan_root) {
    const yaml_node *entries = yaml_find(plan_root, "runs");
    bool given = plan_names_all(plan_root);
    for (size_t i = 0; entries && entries->kind == YAML_SEQUENCE && i < entries->count; i++)
        given = given || yaml_get(entries->items[i], "keys") != NULL;
    return given;
}

// ---- Entries ----

static status check_entry(const yaml_node *entry, error *err) {
    const yaml_node *keys = yaml_get(entry, "keys");
    if (!*yaml_text_at(entry, "name"))
        return yaml_error(entry, err, "expected a run with its name");
    if (!keys || keys->kind != YAML_SEQUENCE || !keys->count)
        return yaml_error(keys ? keys : entry, err, "'keys': expected a list of keys");
    for (size_t i = 0; i < keys->count; i++) {
        const yaml_node *key = keys->items[i];
        if (key->kind != YAML_SCALAR)
            return yaml_error(key, err, "'keys': expected a list of keys");
        for (size_t k = 0; k < i; k++)
            if (yaml_equal(key, keys->items[k]))
                return yaml_error(key, err, "'keys': '%.12s' is listed twice", key->text);
    }
    return STATUS_OK;
}

// Two entries of the same name would be taken for repeats of one experiment.
static status check_name(const yaml_node *entries, size_t at, error *err) {
    const char *name = yaml_text_at(entries->items[at], "name");
    for (size_t i = 0; i < at; i++)
        if (strcmp(yaml_text_at(entries->items[i], "name"), name) == 0)
            return yaml_error(entries->items[at], err, "'name': '%.60s' is used twice", name);
    return STATUS_OK;
}

// Counts the runs of all entries; a run of several entries counts once for each.
static status count_runs(const yaml_node *root, size_t *count, error *err) {
    const yaml_node *entries = yaml_find(root, "runs");
    *count = 0;
    if (!entries || entries->kind != YAML_SEQUENCE || !entries->count)
        return yaml_error(entries ? entries : root, err, "'runs': expected a list");
    for (size_t i = 0; i < entries->count; i++) {
        status rc = check_entry(entries->items[i], err);
        if (rc == STATUS_OK) rc = check_name(entries, i, err);
        if (rc != STATUS_OK) return rc;
        *count += yaml_find(entries->items[i], "keys")->count;
    }
    return STATUS_OK;
}

// Entries without `views` are evaluated without them.
static const char *views_of(const yaml_node *entry) {
    const char *views = yaml_text_at(entry, "views");
    return *views ? views : tta_word(TTA_NONE);
}

static bool has_key(const yaml_node *entry, const char *key) {
    const yaml_node *keys = yaml_find(entry, "keys");
    for (size_t i = 0; i < keys->count; i++)
        if (strcmp(keys->items[i]->text, key) == 0) return true;
    return false;
}

// ---- Runs ----

static const run *find_run(const run_list *list, const char *key, const char *views) {
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->runs[i].key, key) == 0 && strcmp(list->runs[i].views, views) == 0)
            return &list->runs[i];
    return NULL;
}

static status name_run(run *r, const yaml_node *entry, error *err) {
    const yaml_node *published = yaml_find(entry, "published"), *title = yaml_find(entry, "title"),
                    *target = yaml_find(entry, "target_accuracy");
    r->experiment = yaml_text_at(entry, "name");
    if (title) r->title = yaml_text_at(entry, "title");
    if (published) r->published = published;
    r->published_epochs = yaml_number_at(entry, "published_epochs");
    return target ? yaml_number(target, "target_accuracy", &r->target, err) : STATUS_OK;
}

// Appends the runs of one entry to `runs`.
static status add_entry(const run_list *list, const yaml_node *entry, run *runs, size_t *count,
                        error *err) {
    const yaml_node *keys = yaml_find(entry, "keys");
    for (size_t i = 0; i < keys->count; i++) {
        const run *one = find_run(list, keys->items[i]->text, views_of(entry));
        if (!one)
            return error_set(err, STATUS_INPUT,
                             "cannot report on the plan: no run of '%s' with key %.12s among the "
                             "folders",
                             yaml_text_at(entry, "name"), keys->items[i]->text);
        runs[*count] = *one;
        NEED(name_run(&runs[(*count)++], entry, err));
    }
    return STATUS_OK;
}

// Without this check, a run that no entry names would be dropped silently. Other evaluations of a
// training that an entry names are another experiment's.
static status check_named(const run_list *list, const yaml_node *entries, error *err) {
    for (size_t i = 0; i < list->count; i++) {
        const run *r = &list->runs[i];
        bool named = false;
        for (size_t k = 0; r->train && k < entries->count; k++)
            named = named || has_key(entries->items[k], r->key);
        if (named) continue;
        return error_set(err, STATUS_INPUT,
                         "cannot report on '%s': its key is %.12s, which is not in the plan",
                         r->folder ? r->folder : r->evaluation, *r->key ? r->key : "not known");
    }
    return STATUS_OK;
}

// ---- Baseline ----

static bool is_baseline(const run *r) {
    for (size_t i = 0; i < r->execution_count; i++)
        if (r->executions[i].baseline) return true;
    return false;
}

static status find_baseline(const run_list *list, const yaml_node *root, const char **baseline,
                            error *err) {
    const yaml_node *node = plan_names_all(root) ? yaml_find(root, "baseline") : NULL;
    *baseline = NULL;
    for (size_t i = 0; !*baseline && i < list->count; i++)
        if (is_baseline(&list->runs[i])) *baseline = list->runs[i].experiment;
    if (*baseline || !node) return STATUS_OK;
    *baseline = yaml_text_at(root, "baseline");
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->runs[i].experiment, *baseline) == 0) return STATUS_OK;
    return yaml_error(node, err, "'baseline': no run is called '%.60s'", *baseline);
}

// Moves the runs of that name to the front.
static void put_first(run_list *list, const char *name) {
    size_t end = 0;
    for (size_t i = 0; i < list->count; i++) {
        const run moved = list->runs[i];
        if (strcmp(moved.experiment, name) != 0) continue;
        memmove(&list->runs[end + 1], &list->runs[end], (i - end) * sizeof moved);
        list->runs[end++] = moved;
    }
}

void plan_names_publish(run_list *list, const yaml_node *root) {
    const yaml_node *entries = yaml_find(root, "runs");
    for (size_t i = 0; entries && i < entries->count; i++) {
        const yaml_node *published = yaml_find(entries->items[i], "published");
        for (size_t k = 0; published && k < list->count; k++)
            if (strcmp(list->runs[k].experiment, yaml_text_at(entries->items[i], "name")) == 0) {
                list->runs[k].published = published;
                list->runs[k].published_epochs =
                    yaml_number_at(entries->items[i], "published_epochs");
            }
    }
}

status plan_names_apply(run_list *list, const yaml_node *root, const char **baseline, error *err) {
    const yaml_node *entries = yaml_find(root, "runs");
    run *runs = NULL;
    size_t room, count = 0;
    status rc;
    TRY(count_runs(root, &room, err));
    TRY(check_named(list, entries, err));
    runs = memory_new(room, sizeof *runs);
    for (size_t i = 0; i < entries->count; i++)
        TRY(add_entry(list, entries->items[i], runs, &count, err));
    free(list->runs);
    list->runs = runs;
    list->count = count;
    runs = NULL;
    TRY(find_baseline(list, root, baseline, err));
    if (*baseline) put_first(list, *baseline);
out:
    free(runs);
    return rc;
}
