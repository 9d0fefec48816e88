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

// The last folder of a path, without slashes after it.
static void last_folder(const char *path, const char **name, size_t *length) {
    size_t end = strlen(path);
    while (end > 1 && path[end - 1] == '/') end--;
    size_t begin = end;
    while (begin && path[begin - 1] != '/') begin--;
    *name = path + begin;
    *length = end - begin;
}

static bool is_word(const char *name, size_t length, const char *word) {
    return strlen(word) == length && strncmp(name, word, length) == 0;
}

// May the folder be a name? Not one of the store, of seeds or of stages, nor "..".
static bool is_name(const char *name, size_t length) {
    static const char signs[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
    enum { KEY_DIGITS = 12, MOST = 64 };
    if (!length || length > MOST || strspn(name, signs) < length || is_seed(name)) return false;
    if (strspn(name, "0123456789") >= length) return false;
    if (length == KEY_DIGITS && strspn(name, "0123456789abcdef") >= length) return false;
    return !is_word(name, length, "train") && !is_word(name, length, "evaluate");
}

// Returns the name of the folder that the user typed, if it tells this run from all others, and the
// experiment's name is not in its path: "one" of `report one two`. NULL: there is none. free() it.
static char *given_name(const run_list *list, const run *r) {
    const char *name, *other;
    size_t length, own;
    if (!r->given || strstr(r->given, base_name(r))) return NULL;
    last_folder(r->given, &name, &length);
    if (!is_name(name, length)) return NULL;
    for (size_t i = 0; i < list->count; i++) {
        const run *o = &list->runs[i];
        if (o == r) continue;
        if (is_word(name, length, base_name(o))) return NULL;
        last_folder(o->given ? o->given : "", &other, &own);
        if (own == length && strncmp(other, name, length) == 0) return NULL;
    }
    return memory_format("%.*s", (int)length, name);
}

// One of several runs of an experiment.
static char *name_of_several(const run_list *list, size_t at) {
    const run *r = &list->runs[at];
    const char *base = base_name(r);
    const int place = count_alike(list, at, true, true) + 1;
    char *given = given_name(list, r);
    if (given) return given;
    if (count_alike(list, at, true, false) == 1)
        return memory_format("%s-seed-%lld", base, (long long)r->seed);
    if (r->seed < 0) return memory_format("%s-%d", base, place);
    return memory_format("%s-seed-%lld-%d", base, (long long)r->seed, place);
}

void run_list_name(run_list *list) {
    for (size_t i = 0; i < list->count; i++) {
        run *r = &list->runs[i];
        r->name = count_alike(list, i, false, false) == 1 ? memory_string(base_name(r))
                                                          : name_of_several(list, i);
    }
}

void run_list_release(run_list *list) {
    for (size_t i = 0; i < list->count; i++) free(list->runs[i].name);
    for (size_t i = 0; i < list->execution_count; i++) run_release(&list->executions[i]);
    free(list->runs);
    free(list->executions);
    *list = (run_list){0};
}
