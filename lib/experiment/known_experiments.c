// SPDX-License-Identifier: MIT
#include "experiment/known_experiments.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/paths.h"
#include "experiment/factors.h"
#include "experiment/lookup.h"

// ---- Reading ----

// A file that cannot be read as an experiment is not one, and no error here.
static status add(known_experiments *k, const char *path, error *err) {
    experiment e;
    error local = {0};
    status rc = experiment_read(&e, path, NULL, 0, &local);
    if (rc == STATUS_FAILED) return error_set(err, rc, "%s", local.message);
    if (rc != STATUS_OK) return STATUS_OK;
    k->items = memory_grow(k->items, &k->capacity, k->count + 1, sizeof *k->items);
    k->items[k->count++] = e;
    return rc;
}

static bool is_yaml(const char *name) {
    return *name != '.' && name[paths_stem(name)];
}

// Adds all files in the folder of `path`, except `a` and `b`.
static status add_folder(known_experiments *k, const char *path, const char *a, const char *b,
                         error *err) {
    status rc = STATUS_OK;
    strvec names = {0};
    const int length = lookup_folder_length(path);
    char *folder = memory_format("%.*s", length ? length : 1, length ? path : ".");
    if (!paths_list(folder, is_yaml, false, &names))
        rc = error_system(err, STATUS_INPUT, errno, "cannot read the folder '%s'", folder);
    for (size_t i = 0; rc == STATUS_OK && i < names.count; i++) {
        char *file = memory_format("%.*s%s", length, path, names.items[i]);
        if (strcmp(file, a) != 0 && strcmp(file, b) != 0) rc = add(k, file, err);
        free(file);
    }
    strvec_release(&names);
    free(folder);
    return rc;
}

status known_experiments_read(known_experiments *k, const char *a, const char *b, error *err) {
    status rc = STATUS_OK;
    int of_a = lookup_folder_length(a), of_b = lookup_folder_length(b);
    *k = (known_experiments){0};
    TRY(published_read(&k->published, a, err));
    TRY(published_add_beside(&k->published, b, err));
    TRY(add(k, a, err));
    TRY(add(k, b, err));
    TRY(add_folder(k, a, a, b, err));
    if (of_a != of_b || strncmp(a, b, (size_t)of_a) != 0) TRY(add_folder(k, b, a, b, err));
out:
    if (rc != STATUS_OK) known_experiments_release(k);
    return rc;
}

void known_experiments_release(known_experiments *k) {
    for (size_t i = 0; i < k->count; i++) experiment_release(&k->items[i]);
    free(k->items);
    published_release(&k->published);
    *k = (known_experiments){0};
}

// ---- Finding ----

const experiment *known_experiments_find(const known_experiments *k, const experiment *e,
                                         bool any_epochs) {
    const experiment *best = NULL;
    int best_rank = 0;
    for (size_t i = 0; i < k->count; i++) {
        const experiment *one = &k->items[i];
        difference_list list;
        if (!factors_are_published(e, one, any_epochs)) continue;
        factors_find(one, e, &list);
        bool figures = published_find(&k->published, NULL, one->name) != NULL;
        int rank = (figures ? 2 * DIFFERENCES_MAX : DIFFERENCES_MAX) - (int)list.count;
        if (best && rank <= best_rank) continue;
        best = one;
        best_rank = rank;
    }
    return best;
}
