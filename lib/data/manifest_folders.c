// SPDX-License-Identifier: MIT
#include "data/manifest_folders.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/paths.h"
#include "base/text.h"
#include "data/manifest.h"

// Returns FOLDER/STAGE/manifest.yaml, or FOLDER/manifest.yaml if `stage` is NULL.
static char *manifest_of(const char *folder, const char *stage) {
    return memory_format("%s/%s%smanifest.yaml", folder, stage ? stage : "", stage ? "/" : "");
}

static bool has_manifest(const char *folder, const char *stage) {
    return paths_allow(F_OK, "%s/%s%smanifest.yaml", folder, stage ? stage : "", stage ? "/" : "");
}

bool manifest_is_run_folder(const char *path) {
    return paths_is_folder(path) && !has_manifest(path, NULL) && has_manifest(path, "train");
}

// ---- Hints ----

enum { HINT_DEPTH = 2, MOST_HINTS = 3 }; // ARTIFACTS/EXPERIMENT/seed-S

static void add_run(text *t, const char *path, int *count) {
    if (++*count <= MOST_HINTS)
        text_format(t, "%s'%s'", *count > 1 ? ", " : ": folders of runs are ", path);
    else
        text_append(t, ", …");
}

// Adds the folders of runs below `folder`, until there are too many for a line.
static void add_runs(text *t, const char *folder, int depth, int *count) {
    strvec names = {0};
    (void)paths_list(folder, NULL, true, &names);
    for (size_t i = 0; i < names.count; i++) {
        char *path = memory_format("%s/%s", folder, names.items[i]);
        const bool room = *count <= MOST_HINTS;
        if (room && manifest_is_run_folder(path))
            add_run(t, path, count);
        else if (room && depth > 1 && paths_is_folder(path))
            add_runs(t, path, depth - 1, count);
        free(path);
    }
    strvec_release(&names);
}

char *manifest_hint_runs(const char *path) {
    text t = {0};
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/') length--;
    char *folder = memory_format("%.*s", (int)length, path);
    int count = 0;
    if (has_manifest(folder, NULL)) { // of a report, say
        char *slash = strrchr(folder, '/');
        if (slash) *slash = 0;
        if (slash && manifest_is_run_folder(folder))
            add_run(&t, folder, &count);
        else if (slash && *folder)
            add_runs(&t, folder, 1, &count);
    } else
        add_runs(&t, folder, HINT_DEPTH, &count);
    free(folder);
    return text_take(&t);
}

status manifest_locate(const char *path, char **file, error *err) {
    const char *stage = manifest_is_run_folder(path) ? "train" : NULL;
    *file = NULL;
    if (paths_is_folder(path) && !stage && !has_manifest(path, NULL)) {
        char *hint = manifest_hint_runs(path);
        const bool runs = *hint;
        if (runs)
            error_set(err, STATUS_INPUT, "cannot find a manifest: '%s' is no folder of a run%s",
                      path, hint);
        free(hint);
        if (runs) return STATUS_INPUT;
    }
    *file = paths_is_folder(path) ? manifest_of(path, stage) : memory_string(path);
    return STATUS_OK;
}

static status diff_files(const char *a, const char *b, manifest_findings *f, error *err) {
    yaml_node *x = NULL, *y = NULL;
    status rc;
    TRY(manifest_read(a, &x, err));
    TRY(manifest_read(b, &y, err));
    manifest_diff(x, y, f);
out:
    yaml_free(x);
    yaml_free(y);
    return rc;
}

// Puts the stage's name before the findings from `first` on.
static void name_stage(manifest_findings *f, size_t first, const char *stage) {
    for (size_t i = first; i < f->count; i++) {
        char *line = memory_format("%s: %s", stage, f->lines[i]);
        free(f->lines[i]);
        f->lines[i] = line;
    }
}

static status diff_stage(const char *a, const char *b, const char *stage, manifest_findings *f,
                         error *err) {
    const bool in_a = has_manifest(a, stage), in_b = has_manifest(b, stage);
    const size_t first = f->count;
    if (!in_a && !in_b) return STATUS_OK;
    if (in_a != in_b) {
        manifest_finding(f, "%s: %s", stage, in_a ? "done != (absent)" : "(absent) != done");
        return STATUS_OK;
    }
    char *x = manifest_of(a, stage), *y = manifest_of(b, stage);
    status rc = diff_files(x, y, f, err);
    if (rc == STATUS_OK) name_stage(f, first, stage);
    free(x);
    free(y);
    return rc;
}

status manifest_diff_paths(const char *a, const char *b, manifest_findings *f, error *err) {
    char *x = NULL, *y = NULL;
    status rc = STATUS_OK;
    if (manifest_is_run_folder(a) && manifest_is_run_folder(b)) {
        rc = diff_stage(a, b, "train", f, err);
        return rc == STATUS_OK ? diff_stage(a, b, "evaluate", f, err) : rc;
    }
    TRY(manifest_locate(a, &x, err));
    TRY(manifest_locate(b, &y, err));
    TRY(diff_files(x, y, f, err));
out:
    free(x);
    free(y);
    return rc;
}
