// SPDX-License-Identifier: MIT
#include "submission/unpack.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files.h"
#include "base/memory.h"
#include "base/output.h"
#include "base/paths.h"
#include "data/source/archive.h"
#include "submission/page.h"

// No file of a submission has a longer path or name; every file system has room for these.
enum { BUFFER_BYTES = 1 << 16, PATH_BYTES = 1000, NAME_BYTES = 200 };

const char *unpack_ending(const char *name) {
    static const char *const endings[] = {".tar.gz", ".tgz", ".tar.zst", ".tar.xz", ".tar", ".zip"};
    const size_t length = strlen(name);
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        const size_t own = strlen(endings[i]);
        if (length > own && strcasecmp(name + length - own, endings[i]) == 0)
            return name + length - own;
    }
    return NULL;
}

static bool has_long_name(const char *path) {
    for (const char *name = path; *name; name += strspn(name, "/")) {
        const size_t length = strcspn(name, "/");
        if (length > NAME_BYTES) return true;
        name += length;
    }
    return false;
}

// Is there already a file in the place of one of the folders above `path`? Those from `below` on
// are of the submission.
static bool is_below_file(char *path, char *below) {
    bool found = false;
    for (char *slash = strchr(below, '/'); slash && !found; slash = strchr(slash + 1, '/')) {
        struct stat info;
        *slash = 0;
        found = lstat(path, &info) == 0 && !S_ISDIR(info.st_mode);
        *slash = '/';
    }
    return found;
}

// Returns why no file can be written to `path`, the member `name` of a submission; NULL if one can.
// So a member cannot cause a failure at run time, which would end the verification of others.
static const char *bad_place(char *path, const char *name) {
    struct stat info;
    const size_t length = strlen(name);
    if (length > PATH_BYTES || has_long_name(name)) return "its name is too long";
    if (name[length - 1] == '/') return "it is a file named like a folder";
    if (is_below_file(path, path + strlen(path) - length)) return "it lies in a file";
    return lstat(path, &info) == 0 ? "it is there twice" : NULL;
}

static status write_member(archive_reader *reader, const char *path, error *err) {
    char buffer[BUFFER_BYTES];
    size_t got = 1;
    output *out = NULL;
    status rc;
    TRY(output_make_parent(path, err));
    TRY(output_open(path, &out, err));
    while (got) {
        TRY(archive_reader_read(reader, buffer, sizeof buffer, &got, err));
        if (got) TRY(output_write(out, buffer, got, err));
    }
    rc = output_commit(out, err);
out:
    output_free(out);
    return rc;
}

static status unpack_member(archive_reader *reader, const char *archive, const char *member,
                            const char *folder, error *err) {
    while (strncmp(member, "./", 2) == 0) member += 2;
    if (!*member || paths_has_litter(member)) return STATUS_OK;
    char *path = memory_format("%s/%s", folder, member);
    const char *why = bad_place(path, member);
    status rc = STATUS_OK;
    if (why)
        rc = error_set(err, STATUS_INPUT, "cannot unpack: '%s': member '%.200s': %s", archive,
                       member, why);
    else
        rc = write_member(reader, path, err);
    free(path);
    return rc;
}

static status unpack_all(int fd, const char *archive, const char *folder, error *err) {
    archive_reader *reader = NULL;
    const char *member;
    status rc;
    TRY(archive_reader_open(fd, archive, ARCHIVE_MEMBERS, &reader, err));
    TRY(output_make_folder(folder, err));
    for (;;) {
        TRY(archive_reader_next(reader, &member, err));
        if (!member) break;
        TRY(unpack_member(reader, archive, member, folder, err));
    }
out:
    archive_reader_free(reader);
    return rc;
}

// Writes the files of the archive below `folder`, as they lie in it. `name` is for messages.
static status unpack_archive(const char *archive, const char *name, const char *folder,
                             error *err) {
    const int fd = open(archive, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return error_system(err, STATUS_INPUT, errno, "cannot read submission: '%s'", name);
    status rc = unpack_all(fd, name, folder, err);
    close(fd);
    return rc;
}

// ---- The submission in an archive ----

// Paths of what was unpacked. What is in a submission is not listed.
typedef struct contents {
    strvec submissions, archives, others;
} contents;

static void contents_release(contents *c) {
    strvec_release(&c->submissions);
    strvec_release(&c->archives);
    strvec_release(&c->others);
}

static status contents_list(contents *c, const char *folder, error *err) {
    char *const roots[] = {(char *)folder, NULL};
    FTS *walk = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    if (!walk) return error_set(err, STATUS_FAILED, "cannot read '%s'", folder);
    for (FTSENT *entry; (entry = fts_read(walk));) {
        if (entry->fts_info == FTS_D && unpack_is_folder(entry->fts_path)) {
            strvec_add(&c->submissions, entry->fts_path);
            (void)fts_set(walk, entry, FTS_SKIP);
        } else if (entry->fts_info == FTS_F)
            strvec_add(unpack_ending(entry->fts_name) ? &c->archives : &c->others, entry->fts_path);
    }
    fts_close(walk);
    return STATUS_OK;
}

// The archive holds no submission, or more than one.
static status refuse_contents(const char *archive, const contents *c, error *err) {
    if (c->submissions.count)
        return error_set(err, STATUS_INPUT,
                         "cannot unpack: '%s': it holds %zu submissions: unpack it first", archive,
                         c->submissions.count);
    if (c->archives.count)
        return error_set(err, STATUS_INPUT,
                         "cannot unpack: '%s': it holds %zu archive%s: unpack it first", archive,
                         c->archives.count, c->archives.count == 1 ? "" : "s");
    if (!c->others.count)
        return error_set(err, STATUS_INPUT, "cannot unpack: '%s': it holds no file", archive);
    return error_set(
        err, STATUS_INPUT,
        "cannot unpack: '%s': it holds no submission, which is a folder with plan.yaml "
        "and experiments/",
        archive);
}

static status unpack_found(const char *archive, const char *name, const char *folder, bool inner,
                           strvec *beside, error *err);

// Moves the one submission to `folder`; one in an archive, which is all that there is, is unpacked
// there. `base`: the folder of all contents.
static status take_contents(const contents *c, const char *name, const char *base,
                            const char *folder, bool inner, strvec *beside, error *err) {
    if (!c->submissions.count && c->archives.count == 1 && !inner) {
        char *which = memory_format("%s: %s", name, c->archives.items[0] + strlen(base) + 1);
        status rc = unpack_found(c->archives.items[0], which, folder, true, beside, err);
        free(which);
        for (size_t i = 0; i < c->others.count; i++)
            strvec_add(beside, c->others.items[i] + strlen(base) + 1);
        return rc;
    }
    if (c->submissions.count != 1) return refuse_contents(name, c, err);
    if (rename(c->submissions.items[0], folder) != 0)
        return error_system(err, STATUS_FAILED, errno, "cannot write folder '%s'", folder);
    for (size_t i = 0; i < c->archives.count; i++)
        strvec_add(beside, c->archives.items[i] + strlen(base) + 1);
    for (size_t i = 0; i < c->others.count; i++)
        strvec_add(beside, c->others.items[i] + strlen(base) + 1);
    return STATUS_OK;
}

// `inner`: the archive lay in another one.
static status unpack_found(const char *archive, const char *name, const char *folder, bool inner,
                           strvec *beside, error *err) {
    char *base = memory_format("%s.%s", folder, inner ? "inner" : "all");
    contents c = {0};
    status rc;
    TRY(unpack_archive(archive, name, base, err));
    TRY(contents_list(&c, base, err));
    rc = take_contents(&c, name, base, folder, inner, beside, err);
out:
    (void)!remove_tree(base, NULL); // gigabytes, if many are refused
    contents_release(&c);
    free(base);
    return rc;
}

// ---- Folders ----

bool unpack_is_folder(const char *path) {
    static const char *const files[] = {PAGE_PLAN, "run-again.sh"};
    bool found = false;
    char *experiments = memory_format("%s/experiments", path);
    const bool folder = paths_is_folder(experiments);
    for (size_t i = 0; folder && i < sizeof files / sizeof *files; i++)
        found = found || paths_allow(F_OK, "%s/%s", path, files[i]);
    free(experiments);
    return found;
}

static status copy_member(const FTSENT *entry, const char *from, const char *folder, error *err) {
    const char *name = entry->fts_path + strlen(from);
    status rc;
    name += strspn(name, "/");
    char *path = memory_format("%s/%s", folder, name);
    const char *why = bad_place(path, name);
    if (entry->fts_info != FTS_F) why = "it is no plain file";
    if (why)
        rc = error_set(err, STATUS_INPUT, "cannot copy: '%s': file '%.200s': %s", from, name, why);
    else
        rc = output_make_parent(path, err);
    if (rc == STATUS_OK) rc = copy_file(entry->fts_path, path, err);
    free(path);
    return rc;
}

static status copy_folder(const char *from, const char *folder, error *err) {
    char *const roots[] = {(char *)from, NULL};
    uint64_t bytes = 0;
    int members = 0;
    status rc = STATUS_OK;
    if (!unpack_is_folder(from))
        return error_set(err, STATUS_INPUT,
                         "cannot read submission: '%s': a folder without the plan.yaml and the "
                         "experiments/ of a submission",
                         from);
    FTS *walk = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR | FTS_COMFOLLOW, NULL);
    if (!walk) return error_set(err, STATUS_FAILED, "cannot read '%s'", from);
    for (FTSENT *entry; rc == STATUS_OK && (entry = fts_read(walk));) {
        const bool litter =
            entry->fts_level && paths_is_litter(entry->fts_name, entry->fts_namelen);
        if (litter) (void)fts_set(walk, entry, FTS_SKIP);
        if (litter || entry->fts_info == FTS_D || entry->fts_info == FTS_DP) continue;
        if (entry->fts_info == FTS_F) bytes += (uint64_t)entry->fts_statp->st_size;
        if (++members > ARCHIVE_MAX_MEMBERS || bytes > ARCHIVE_MAX_BYTES)
            rc = error_set(err, STATUS_INPUT, "cannot copy: '%s': too many or too large files",
                           from);
        else
            rc = copy_member(entry, from, folder, err);
    }
    fts_close(walk);
    return rc;
}

status unpack_submission(const char *archive, const char *folder, strvec *beside, error *err) {
    return paths_is_folder(archive) ? copy_folder(archive, folder, err)
                                    : unpack_found(archive, archive, folder, false, beside, err);
}
