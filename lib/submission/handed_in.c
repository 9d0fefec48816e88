// SPDX-License-Identifier: MIT
#include "submission/handed_in.h"

#include <fts.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/memory.h"
#include "base/paths.h"
#include "submission/unpack.h"

static int by_name(const FTSENT **a, const FTSENT **b) {
    return strcmp((*a)->fts_name, (*b)->fts_name);
}

static void add_other(handed_in *in, const char *path, const char *reason) {
    strvec_add(&in->others, path);
    strvec_add(&in->reasons, reason);
}

enum { OURS = -1 }; // in place of the count of others: the folder is left out

static void add_archive(handed_in *in, const char *path) {
    char *real = realpath(path, NULL);
    const char *place = real ? real : path;
    in->found++;
    if (!strvec_has(&in->places, place)) {
        strvec_add(&in->places, place);
        strvec_add(&in->archives, path);
    }
    free(real);
}

// A folder is named itself, not each of its files, if none of these is a submission. Its counts of
// archives and others were kept when it was entered.
static void leave_folder(handed_in *in, const FTSENT *entry) {
    const size_t before = (size_t)entry->fts_number, files = in->others.count - before;
    char reason[96];
    if (entry->fts_number == OURS || entry->fts_level == 0 ||
        in->found > (uintptr_t)entry->fts_pointer)
        return;
    strvec_cut(&in->others, before);
    strvec_cut(&in->reasons, before);
    snprintf(reason, sizeof reason,
             files ? "no submission among what is in it" : "an empty folder");
    add_other(in, entry->fts_path, reason);
}

// Folders that are left out.
enum { KEPT = 2 };
typedef struct kept {
    struct stat folders[KEPT];
} kept;

static kept find_kept(const char *artifacts) {
    static const char *const names[KEPT] = {HANDED_IN_VERIFIED, HANDED_IN_GRADED};
    kept found = {0};
    for (size_t i = 0; i < KEPT; i++) {
        char *path = memory_format("%s/%s", artifacts, names[i]);
        (void)!stat(path, &found.folders[i]); // there may be none
        free(path);
    }
    return found;
}

static bool is_kept(const kept *k, const struct stat *info) {
    bool found = false;
    for (size_t i = 0; i < KEPT; i++)
        found =
            found || (info->st_ino == k->folders[i].st_ino && info->st_dev == k->folders[i].st_dev);
    return found;
}

static void enter_folder(handed_in *in, FTS *walk, FTSENT *entry, const kept *skipped) {
    const bool submission = unpack_is_folder(entry->fts_path);
    entry->fts_number = (long)in->others.count;
    entry->fts_pointer = (void *)(uintptr_t)in->found; // NOLINT
    const bool ours = is_kept(skipped, entry->fts_statp);
    if (ours) entry->fts_number = OURS;
    if (submission || ours) (void)fts_set(walk, entry, FTS_SKIP);
    if (submission && !ours) add_archive(in, entry->fts_path);
}

static void take_entry(handed_in *in, FTS *walk, FTSENT *entry, const kept *skipped) {
    if (entry->fts_level && paths_is_litter(entry->fts_name, entry->fts_namelen)) {
        if (entry->fts_info == FTS_D) (void)fts_set(walk, entry, FTS_SKIP);
        return;
    }
    switch (entry->fts_info) {
    case FTS_D: enter_folder(in, walk, entry, skipped); return;
    case FTS_DP: leave_folder(in, entry); return;
    case FTS_F:
        if (entry->fts_level == 0 || unpack_ending(entry->fts_name)) {
            add_archive(in, entry->fts_path);
            return;
        }
        add_other(in, entry->fts_path, "no archive, and in no folder of a submission");
        return;
    case FTS_SL:
    case FTS_SLNONE: add_other(in, entry->fts_path, "a link"); return;
    case FTS_DNR:
    case FTS_ERR:
    case FTS_NS: add_other(in, entry->fts_path, strerror(entry->fts_errno)); return;
    default: add_other(in, entry->fts_path, "no plain file"); return;
    }
}

status handed_in_look(handed_in *in, const char *name, const char *artifacts, error *err) {
    char *const roots[] = {(char *)name, NULL};
    const size_t before = in->found;
    const kept skipped = find_kept(artifacts);
    status rc = STATUS_OK;
    FTS *walk = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR | FTS_COMFOLLOW, by_name);
    if (!walk) return error_set(err, STATUS_FAILED, "cannot read '%s'", name);
    for (FTSENT *entry; (entry = fts_read(walk));) take_entry(in, walk, entry, &skipped);
    fts_close(walk);
    if (in->found == before)
        rc =
            error_set(err, STATUS_INPUT,
                      "cannot verify: '%s': no submission there: expected archives (.tar.gz, .tgz, "
                      ".tar.zst, .tar.xz, .tar, .zip), or the folders in them",
                      name);
    return rc;
}

// ---- Names ----

static const char *path_of(const handed_in *in, size_t i) {
    const size_t archives = in->archives.count;
    return i < archives ? in->archives.items[i] : in->others.items[i - archives];
}

// The length of the folder's part that both paths begin with, with its slash.
static size_t common_folder(const char *a, const char *b, size_t most) {
    size_t length = 0;
    for (size_t i = 0; i < most && a[i] && a[i] == b[i]; i++)
        if (a[i] == '/') length = i + 1;
    return length;
}

// The length of the folder that has all paths, with its slash: "handed-in/".
static size_t folder_of_all(const handed_in *in, size_t count, const char *root) {
    const char *first = path_of(in, 0);
    const size_t length = strlen(root);
    size_t all = strlen(first);
    if (count == 1 && strncmp(first, root, length) == 0 && first[length])
        return length + strspn(first + length, "/");
    for (size_t i = 0; i < count; i++) all = common_folder(first, path_of(in, i), all);
    return all;
}

// The length of the first parts of a path below the folder of all, that no other path has.
static size_t length_of_own(const handed_in *in, size_t count, size_t i, size_t folder) {
    const char *path = path_of(in, i);
    for (size_t end = folder; path[end]; end += path[end] == '/') {
        bool other = false;
        end += strcspn(path + end, "/");
        for (size_t k = 0; k < count && !other; k++) {
            const char *theirs = path_of(in, k);
            other =
                k != i && strncmp(theirs, path, end) == 0 && (theirs[end] == '/' || !theirs[end]);
        }
        if (!other) return end - folder;
    }
    return strlen(path) - folder;
}

void handed_in_names(const handed_in *in, const char *root, strvec *names) {
    const size_t count = in->archives.count + in->others.count;
    const size_t folder = count ? folder_of_all(in, count, root) : 0;
    for (size_t i = 0; i < count; i++) {
        const int length = (int)length_of_own(in, count, i, folder);
        strvec_format(names, "%.*s", length, path_of(in, i) + folder);
    }
}

char *handed_in_folder_name(const char *shown) {
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "=._,-+";
    char *name = memory_string(shown);
    const char *ending = unpack_ending(name);
    if (ending) name[ending - name] = 0;
    for (char *c = name; *c; c++)
        if (!strchr(plain, *c) || (c == name && *c == '.')) *c = '_';
    return name;
}

void handed_in_release(handed_in *in) {
    strvec_release(&in->archives);
    strvec_release(&in->places);
    strvec_release(&in->others);
    strvec_release(&in->reasons);
}
