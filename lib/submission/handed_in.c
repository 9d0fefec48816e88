// SPDX-License-Identifier: MIT
#include "submission/handed_in.h"

#include <fts.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
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

// A folder is named itself, not each of its files, if none of these is a submission. Its counts of
// archives and others were kept when it was entered.
static void leave_folder(handed_in *in, const FTSENT *entry) {
    const size_t before = (size_t)entry->fts_number, files = in->others.count - before;
    char reason[96];
    if (entry->fts_number == OURS || entry->fts_level == 0 ||
        in->archives.count > (uintptr_t)entry->fts_pointer)
        return;
    strvec_cut(&in->others, before);
    strvec_cut(&in->reasons, before);
    snprintf(reason, sizeof reason,
             files ? "no submission among what is in it" : "an empty folder");
    add_other(in, entry->fts_path, reason);
}

static void enter_folder(handed_in *in, FTS *walk, FTSENT *entry, const struct stat *skipped) {
    const struct stat *info = entry->fts_statp;
    const bool submission = unpack_is_folder(entry->fts_path);
    entry->fts_number = (long)in->others.count;
    entry->fts_pointer = (void *)(uintptr_t)in->archives.count; // NOLINT
    const bool ours = info->st_ino == skipped->st_ino && info->st_dev == skipped->st_dev;
    if (ours) entry->fts_number = OURS;
    if (submission || ours) (void)fts_set(walk, entry, FTS_SKIP);
    if (submission && !ours) strvec_add(&in->archives, entry->fts_path);
}

static void take_entry(handed_in *in, FTS *walk, FTSENT *entry, const struct stat *skipped) {
    if (entry->fts_level && paths_is_litter(entry->fts_name, entry->fts_namelen)) {
        if (entry->fts_info == FTS_D) (void)fts_set(walk, entry, FTS_SKIP);
        return;
    }
    switch (entry->fts_info) {
    case FTS_D: enter_folder(in, walk, entry, skipped); return;
    case FTS_DP: leave_folder(in, entry); return;
    case FTS_F:
        if (entry->fts_level == 0 || unpack_ending(entry->fts_name)) {
            strvec_add(&in->archives, entry->fts_path);
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

status handed_in_look(handed_in *in, const char *name, const char *verified, error *err) {
    char *const roots[] = {(char *)name, NULL};
    const size_t before = in->archives.count;
    struct stat skipped = {0};
    (void)!stat(verified, &skipped); // there may be none
    status rc = STATUS_OK;
    FTS *walk = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR | FTS_COMFOLLOW, by_name);
    if (!walk) return error_set(err, STATUS_FAILED, "cannot read '%s'", name);
    for (FTSENT *entry; (entry = fts_read(walk));) take_entry(in, walk, entry, &skipped);
    fts_close(walk);
    if (in->archives.count == before)
        rc =
            error_set(err, STATUS_INPUT,
                      "cannot verify: '%s': no submission there: expected archives (.tar.gz, .tgz, "
                      ".tar.zst, .tar.xz, .tar, .zip), or the folders in them",
                      name);
    return rc;
}

char *handed_in_folder_name(const char *archive) {
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "=._,-+";
    char *name = memory_string(paths_name(archive));
    const char *ending = unpack_ending(name);
    if (ending) name[ending - name] = 0;
    for (char *c = name; *c; c++)
        if (!strchr(plain, *c) || (c == name && *c == '.')) *c = '_';
    return name;
}

void handed_in_release(handed_in *in) {
    strvec_release(&in->archives);
    strvec_release(&in->others);
    strvec_release(&in->reasons);
}
