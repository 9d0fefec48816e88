// SPDX-License-Identifier: MIT
#include "experiment/lookup.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/paths.h"
#include "base/spelling.h"
#include "base/strvec.h"
#include "base/yaml_tree.h"
#include "data/manifest.h"
#include "experiment/catalog.h"

enum { MAX_LEVELS = 32 }; // levels upward

static const char CATALOG[] = "experiments";

int lookup_folder_length(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? (int)(slash - path) + 1 : 0;
}

bool lookup_is_path(const char *word) {
    return strchr(word, '/') || word[paths_stem(word)];
}

static char *as_path(const char *from, const char *word) {
    int folder = *word == '/' ? 0 : lookup_folder_length(from);
    return memory_format("%.*s%s", folder, from, word);
}

// ---- Beside data ----

char *lookup_dataset_in(const char *folder) {
    char *name = NULL;
    yaml_node *root = NULL;
    if (manifest_read_in(&root, NULL, "%s", folder) == STATUS_OK)
        name = memory_string(yaml_text_at(root, "parameters.dataset"));
    yaml_free(root);
    return name;
}

static char *readable_in(const char *folder, const char *name) {
    char *path = memory_format("%s/%s.yaml", folder, name);
    if (access(path, R_OK) == 0) return path;
    free(path);
    return NULL;
}

char *lookup_beside(const char *folder, const char *name, bool any) {
    char *path = readable_in(folder, name), *own = !path && any ? lookup_dataset_in(folder) : NULL;
    if (own) path = readable_in(folder, own);
    free(own);
    return path;
}

char *lookup_with_data(const char *name) {
    char *folder = memory_format("data/%s", name), *path = lookup_beside(folder, name, true);
    free(folder);
    return path;
}

// ---- Searching upward ----

// A folder, as written (ending in '/', or empty), and its role.
typedef struct place {
    char *folder;
    bool is_root, is_catalog;
} place;

static void look_at(place *p) {
    char real[PATH_MAX];
    p->is_root = p->is_catalog = false;
    if (!realpath(*p->folder ? p->folder : ".", real)) {
        p->is_root = true; // nothing can be found in it or above it
        return;
    }
    const char *name = strrchr(real, '/') + 1;
    p->is_root = !*name;
    p->is_catalog = strcmp(name, CATALOG) == 0;
}

// Goes to the parent folder: from "a/b/" to "a/", from "" to "../", from "../" to "../../".
static void go_up(place *p) {
    char *old = p->folder;
    size_t length = strlen(old), start = length ? length - 1 : 0;
    while (start && old[start - 1] != '/') start--;
    const char *last = old + start;
    if (!length || !strcmp(last, "./") || !strcmp(last, "../"))
        p->folder = memory_format("%s../", strcmp(old, "./") == 0 ? "" : old);
    else
        p->folder = memory_format("%.*s", (int)start, old);
    free(old);
    look_at(p);
}

// Finds the file below the folder; NULL if it does not exist.
static char *try_file(const place *p, const char *folder, const char *name) {
    char *file = memory_format("%s%s%s%s.yaml", p->folder, folder, *folder ? "/" : "", name);
    if (access(file, F_OK) == 0) return file;
    free(file);
    return NULL;
}

static status try_catalog(catalog *known, const place *p, const char *name, char **path,
                          error *err) {
    status rc = catalog_add(known, *p->folder ? p->folder : ".", err);
    const catalog_entry *entry = rc == STATUS_OK ? catalog_look_up(known, name) : NULL;
    if (!entry) return rc;
    *path = memory_string(entry->path);
    return STATUS_OK;
}

// Makes the place the folder of that number in catalog.h; its name is empty if there is none.
static status go_to(place *p, int which, error *err) {
    char *folder;
    NEED(catalog_place(which, &folder, err));
    free(p->folder);
    p->folder = folder ? memory_format("%s/", folder) : memory_string("");
    free(folder);
    return STATUS_OK;
}

// `run`: an experiment or a study, which may also lie outside FOLDER.
static status search(const char *from, const char *folder, const char *name, bool run, char **path,
                     error *err) {
    place p = {.folder = memory_format("%.*s", lookup_folder_length(from), from)};
    catalog known = {0};
    const catalog_entry *none;
    status rc = STATUS_OK;
    look_at(&p);
    *path = NULL;
    for (int i = 0; i < MAX_LEVELS; i++) {
        if (run) *path = try_file(&p, "", name);
        if (!*path && *folder) *path = try_file(&p, folder, name);
        if (!*path && run && p.is_catalog) TRY(try_catalog(&known, &p, name, path, err));
        if (*path || p.is_root || p.is_catalog) break;
        go_up(&p);
    }
    for (int i = 0; !*path && i < CATALOG_PLACES; i++) {
        TRY(go_to(&p, i, err));
        if (!*p.folder) continue;
        if (*folder) *path = try_file(&p, folder, name);
        if (!*path && run) TRY(try_catalog(&known, &p, name, path, err));
    }
    if (rc == STATUS_OK && !*path && run) *path = lookup_with_data(name);
    if (rc == STATUS_OK && !*path && known.roots) rc = catalog_find(&known, name, &none, err);
out:
    catalog_release(&known);
    free(p.folder);
    return rc;
}

static status find(const char *from, const char *folder, const char *word, bool run, char **path,
                   error *err) {
    if (lookup_is_path(word)) {
        *path = as_path(from, word);
        return STATUS_OK;
    }
    status rc = search(from, folder, word, run, path, err);
    if (rc != STATUS_OK || *path) return rc;
    *path = memory_format("%.*s%s%s%s.yaml", lookup_folder_length(from), from, folder,
                          *folder ? "/" : "", word);
    return STATUS_OK;
}

status lookup_file(const char *from, const char *folder, const char *word, char **path,
                   error *err) {
    return find(from, folder, word, false, path, err);
}

status lookup_run(const char *from, const char *folder, const char *word, char **path, error *err) {
    return find(from, folder, word, true, path, err);
}

// ---- On a command line ----

static bool is_file(const char *path) {
    struct stat info;
    return stat(path, &info) == 0 && !S_ISDIR(info.st_mode);
}

status lookup_word(const char *word, char **path, error *err) {
    const catalog_entry *entry;
    catalog known = {0};
    status rc = STATUS_OK;
    *path = NULL;
    if (!lookup_is_path(word) && !is_file(word)) {
        TRY(catalog_read_places(&known, err));
        if (!catalog_look_up(&known, word)) *path = lookup_with_data(word);
        if (*path) goto out;
        TRY(catalog_find(&known, word, &entry, err));
        word = entry->path;
    }
    *path = memory_string(word);
out:
    catalog_release(&known);
    return rc;
}

// ---- Suggestions ----

// Adds the names of the YAML files in PLACE/FOLDER.
static void add_names(const place *p, const char *folder, strvec *names) {
    strvec found = {0};
    char *path = memory_format("%s%s", p->folder, folder);
    (void)paths_list(path, paths_is_yaml, false, &found);
    for (size_t i = 0; i < found.count; i++)
        strvec_format(names, "%.*s", (int)paths_stem(found.items[i]), found.items[i]);
    strvec_release(&found);
    free(path);
}

status lookup_nearest(const char *from, const char *folder, const char *word, char **near,
                      error *err) {
    place p = {.folder = memory_format("%.*s", lookup_folder_length(from), from)};
    strvec names = {0};
    status rc = STATUS_OK;
    look_at(&p);
    *near = NULL;
    for (int i = 0; i < MAX_LEVELS; i++) {
        add_names(&p, folder, &names);
        if (p.is_root || p.is_catalog) break;
        go_up(&p);
    }
    for (int i = 0; i < CATALOG_PLACES; i++) {
        TRY(go_to(&p, i, err));
        if (*p.folder) add_names(&p, folder, &names);
    }
    const char *found = spelling_nearest(word, (const char *const *)names.items, names.count);
    if (found) *near = memory_string(found);
out:
    strvec_release(&names);
    free(p.folder);
    return rc;
}

status lookup_catalog(const char *from, catalog *c, bool *found, error *err) {
    place p = {.folder = memory_format("%.*s", lookup_folder_length(from), from)};
    status rc = STATUS_OK;
    look_at(&p);
    for (int i = 0; i < MAX_LEVELS && !p.is_root && !p.is_catalog; i++) go_up(&p);
    *found = p.is_catalog;
    if (*found) rc = catalog_read(c, *p.folder ? p.folder : ".", err);
    if (rc != STATUS_OK) *found = false;
    free(p.folder);
    return rc;
}
