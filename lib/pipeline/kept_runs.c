// SPDX-License-Identifier: MIT
#include "pipeline/kept_runs.h"

#include <errno.h>
#include <fts.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/files.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/paths.h"
#include "base/printable.h"
#include "data/manifest.h"
#include "experiment/catalog.h"
#include "experiment/experiment.h"
#include "experiment/lookup.h"
#include "pipeline/change.h"
#include "pipeline/store.h"
#include "pipeline/store_links.h"

// ---- The experiments that can be named ----

typedef struct named_experiment {
    char *name;   // of the file, or of the folder of data that it is in
    experiment e; // as in the file
} named_experiment;

// A zeroed struct has none.
typedef struct named_experiments {
    named_experiment *items;
    size_t count, capacity;
} named_experiments;

// Takes over `name`.
static void add_file(named_experiments *o, char *name, const char *path) {
    o->items = memory_grow(o->items, &o->capacity, o->count + 1, sizeof *o->items);
    named_experiment *one = &o->items[o->count];
    *one = (named_experiment){.name = name};
    if (experiment_read(&one->e, path, NULL, 0, NULL) == STATUS_OK)
        o->count++;
    else
        free(name);
}

// Adds those that import-images has written next to its data, under the name of the folder.
static void add_with_data(named_experiments *o, const catalog *files) {
    strvec names = {0};
    (void)paths_list("data", NULL, false, &names);
    for (size_t i = 0; i < names.count; i++) {
        const char *name = names.items[i];
        char *path = catalog_look_up(files, name) ? NULL : lookup_with_data(name);
        if (path) add_file(o, memory_string(name), path);
        free(path);
    }
    strvec_release(&names);
}

// Reads the experiments that can be named here: those of catalog_read_places, and those next to
// data. A file that cannot be read is left out, and so are all if a folder cannot be read: runs are
// listed without them, too.
static void named_experiments_read(named_experiments *o) {
    catalog files;
    *o = (named_experiments){0};
    if (catalog_read_places(&files, NULL) != STATUS_OK) files = (catalog){0};
    for (size_t i = 0; i < files.count; i++) {
        const catalog_entry *file = &files.items[i];
        if (catalog_is_experiment(file)) add_file(o, memory_string(file->name), file->path);
    }
    add_with_data(o, &files);
    catalog_release(&files);
}

static void named_experiments_release(named_experiments *o) {
    for (size_t i = 0; i < o->count; i++) {
        experiment_release(&o->items[i].e);
        free(o->items[i].name);
    }
    free(o->items);
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

typedef struct kept_run {
    const char *key; // KEY12
    // `differs`: from the experiment's file. `date`: of the newest execution, or of what an
    // unfinished one wrote last; UTC, ISO 8601.
    char name[80], differs[400], date[CLOCK_TEXT_BYTES];
    double accuracy, seconds;      // NAN: unknown
    size_t executions, unfinished; // finished ones, and others
    uint64_t bytes;
} kept_run;

// The size of a tree in bytes; unreadable entries count as 0.
static uint64_t size_of(char *path) {
    char *const roots[] = {path, NULL};
    uint64_t bytes = 0;
    FTS *walk = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    for (const FTSENT *e; walk && (e = fts_read(walk));)
        if (e->fts_info == FTS_F || e->fts_info == FTS_SL || e->fts_info == FTS_DEFAULT)
            bytes += (uint64_t)e->fts_statp->st_size;
    if (walk) fts_close(walk);
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

// The geometric mean over the executions, as in a report on all of them; one that was stopped and
// resumed has no time.
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
    yaml_node *root = NULL;
    char *path = memory_format("%s/experiment.yaml", folder);
    if (yaml_read_file(path, &root, NULL) == STATUS_OK)
        copy_text(root, "name", w->name, sizeof w->name);
    snprintf(w->differs, sizeof w->differs, "not finished");
    for (size_t i = 0; i < list->count; i++) {
        char *train = memory_format("%s/train", list->items[i].folder);
        if (stat(train, &info) == 0 || stat(list->items[i].folder, &info) == 0)
            clock_write_utc(info.st_mtime, w->date);
        free(train);
    }
    yaml_free(root);
    free(path);
}

// Reads a run in the store; one that cannot be used has the reason in `differs`.
static void read_run(const pipeline *p, const named_experiments *known, const char *key,
                     kept_run *w) {
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

// Writes "1.2 MiB".
static void show_size(uint64_t bytes, char text[16]) {
    static const char *const units[] = {"B", "KiB", "MiB", "GiB"};
    double value = (double)bytes;
    int unit = 0;
    for (; value >= 1000 && unit < 3; unit++) value /= 1024;
    snprintf(text, 16, unit && value < 10 ? "%.1f %s" : "%.0f %s", value, units[unit]);
}

// Adds the keys (KEY12) of the runs whose first digits the settings name, or of all. STATUS_INPUT
// if a word does not match exactly one.
static status select_keys(const pipeline *p, strvec *keys, error *err) {
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

// ---- Listing ----

static void show_number(double value, int digits, char text[16]) {
    if (isnan(value))
        snprintf(text, 16, "-");
    else
        snprintf(text, 16, "%.*f", digits, value);
}

static void print_row(const kept_run *w, int name_width) {
    char accuracy[16], seconds[16], size[16], count[72];
    show_number(w->accuracy * 100, 2, accuracy);
    show_number(w->seconds, 3, seconds);
    show_size(w->bytes, size);
    const int used = snprintf(count, sizeof count, "%zu", w->executions);
    if (w->unfinished) snprintf(count + used, sizeof count - (size_t)used, "+%zu", w->unfinished);
    printf("%-12s  %-*s  %-10.10s  %10s  %10s  %10s  %8s  %s\n", w->key, name_width, w->name,
           *w->date ? w->date : "-", accuracy, seconds, count, size, w->differs);
}

// The executions of a run that was asked for.
static void print_executions(const pipeline *p, const kept_run *w) {
    execution_list list;
    char seconds[16];
    if (store_read(p->artifacts, w->key, &list, NULL) != STATUS_OK) return;
    for (size_t i = 0; i < list.count; i++) {
        const yaml_node *train = list.items[i].train;
        if (!train) continue;
        show_number(yaml_number_at(train, "results.seconds_per_epoch"), 3, seconds);
        printf("  %s/%-4d  %-20s  %10s s/epoch\n", w->key, list.items[i].number,
               yaml_text_at(train, "run.start"), seconds);
    }
    store_release(&list);
}

// Adds the folder of the newest finished execution, and the settings that determine its result.
static void put_execution(yaml_node *item, const pipeline *p, const kept_run *w) {
    execution_list list;
    if (store_read(p->artifacts, w->key, &list, NULL) != STATUS_OK) return;
    const execution *newest = NULL;
    for (size_t i = 0; i < list.count; i++)
        if (list.items[i].train) newest = &list.items[i];
    const yaml_node *parameters = newest ? yaml_find(newest->train, "parameters") : NULL;
    if (newest) yaml_put(item, "path", yaml_new_string(newest->folder));
    if (parameters) yaml_put(item, "parameters", yaml_copy(parameters));
    store_release(&list);
}

static void put_row(yaml_node *list, const pipeline *p, const kept_run *w) {
    yaml_node *item = yaml_new(YAML_MAPPING);
    yaml_append(list, item);
    yaml_put(item, "key", yaml_new_string(w->key));
    yaml_put(item, "name", yaml_new_string(w->name));
    yaml_put(item, "differs", yaml_new_string(w->differs));
    yaml_put(item, "date", yaml_new_string(w->date));
    if (!isnan(w->accuracy)) yaml_put(item, "accuracy", yaml_new_number(w->accuracy));
    if (!isnan(w->seconds)) yaml_put(item, "seconds_per_epoch", yaml_new_number(w->seconds));
    yaml_put(item, "executions", yaml_new_integer((int64_t)w->executions));
    yaml_put(item, "unfinished", yaml_new_integer((int64_t)w->unfinished));
    yaml_put(item, "bytes", yaml_new_integer((int64_t)w->bytes));
    put_execution(item, p, w);
}

static status print_json(const pipeline *p, const kept_run *rows, size_t count, error *err) {
    yaml_node *list = yaml_new(YAML_SEQUENCE);
    for (size_t i = 0; i < count; i++) put_row(list, p, &rows[i]);
    return json_answer(list, err);
}

// In characters; at least that of "quickstart" and most others.
static int widest_name(const kept_run *rows, size_t count) {
    int widest = 16;
    for (size_t i = 0; i < count; i++) {
        const int width = (int)strlen(rows[i].name);
        if (width > widest) widest = width;
    }
    return widest;
}

static void print_table(const pipeline *p, const kept_run *rows, size_t count) {
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
        if (p->settings->names.count) print_executions(p, &rows[i]);
        bytes += rows[i].bytes;
        unfinished = unfinished || rows[i].unfinished;
        repeated = repeated || rows[i].executions > 1;
        nearest = nearest || *rows[i].differs == '(';
    }
    show_size(bytes, size);
    if (repeated)
        printf("S/EPOCH: geometric mean over the executions; a report is on one of them\n");
    if (nearest)
        printf("(NAME): the nearest experiment, as no file has the name of a rung or a variant\n");
    if (unfinished) printf("+N: executions that were stopped or are running\n");
    const char *front = settings_front();
    printf("%zu run%s, %s; %s compare RUNS=\"KEY KEY\" compares two, %s clean-runs "
           "RUNS=\"KEY KEY\" removes\n",
           count, count == 1 ? "" : "s", size, front, front);
}

static int by_date(const void *a, const void *b) {
    const kept_run *x = a, *y = b;
    int order = strcmp(x->date, y->date);
    return order ? order : strcmp(x->key, y->key);
}

status kept_runs_list(pipeline *p, error *err) {
    named_experiments known = {0};
    strvec keys = {0};
    kept_run *rows = NULL;
    status rc;
    TRY(select_keys(p, &keys, err));
    const size_t count = keys.count;
    rows = memory_new(count, sizeof *rows);
    named_experiments_read(&known);
    for (size_t i = 0; i < count; i++) read_run(p, &known, keys.items[i], &rows[i]);
    qsort(rows, count, sizeof *rows, by_date);
    if (p->json)
        rc = print_json(p, rows, count, err);
    else
        print_table(p, rows, count);
out:
    free(rows);
    named_experiments_release(&known);
    strvec_release(&keys);
    return rc;
}

// ---- Removing: which ----

// The runs to remove, with the links to each. `keys` owns the rows' keys.
typedef struct selection {
    strvec keys; // of all runs in question
    kept_run *rows;
    strvec *links;
    size_t count;
} selection;

static void release(selection *s) {
    for (size_t i = 0; s->links && i < s->keys.count; i++) strvec_release(&s->links[i]);
    free(s->links);
    free(s->rows);
    strvec_release(&s->keys);
}

// Is the link below ARTIFACTS/NAME?
static bool is_below(const pipeline *p, const char *link, const char *name) {
    const size_t root = strlen(p->artifacts), length = strlen(name);
    return strncmp(link + root + 1, name, length) == 0 && link[root + 1 + length] == '/';
}

// Is this a run of the experiment, study or folder? *shared becomes a link from elsewhere: such a
// run is also another's, unless it has the name itself.
static bool is_named(const pipeline *p, const kept_run *w, const strvec *links, const char *name,
                     const char **shared) {
    bool below = false;
    *shared = NULL;
    for (size_t i = 0; i < links->count; i++)
        if (is_below(p, links->items[i], name))
            below = true;
        else
            *shared = links->items[i];
    if (strcmp(w->name, name) != 0) return below;
    *shared = NULL;
    return true;
}

// Keeps the runs of the experiments that EXPS names. STATUS_INPUT if one has none.
static status keep_named(const pipeline *p, selection *s, bool *keep, error *err) {
    const strvec *names = &p->settings->names;
    for (size_t i = 0; i < s->count; i++) keep[i] = false;
    for (size_t k = 0; k < names->count; k++) {
        bool any = false;
        for (size_t i = 0; i < s->count; i++) {
            const char *shared;
            if (!is_named(p, &s->rows[i], &s->links[i], names->items[k], &shared)) continue;
            any = true;
            if (shared) p->say("keep", shared, "links to a run of this name, too");
            keep[i] = keep[i] || !shared;
        }
        if (!any)
            return error_set(err, STATUS_INPUT,
                             "no kept run is of '%s': `%s runs` lists them; nothing was removed",
                             names->items[k], settings_front());
    }
    return STATUS_OK;
}

// Drops those that are not older than OLDER. Dates are ISO 8601 and compare as texts; one that is
// unknown is not older.
static void keep_older(const pipeline *p, const selection *s, bool *keep) {
    char limit[CLOCK_TEXT_BYTES];
    if (!p->settings->older) return;
    clock_write_utc(time(NULL) - p->settings->older, limit);
    for (size_t i = 0; i < s->count; i++)
        keep[i] = keep[i] && *s->rows[i].date && strcmp(s->rows[i].date, limit) < 0;
}

// Reads the runs of s->keys, and moves those that the settings select to the front.
static status choose(const pipeline *p, selection *s, error *err) {
    const size_t all = s->keys.count;
    static const named_experiments none = {0};
    bool *keep = memory_new(all, sizeof *keep);
    status rc = STATUS_OK;
    s->rows = memory_new(all, sizeof *s->rows);
    s->links = memory_new(all, sizeof *s->links);
    for (s->count = 0; s->count < all; s->count++) {
        const size_t i = s->count;
        keep[i] = true;
        read_run(p, &none, s->keys.items[i], &s->rows[i]);
        store_find_links(p->artifacts, s->keys.items[i], &s->links[i]);
    }
    if (p->settings->values[SETTING_EXPS]) TRY(keep_named(p, s, keep, err));
    keep_older(p, s, keep);
    s->count = 0;
    for (size_t i = 0; i < all; i++) {
        if (!keep[i]) continue;
        const kept_run row = s->rows[s->count];
        const strvec links = s->links[s->count];
        s->rows[s->count] = s->rows[i];
        s->links[s->count] = s->links[i];
        s->rows[i] = row;
        s->links[i] = links;
        s->count++;
    }
out:
    free(keep);
    return rc;
}

// ---- Removing: asking ----

static void print_selection(const selection *s, char size[16]) {
    uint64_t bytes = 0;
    for (size_t i = 0; i < s->count; i++) {
        const kept_run *w = &s->rows[i];
        show_size(w->bytes, size);
        printf("%s  %s, %.10s, %zu execution%s, %s\n", w->key, w->name,
               *w->date ? w->date : "unknown date", w->executions + w->unfinished,
               w->executions + w->unfinished == 1 ? "" : "s", size);
        for (size_t k = 0; k < s->links[i].count; k++)
            printf("              %s\n", s->links[i].items[k]);
        bytes += w->bytes;
    }
    show_size(bytes, size);
    printf("%zu run%s, %s\n", s->count, s->count == 1 ? "" : "s", size);
    fflush(stdout);
}

static status confirm(const pipeline *p, const selection *s, bool *go, error *err) {
    char size[16], question[80];
    print_selection(s, size);
    *go = p->settings->yes;
    if (*go) return STATUS_OK;
    if (!p->ask)
        return error_set(err, STATUS_USAGE, "nothing was removed: YES=1 removes %s",
                         s->count == 1 ? "this run" : "these runs");
    snprintf(question, sizeof question, "remove %s, %s?", s->count == 1 ? "this run" : "these runs",
             size);
    *go = p->ask(question);
    if (!*go) p->say("remove", p->artifacts, "nothing was removed");
    return STATUS_OK;
}

// ---- Removing: doing it ----

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
    char *folder = store_folder(p->artifacts, key);
    char *gone = memory_format("%s/runs/.removed-%s", p->artifacts, key);
    strvec links = {0};
    status rc = STATUS_OK;
    if (access(gone, F_OK) == 0) rc = remove_tree(gone, err);
    if (rc == STATUS_OK && rename(folder, gone) != 0)
        rc = error_system(err, STATUS_FAILED, errno, "cannot remove: '%s'", folder);
    if (rc == STATUS_OK) rc = store_remove_links(p->artifacts, key, &links, err);
    if (rc == STATUS_OK) rc = remove_tree(gone, err);
    if (rc == STATUS_OK) p->say("remove", folder, "removed");
    for (size_t i = 0; i < links.count; i++) p->say("remove", links.items[i], "was a link to it");
    strvec_release(&links);
    free(gone);
    free(folder);
    return rc;
}

status kept_runs_clean(pipeline *p, error *err) {
    selection s = {0};
    bool go = false;
    status rc;
    TRY(select_keys(p, &s.keys, err));
    TRY(choose(p, &s, err));
    for (size_t i = 0; i < s.count; i++) TRY(check_all_unused(p, s.rows[i].key, err));
    if (!s.count)
        p->say("remove", p->artifacts, "no kept run is selected");
    else
        TRY(confirm(p, &s, &go, err));
    for (size_t i = 0; go && rc == STATUS_OK && i < s.count; i++)
        rc = remove_run(p, s.rows[i].key, err);
out:
    release(&s);
    return rc;
}
