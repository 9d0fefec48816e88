// SPDX-License-Identifier: MIT
#include "experiment/catalog.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/paths.h"
#include "base/plugin.h"
#include "base/spelling.h"

// Generous limits for folders of experiments.
enum { MAX_DEPTH = 8, MAX_LINES = 10000, LINE_BYTES = 1024, NAME_SHOWN = 60, LIST_BYTES = 1400 };

static const char KEY[] = "schema:";
static const char OWN[] = "experiments"; // the folder's name, here and where it is installed

// ---- One file ----

// Returns the value in "schema: VALUE  # comment", without quotes; terminates it in place.
static const char *value_in(char *line) {
    char *value = line + sizeof KEY - 1;
    value += strspn(value, " \t'\"");
    value[strcspn(value, " \t'\"\r\n#")] = 0;
    return value;
}

// The schema is on a separate line, in most files the first that is not a comment.
static status read_schema(const char *path, char **schema, error *err) {
    char line[LINE_BYTES];
    const char *value = "";
    bool at_start = true;
    FILE *file = fopen(path, "re");
    *schema = NULL;
    if (!file) return error_system(err, STATUS_INPUT, errno, "cannot read '%s'", path);
    for (int i = 0; i < MAX_LINES && fgets(line, sizeof line, file); i++) {
        char *start = strncmp(line, "\xef\xbb\xbf", 3) == 0 ? line + 3 : line;
        bool found = at_start && strncmp(start, KEY, sizeof KEY - 1) == 0;
        at_start = strchr(line, '\n') != NULL;
        if (!found) continue;
        value = value_in(start);
        break;
    }
    fclose(file);
    *schema = memory_string(value);
    return STATUS_OK;
}

static void release_entry(catalog_entry *entry) {
    free(entry->name);
    free(entry->path);
    free(entry->schema);
    *entry = (catalog_entry){0};
}

static status add_file(catalog *c, const char *path, error *err) {
    const char *name = paths_name(path);
    catalog_entry entry = {0};
    status rc;
    TRY(read_schema(path, &entry.schema, err));
    entry.path = memory_string(path);
    entry.name = memory_format("%.*s", (int)paths_stem(name), name);
    c->items = memory_grow(c->items, &c->capacity, c->count + 1, sizeof *c->items);
    c->items[c->count++] = entry;
out:
    if (rc != STATUS_OK) release_entry(&entry);
    return rc;
}

// ---- Folders ----

static status add_folder(catalog *c, const char *folder, int depth, error *err);

// A file or a folder; other entries are skipped.
static status add_path(catalog *c, const char *path, int depth, error *err) {
    struct stat info;
    if (lstat(path, &info)) return STATUS_OK; // gone since the folder was read
    if (S_ISDIR(info.st_mode))
        return depth < MAX_DEPTH ? add_folder(c, path, depth, err) : STATUS_OK;
    if (!path[paths_stem(path)] || stat(path, &info) || !S_ISREG(info.st_mode)) return STATUS_OK;
    return add_file(c, path, err);
}

// `folder` "" is the current one, which is left out of the paths.
static status add_folder(catalog *c, const char *folder, int depth, error *err) {
    const size_t length = strlen(folder);
    const char *slash = length && folder[length - 1] != '/' ? "/" : "";
    const char *place = length ? folder : ".";
    strvec names = {0};
    status rc = STATUS_OK;
    if (!paths_list(place, NULL, false, &names))
        rc = error_system(err, STATUS_INPUT, errno, "cannot read the folder '%s'", place);
    for (size_t i = 0; rc == STATUS_OK && i < names.count; i++) {
        char *path = memory_format("%s%s%s", folder, slash, names.items[i]);
        rc = add_path(c, path, depth + 1, err);
        free(path);
    }
    strvec_release(&names);
    return rc;
}

// ---- Kinds and names ----

static bool has_kind(const catalog_entry *entry, const char *schema) {
    return strcmp(entry->schema, schema) == 0;
}

bool catalog_is_experiment(const catalog_entry *entry) {
    return has_kind(entry, "lockstep.experiment/1");
}

bool catalog_is_study(const catalog_entry *entry) {
    return has_kind(entry, "lockstep.study/1");
}

static bool is_run(const catalog_entry *entry) {
    return catalog_is_experiment(entry) || catalog_is_study(entry);
}

static int by_path(const void *a, const void *b) {
    return strcmp(((const catalog_entry *)a)->path, ((const catalog_entry *)b)->path);
}

static int by_name(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static const catalog_entry *look_up(const catalog *c, const char *name, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (is_run(&c->items[i]) && strcmp(c->items[i].name, name) == 0) return &c->items[i];
    return NULL;
}

// Those from `start` on come from one folder, where a name is unique. A name that an earlier folder
// has is hidden.
static status check_names(catalog *c, size_t start, error *err) {
    size_t kept = start;
    for (size_t i = start; i < c->count; i++) {
        catalog_entry *entry = &c->items[i];
        const catalog_entry *other = is_run(entry) ? look_up(c, entry->name, kept) : NULL;
        if (other && (size_t)(other - c->items) >= start)
            return error_set(
                err, STATUS_INPUT,
                "two experiments are called '%s': '%s' and '%s': rename one of the files",
                entry->name, other->path, entry->path);
        if (other) {
            release_entry(entry);
            continue;
        }
        c->items[kept++] = *entry;
        if (kept <= i) *entry = (catalog_entry){0};
    }
    c->count = kept;
    return STATUS_OK;
}

// ---- The catalogue ----

static void add_root(catalog *c, const char *root) {
    char *roots =
        c->roots ? memory_format("%s and '%s'", c->roots, root) : memory_format("'%s'", root);
    free(c->roots);
    c->roots = roots;
}

status catalog_add(catalog *c, const char *folder, error *err) {
    size_t start = c->count, length = strlen(folder);
    while (length > 1 && folder[length - 1] == '/') length--;
    char *real = realpath(folder, NULL), *root = memory_format("%.*s", (int)length, folder);
    status rc = STATUS_OK;
    if (real && strvec_has(&c->seen, real)) goto out;
    TRY(add_folder(c, strcmp(root, ".") == 0 ? "" : root, 0, err));
    if (c->count > start) qsort(c->items + start, c->count - start, sizeof *c->items, by_path);
    TRY(check_names(c, start, err));
    add_root(c, root);
    strvec_add(&c->seen, real ? real : root);
out:
    free(root);
    free(real);
    return rc;
}

status catalog_read(catalog *c, const char *root, error *err) {
    *c = (catalog){0};
    status rc = catalog_add(c, root, err);
    if (rc != STATUS_OK) catalog_release(c);
    return rc;
}

void catalog_release(catalog *c) {
    for (size_t i = 0; i < c->count; i++) release_entry(&c->items[i]);
    free(c->items);
    free(c->roots);
    strvec_release(&c->seen);
    *c = (catalog){0};
}

// Writes "a b c", or as much as fits, followed by "…".
static void join(const char *const *names, size_t count, char *text, size_t size) {
    size_t used = 0;
    *text = 0;
    for (size_t i = 0; i < count; i++) {
        if (used + strlen(names[i]) + sizeof " …" >= size) {
            snprintf(text + used, size - used, " …");
            return;
        }
        used += (size_t)snprintf(text + used, size - used, "%s%s", i ? " " : "", names[i]);
    }
}

// Refuses a file of this name that is no experiment.
static status refuse_file(const catalog_entry *entry, error *err) {
    if (*entry->schema)
        return error_set(err, STATUS_INPUT, "cannot use experiment: '%s' has 'schema: %s'",
                         entry->path, entry->schema);
    return error_set(err, STATUS_INPUT,
                     "cannot use experiment: '%s' has no 'schema:' line: add 'schema: "
                     "lockstep.experiment/1' as its first line",
                     entry->path);
}

// Returns the path of a file of that name in the current folder, which is no catalogue; NULL: none.
// free() it.
static char *file_here(const char *name) {
    char *path = memory_format("%s.yaml", name);
    if (access(path, F_OK) == 0) return path;
    free(path);
    return NULL;
}

static status refuse(const catalog *c, const char *name, error *err) {
    for (size_t i = 0; i < c->count; i++)
        if (strcmp(c->items[i].name, name) == 0) return refuse_file(&c->items[i], err);
    const char **names = memory_new(c->count, sizeof *names);
    char all[LIST_BYTES];
    size_t count = 0;
    for (size_t i = 0; i < c->count; i++)
        if (is_run(&c->items[i])) names[count++] = c->items[i].name;
    qsort(names, count, sizeof *names, by_name);
    char *here = file_here(name);
    const char *near = here ? here : spelling_nearest(name, names, count);
    join(names, count, all, sizeof all);
    status rc =
        error_set(err, STATUS_INPUT, "cannot find experiment: '%.*s': %s%s%s%s %s %s%s", NAME_SHOWN,
                  name, near ? "did you mean '" : "", near ? near : "", near ? "'? " : "", c->roots,
                  c->seen.count > 1 ? "have" : "has", count ? "these: " : "none", all);
    free(here);
    free(names);
    return rc;
}

const catalog_entry *catalog_look_up(const catalog *c, const char *name) {
    return look_up(c, name, c->count);
}

status catalog_find(const catalog *c, const char *name, const catalog_entry **found, error *err) {
    *found = catalog_look_up(c, name);
    if (*found) return STATUS_OK;
    if (c->roots) return refuse(c, name, err);
    char *here = file_here(name);
    error_set(err, STATUS_INPUT,
              "cannot find experiment: '%.*s': %s%s%sno such file, and no folder '%s' that has "
              "experiments by name",
              NAME_SHOWN, name, here ? "did you mean '" : "", here ? here : "", here ? "'? " : "",
              OWN);
    free(here);
    return STATUS_INPUT;
}

// ---- The command line ----

status catalog_place(int which, char **folder, error *err) {
    status rc = STATUS_OK;
    if (which == 0) {
        *folder = memory_string(OWN);
    } else {
        rc = plugin_find(OWN, NULL, folder, err);
    }
    if (rc != STATUS_OK || access(*folder, F_OK) == 0) return rc;
    free(*folder);
    *folder = NULL;
    return STATUS_OK;
}

status catalog_read_places(catalog *c, error *err) {
    status rc = STATUS_OK;
    *c = (catalog){0};
    for (int i = 0; rc == STATUS_OK && i < CATALOG_PLACES; i++) {
        char *folder = NULL;
        rc = catalog_place(i, &folder, err);
        if (rc == STATUS_OK && folder) rc = catalog_add(c, folder, err);
        free(folder);
    }
    if (rc != STATUS_OK) catalog_release(c);
    return rc;
}
