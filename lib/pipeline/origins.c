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

// Takes over `name`.
static void add(origins *o, char *name, const char *path) {
    error unreadable;
    void *items = o->items;
    memory_grow(&items, &o->capacity, o->count + 1, sizeof *o->items);
    o->items = items;
    origin *one = &o->items[o->count];
    *one = (origin){.name = name};
    if (experiment_read(&one->e, path, NULL, 0, &unreadable) == STATUS_OK)
        o->count++;
    else
        free(name);
}

// Adds those that import-images has written next to its data, under the name of the folder.
static void add_with_data(origins *o) {
    DIR *data = opendir("data");
    status rc = STATUS_OK;
    for (const struct dirent *e; data && rc == STATUS_OK && (e = readdir(data));) {
        char *path = NULL;
        if (*e->d_name == '.' || catalog_look_up(&o->files, e->d_name)) continue;
        names_find_with_data(e->d_name, &path);
        if (path) add(o, memory_string(e->d_name), path);
        free(path);
    }
    if (data) closedir(data);
}

void origins_read(origins *o) {
    error unreadable;
    *o = (origins){0};
    if (catalog_read_places(&o->files, &unreadable) != STATUS_OK) o->files = (catalog){0};
    for (size_t i = 0; i < o->files.count; i++) {
        const catalog_entry *file = &o->files.items[i];
        if (catalog_is_experiment(file)) add(o, memory_string(file->name), file->path);
    }
    add_with_data(o);
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
