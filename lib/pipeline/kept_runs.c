// SPDX-License-Identifier: MIT
#include "pipeline/kept_runs.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/printable.h"
#include "data/manifest.h"
#include "experiment/lookup.h"
#include "pipeline/change.h"
#include "pipeline/store.h"

// ---- The experiments that can be named ----

// Takes over `name`.
static void add_file(named_experiments *o, char *name, const char *path) {
    error unreadable;
    o->items = memory_grow(o->items, &o->capacity, o->count + 1, sizeof *o->items);
    named_experiment *one = &o->items[o->count];
    *one = (named_experiment){.name = name};
    if (experiment_read(&one->e, path, NULL, 0, &unreadable) == STATUS_OK)
        o->count++;
    else
        free(name);
}

// Adds those that import-images has written next to its data, under the name of the folder.
static void add_with_data(named_experiments *o) {
    DIR *data = opendir("data");
    for (const struct dirent *e; data && (e = readdir(data));) {
        if (*e->d_name == '.' || catalog_look_up(&o->files, e->d_name)) continue;
        char *path = lookup_with_data(e->d_name);
        if (path) add_file(o, memory_string(e->d_name), path);
        free(path);
    }
    if (data) closedir(data);
}

void named_experiments_read(named_experiments *o) {
    error unreadable;
    *o = (named_experiments){0};
    if (catalog_read_places(&o->files, &unreadable) != STATUS_OK) o->files = (catalog){0};
    for (size_t i = 0; i < o->files.count; i++) {
        const catalog_entry *file = &o->files.items[i];
        if (catalog_is_experiment(file)) add_file(o, memory_string(file->name), file->path);
    }
    add_with_data(o);
}

void named_experiments_release(named_experiments *o) {
    for (size_t i = 0; i < o->count; i++) {
        experiment_release(&o->items[i].e);
        free(o->items[i].name);
    }
    free(o->items);
    catalog_release(&o->files);
}

static const named_experiment *find_named(const named_experiments *o, const char *name) {
    for (size_t i = 0; i < o->count; i++)
        if (strcmp(o->items[i].name, name) == 0) return &o->items[i];
    return NULL;
}

// Of several that differ in equally many keys, the first.
static const named_experiment *find_nearest(const named_experiments *o,
                                            const yaml_node *parameters) {
    const named_experiment *nearest = NULL;
    size_t fewest = 0;
    char ignored[64];
    for (size_t i = 0; i < o->count; i++) {
        const named_experiment *one = &o->items[i];
        const char *data = yaml_text_at(one->e.resolved, "dataset");
        if (strcmp(data, yaml_text_at(parameters, "dataset")) != 0) continue;
        const size_t keys = change_keys(one->e.resolved, parameters, ignored, sizeof ignored);
        if (nearest && keys >= fewest) continue;
        nearest = one;
        fewest = keys;
    }
    return nearest;
}

// Writes to `text` the keys in which the run `name` with these parameters (of its manifest) differs
// from the file of that name: "epochs 10 → 3, seed 5". No file has the name of a rung or a variant:
// these are compared with the nearest experiment on the same data, whose name precedes the keys in
// parentheses.
static void describe_difference(const named_experiments *o, const char *name,
                                const yaml_node *parameters, char *text, size_t size) {
    const named_experiment *own = find_named(o, name);
    const named_experiment *from = own ? own : find_nearest(o, parameters);
    size_t used = 0;
    *text = 0;
    if (!from) {
        snprintf(text, size, "no experiment with this name");
        return;
    }
    if (!own) used = (size_t)snprintf(text, size, "(%.79s) ", from->name);
    const size_t keys = change_keys(from->e.resolved, parameters, text + used, size - used);
    const char *seed = yaml_text_at(parameters, "seed");
    used = strlen(text);
    if (strtoull(seed, NULL, 10) != from->e.seed)
        snprintf(text + used, size - used, "%sseed %s", keys ? ", " : "", seed);
    (void)printable(text, true);
}

// ---- One run ----

// The size of a tree in bytes; unreadable entries count as 0.
static uint64_t size_of(const char *path) {
    struct stat info;
    uint64_t bytes = 0;
    if (lstat(path, &info)) return 0;
    if (!S_ISDIR(info.st_mode)) return (uint64_t)info.st_size;
    DIR *folder = opendir(path);
    for (const struct dirent *e; folder && (e = readdir(folder));) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0) continue;
        char *below = memory_format("%s/%s", path, e->d_name);
        bytes += size_of(below);
        free(below);
    }
    if (folder) closedir(folder);
    return bytes;
}

static void copy_text(const yaml_node *root, const char *path, char *text, size_t size) {
    snprintf(text, size, "%s", yaml_text_at(root, path));
    (void)printable(text, true);
}

// Of several evaluations, that without views.
static void read_evaluation(const char *folder, kept_run *w) {
    for (int v = 0; v < TTA_KINDS && isnan(w->accuracy); v++) {
        yaml_node *root = NULL;
        if (manifest_read_in(&root, NULL, "%s/%s", folder, tta_folder((tta_kind)v)) == STATUS_OK)
            w->accuracy = yaml_number_at(root, "results.accuracy");
        yaml_free(root);
    }
}

// The geometric mean over the executions, as in a report; one that was stopped and resumed has no
// time.
static double mean_seconds(const execution_list *list) {
    double sum = 0;
    size_t count = 0;
    for (size_t i = 0; i < list->count; i++) {
        const yaml_node *segments =
            list->items[i].train ? yaml_get(list->items[i].train, "run.execution") : NULL;
        const double one = segments && segments->kind == YAML_MAPPING
                               ? yaml_number_at(list->items[i].train, "results.seconds_per_epoch")
                               : NAN;
        if (!(one > 0)) continue;
        sum += log(one);
        count++;
    }
    return count ? exp(sum / (double)count) : NAN;
}

// Appends "data shapes" for a run of other data than those that its experiment names (DATA). A
// folder called after the data set says nothing new.
static void append_own_data(const yaml_node *train, char *text, size_t size) {
    static const char fetched[] = "../../../../data/"; // from an execution's train folder
    const char *path = yaml_text_at(train, "inputs.0.path"), *end = strrchr(path, '/');
    const bool inside = strncmp(path, fetched, strlen(fetched)) == 0;
    const char *begin = end;
    if (!end || (inside && strncmp(path + strlen(fetched), "shards-", 7) != 0)) return;
    while (begin > path && begin[-1] != '/') begin--;
    const char *dataset = yaml_text_at(train, "parameters.dataset");
    if (strlen(dataset) == (size_t)(end - begin) && strncmp(begin, dataset, strlen(dataset)) == 0)
        return;
    const size_t used = strlen(text);
    snprintf(text + used, size - used, "%sdata %.*s", used && text[used - 1] != ' ' ? ", " : "",
             (int)(end - begin), begin);
    (void)printable(text, true);
}

static void read_execution(const execution *x, const named_experiments *known, kept_run *w) {
    if (!x->train) {
        w->unfinished++;
        return;
    }
    w->executions++;
    copy_text(x->train, "run.start", w->date, sizeof w->date);
    if (w->executions > 1) return;
    const yaml_node *parameters = yaml_find(x->train, "parameters");
    copy_text(x->train, "parameters.name", w->name, sizeof w->name);
    if (parameters) describe_difference(known, w->name, parameters, w->differs, sizeof w->differs);
    append_own_data(x->train, w->differs, sizeof w->differs);
    read_evaluation(x->folder, w);
}

// A run without a finished execution has only its experiment file, and the time of its last state.
static void name_unfinished(const char *folder, const execution_list *list, kept_run *w) {
    struct stat info;
    struct tm utc;
    yaml_node *root = NULL;
    char *path = memory_format("%s/experiment.yaml", folder);
    if (yaml_read_file(path, &root, NULL) == STATUS_OK)
        copy_text(root, "name", w->name, sizeof w->name);
    snprintf(w->differs, sizeof w->differs, "not finished");
    for (size_t i = 0; i < list->count; i++) {
        char *train = memory_format("%s/train", list->items[i].folder);
        if ((stat(train, &info) == 0 || stat(list->items[i].folder, &info) == 0) &&
            gmtime_r(&info.st_mtime, &utc))
            (void)strftime(w->date, sizeof w->date, "%Y-%m-%dT%H:%M:%SZ", &utc);
        free(train);
    }
    yaml_free(root);
    free(path);
}

void kept_read(const pipeline *p, const named_experiments *known, const char *key, kept_run *w) {
    execution_list list;
    error unusable = {0};
    *w = (kept_run){.key = key, .accuracy = NAN, .seconds = NAN};
    char *folder = store_folder(p->artifacts, key);
    if (store_read(p->artifacts, key, &list, &unusable) != STATUS_OK) {
        snprintf(w->differs, sizeof w->differs, "%.*s", (int)sizeof w->differs - 1,
                 unusable.message);
        free(folder);
        return;
    }
    for (size_t i = 0; i < list.count; i++) read_execution(&list.items[i], known, w);
    w->seconds = mean_seconds(&list);
    w->bytes = size_of(folder);
    if (!w->executions) name_unfinished(folder, &list, w);
    free(folder);
    store_release(&list);
}

// ---- Selecting ----

void kept_show_size(uint64_t bytes, char text[16]) {
    static const char *const units[] = {"B", "KiB", "MiB", "GiB"};
    double value = (double)bytes;
    int unit = 0;
    for (; value >= 1000 && unit < 3; unit++) value /= 1024;
    snprintf(text, 16, unit && value < 10 ? "%.1f %s" : "%.0f %s", value, units[unit]);
}

status kept_select(const pipeline *p, strvec *keys, error *err) {
    const strvec *names = &p->settings->names;
    status rc = STATUS_OK;
    if (!names->count ||
        (p->settings->command == COMMAND_CLEAN_RUNS && p->settings->values[SETTING_EXPS]))
        return store_keys(p->artifacts, keys, err);
    for (size_t i = 0; rc == STATUS_OK && i < names->count; i++) {
        char *key;
        rc = store_find(p->artifacts, names->items[i], &key, err);
        if (rc != STATUS_OK) break;
        // A run that is named twice is listed once.
        if (!strvec_has(keys, key)) strvec_add(keys, key);
        free(key);
    }
    return rc;
}
