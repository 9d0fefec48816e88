// SPDX-License-Identifier: MIT
#include "results/run_list.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/paths.h"
#include "data/manifest.h"
#include "data/manifest_folders.h"
#include "data/tta.h"

// ---- Folders ----

static void new_run(run_list *list, run **r) {
    list->executions = memory_grow(list->executions, &list->execution_capacity,
                                   list->execution_count + 1, sizeof **r);
    *r = &list->executions[list->execution_count++];
    run_init(*r);
}

static bool is_train_tool(const yaml_node *root) {
    return strncmp(yaml_text_at(root, "tool"), "train-", 6) == 0;
}

// Takes ownership of `root`, and stores it by its tool.
static status attach(run *r, const char *folder, yaml_node *root, error *err) {
    char *copy = memory_string(folder);
    if (is_train_tool(root)) {
        r->folder = copy;
        r->train = root;
        return run_read_train(r, err);
    }
    r->evaluation = copy;
    r->evaluate = root;
    return run_read_evaluation(r, err);
}

static status add_stage(run *r, const char *folder, error *err) {
    yaml_node *root = NULL;
    status rc = manifest_read_in(&root, err, "%s", folder);
    if (rc != STATUS_OK) return rc;
    const char *tool = yaml_text_at(root, "tool");
    if (is_train_tool(root) || strcmp(tool, "evaluate") == 0) return attach(r, folder, root, err);
    char *hint = manifest_hint_runs(folder);
    rc = error_set(
        err, STATUS_INPUT,
        "cannot report on '%s': it was written by '%s', not by a train tool or evaluate%s", folder,
        tool, hint ? hint : "");
    free(hint);
    yaml_free(root);
    return rc;
}

// Adds an execution with one of its evaluations.
static status add_pair(run_list *list, const char *path, const char *evaluation, error *err) {
    status rc = STATUS_OK;
    run *r;
    char *train = memory_format("%s/train", path);
    char *evaluate = memory_format("%s/%s", path, evaluation);
    new_run(list, &r);
    if (paths_allow(F_OK, "%s/train", path)) TRY(add_stage(r, train, err));
    if (paths_allow(F_OK, "%s/manifest.yaml", evaluate)) TRY(add_stage(r, evaluate, err));
    if (r->train && r->evaluate && !run_evaluates(r, r->evaluate))
        rc = error_set(err, STATUS_INPUT,
                       "cannot report on '%s': evaluate read a model that train did not write; run "
                       "evaluate again",
                       path);
out:
    free(train);
    free(evaluate);
    return rc;
}

// Adds a run for each evaluation of an execution: one without views, or an unfinished one, and
// those with views.
static status add_execution(run_list *list, const char *path, error *err) {
    bool any = false;
    status rc = STATUS_OK;
    for (int k = TTA_KINDS; rc == STATUS_OK && k-- > 0;) {
        const char *folder = tta_folder((tta_kind)k);
        const bool there = paths_allow(F_OK, "%s/%s/manifest.yaml", path, folder);
        if (there || (k == TTA_NONE && !any)) rc = add_pair(list, path, folder, err);
        any = any || there;
    }
    return rc;
}

static bool is_seed(const char *name) {
    return strncmp(name, "seed-", 5) == 0;
}

// The number of an execution: 1, 2, …
static bool is_number(const char *name) {
    return *name != '0' && strspn(name, "0123456789") == strlen(name);
}

typedef status (*add_function)(run_list *list, const char *path, error *err);

// Adds those folders in `path` that are chosen, in the order of their numbers.
static status add_folders(run_list *list, const char *path, bool (*chosen)(const char *name),
                          add_function add, size_t *found, error *err) {
    strvec names = {0};
    status rc = STATUS_OK;
    (void)paths_list(path, chosen, true, &names);
    *found = names.count;
    for (size_t i = 0; rc == STATUS_OK && i < names.count; i++) {
        char *folder = memory_format("%s/%s", path, names.items[i]);
        rc = add(list, folder, err);
        free(folder);
    }
    strvec_release(&names);
    return rc;
}

// Skips executions that are not finished: still training, or stopped.
static status add_finished(run_list *list, const char *path, error *err) {
    return paths_allow(F_OK, "%s/train/manifest.yaml", path) ? add_execution(list, path, err)
                                                             : STATUS_OK;
}

static status add_numbered(run_list *list, const char *path, size_t *found, error *err) {
    const size_t before = list->execution_count;
    status rc = add_folders(list, path, is_number, add_finished, found, err);
    if (rc == STATUS_OK && *found && list->execution_count == before)
        rc = error_set(err, STATUS_INPUT,
                       "cannot report on '%s': none of its executions is finished", path);
    return rc;
}

status run_list_add(run_list *list, const char *path, error *err) {
    if (paths_allow(F_OK, "%s/manifest.yaml", path)) {
        run *r;
        new_run(list, &r);
        return add_stage(r, path, err);
    }
    if (paths_allow(F_OK, "%s/train", path) || paths_allow(F_OK, "%s/evaluate", path))
        return add_execution(list, path, err);
    size_t found;
    status rc = add_numbered(list, path, &found, err);
    if (rc == STATUS_OK && !found) rc = add_folders(list, path, is_seed, run_list_add, &found, err);
    if (rc != STATUS_OK || found) return rc;
    char *hint = manifest_hint_runs(path);
    rc = error_set(err, STATUS_INPUT,
                   "cannot report on '%s': no manifest.yaml, no train/, no executions (1/, 2/, …)"
                   " and no seed-*/ in it%s",
                   path, hint ? hint : "");
    free(hint);
    return rc;
}

// ---- Naming ----

static const char *base_name(const run *r) {
    return *r->experiment ? r->experiment : r->train ? "run" : "evaluation";
}

// Counts the runs that share the base name of runs[at]; with `seed`, also the seed. `before`: only
// among the runs before it.
static int count_alike(const run_list *list, size_t at, bool seed, bool before) {
    const run *r = &list->runs[at];
    int alike = 0;
    for (size_t i = 0; i < (before ? at : list->count); i++) {
        const run *other = &list->runs[i];
        alike += strcmp(base_name(r), base_name(other)) == 0 && (!seed || r->seed == other->seed);
    }
    return alike;
}

void run_list_name(run_list *list) {
    for (size_t i = 0; i < list->count; i++) {
        run *r = &list->runs[i];
        const char *base = base_name(r);
        int place = count_alike(list, i, true, true) + 1;
        if (count_alike(list, i, false, false) == 1)
            r->name = memory_string(base);
        else if (count_alike(list, i, true, false) == 1)
            r->name = memory_format("%s-seed-%lld", base, (long long)r->seed);
        else if (r->seed < 0)
            r->name = memory_format("%s-%d", base, place);
        else
            r->name = memory_format("%s-seed-%lld-%d", base, (long long)r->seed, place);
    }
}

void run_list_release(run_list *list) {
    for (size_t i = 0; i < list->count; i++) free(list->runs[i].name);
    for (size_t i = 0; i < list->execution_count; i++) run_release(&list->executions[i]);
    free(list->runs);
    free(list->executions);
    *list = (run_list){0};
}
