// SPDX-License-Identifier: MIT
#include "pipeline/origins.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/printable.h"
#include "experiment/names.h"
#include "pipeline/change.h"

// Takes over `name`, which may be NULL after a failure.
static status add(origins *o, char *name, const char *path, error *err) {
    error unreadable;
    void *items = o->items;
    status rc = name ? memory_grow(&items, &o->capacity, o->count + 1, sizeof *o->items, err)
                     : STATUS_FAILED;
    o->items = items;
    if (rc == STATUS_OK) {
        origin *one = &o->items[o->count];
        *one = (origin){.name = name};
        if (experiment_read(&one->e, path, NULL, 0, &unreadable) == STATUS_OK) {
            o->count++;
            return rc;
        }
    }
    free(name);
    return rc;
}

// Adds those that import-images has written next to its data, under the name of the folder.
static status add_with_data(origins *o, error *err) {
    DIR *data = opendir("data");
    status rc = STATUS_OK;
    for (const struct dirent *e; data && rc == STATUS_OK && (e = readdir(data));) {
        char *path = NULL;
        if (*e->d_name == '.' || catalog_look_up(&o->files, e->d_name)) continue;
        rc = names_find_with_data(e->d_name, &path, err);
        if (path) rc = add(o, memory_string(e->d_name, err), path, err);
        free(path);
    }
    if (data) closedir(data);
    return rc;
}

status origins_read(origins *o, error *err) {
    error unreadable;
    status rc = STATUS_OK;
    *o = (origins){0};
    if (catalog_read_places(&o->files, &unreadable) != STATUS_OK) o->files = (catalog){0};
    for (size_t i = 0; rc == STATUS_OK && i < o->files.count; i++) {
        const catalog_entry *file = &o->files.items[i];
        if (catalog_is_experiment(file))
            rc = add(o, memory_string(file->name, err), file->path, err);
    }
    return rc == STATUS_OK ? add_with_data(o, err) : rc;
}

void origins_release(origins *o) {
    for (size_t i = 0; i < o->count; i++) {
        experiment_release(&o->items[i].e);
        free(o->items[i].name);
    }
    free(o->items);
    catalog_release(&o->files);
}

static const origin *find_named(const origins *o, const char *name) {
    for (size_t i = 0; i < o->count; i++)
        if (strcmp(o->items[i].name, name) == 0) return &o->items[i];
    return NULL;
}

// Of several that differ in equally many keys, the first.
static const origin *find_nearest(const origins *o, const yaml_node *parameters) {
    const origin *nearest = NULL;
    size_t fewest = 0;
    char ignored[64];
    for (size_t i = 0; i < o->count; i++) {
        const origin *one = &o->items[i];
        const char *data = yaml_text_at(one->e.resolved, "dataset");
        if (strcmp(data, yaml_text_at(parameters, "dataset")) != 0) continue;
        const size_t keys = change_keys(one->e.resolved, parameters, ignored, sizeof ignored);
        if (nearest && keys >= fewest) continue;
        nearest = one;
        fewest = keys;
    }
    return nearest;
}

void origins_describe(const origins *o, const char *name, const yaml_node *parameters, char *text,
                      size_t size) {
    const origin *own = find_named(o, name);
    const origin *from = own ? own : find_nearest(o, parameters);
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
