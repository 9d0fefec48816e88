// SPDX-License-Identifier: MIT
#include "base/output_folder.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/output.h"

enum { TRIES = 3 };

char *output_folder_missing(const char *path) {
    for (size_t end = 1; *path; end++) {
        const bool last = !path[end];
        if (!last && path[end] != '/') continue;
        char *part = memory_format("%.*s", (int)end, path);
        if (access(part, F_OK) != 0) return part;
        free(part);
        if (last) break;
    }
    return NULL;
}

// Is there nothing but this file in the folder?
static bool holds_only(const char *folder, const char *name) {
    DIR *dir = opendir(folder);
    bool only = dir != NULL;
    for (struct dirent *e; only && (e = readdir(dir));)
        only = strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 ||
               strcmp(e->d_name, name) == 0;
    if (dir) closedir(dir);
    return only;
}

// Removes the folders from `path` up to `made`, as far as they exist and are empty: rmdir(2)
// refuses others.
static void remove_empty(const char *path, const char *made) {
    char *folder = memory_string(path);
    for (size_t length = strlen(folder); length >= strlen(made);) {
        if (rmdir(folder) != 0 && errno != ENOENT && errno != ENAMETOOLONG) break;
        while (length && folder[length - 1] == '/') length--;
        while (length && folder[length - 1] != '/') length--;
        while (length > 1 && folder[length - 1] == '/') length--;
        folder[length] = '\0';
    }
    free(folder);
}

void output_folder_drop(const char *path, const char *lock, const char *made) {
    if (!made || !holds_only(path, lock)) return;
    char *file = memory_format("%s/%s", path, lock);
    (void)unlink(file);
    remove_empty(path, made);
    free(file);
}

// Another process may remove the folder, after its failure, before this one has the lock.
status output_folder_open(const char *path, const logger *log, output_folder *f, error *err) {
    status rc = STATUS_FAILED;
    char *missing = *path ? output_folder_missing(path) : NULL;
    *f = (output_folder){.lock = -1};
    for (int i = 0; i < TRIES && rc == STATUS_FAILED; i++) {
        rc = output_make_folder(path, err);
        if (rc == STATUS_OK) rc = output_lock_folder(path, log, &f->lock, err);
        if (rc != STATUS_OK && access(path, F_OK) == 0) break;
    }
    if (rc == STATUS_OK) {
        f->path = memory_string(path);
        f->made = missing;
    } else {
        if (missing) remove_empty(path, missing);
        free(missing);
    }
    return rc;
}

void output_folder_close(output_folder *f, status rc) {
    if (!f->path) return;
    if (rc != STATUS_OK) output_folder_drop(f->path, ".lock", f->made);
    output_unlock_folder(f->lock);
    free(f->path);
    free(f->made);
    *f = (output_folder){0};
}
