// SPDX-License-Identifier: MIT
#include "data/source/members.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/foreign_file.h"
#include "base/memory.h"
#include "base/paths.h"
#include "base/progress.h"
#include "base/redact.h"
#include "data/source/archive.h"
#include "data/source/download.h"

enum { CHUNK_BYTES = 1 << 18 };
static const uint64_t MAX_DOWNLOAD = UINT64_C(1) << 30;

// ---- Names ----

// The forms of a member: NAME, NAME.gz, and its alias.
typedef enum member_form {
    MEMBER_PLAIN,
    MEMBER_PACKED,
    MEMBER_OTHER_FORM,
    MEMBER_FORMS
} member_form;

static char plain_letter(char c) {
    return c == '-' || c == '.' ? '_' : (char)tolower((unsigned char)c);
}

// Is `name`, of `length` bytes, the published name but for its spelling?
static bool same_name(const char *name, size_t length, const char *published) {
    size_t i = 0;
    while (i < length && published[i] && plain_letter(name[i]) == plain_letter(published[i])) i++;
    return i == length && !published[i];
}

static bool has_form(const dataset_member *m, member_form form, const char *name) {
    static const char packed[] = ".gz";
    const size_t length = strlen(name), end = sizeof packed - 1;
    if (form == MEMBER_OTHER_FORM) return m->alias && same_name(name, length, m->alias);
    if (form == MEMBER_PLAIN) return same_name(name, length, m->name);
    return length > end && same_name(name + length - end, end, packed) &&
           same_name(name, length - end, m->name);
}

// Returns the member that the last part of `path` names, and its form; or -1.
static int find_member(const dataset_entry *d, const char *path, member_form *form) {
    const char *name = paths_name(path);
    for (size_t i = 0; i < d->member_count; i++)
        for (int k = 0; k < MEMBER_FORMS; k++)
            if (has_form(&d->members[i], (member_form)k, name)) {
                *form = (member_form)k;
                return (int)i;
            }
    return -1;
}

// Finds the file of a member in a folder, or, unless that is an `inner` one, in a folder of its
// name in there. Of several the least path counts, whatever the order of the folder. *path is NULL
// if there is none; free() it.
static status find_form(const dataset_member *m, member_form form, const char *folder, bool inner,
                        char **path, error *err) {
    status rc = STATUS_OK;
    *path = NULL;
    DIR *entries = opendir(folder);
    if (!entries && errno != ENOENT && errno != ENOTDIR)
        return error_system(err, STATUS_INPUT, errno, "cannot read: '%s'", folder);
    for (struct dirent *e; rc == STATUS_OK && entries && (e = readdir(entries));) {
        if (!has_form(m, form, e->d_name)) continue;
        char *found = memory_format("%s/%s", folder, e->d_name);
        if (paths_is_folder(found)) {
            // An unrelated folder may have such a name: train, test.
            char *in = NULL;
            if (!inner) rc = find_form(m, form, found, true, &in, err);
            free(found);
            found = in;
        }
        if (found && (!*path || strcmp(found, *path) < 0)) {
            char *other = *path;
            *path = found;
            found = other;
        }
        free(found);
    }
    if (entries) closedir(entries);
    return rc;
}

// ---- Reading ----

typedef struct reading {
    const dataset_entry *set;
    const char *from;
    char *shown;      // `from` as shown in messages
    const char *hint; // advice if there is no network, or NULL
    const logger *log;
    const member_use *use;
    member_origin *origin;
    uint8_t *chunk; // CHUNK_BYTES
    progress progress;
    uint64_t done, total;       // bytes of all members, for the progress
    const dataset_entry *alike; // set->alike, or NULL
    bool holds_alike;           // the archive has a member of `alike`
    char *packed;               // or one that is an archive itself: the first; NULL: none
} reading;

// The source of one member's bytes: an archive, or a plain file.
typedef struct stream {
    archive_reader *archive;
    int fd;
    const char *path; // for messages
} stream;

static status stream_read(const stream *s, uint8_t *data, size_t room, size_t *got, error *err) {
    if (s->archive) return archive_reader_read(s->archive, data, room, got, err);
    ssize_t n;
    do n = read(s->fd, data, room);
    while (n < 0 && errno == EINTR);
    *got = n > 0 ? (size_t)n : 0;
    if (n < 0) return error_system(err, STATUS_INPUT, errno, "cannot read: '%s'", s->path);
    return STATUS_OK;
}

// Advice on files that have the form, but are another set's.
static const char *of_others(const reading *r) {
    return r->set->others ? r->set->others : "";
}

// ---- One member ----

static status hand_on(reading *r, size_t which, const stream *s, sha256 *hash, error *err) {
    const dataset_member *m = &r->set->members[which];
    uint64_t offset = 0;
    for (size_t got;; offset += got) {
        status rc = stream_read(s, r->chunk, CHUNK_BYTES, &got, err);
        if (rc != STATUS_OK || got == 0) {
            if (rc != STATUS_OK || offset == m->bytes) return rc;
            return error_set(err, STATUS_INPUT,
                             "cannot use '%s': member '%s' has %" PRIu64 " bytes, expected %" PRIu64
                             "%s",
                             r->shown, m->name, offset, m->bytes, of_others(r));
        }
        if (got > m->bytes - offset)
            return error_set(err, STATUS_INPUT,
                             "cannot use '%s': member '%s' has more than the expected %" PRIu64
                             " bytes",
                             r->shown, m->name, m->bytes);
        sha256_update(hash, r->chunk, got);
        rc = r->use->sink(r->use->context, which, offset, r->chunk, got, err);
        if (rc != STATUS_OK) return rc;
        if (!r->origin->found[which]) r->done += got;
        progress_show(&r->progress, r->done, r->total);
    }
}

// Names the set that has this content, if it is the one that is taken for r->set.
static status check_hash(const reading *r, size_t which, const char *name, bool packed,
                         const char *got, error *err) {
    const dataset_entry *alike = r->alike;
    const dataset_member *m = &r->set->members[which];
    const char *expected = packed ? m->packed_sha256 : m->sha256, *theirs = NULL;
    if (alike && which < alike->member_count)
        theirs = packed ? alike->members[which].packed_sha256 : alike->members[which].sha256;
    if (theirs && strcmp(theirs, got) == 0)
        return error_set(err, STATUS_INPUT,
                         "cannot use '%s': member '%s' is that of %s, not of %s: pass --dataset %s",
                         r->shown, name, alike->name, r->set->name, alike->name);
    if (!expected || strcmp(expected, got) == 0) return STATUS_OK;
    return error_set(err, STATUS_INPUT,
                     "cannot use '%s': member '%s' has SHA-256 %s, expected %s%s", r->shown, name,
                     got, expected, of_others(r));
}

// ---- One member in its other form ----

typedef struct conversion {
    reading *r;
    size_t which;
    uint64_t offset;
    sha256 *hash;
} conversion;

// A member_part.
static status take_part(void *context, const uint8_t *data, size_t bytes, error *err) {
    conversion *c = context;
    const dataset_member *m = &c->r->set->members[c->which];
    if (bytes > m->bytes - c->offset)
        return error_set(err, STATUS_INPUT,
                         "cannot use '%s': member '%s' has more than the expected %" PRIu64
                         " bytes",
                         c->r->from, m->alias, m->bytes);
    sha256_update(c->hash, data, bytes);
    status rc = c->r->use->sink(c->r->use->context, c->which, c->offset, data, bytes, err);
    c->offset += bytes;
    return rc;
}

// Reads all of a stream. Text in a pickle may take two bytes for one.
static status read_whole(const reading *r, const dataset_member *m, const stream *s, uint8_t **file,
                         size_t *bytes, error *err) {
    const uint64_t most = 2 * m->bytes + (UINT64_C(16) << 20);
    size_t capacity = 0, got = 0;
    *bytes = 0;
    do {
        if (*bytes > most)
            return error_set(err, STATUS_INPUT,
                             "cannot use '%s': member '%s' has more than %" PRIu64 " bytes",
                             r->from, m->alias, most);
        NEED(memory_try_grow((void **)file, &capacity, *bytes + CHUNK_BYTES, 1, err));
        NEED(stream_read(s, *file + *bytes, CHUNK_BYTES, &got, err));
        *bytes += got;
    } while (got);
    return STATUS_OK;
}

static status convert(reading *r, size_t which, const stream *s, sha256 *hash, error *err) {
    const dataset_member *m = &r->set->members[which];
    conversion c = {r, which, 0, hash};
    uint8_t *file = NULL;
    size_t bytes;
    status rc;
    TRY(read_whole(r, m, s, &file, &bytes, err));
    rc = r->use->convert(m, file, bytes, take_part, &c, err);
    if (rc != STATUS_OK) {
        (void)error_prefix(err, "cannot use '%s': ", r->from);
        goto out;
    }
    if (c.offset != m->bytes)
        rc = error_set(err, STATUS_INPUT,
                       "cannot use '%s': member '%s' converts to %" PRIu64
                       " bytes, expected %" PRIu64,
                       r->from, m->alias, c.offset, m->bytes);
out:
    free(file);
    return rc;
}

static void warn_if_unpinned(const reading *r, const dataset_member *m, const char *path) {
    if (!m->sha256)
        log_warn(r->log,
                 "'%s': only its size and structure are checked; the published '%s.gz' would be "
                 "checked by its hash",
                 path, m->name);
}

// A member that occurs twice, as in some archives, must be the same both times.
static status read_member(reading *r, size_t which, bool alias, const stream *s, error *err) {
    const dataset_member *m = &r->set->members[which];
    char content[SHA256_TEXT_BYTES];
    sha256 *hash = sha256_new();
    // Not earlier: a download has its own progress line.
    if (r->done == 0) progress_begin(&r->progress, r->log, "reading", NULL);
    status rc = alias ? convert(r, which, s, hash, err) : hand_on(r, which, s, hash, err);
    if (rc == STATUS_OK) {
        sha256_finish(hash, content);
        rc = check_hash(r, which, alias ? m->alias : m->name, false, content, err);
    }
    sha256_free(hash);
    if (rc != STATUS_OK) return rc;
    if (r->origin->found[which] && strcmp(content, r->origin->content[which]) != 0)
        return error_set(err, STATUS_INPUT,
                         "cannot use '%s': member '%s' occurs twice, with different content",
                         r->shown, m->name);
    memcpy(r->origin->content[which], content, sizeof content);
    r->origin->found[which] = true;
    if (m->sha256) r->origin->pinned[which] = true;
    return rc;
}

// ---- From an archive ----

// Hashes the whole file, and seeks back to its beginning.
static status hash_file(reading *r, int fd, char text[SHA256_TEXT_BYTES], uint64_t *bytes,
                        error *err) {
    sha256 *hash = sha256_new();
    const stream s = {.fd = fd, .path = r->shown};
    status rc = STATUS_OK;
    size_t got = 0;
    *bytes = 0;
    do {
        rc = stream_read(&s, r->chunk, CHUNK_BYTES, &got, err);
        sha256_update(hash, r->chunk, got);
        *bytes += got;
    } while (rc == STATUS_OK && got);
    sha256_finish(hash, text);
    sha256_free(hash);
    if (rc == STATUS_OK && lseek(fd, 0, SEEK_SET) < 0)
        rc = error_system(err, STATUS_INPUT, errno, "cannot read: '%s'", r->shown);
    return rc;
}

// Reads a member from `fd`, NAME.gz.
static status read_packed(reading *r, size_t which, int fd, const char *path, error *err) {
    stream s = {.path = path};
    const char *unnamed;
    char hash[SHA256_TEXT_BYTES], packed[300];
    uint64_t bytes;
    status rc;
    TRY(hash_file(r, fd, hash, &bytes, err));
    snprintf(packed, sizeof packed, "%s.gz", r->set->members[which].name);
    TRY(check_hash(r, which, packed, true, hash, err));
    TRY(archive_reader_open(fd, path, ARCHIVE_SINGLE, &s.archive, err));
    TRY(archive_reader_next(s.archive, &unnamed, err));
    TRY(read_member(r, which, false, &s, err));
    if (r->set->members[which].packed_sha256) r->origin->pinned[which] = true;
out:
    archive_reader_free(s.archive);
    return rc;
}

// The same for one inside an archive: a copy in memory, since its hash is taken before it is
// unpacked.
static status read_packed_member(reading *r, size_t which, archive_reader *archive,
                                 const char *path, error *err) {
    const uint64_t most = r->set->members[which].bytes + (UINT64_C(1) << 20);
    const int fd = memfd_create("member", MFD_CLOEXEC);
    uint64_t bytes = 0;
    size_t got = 0;
    status rc = STATUS_OK;
    if (fd < 0) return error_system(err, STATUS_FAILED, errno, "cannot hold '%s' in memory", path);
    do {
        TRY(archive_reader_read(archive, r->chunk, CHUNK_BYTES, &got, err));
        bytes += got;
        if (bytes > most)
            TRY(error_set(err, STATUS_INPUT, "cannot use '%s': member '%s' is too large", r->shown,
                          path));
        if (write(fd, r->chunk, got) != (ssize_t)got)
            TRY(error_system(err, STATUS_FAILED, errno, "cannot hold '%s' in memory", path));
    } while (got);
    if (lseek(fd, 0, SEEK_SET) < 0)
        TRY(error_system(err, STATUS_FAILED, errno, "cannot hold '%s' in memory", path));
    rc = read_packed(r, which, fd, path, err);
out:
    close(fd);
    return rc;
}

static status read_archive(reading *r, int fd, error *err) {
    stream s = {0};
    const char *path;
    status rc;
    TRY(hash_file(r, fd, r->origin->sha256, &r->origin->bytes, err));
    TRY(archive_reader_open(fd, r->shown, ARCHIVE_MEMBERS, &s.archive, err));
    for (;;) {
        TRY(archive_reader_next(s.archive, &path, err));
        if (!path) break;
        member_form form;
        const int which = find_member(r->set, path, &form);
        if (which < 0 && r->alike && find_member(r->alike, path, &form) >= 0) r->holds_alike = true;
        if (which < 0 && !r->packed && archive_ending(path, strlen(path)))
            r->packed = memory_string(path);
        if (which < 0) continue;
        log_debug(r->log, "reading '%s'", path);
        if (form == MEMBER_PLAIN) warn_if_unpinned(r, &r->set->members[which], path);
        if (form == MEMBER_PACKED)
            TRY(read_packed_member(r, (size_t)which, s.archive, path, err));
        else
            TRY(read_member(r, (size_t)which, form == MEMBER_OTHER_FORM, &s, err));
    }
out:
    archive_reader_free(s.archive);
    return rc;
}

// A web page, or a pointer of Git LFS, may have the name of the file.
static status name_foreign(int fd, const char *path, error *err) {
    return foreign_open_file("cannot use", fd, path, WANTED_FILES, err);
}

// ---- From single files ----

static status read_form(reading *r, size_t which, member_form form, const char *path, error *err) {
    const dataset_member *m = &r->set->members[which];
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return error_system(err, STATUS_INPUT, errno, "cannot read: '%s'", path);
    const stream s = {.fd = fd, .path = path};
    if (form == MEMBER_PLAIN) warn_if_unpinned(r, m, path);
    status rc = form == MEMBER_PACKED ? read_packed(r, which, fd, path, err)
                                      : read_member(r, which, form == MEMBER_OTHER_FORM, &s, err);
    if (rc == STATUS_INPUT && !m->optional) rc = name_foreign(fd, path, err);
    close(fd);
    return rc;
}

// Reads a member from a folder if it is there, first in the form whose hash is available.
static status read_in_folder(reading *r, size_t which, const char *folder, error *err) {
    static const member_form orders[2][MEMBER_FORMS] = {
        {MEMBER_PLAIN, MEMBER_PACKED, MEMBER_OTHER_FORM},
        {MEMBER_PACKED, MEMBER_PLAIN, MEMBER_OTHER_FORM}};
    const dataset_member *m = &r->set->members[which];
    const member_form *order = orders[!m->sha256 && m->packed_sha256];
    status rc = STATUS_OK;
    for (int i = 0; i < MEMBER_FORMS && rc == STATUS_OK && !r->origin->found[which]; i++) {
        char *path;
        rc = find_form(m, order[i], folder, false, &path, err);
        if (path) rc = read_form(r, which, order[i], path, err);
        free(path);
    }
    return rc;
}

static status read_folder(reading *r, error *err) {
    status rc = STATUS_OK;
    for (size_t i = 0; rc == STATUS_OK && i < r->set->member_count; i++) {
        rc = read_in_folder(r, i, r->from, err);
        for (int k = 0; k < MEMBER_FOLDERS && r->set->folders[k]; k++) {
            if (rc != STATUS_OK || r->origin->found[i]) break;
            char *inner = memory_format("%s/%s", r->from, r->set->folders[k]);
            rc = read_in_folder(r, i, inner, err);
            free(inner);
        }
    }
    return rc;
}

// ---- From any source ----

static status read_url_of_archive(reading *r, error *err) {
    int fd;
    log_info(r->log, "downloading %s", r->shown);
    status rc = download_file(r->from, MAX_DOWNLOAD, r->hint, r->log, &fd, err);
    if (rc != STATUS_OK) return rc;
    rc = read_archive(r, fd, err);
    if (rc == STATUS_INPUT) rc = name_foreign(fd, r->shown, err);
    close(fd);
    return rc;
}

// Returns BASE/NAME and the suffix, with the query kept at the end.
static char *member_url(const char *base, const char *name, const char *suffix) {
    size_t length = strcspn(base, "?#");
    const char *slash = length && base[length - 1] == '/' ? "" : "/";
    return memory_format("%.*s%s%s%s%s", (int)length, base, slash, name, suffix, base + length);
}

static status read_url_of_member(reading *r, size_t which, error *err) {
    int fd;
    char *url = member_url(r->from, r->set->members[which].name, r->set->suffix);
    char *shown = redact_urls(url);
    status rc;
    log_info(r->log, "downloading %s", shown);
    TRY(download_file(url, MAX_DOWNLOAD, r->hint, r->log, &fd, err));
    rc = read_packed(r, which, fd, shown, err);
    if (rc == STATUS_INPUT) rc = name_foreign(fd, shown, err);
    close(fd);
out:
    free(url);
    free(shown);
    return rc;
}

static status read_url(reading *r, error *err) {
    if (!r->set->suffix) return read_url_of_archive(r, err);
    status rc = STATUS_OK;
    for (size_t i = 0; i < r->set->member_count && rc == STATUS_OK; i++)
        rc = read_url_of_member(r, i, err);
    return rc;
}

static status read_path(reading *r, error *err) {
    struct stat st;
    int fd = open(r->from, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st)) {
        int why = errno;
        if (fd >= 0) close(fd);
        return error_system(err, STATUS_INPUT, why, "cannot read: '%s'", r->from);
    }
    status rc = STATUS_OK;
    member_form form;
    if (S_ISDIR(st.st_mode))
        rc = read_folder(r, err);
    else if (find_member(r->set, r->from, &form) >= 0)
        rc = error_set(err, STATUS_INPUT,
                       "cannot use '%s': it is one of the %zu files of %s: pass their folder",
                       r->from, r->set->member_count, r->set->name);
    else if (S_ISREG(st.st_mode)) {
        rc = read_archive(r, fd, err);
        if (rc == STATUS_INPUT) rc = name_foreign(fd, r->from, err);
    } else
        rc = error_set(err, STATUS_INPUT, "cannot use '%s': neither an archive nor a folder",
                       r->from);
    close(fd);
    return rc;
}

static status check_all_found(const reading *r, error *err) {
    for (size_t i = 0; i < r->set->member_count; i++) {
        if (r->origin->found[i] || r->set->members[i].optional) continue;
        const dataset_member *m = &r->set->members[i];
        char way[300] = "";
        if (r->holds_alike)
            snprintf(way, sizeof way, "; it holds members of another data set: pass --dataset %s",
                     r->alike->name);
        else if (r->packed)
            snprintf(way, sizeof way, "; it holds archives: unpack it, and pass '%.200s'",
                     r->packed);
        return error_set(err, STATUS_INPUT, "cannot use '%s': member '%s' of %s is missing%s%s",
                         r->shown, m->name, r->set->name, way, *way ? "" : of_others(r));
    }
    return STATUS_OK;
}

static status read_source(reading *r, error *err) {
    memset(r->origin, 0, sizeof *r->origin);
    r->holds_alike = false;
    free(r->packed);
    r->packed = NULL;
    r->origin->from = r->from;
    free(r->shown);
    r->shown = redact_urls(r->from);
    status rc = download_is_url(r->from) ? read_url(r, err) : read_path(r, err);
    return rc == STATUS_OK ? check_all_found(r, err) : rc;
}

static void say_next(const logger *log, const char *why, const char *next) {
    char *shown = redact_urls(next);
    log_warn(log, "%s; trying '%s'", why, shown);
    free(shown);
}

status members_read(const dataset_entry *d, const char *const *sources, size_t source_count,
                    const logger *log, const member_use *use, member_origin *origin, error *err) {
    if (!source_count) {
        sources = &d->url;
        source_count = 1;
    }
    reading r = {.set = d, .log = log, .use = use, .origin = origin};
    r.alike = d->alike ? dataset_find(d->alike) : NULL;
    for (size_t i = 0; i < d->member_count; i++)
        if (!d->members[i].optional) r.total += d->members[i].bytes;
    status rc = STATUS_FAILED;
    char *hint =
        memory_format("pass a local archive or folder: --from PATH, or make %s=PATH", d->setting);
    r.chunk = memory_new(CHUNK_BYTES, 1);
    for (size_t i = 0; i < source_count; i++) {
        r.from = sources[i];
        r.hint = i + 1 < source_count ? NULL : hint;
        r.done = 0;
        rc = read_source(&r, err);
        progress_end(&r.progress);
        if (rc == STATUS_OK) break;
        if (i + 1 < source_count) say_next(log, err->message, sources[i + 1]);
    }
    free(hint);
    free(r.chunk);
    free(r.shown);
    free(r.packed);
    return rc;
}
