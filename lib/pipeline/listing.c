// SPDX-License-Identifier: MIT
// Lists the kept runs as a table, and removes those that the user names.
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/json.h"
#include "base/memory.h"
#include "base/printable.h"
#include "data/manifest.h"
#include "pipeline/origins.h"
#include "pipeline/pipeline.h"
#include "pipeline/store.h"
#include "pipeline/work.h"

// ---- One run ----

typedef struct row {
    char *key;
    char name[80], differs[400], date[32];
    double accuracy, seconds; // NAN: unknown
    size_t executions, unfinished;
    uint64_t bytes;
} row;

// The size of a tree in bytes; unreadable entries count as 0.
static uint64_t size_of(const char *path) {
    struct stat info;
    uint64_t bytes = 0;
    if (lstat(path, &info)) return 0;
    if (!S_ISDIR(info.st_mode)) return (uint64_t)info.st_size;
    DIR *folder = opendir(path);
    for (const struct dirent *e; folder && (e = readdir(folder));) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0) continue;
        char *below = memory_format(NULL, "%s/%s", path, e->d_name);
        if (below) bytes += size_of(below);
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
static void read_evaluation(const char *folder, row *w) {
    for (int v = 0; v < VIEWS_KINDS && isnan(w->accuracy); v++) {
        yaml_node *root = NULL;
        char *path =
            memory_format(NULL, "%s/%s/manifest.yaml", folder, views_folder((test_views)v));
        if (path && manifest_read(path, &root, NULL) == STATUS_OK)
            w->accuracy = yaml_number_at(root, "results.accuracy");
        yaml_free(root);
        free(path);
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

static void read_execution(const execution *x, const origins *known, row *w) {
    if (!x->train) {
        w->unfinished++;
        return;
    }
    w->executions++;
    copy_text(x->train, "run.start", w->date, sizeof w->date);
    if (w->executions > 1) return;
    const yaml_node *parameters = yaml_find(x->train, "parameters");
    copy_text(x->train, "parameters.name", w->name, sizeof w->name);
    if (parameters) origins_describe(known, w->name, parameters, w->differs, sizeof w->differs);
    read_evaluation(x->folder, w);
}

// A run without a finished execution has only its experiment file.
static void name_unfinished(const char *folder, row *w) {
    yaml_node *root = NULL;
    char *path = memory_format(NULL, "%s/experiment.yaml", folder);
    if (path && yaml_read_file(path, &root, NULL) == STATUS_OK)
        copy_text(root, "name", w->name, sizeof w->name);
    snprintf(w->differs, sizeof w->differs, "not finished");
    yaml_free(root);
    free(path);
}

static status read_row(const pipeline *p, const origins *known, char *key, row *w, error *err) {
    execution_list list;
    error unusable = {0};
    *w = (row){.key = key, .accuracy = NAN, .seconds = NAN};
    char *folder = store_folder(p->artifacts, key, err);
    if (store_read(p->artifacts, key, &list, &unusable) != STATUS_OK) {
        snprintf(w->differs, sizeof w->differs, "%.*s", (int)sizeof w->differs - 1,
                 unusable.message);
        free(folder);
        return STATUS_OK;
    }
    for (size_t i = 0; i < list.count; i++) read_execution(&list.items[i], known, w);
    w->seconds = mean_seconds(&list);
    if (folder) w->bytes = size_of(folder);
    if (folder && !w->executions) name_unfinished(folder, w);
    free(folder);
    store_release(&list);
    return folder ? STATUS_OK : STATUS_FAILED;
}

// ---- The table ----

static void show_size(uint64_t bytes, char text[16]) {
    static const char *const units[] = {"B", "KiB", "MiB", "GiB"};
    double value = (double)bytes;
    int unit = 0;
    for (; value >= 1000 && unit < 3; unit++) value /= 1024;
    snprintf(text, 16, unit && value < 10 ? "%.1f %s" : "%.0f %s", value, units[unit]);
}

static void show_number(double value, int digits, char text[16]) {
    if (isnan(value))
        snprintf(text, 16, "-");
    else
        snprintf(text, 16, "%.*f", digits, value);
}

static void print_row(const row *w, int name_width) {
    char accuracy[16], seconds[16], size[16], count[32];
    show_number(w->accuracy * 100, 2, accuracy);
    show_number(w->seconds, 3, seconds);
    show_size(w->bytes, size);
    snprintf(count, sizeof count, w->unfinished ? "%zu+%zu" : "%zu", w->executions, w->unfinished);
    printf("%-12s  %-*s  %-10.10s  %10s  %10s  %10s  %8s  %s\n", w->key, name_width, w->name,
           *w->date ? w->date : "-", accuracy, seconds, count, size, w->differs);
}

static status put_row(yaml_node *list, const row *w, error *err) {
    yaml_node *item = yaml_new(YAML_MAPPING, err);
    status rc = yaml_append(list, item, err);
    if (rc != STATUS_OK) return rc;
    TRY(yaml_put(item, "key", yaml_new_string(w->key, err), err));
    TRY(yaml_put(item, "name", yaml_new_string(w->name, err), err));
    TRY(yaml_put(item, "differs", yaml_new_string(w->differs, err), err));
    TRY(yaml_put(item, "date", yaml_new_string(w->date, err), err));
    if (!isnan(w->accuracy))
        TRY(yaml_put(item, "accuracy", yaml_new_number(w->accuracy, err), err));
    if (!isnan(w->seconds))
        TRY(yaml_put(item, "seconds_per_epoch", yaml_new_number(w->seconds, err), err));
    TRY(yaml_put(item, "executions", yaml_new_integer((int64_t)w->executions, err), err));
    TRY(yaml_put(item, "unfinished", yaml_new_integer((int64_t)w->unfinished, err), err));
    TRY(yaml_put(item, "bytes", yaml_new_integer((int64_t)w->bytes, err), err));
out:
    return rc;
}

static status print_json(const row *rows, size_t count, error *err) {
    yaml_node *list = yaml_new(YAML_SEQUENCE, err);
    char *text = NULL;
    status rc = list ? STATUS_OK : STATUS_FAILED;
    for (size_t i = 0; rc == STATUS_OK && i < count; i++) rc = put_row(list, &rows[i], err);
    if (rc == STATUS_OK) rc = json_from_yaml(list, &text, err);
    if (rc == STATUS_OK) puts(text);
    free(text);
    yaml_free(list);
    return rc;
}

// In characters; at least that of "quickstart" and most others.
static int widest_name(const row *rows, size_t count) {
    int widest = 16;
    for (size_t i = 0; i < count; i++) {
        const int width = (int)strlen(rows[i].name);
        if (width > widest) widest = width;
    }
    return widest;
}

static void print_table(const pipeline *p, const row *rows, size_t count) {
    uint64_t bytes = 0;
    bool unfinished = false, repeated = false, nearest = false;
    const int name_width = widest_name(rows, count);
    char size[16];
    if (!count) {
        printf("no runs in %s/runs\n", p->artifacts);
        return;
    }
    printf("%-12s  %-*s  %-10s  %10s  %10s  %10s  %8s  %s\n", "KEY", name_width, "NAME", "DATE",
           "ACCURACY %", "S/EPOCH", "EXECUTIONS", "SIZE", "DIFFERS FROM ITS FILE IN");
    for (size_t i = 0; i < count; i++) {
        print_row(&rows[i], name_width);
        bytes += rows[i].bytes;
        unfinished = unfinished || rows[i].unfinished;
        repeated = repeated || rows[i].executions > 1;
        nearest = nearest || *rows[i].differs == '(';
    }
    show_size(bytes, size);
    if (repeated)
        printf("S/EPOCH: geometric mean over the executions; a report leaves out those of another "
               "version, host or number of threads\n");
    if (nearest)
        printf("(NAME): the nearest experiment, as no file has the name of a rung or a variant\n");
    if (unfinished) printf("+N: executions that were stopped or are running\n");
    printf("%zu run%s, %s; make compare RUNS=\"KEY KEY\" compares two, make clean-runs "
           "RUNS=\"KEY KEY\" removes\n",
           count, count == 1 ? "" : "s", size);
}

static int by_date(const void *a, const void *b) {
    const row *x = a, *y = b;
    int order = strcmp(x->date, y->date);
    return order ? order : strcmp(x->key, y->key);
}

static bool is_among(const char *key, char **keys, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (strcmp(keys[i], key) == 0) return true;
    return false;
}

// Selects the keys that RUNS names, or all.
static status select_keys(const pipeline *p, char ***keys, size_t *count, error *err) {
    const words *names = &p->settings->names;
    status rc = STATUS_OK;
    if (!names->count) return store_keys(p->artifacts, keys, count, err);
    *count = 0;
    *keys = memory_new(names->count, sizeof **keys, err);
    if (!*keys) return STATUS_FAILED;
    for (size_t i = 0; rc == STATUS_OK && i < names->count; i++) {
        char *key;
        rc = store_find(p->artifacts, names->items[i], &key, err);
        if (rc != STATUS_OK) break;
        // A run that is named twice is listed once.
        if (is_among(key, *keys, *count))
            free(key);
        else
            (*keys)[(*count)++] = key;
    }
    if (rc != STATUS_OK) store_keys_free(*keys, *count);
    return rc;
}

status pipeline_list_runs(pipeline *p, error *err) {
    origins known = {0};
    char **keys;
    size_t count;
    status rc = select_keys(p, &keys, &count, err);
    if (rc != STATUS_OK) return rc;
    row *rows = memory_new(count, sizeof *rows, err);
    rc = rows ? origins_read(&known, err) : STATUS_FAILED;
    for (size_t i = 0; rc == STATUS_OK && i < count; i++)
        rc = read_row(p, &known, keys[i], &rows[i], err);
    if (rc == STATUS_OK) {
        qsort(rows, count, sizeof *rows, by_date);
        if (p->json)
            rc = print_json(rows, count, err);
        else
            print_table(p, rows, count);
    }
    free(rows);
    origins_release(&known);
    store_keys_free(keys, count);
    return rc;
}

// ---- Removing ----

static status check_all_unused(const pipeline *p, const char *key, error *err) {
    execution_list list;
    status rc = store_read(p->artifacts, key, &list, err);
    if (rc != STATUS_OK) return rc;
    for (size_t i = 0; rc == STATUS_OK && i < list.count; i++)
        rc = store_check_unused(list.items[i].folder, err);
    store_release(&list);
    return rc;
}

// Renames the folder first, so that an interrupted removal leaves no partial run.
static status remove_run(const pipeline *p, const char *key, error *err) {
    char *folder = store_folder(p->artifacts, key, err);
    char *gone = memory_format(err, "%s/runs/.removed-%s", p->artifacts, key);
    words links = {0};
    status rc = folder && gone ? STATUS_OK : STATUS_FAILED;
    if (rc == STATUS_OK && access(gone, F_OK) == 0) rc = work_remove_tree(gone, err);
    if (rc == STATUS_OK && rename(folder, gone) != 0)
        rc = error_system(err, STATUS_FAILED, errno, "cannot remove: '%s'", folder);
    if (rc == STATUS_OK) rc = store_remove_links(p->artifacts, key, &links, err);
    if (rc == STATUS_OK) rc = work_remove_tree(gone, err);
    if (rc == STATUS_OK) p->say("remove", folder, "removed");
    for (size_t i = 0; i < links.count; i++) p->say("remove", links.items[i], "was a link to it");
    words_release(&links);
    free(gone);
    free(folder);
    return rc;
}

status pipeline_clean_runs(pipeline *p, error *err) {
    char **keys;
    size_t count;
    status rc = select_keys(p, &keys, &count, err);
    if (rc != STATUS_OK) return rc;
    for (size_t i = 0; rc == STATUS_OK && i < count; i++) rc = check_all_unused(p, keys[i], err);
    for (size_t i = 0; rc == STATUS_OK && i < count; i++) rc = remove_run(p, keys[i], err);
    store_keys_free(keys, count);
    return rc;
}
