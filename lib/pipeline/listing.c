// SPDX-License-Identifier: MIT
// Lists the kept runs as a table.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/memory.h"
#include "pipeline/kept.h"
#include "pipeline/store.h"

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
    kept_show_size(w->bytes, size);
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

static void put_row(yaml_node *list, const kept_run *w) {
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
}

static status print_json(const kept_run *rows, size_t count, error *err) {
    yaml_node *list = yaml_new(YAML_SEQUENCE);
    char *text = NULL;
    status rc = STATUS_OK;
    for (size_t i = 0; i < count; i++) put_row(list, &rows[i]);
    rc = json_from_yaml(list, &text, err);
    if (rc == STATUS_OK) puts(text);
    free(text);
    yaml_free(list);
    return rc;
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
    kept_show_size(bytes, size);
    if (repeated)
        printf("S/EPOCH: geometric mean over the executions; a report leaves out those of another "
               "version, host or number of threads\n");
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

status pipeline_list_runs(pipeline *p, error *err) {
    origins known = {0};
    char **keys;
    size_t count;
    status rc = kept_select(p, &keys, &count, err);
    if (rc != STATUS_OK) return rc;
    kept_run *rows = memory_new(count, sizeof *rows);
    origins_read(&known);
    for (size_t i = 0; i < count; i++) kept_read(p, &known, keys[i], &rows[i]);
    qsort(rows, count, sizeof *rows, by_date);
    if (p->json)
        rc = print_json(rows, count, err);
    else
        print_table(p, rows, count);

    free(rows);
    origins_release(&known);
    store_keys_free(keys, count);
    return rc;
}
