// SPDX-License-Identifier: MIT
#include "pipeline/run_names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/paths.h"
#include "base/sha256.h"
#include "base/text.h"
#include "data/manifest.h"
#include "experiment/catalog.h"
#include "experiment/experiment.h"
#include "experiment/lookup.h"
#include "pipeline/data_stages.h"
#include "pipeline/store.h"

// A folder's name with both suffixes and ".lock" or "-plan.yaml" stays below the 255 bytes of a
// file name.
enum { LONGEST_FOLDER = 130, LONGEST_SUFFIX = 40, HASH_DIGITS = 6, CLAIM_DIGITS = 4 };

// ---- Files ----

// For "R001/ddp4" or "ddp4.yaml", suggests the experiment "ddp4".
static status no_file(const char *path, error *err) {
    catalog known = {0};
    char *name = run_names_base(path);
    const bool there =
        name && catalog_read_places(&known, NULL) == STATUS_OK && catalog_look_up(&known, name);
    status rc =
        error_set(err, STATUS_INPUT, "cannot find experiment: '%s' does not exist%s%s%s", path,
                  there ? ": did you mean '" : "", there ? name : "", there ? "'?" : "");
    catalog_release(&known);
    free(name);
    return rc;
}

static status check_path(const char *path, error *err) {
    if (strpbrk(path, "\t\n\r"))
        return error_set(err, STATUS_USAGE,
                         "cannot use experiment: '%s': its name contains a tab or a line break",
                         path);
    if (access(path, R_OK) == 0) return STATUS_OK;
    return no_file(path, err);
}

static bool is_study(const char *path) {
    yaml_node *root = NULL;
    if (yaml_read_file(path, &root, NULL) != STATUS_OK) return false;
    const bool study = strcmp(yaml_text_at(root, "schema"), "lockstep.study/1") == 0;
    yaml_free(root);
    return study;
}

// Finds the experiment that import-images has written next to its data, in DATA or data/NAME: that
// name, or the folder's. *path is NULL if there is none.
static status find_beside_data(const pipeline *p, const char *name, char **path, error *err) {
    const char *folder = p->settings->values[SETTING_DATA];
    *path = NULL;
    if (!folder) {
        *path = lookup_with_data(name);
        return STATUS_OK;
    }
    const status usable = own_data_check(p->settings, err);
    if (usable != STATUS_OK) return usable;
    char *base = run_names_base(folder);
    *path = lookup_beside(folder, name, strcmp(base, name) == 0);
    free(base);
    return STATUS_OK;
}

static status find_one(const pipeline *p, const catalog *known, const char *name, strvec *files,
                       error *err) {
    const catalog_entry *entry = NULL;
    char *beside = NULL;
    status rc = STATUS_OK;
    const bool is_path = lookup_is_path(name);
    if (is_path)
        TRY(check_path(name, err));
    else if (!catalog_look_up(known, name))
        TRY(find_beside_data(p, name, &beside, err));
    if (!is_path && !beside) TRY(catalog_find(known, name, &entry, err));
    strvec_add(files, entry ? entry->path : beside ? beside : name);
out:
    free(beside);
    return rc;
}

static status find_kept(const pipeline *p, const char *digits, strvec *files, error *err) {
    char *key = NULL, *folder = NULL, *path = NULL;
    status rc;
    TRY(store_find(p->artifacts, digits, &key, err));
    folder = store_folder(p->artifacts, key);
    path = memory_format("%s/experiment.yaml", folder);
    strvec_add(files, path);
out:
    free(path);
    free(folder);
    free(key);
    return rc;
}

static status find_all(const pipeline *p, strvec *files, error *err) {
    const settings *s = p->settings;
    catalog known = {0};
    bool by_name = false;
    status rc = STATUS_OK;
    for (size_t i = 0; !s->values[SETTING_RUNS] && i < s->names.count; i++)
        by_name = by_name || !lookup_is_path(s->names.items[i]);
    if (by_name) rc = catalog_read_places(&known, err);
    for (size_t i = 0; rc == STATUS_OK && i < s->names.count; i++)
        rc = s->values[SETTING_RUNS] ? find_kept(p, s->names.items[i], files, err)
                                     : find_one(p, &known, s->names.items[i], files, err);
    catalog_release(&known);
    return rc;
}

// The folder of a file's results has the file's name; other folders next to it are reserved.
static status check_folder(const char *path, error *err) {
    static const char *const taken[] = {"data", "machine", "reproduce", "runs", "verified"};
    char *name = run_names_base(path);
    bool bad = !*name || *name == '.';
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
        bad = bad || strcmp(name, taken[i]) == 0;
    status rc = STATUS_OK;
    if (bad)
        rc = error_set(err, STATUS_USAGE,
                       "cannot use experiment: '%s': its results cannot go in a folder called "
                       "'%s': rename the file",
                       path, name);
    free(name);
    return rc;
}

status run_names_find(const pipeline *p, bool study_may_be, strvec *files, bool *study,
                      error *err) {
    status rc = find_all(p, files, err);
    if (study) *study = false;
    for (size_t i = 0; rc == STATUS_OK && !p->settings->values[SETTING_RUNS] && i < files->count;
         i++)
        rc = check_folder(files->items[i], err);
    for (size_t i = 0; rc == STATUS_OK && i < files->count; i++) {
        if (!is_study(files->items[i])) continue;
        if (study_may_be)
            *study = true;
        else
            rc = error_set(err, STATUS_USAGE, "cannot %s: '%s': it is a study, not an experiment",
                           settings_commands[p->settings->command].name,
                           p->settings->names.items[i]);
    }
    return rc;
}

char *run_names_list(const pipeline *p, error *err) {
    const strvec *names = &p->settings->names;
    char *path = NULL;
    if (names->count)
        path = memory_string(names->items[0]);
    else if (lookup_file("experiments/", "reproductions", "reproduce", &path, err) != STATUS_OK)
        return NULL;
    if (!path || access(path, R_OK) == 0) return path;
    error_set(err, STATUS_INPUT, "cannot find the list of reports: '%s' does not exist", path);
    free(path);
    return NULL;
}

// ---- Names ----

char *run_names_base(const char *path) {
    const char *name = paths_name(path);
    return memory_format("%.*s", (int)paths_stem(name), name);
}

static status read_name(const char *file, const strvec *set, char **name, error *err) {
    experiment e = {0};
    NEED(experiment_read(&e, file, (const char *const *)set->items, set->count, err));
    *name = memory_string(e.name);
    experiment_release(&e);
    return STATUS_OK;
}

// For ".../runs/KEY12/experiment.yaml": adds the key if another kept run has the same name.
static char *kept_name(const strvec *files, size_t at, const strvec *set, const char *name) {
    bool shared = false;
    for (size_t i = 0; i < files->count; i++) {
        char *other = NULL;
        if (i != at && read_name(files->items[i], set, &other, NULL) == STATUS_OK)
            shared = shared || strcmp(other, name) == 0;
        free(other);
    }
    const char *end = strrchr(files->items[at], '/');
    if (!shared) return memory_string(name);
    return memory_format("%s-%.6s", name, end - STORE_KEY_DIGITS);
}

// The folder NAME belongs to the experiment file: a kept run gets NAME-KEY.
static char *kept_folder(const char *file, const char *name) {
    return memory_format("%s-%.6s", name, strrchr(file, '/') - STORE_KEY_DIGITS);
}

status run_names_of(const pipeline *p, const strvec *files, size_t i, char **name, char **folder,
                    error *err) {
    const strvec *set = &p->settings->assignments;
    *folder = NULL;
    NEED(read_name(files->items[i], set, name, err));
    if (p->settings->values[SETTING_RUNS]) {
        char *own = kept_name(files, i, set, *name);
        *folder = kept_folder(files->items[i], *name);
        free(*name);
        *name = own;
    } else {
        *folder = run_names_base(files->items[i]);
    }
    return STATUS_OK;
}

// ---- Folders ----

// Returns the first `most` characters of `string` that a folder's name may have; with a hash of the
// whole if that leaves anything out.
static char *tame(const char *string, size_t most) {
    static const char good[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                               "=._,-+";
    char hash[SHA256_TEXT_BYTES], *name = memory_new(most + HASH_DIGITS + 2, 1);
    size_t length = 0;
    sha256_buffer(string, strlen(string), hash);
    for (const char *c = string; *c && length < most; c++)
        if (strchr(good, *c)) name[length++] = *c;
    if (length < strlen(string))
        snprintf(name + length, HASH_DIGITS + 2, "-%.*s", HASH_DIGITS, hash);
    return name;
}

char *run_names_shortened(char *name) {
    if (strlen(name) <= LONGEST_FOLDER) return name;
    char *shorter = tame(name, LONGEST_FOLDER - HASH_DIGITS - 1);
    free(name);
    return shorter;
}

char *run_names_joined(const yaml_node *plan) {
    const yaml_node *runs = yaml_find(plan, "runs");
    text joined = {0};
    for (size_t i = 0; i < runs->count; i++)
        text_format(&joined, "%s%s", i ? "-" : "", yaml_find(runs->items[i], "folder")->text);
    return run_names_shortened(text_take(&joined));
}

// ---- Suffixes ----

// Adds "NAME=VALUE", after a comma if it is not the first part.
static void add_part(text *parts, const char *name, const char *value) {
    if (value) text_format(parts, "%s%s%s", parts->length ? "," : "", name, value);
}

static char *suffix_of(text *parts) {
    char *tamed = tame(text_string(parts), LONGEST_SUFFIX);
    char *suffix = memory_format("%s%s", *tamed ? "-" : "", tamed);
    free(tamed);
    text_release(parts);
    return suffix;
}

// Does this assignment leave every run as it is, and only choose the seeds or change labels?
static bool is_of_report(const char *assignment) {
    static const char *const keys[] = {"seed", "repeats", "name", "title", "target_accuracy"};
    const size_t length = strcspn(assignment, "= \t");
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (strlen(keys[i]) == length && strncmp(assignment, keys[i], length) == 0) return true;
    return false;
}

static void add_assignments(text *parts, const settings *s, bool of_report) {
    for (size_t i = 0; i < s->assignments.count; i++)
        if (is_of_report(s->assignments.items[i]) == of_report)
            add_part(parts, "", s->assignments.items[i]);
}

// The folder's own name: "shapes" for "data/shapes/", and in that folder for ".".
static char *data_name(const char *folder) {
    char *path = realpath(folder, NULL);
    if (!path) path = memory_string(folder);
    for (size_t end = strlen(path); end > 1 && path[end - 1] == '/';) path[--end] = 0;
    char *name = run_names_base(path);
    free(path);
    return name;
}

char *run_names_suffix(const settings *s) {
    const char *data = s->values[SETTING_DATA], *math = s->values[SETTING_MATH];
    char *name = data ? data_name(data) : NULL;
    text parts = {0};
    add_assignments(&parts, s, false);
    add_part(&parts, "data=", name);
    add_part(&parts, "threads=", s->values[SETTING_THREADS]);
    if (math && strcmp(math, "exact") != 0) add_part(&parts, "math=", math);
    free(name);
    return suffix_of(&parts);
}

char *run_names_report_suffix(const settings *s, bool with_language) {
    const char *language = settings_language(s);
    text parts = {0};
    add_assignments(&parts, s, true);
    if (with_language && strcmp(language, "en") != 0) add_part(&parts, "lang=", language);
    return suffix_of(&parts);
}
