// SPDX-License-Identifier: MIT
#include "pipeline/store_links.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/output.h"
#include "base/paths.h"
#include "pipeline/store.h"

// ---- Making ----

// Returns the relative path of `runs/KEY12/N` from the folder that holds the link `path`, which may
// itself be a link.
static char *link_target(const char *artifacts, const char *path, const char *key, int number) {
    char folder[PATH_MAX + 1], *target = NULL;
    char *runs = memory_format("%s/runs", artifacts);
    paths_real_folder(path, folder);
    char *seen = paths_relative(runs, folder);
    target = memory_format("%s/%.*s/%d", seen, STORE_KEY_DIGITS, key, number);
    free(seen);
    free(runs);
    return target;
}

// Makes the link under a temporary name, then renames it.
static status put_link(const char *path, const char *target, error *err) {
    status rc = STATUS_OK;
    char *new_link = memory_format("%s.new-%ld", path, (long)getpid());
    (void)unlink(new_link);
    if (symlink(target, new_link) || rename(new_link, path)) {
        rc = error_system(err, STATUS_FAILED, errno, "cannot link '%s'", path);
        (void)unlink(new_link);
    }
    free(new_link);
    return rc;
}

status store_link(const char *artifacts, const char *place, const char *key, int number,
                  error *err) {
    char old[4096];
    char *path = memory_format("%s/%s", artifacts, place), *target = NULL;
    status rc = output_make_parent(path, err);
    if (rc != STATUS_OK) goto out;
    target = link_target(artifacts, path, key, number);
    ssize_t length = readlink(path, old, sizeof old - 1);
    if (length >= 0) old[length] = 0;
    if (length >= 0 && strcmp(old, target) == 0) goto out;
    if (length < 0 && errno == EINVAL)
        rc =
            error_set(err, STATUS_FAILED, "cannot link '%s': it is not a link; move it away", path);
    if (rc == STATUS_OK) rc = put_link(path, target, err);
out:
    free(target);
    free(path);
    return rc;
}

bool store_links_finished(const char *artifacts, const char *place) {
    static const char *const stages[] = {"train", "evaluate"};
    struct stat info;
    char *link = memory_format("%s/%s", artifacts, place);
    bool finished = lstat(link, &info) == 0 && S_ISLNK(info.st_mode);
    for (size_t i = 0; i < 2 && finished; i++)
        finished = paths_allow(F_OK, "%s/%s/manifest.yaml", link, stages[i]);
    free(link);
    return finished;
}

// ---- Finding and removing ----

// ARTIFACTS/STUDY/VARIANT/seed-S is the deepest link.
enum { LINK_DEPTH = 3 };

// Is this the relative path of an execution of the key, ".../KEY12/N"?
static bool is_execution_of(const char *target, const char *key) {
    const char *number = strrchr(target, '/');
    return number && number - target > STORE_KEY_DIGITS && number[-STORE_KEY_DIGITS - 1] == '/' &&
           strncmp(number - STORE_KEY_DIGITS, key, STORE_KEY_DIGITS) == 0;
}

static void find_link(const char *path, const char *key, strvec *found) {
    char target[4096];
    const ssize_t length = readlink(path, target, sizeof target - 1);
    if (length < 0) return;
    target[length] = 0;
    if (is_execution_of(target, key)) strvec_add(found, path);
}

static void find_links_below(const char *folder, int depth, const char *key, strvec *found) {
    struct stat info;
    DIR *dir = opendir(folder);
    for (const struct dirent *e; dir && (e = readdir(dir));) {
        const char *name = e->d_name;
        // The store itself may be large, and has no such links.
        if (*name == '.' || (depth == 1 && strcmp(name, "runs") == 0)) continue;
        char *path = memory_format("%s/%s", folder, name);
        if (lstat(path, &info) == 0 && S_ISLNK(info.st_mode))
            find_link(path, key, found);
        else if (depth < LINK_DEPTH && S_ISDIR(info.st_mode))
            find_links_below(path, depth + 1, key, found);
        free(path);
    }
    if (dir) closedir(dir);
}

void store_find_links(const char *artifacts, const char *key, strvec *links) {
    find_links_below(artifacts, 1, key, links);
}

status store_remove_links(const char *artifacts, const char *key, strvec *removed, error *err) {
    store_find_links(artifacts, key, removed);
    status rc = STATUS_OK;
    for (size_t i = 0; rc == STATUS_OK && i < removed->count; i++)
        if (unlink(removed->items[i]) != 0)
            rc = error_system(err, STATUS_FAILED, errno, "cannot remove: '%s'", removed->items[i]);
    return rc;
}
