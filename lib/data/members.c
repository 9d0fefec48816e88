#include "data/members.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/progress.h"
#include "data/archive.h"
#include "data/download.h"

enum { CHUNK_BYTES = 1 << 18 };
static const uint64_t MAX_DOWNLOAD = UINT64_C(1) << 30;

typedef struct reading {
    const member_set *set;
    const char *from;
    const logger *log;
    member_sink *sink;
    void *context;
    member_origin *origin;
    uint8_t *chunk; // CHUNK_BYTES
    progress progress;
    uint64_t done, total; // bytes of all members, for it
} reading;

// Where the bytes of one member come from: an archive, or a file as it is.
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

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

// The member of that name, or -1.
static int find_member(const member_set *set, const char *path) {
    for (size_t i = 0; i < set->count; i++)
        if (strcmp(base_name(path), set->members[i].name) == 0) return (int)i;
    return -1;
}

// ---- One member ----

static status hand_on(reading *r, size_t which, const stream *s, sha256 *hash, error *err) {
    const member *m = &r->set->members[which];
    uint64_t offset = 0;
    for (size_t got;; offset += got) {
        status rc = stream_read(s, r->chunk, CHUNK_BYTES, &got, err);
        if (rc != STATUS_OK || got == 0) {
            if (rc != STATUS_OK || offset == m->bytes) return rc;
            return error_set(err, STATUS_INPUT,
                             "cannot use '%s': member '%s' has %" PRIu64
                             " bytes, expected %" PRIu64,
                             r->from, m->name, offset, m->bytes);
        }
        if (got > m->bytes - offset)
            return error_set(err, STATUS_INPUT,
                             "cannot use '%s': member '%s' has more than the expected %" PRIu64
                             " bytes",
                             r->from, m->name, m->bytes);
        sha256_update(hash, r->chunk, got);
        rc = r->sink(r->context, which, offset, r->chunk, got, err);
        if (rc != STATUS_OK) return rc;
        r->done += got;
        progress_show(&r->progress, r->done, r->total);
    }
}

static status check_hash(const reading *r, const char *name, const char *expected, const char *got,
                         error *err) {
    if (!expected || strcmp(expected, got) == 0) return STATUS_OK;
    return error_set(err, STATUS_INPUT, "cannot use '%s': member '%s' has SHA-256 %s, expected %s",
                     r->from, name, got, expected);
}

static status read_member(reading *r, size_t which, const stream *s, error *err) {
    const member *m = &r->set->members[which];
    if (r->origin->found[which])
        return error_set(err, STATUS_INPUT, "cannot use '%s': member '%s' is there twice", r->from,
                         m->name);
    sha256 *hash = sha256_new(err);
    if (!hash) return STATUS_FAILED;
    // Not before: a download has a line of its own.
    if (r->done == 0) progress_begin(&r->progress, r->log, "reading", NULL);
    status rc = hand_on(r, which, s, hash, err);
    if (rc == STATUS_OK) {
        sha256_finish(hash, r->origin->content[which]);
        rc = check_hash(r, m->name, m->sha256, r->origin->content[which], err);
    }
    sha256_free(hash);
    r->origin->found[which] = rc == STATUS_OK;
    return rc;
}

// ---- From an archive ----

// Of the whole file; leaves it at its beginning.
static status hash_file(reading *r, int fd, char text[SHA256_TEXT_BYTES], uint64_t *bytes,
                        error *err) {
    sha256 *hash = sha256_new(err);
    if (!hash) return STATUS_FAILED;
    const stream s = {.fd = fd, .path = r->from};
    status rc;
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
        rc = error_system(err, STATUS_INPUT, errno, "cannot read: '%s'", r->from);
    return rc;
}

static status read_archive(reading *r, int fd, error *err) {
    stream s = {0};
    const char *path;
    status rc;
    TRY(hash_file(r, fd, r->origin->sha256, &r->origin->bytes, err));
    TRY(archive_reader_open(fd, r->from, ARCHIVE_MEMBERS, &s.archive, err));
    for (;;) {
        TRY(archive_reader_next(s.archive, &path, err));
        if (!path) break;
        int which = find_member(r->set, path);
        if (which < 0) continue;
        log_debug(r->log, "reading '%s'", path);
        TRY(read_member(r, (size_t)which, &s, err));
    }
out:
    archive_reader_free(s.archive);
    return rc;
}

// ---- From single files ----

// `fd` is NAME.gz.
static status read_packed(reading *r, size_t which, int fd, const char *path, error *err) {
    stream s = {.path = path};
    const char *unnamed;
    char hash[SHA256_TEXT_BYTES], packed[300];
    uint64_t bytes;
    status rc;
    TRY(hash_file(r, fd, hash, &bytes, err));
    snprintf(packed, sizeof packed, "%s.gz", r->set->members[which].name);
    TRY(check_hash(r, packed, r->set->members[which].packed_sha256, hash, err));
    TRY(archive_reader_open(fd, path, ARCHIVE_SINGLE, &s.archive, err));
    TRY(archive_reader_next(s.archive, &unnamed, err));
    TRY(read_member(r, which, &s, err));
out:
    archive_reader_free(s.archive);
    return rc;
}

// Reads a member from a folder if FOLDER/NAME or FOLDER/NAME.gz is there.
static status read_in_folder(reading *r, size_t which, const char *folder, error *err) {
    static const char *const suffixes[] = {"", ".gz"};
    const member *m = &r->set->members[which];
    for (int packed = 0; packed < 2; packed++) {
        char *path = memory_format(err, "%s/%s%s", folder, m->name, suffixes[packed]);
        if (!path) return STATUS_FAILED;
        status rc = STATUS_OK;
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd < 0 && errno != ENOENT && errno != ENOTDIR)
            rc = error_system(err, STATUS_INPUT, errno, "cannot read: '%s'", path);
        if (fd >= 0) {
            const stream s = {.fd = fd, .path = path};
            if (!packed && !m->sha256)
                log_warn(r->log,
                         "'%s': only its size and structure are checked; '%s.gz' as "
                         "published would be checked by its hash",
                         path, m->name);
            rc = packed ? read_packed(r, which, fd, path, err) : read_member(r, which, &s, err);
            close(fd);
        }
        free(path);
        if (fd >= 0 || rc != STATUS_OK) return rc;
    }
    return STATUS_OK;
}

static status read_folder(reading *r, error *err) {
    for (size_t i = 0; i < r->set->count; i++) {
        status rc = read_in_folder(r, i, r->from, err);
        if (rc == STATUS_OK && !r->origin->found[i] && r->set->folder) {
            char *inner = memory_format(err, "%s/%s", r->from, r->set->folder);
            rc = inner ? read_in_folder(r, i, inner, err) : STATUS_FAILED;
            free(inner);
        }
        if (rc != STATUS_OK) return rc;
    }
    return STATUS_OK;
}

// ---- From anywhere ----

static status read_url(reading *r, error *err) {
    int fd;
    if (r->set->archive) {
        log_info(r->log, "downloading %s", r->from);
        status rc = download_file(r->from, MAX_DOWNLOAD, r->log, &fd, err);
        if (rc != STATUS_OK) return rc;
        rc = read_archive(r, fd, err);
        close(fd);
        return rc;
    }
    size_t length = strlen(r->from);
    const char *slash = length && r->from[length - 1] == '/' ? "" : "/";
    for (size_t i = 0; i < r->set->count; i++) {
        char *url = memory_format(err, "%s%s%s.gz", r->from, slash, r->set->members[i].name);
        if (!url) return STATUS_FAILED;
        log_info(r->log, "downloading %s", url);
        status rc = download_file(url, MAX_DOWNLOAD, r->log, &fd, err);
        if (rc == STATUS_OK) {
            rc = read_packed(r, i, fd, url, err);
            close(fd);
        }
        free(url);
        if (rc != STATUS_OK) return rc;
    }
    return STATUS_OK;
}

static status read_path(reading *r, error *err) {
    struct stat st;
    int fd = open(r->from, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st)) {
        int why = errno;
        if (fd >= 0) close(fd);
        return error_system(err, STATUS_INPUT, why, "cannot read: '%s'", r->from);
    }
    status rc;
    if (S_ISDIR(st.st_mode))
        rc = read_folder(r, err);
    else if (r->set->archive && S_ISREG(st.st_mode))
        rc = read_archive(r, fd, err);
    else
        rc = error_set(err, STATUS_INPUT, "cannot use '%s': %s", r->from,
                       r->set->archive ? "neither an archive nor a folder"
                                       : "not a folder with the dataset's files");
    close(fd);
    return rc;
}

static status check_all_found(const reading *r, error *err) {
    for (size_t i = 0; i < r->set->count; i++)
        if (!r->origin->found[i] && !r->set->members[i].optional)
            return error_set(err, STATUS_INPUT, "cannot use '%s': member '%s' of %s is missing",
                             r->from, r->set->members[i].name, r->set->dataset);
    return STATUS_OK;
}

static status read_source(reading *r, error *err) {
    memset(r->origin, 0, sizeof *r->origin);
    r->origin->from = r->from;
    status rc = download_is_url(r->from) ? read_url(r, err) : read_path(r, err);
    return rc == STATUS_OK ? check_all_found(r, err) : rc;
}

status members_read(const member_set *set, const char *const *sources, size_t source_count,
                    const logger *log, member_sink *sink, void *context, member_origin *origin,
                    error *err) {
    if (!source_count) {
        sources = set->urls;
        source_count = set->url_count;
    }
    reading r = {.set = set,
                 .log = log,
                 .sink = sink,
                 .context = context,
                 .origin = origin,
                 .chunk = memory_new(CHUNK_BYTES, 1, err)};
    if (!r.chunk) return STATUS_FAILED;
    for (size_t i = 0; i < set->count; i++)
        if (!set->members[i].optional) r.total += set->members[i].bytes;
    status rc = STATUS_FAILED;
    for (size_t i = 0; i < source_count; i++) {
        r.from = sources[i];
        r.done = 0;
        rc = read_source(&r, err);
        progress_end(&r.progress);
        if (rc == STATUS_OK) break;
        if (i + 1 < source_count) log_warn(log, "%s; trying '%s'", err->message, sources[i + 1]);
    }
    free(r.chunk);
    return rc;
}
