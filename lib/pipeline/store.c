// SPDX-License-Identifier: MIT
#include "pipeline/store.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file_lock.h"
#include "base/memory.h"
#include "base/output.h"
#include "base/paths.h"
#include "base/sha256.h"
#include "data/manifest.h"
#include "data/tta.h"
#include "pipeline/settings.h"

// ---- Folders ----

char *store_folder(const char *artifacts, const char *key) {
    return memory_format("%s/runs/%.*s", artifacts, STORE_KEY_DIGITS, key);
}

char *store_execution_folder(const char *artifacts, const char *key, int number) {
    return memory_format("%s/runs/%.*s/%d", artifacts, STORE_KEY_DIGITS, key, number);
}

// ---- Executions ----

static bool is_number(const char *name) {
    size_t length = strlen(name);
    return length < 8 && *name != '0' && strspn(name, "0123456789") == length;
}

// Sets *done if the stage in FOLDER/NAME has a complete manifest and all its outputs; then *root is
// the manifest, unless `root` is NULL.
static status read_stage(const char *folder, const char *name, bool *done, yaml_node **root,
                         error *err) {
    manifest_state state = MANIFEST_NONE;
    char why[256], *stage = memory_format("%s/%s", folder, name);
    status rc = manifest_fresh(stage, NULL, 0, &state, root, why, sizeof why, err);
    *done = state == MANIFEST_FRESH;
    if (root && !*done) {
        yaml_free(*root);
        *root = NULL;
    }
    free(stage);
    return rc;
}

static status check_key(const execution *x, const char *key, error *err) {
    const char *own = yaml_text_at(x->train, "key");
    if (strncmp(own, key, strlen(key)) == 0) return STATUS_OK;
    return error_set(err, STATUS_FAILED,
                     "cannot use '%s': it holds the run of another key, '%.64s'; move it away",
                     x->folder, own);
}

static status read_execution(execution *x, const char *key, error *err) {
    bool trained = false;
    status rc = read_stage(x->folder, "train", &trained, &x->train, err);
    if (rc == STATUS_OK && trained) rc = check_key(x, key, err);
    for (int v = 0; rc == STATUS_OK && v < TTA_KINDS; v++) {
        bool evaluated = false;
        rc = read_stage(x->folder, tta_folder((tta_kind)v), &evaluated, NULL, err);
        if (evaluated) x->views |= 1u << v;
    }
    x->finished = trained && x->views;
    x->complete = paths_allow(F_OK, "%s/train/manifest.yaml", x->folder);
    x->saved = !x->complete && paths_allow(F_OK, "%s/train/state.st.zst", x->folder);
    return rc;
}

bool store_has_states(const execution *x) {
    const yaml_node *outputs = yaml_find(x->train, "outputs");
    for (size_t i = 0; outputs && i < outputs->count; i++)
        if (strncmp(yaml_text_at(outputs->items[i], "path"), "states/", 7) == 0) return true;
    return false;
}

static status add_execution(execution_list *list, const char *folder, int number, const char *key,
                            error *err) {
    list->items = memory_grow(list->items, &list->capacity, list->count + 1, sizeof *list->items);
    execution *x = &list->items[list->count++];
    *x = (execution){.number = number, .folder = memory_format("%s/%d", folder, number)};
    return read_execution(x, key, err);
}

// A folder that does not exist has none.
static status list_runs(const char *folder, bool (*chosen)(const char *name), strvec *names,
                        error *err) {
    if (paths_list(folder, chosen, chosen == is_number, names) || errno == ENOENT) return STATUS_OK;
    return error_system(err, STATUS_FAILED, errno, "cannot read the runs in '%s'", folder);
}

status store_read(const char *artifacts, const char *key, execution_list *list, error *err) {
    char *folder = store_folder(artifacts, key);
    strvec names = {0};
    status rc = list_runs(folder, is_number, &names, err);
    *list = (execution_list){0};
    for (size_t i = 0; rc == STATUS_OK && i < names.count; i++)
        rc = add_execution(list, folder, atoi(names.items[i]), key, err);
    strvec_release(&names);
    free(folder);
    if (rc != STATUS_OK) store_release(list);
    return rc;
}

void store_release(execution_list *list) {
    for (size_t i = 0; i < list->count; i++) {
        free(list->items[i].folder);
        yaml_free(list->items[i].train);
    }
    free(list->items);
    *list = (execution_list){0};
}

static status check_settings(const execution *x, error *err) {
    char again[SHA256_TEXT_BYTES];
    const char *own = x->train ? yaml_find(x->train, "key")->text : NULL;
    if (!own) return STATUS_OK;
    status rc = manifest_key_of(x->train, again, err);
    if (rc != STATUS_OK || strcmp(own, again) == 0) return rc;
    return error_set(err, STATUS_FINDING,
                     "cannot report on '%s': its settings give the key %.12s, not %.12s: its "
                     "manifest was edited",
                     x->folder, again, own);
}

status store_check_keys(const char *artifacts, const char *key, error *err) {
    execution_list list;
    status rc = store_read(artifacts, key, &list, err);
    if (rc != STATUS_OK) return rc;
    for (size_t i = 0; rc == STATUS_OK && i < list.count; i++)
        rc = check_settings(&list.items[i], err);
    store_release(&list);
    return rc;
}

int store_next_number(const execution_list *list) {
    return list->count ? list->items[list->count - 1].number + 1 : 1;
}

// ---- Keys ----

static bool is_key(const char *name) {
    return strlen(name) == STORE_KEY_DIGITS && strspn(name, "0123456789abcdef") == STORE_KEY_DIGITS;
}

status store_keys(const char *artifacts, strvec *keys, error *err) {
    char *folder = memory_format("%s/runs", artifacts);
    const status rc = list_runs(folder, is_key, keys, err);
    free(folder);
    return rc;
}

// Digits beyond those of the folder's name are compared with the manifests.
static bool has_all_digits(const char *artifacts, const char *digits) {
    execution_list list;
    if (strlen(digits) <= STORE_KEY_DIGITS) return true;
    if (store_read(artifacts, digits, &list, NULL) != STATUS_OK) return false;
    store_release(&list);
    return strlen(digits) < SHA256_TEXT_BYTES;
}

status store_find(const char *artifacts, const char *digits, char **key, error *err) {
    strvec keys = {0};
    size_t matches = 0;
    size_t length = strlen(digits) < STORE_KEY_DIGITS ? strlen(digits) : STORE_KEY_DIGITS;
    status rc = store_keys(artifacts, &keys, err);
    *key = NULL;
    if (rc != STATUS_OK) return rc;
    for (size_t i = 0; i < keys.count; i++) {
        if (length == 0 || strncmp(keys.items[i], digits, length) != 0) continue;
        if (!has_all_digits(artifacts, digits)) continue;
        if (!matches++) *key = memory_string(keys.items[i]);
    }
    strvec_release(&keys);
    if (matches == 1 && *key) return STATUS_OK;
    free(*key);
    *key = NULL;
    if (matches)
        return error_set(err, STATUS_INPUT, "'%s' matches %zu keys: give more digits", digits,
                         matches);
    return error_set(err, STATUS_INPUT,
                     "no kept run has a key that begins with '%s': `%s runs` lists them", digits,
                     settings_front());
}

// ---- Use ----

status store_check_unused(const char *folder, error *err) {
    for (int i = 0; i < 2 * (TTA_KINDS + 1); i++) {
        const char *stage = i / 2 == TTA_KINDS ? "train" : tta_folder((tta_kind)(i / 2));
        char *path = i % 2 ? memory_format("%s/%s/.lock", folder, stage)
                           : memory_format("%s/.%s.lock", folder, stage);
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        const bool used = fd >= 0 && file_lock(fd, false) == FILE_LOCK_HELD;
        if (fd >= 0) close(fd);
        free(path);
        if (used)
            return error_set(err, STATUS_FAILED, "cannot move '%s': it is being trained", folder);
    }
    return STATUS_OK;
}

// The manifest keeps its time: it says that the outputs were not changed since (recorded.h).
status store_note(const char *folder, const char *key, const char *value, error *err) {
    yaml_node *root = NULL;
    struct stat info;
    char *path = memory_format("%s/train/manifest.yaml", folder);
    status rc = manifest_read(path, &root, err);
    if (rc != STATUS_OK) goto out;
    if (stat(path, &info) != 0)
        TRY(error_system(err, STATUS_FAILED, errno, "cannot read: '%s'", path));
    yaml_node *run = (yaml_node *)yaml_find(root, "run");
    if (!run || run->kind != YAML_MAPPING)
        TRY(yaml_error(root, err, "incomplete manifest: 'run' is missing"));
    if (strcmp(yaml_text_at(run, key), value ? value : "") == 0) goto out;
    yaml_remove(run, key);
    if (value) yaml_put(run, key, yaml_new_string(value));
    TRY(manifest_write_tree(root, path, err));
    const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, info.st_mtim};
    if (utimensat(AT_FDCWD, path, times, 0) != 0)
        rc = error_system(err, STATUS_FAILED, errno, "cannot set the time of '%s'", path);
out:
    yaml_free(root);
    free(path);
    return rc;
}

// ---- Experiments ----

// Manifest parameters that an experiment file does not have.
static bool is_foreign(const char *key) {
    static const char *const foreign[] = {"architecture", "model", "backend",
                                          "reduce",       "init",  "init_except"};
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++)
        if (strcmp(key, foreign[i]) == 0) return true;
    return false;
}

// Does the file hold this tree? `there`: a file that may hold another one is there.
static bool holds(const char *path, const yaml_node *tree, bool *there) {
    yaml_node *old = NULL;
    *there = access(path, F_OK) == 0;
    const bool same =
        *there && yaml_read_file(path, &old, NULL) == STATUS_OK && yaml_equal(old, tree);
    yaml_free(old);
    return same;
}

// Writes the tree, unless the file holds it. `changed` becomes true where it held another one.
static status write_tree(const yaml_node *tree, const char *path, bool *changed, error *err) {
    bool there;
    if (holds(path, tree, &there)) return STATUS_OK;
    *changed = *changed || there;
    return yaml_write_file(tree, path, err);
}

static status write_model(const char *folder, const char *model, const yaml_node *architecture,
                          bool *changed, error *err) {
    char *path = memory_format("%s/models/%s.yaml", folder, model);
    status rc = output_make_parent(path, err);
    if (rc == STATUS_OK) rc = write_tree(architecture, path, changed, err);
    free(path);
    return rc;
}

status store_write_experiment(const char *folder, const char *name, const yaml_node *parameters,
                              bool *changed, error *err) {
    const yaml_node *architecture = yaml_find(parameters, "architecture");
    const char *model = yaml_text_at(parameters, "architecture.name");
    char *path = memory_format("%s/%s.yaml", folder, name);
    yaml_node *tree = yaml_new(YAML_MAPPING);
    status rc = STATUS_OK;
    *changed = false;
    if (!*model || strchr(model, '/'))
        rc = error_set(err, STATUS_INPUT,
                       "cannot write experiment: '%s': its parameters do not name a model", path);
    if (rc != STATUS_OK) goto out;
    for (size_t i = 0; i < parameters->count; i++) {
        if (!is_foreign(parameters->keys[i]))
            yaml_put(tree, parameters->keys[i], yaml_copy(parameters->items[i]));
        if (strcmp(parameters->keys[i], "dataset") == 0)
            yaml_put(tree, "model", yaml_new_string(model));
    }
    TRY(write_model(folder, model, architecture, changed, err));
    TRY(write_tree(tree, path, changed, err));
out:
    yaml_free(tree);
    free(path);
    return rc;
}

status store_keep_experiment(const char *folder, const yaml_node *train, bool *changed,
                             error *err) {
    const yaml_node *parameters = yaml_find(train, "parameters");
    if (!parameters) return yaml_error(train, err, "incomplete manifest: 'parameters' is missing");
    // One run has one seed, however many its experiment had.
    yaml_node *own = yaml_copy(parameters);
    yaml_put(own, "repeats", yaml_new_integer(1));
    const status rc = store_write_experiment(folder, "experiment", own, changed, err);
    yaml_free(own);
    return rc;
}
