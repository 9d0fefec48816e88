// SPDX-License-Identifier: MIT
#include "data/source/archive.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"

enum { BLOCK_BYTES = 1 << 16 };

size_t archive_ending(const char *name, size_t length) {
    static const char *const endings[] = {".zip", ".tar", ".gz",  ".tgz", ".xz", ".txz",
                                          ".bz2", ".zst", ".lz4", ".7z",  ".rar"};
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        const size_t own = strlen(endings[i]);
        if (length > own && strncasecmp(name + length - own, endings[i], own) == 0) return own;
    }
    return 0;
}

struct archive_reader {
    struct archive *archive;
    // The current member. libarchive's own entry may be missing: it does not check that allocation.
    struct archive_entry *entry;
    const char *name;
    archive_kind kind;
    int own_fd; // closed with the reader; -1: none
    int members;
    bool inside;     // a member is current
    uint64_t handed; // bytes of members
    // libarchive drops a name that is marked as UTF-8 and that the locale does not have; the tools'
    // is "C". (locale_t)0: this system has no such locale.
    locale_t utf8;
};

static status no_memory(const char *name, error *err) {
    return error_set(err, STATUS_FAILED, "out of memory: cannot read archive: '%s'", name);
}

static status refuse(const archive_reader *r, error *err) {
    const char *why = archive_error_string(r->archive);
    if (archive_errno(r->archive) == ENOMEM) return no_memory(r->name, err);
    if (r->members && archive_entry_is_encrypted(r->entry))
        return error_set(err, STATUS_INPUT,
                         "cannot read archive: '%s': it is protected by a password: unpack it, and "
                         "pass the folder",
                         r->name);
    return error_set(err, STATUS_INPUT, "cannot read archive: '%s': %s", r->name,
                     why ? why : "damaged");
}

static status too_large(const archive_reader *r, error *err) {
    return error_set(err, STATUS_INPUT,
                     "cannot read archive: '%s': more than %llu bytes uncompressed", r->name,
                     (unsigned long long)ARCHIVE_MAX_BYTES);
}

// Counts the bytes returned, not those read: the holes of a sparse file take no room in an archive.
// An archive far smaller than its content is not a data set.
static status check_size(const archive_reader *r, error *err) {
    const uint64_t packed = (uint64_t)archive_filter_bytes(r->archive, -1);
    if (r->handed > ARCHIVE_MAX_BYTES ||
        (uint64_t)archive_filter_bytes(r->archive, 0) > ARCHIVE_MAX_BYTES)
        return too_large(r, err);
    if (r->handed > ARCHIVE_FREE_BYTES && r->handed / ARCHIVE_MAX_RATIO > packed)
        return error_set(err, STATUS_INPUT,
                         "cannot read archive: '%s': its content is more than %d times its size",
                         r->name, ARCHIVE_MAX_RATIO);
    return STATUS_OK;
}

// Refuses by the size in the header, if it has one, instead of reading up to the limit.
static status check_entry_size(const archive_reader *r, struct archive_entry *entry, error *err) {
    if (!archive_entry_size_is_set(entry)) return STATUS_OK;
    const int64_t bytes = archive_entry_size(entry);
    if (bytes >= 0 && (uint64_t)bytes <= ARCHIVE_MAX_BYTES - r->handed) return STATUS_OK;
    return too_large(r, err);
}

static int choose_formats(struct archive *a, archive_kind kind) {
    int bad = archive_read_support_filter_gzip(a) | archive_read_support_filter_bzip2(a) |
              archive_read_support_filter_xz(a) | archive_read_support_filter_zstd(a) |
              archive_read_support_filter_lz4(a) | archive_read_support_filter_compress(a);
    if (kind == ARCHIVE_SINGLE) return bad | archive_read_support_format_raw(a);
    return bad | archive_read_support_format_tar(a) | archive_read_support_format_zip(a);
}

// libarchive 3.6 ignores a failed allocation in archive_read_open_fd, and crashes. The first call
// here makes that allocation before, and reports its failure. Where archive_read_open_fd fails
// without a message, it lacked memory.
static int open_fd(struct archive *a, int fd) {
    const int answer = archive_read_set_callback_data(a, NULL);
    return answer == ARCHIVE_OK ? archive_read_open_fd(a, fd, BLOCK_BYTES) : answer;
}

status archive_reader_open(int fd, const char *name, archive_kind kind, archive_reader **reader,
                           error *err) {
    *reader = NULL;
    archive_reader *r = memory_new(1, sizeof *r);
    r->name = name;
    r->kind = kind;
    r->own_fd = -1;
    r->utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
    r->archive = archive_read_new();
    r->entry = r->archive ? archive_entry_new2(r->archive) : NULL;
    if (!r->entry) {
        archive_reader_free(r);
        return no_memory(name, err);
    }
    // For a filter that it was built without, libarchive would call a program. It returns a warning
    // for that, which is refused here.
    status rc = STATUS_OK;
    if (choose_formats(r->archive, kind) != ARCHIVE_OK)
        rc = archive_errno(r->archive) == ENOMEM
                 ? no_memory(name, err)
                 : error_set(err, STATUS_FAILED,
                             "cannot read archive: '%s': this libarchive lacks a format", name);
    else if (open_fd(r->archive, fd) != ARCHIVE_OK)
        rc = archive_error_string(r->archive) ? refuse(r, err) : no_memory(name, err);
    if (rc != STATUS_OK) {
        archive_reader_free(r);
        return rc;
    }
    *reader = r;
    return STATUS_OK;
}

status archive_reader_open_file(const char *path, archive_kind kind, archive_reader **reader,
                                error *err) {
    *reader = NULL;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return error_system(err, STATUS_INPUT, errno, "cannot read: '%s'", path);
    const status rc = archive_reader_open(fd, path, kind, reader, err);
    if (rc == STATUS_OK)
        (*reader)->own_fd = fd;
    else
        close(fd);
    return rc;
}

// Returns why an archive must not hold a member with this name, or NULL.
static const char *bad_name(const char *name) {
    if (name[0] == '/') return "its path is absolute";
    for (const char *part = name; part;) {
        size_t length = strcspn(part, "/\\");
        if (length == 2 && memcmp(part, "..", 2) == 0) return "its path has '..'";
        part = part[length] ? part + length + 1 : NULL;
    }
    return NULL;
}

static const char *bad_entry(struct archive_entry *entry, const char *name) {
    const char *why = bad_name(name);
    if (why) return why;
    if (archive_entry_hardlink(entry)) return "it is a hard link";
    if (archive_entry_symlink(entry)) return "it is a symbolic link";
    mode_t type = archive_entry_filetype(entry);
    if (type != AE_IFREG && type != AE_IFDIR) return "it is not a regular file";
    return NULL;
}

// Reads the member's data to its end; libarchive's own skipping would ignore the size limit.
static status skip_rest(archive_reader *r, error *err) {
    char *scratch = memory_new(BLOCK_BYTES, 1);
    size_t got = 0;
    status rc = STATUS_OK;
    do rc = archive_reader_read(r, scratch, BLOCK_BYTES, &got, err);
    while (rc == STATUS_OK && got);
    free(scratch);
    return rc;
}

static status next_member(archive_reader *r, const char **member, error *err) {
    for (*member = NULL;;) {
        if (r->inside) NEED(skip_rest(r, err));
        struct archive_entry *entry = r->entry;
        int answer = archive_read_next_header2(r->archive, entry);
        if (answer == ARCHIVE_EOF) return STATUS_OK;
        if (answer != ARCHIVE_OK && answer != ARCHIVE_WARN) return refuse(r, err);
        if (++r->members > ARCHIVE_MAX_MEMBERS)
            return error_set(err, STATUS_INPUT, "cannot read archive: '%s': more than %d members",
                             r->name, ARCHIVE_MAX_MEMBERS);
        const char *name = archive_entry_pathname(entry);
        if (!name) name = archive_entry_pathname_utf8(entry);
        if (!name)
            return error_set(err, STATUS_INPUT,
                             "cannot read archive: '%s': member %d: its name cannot be read",
                             r->name, r->members);
        const char *why = r->kind == ARCHIVE_SINGLE ? NULL : bad_entry(entry, name);
        if (why)
            return error_set(err, STATUS_INPUT, "cannot read archive: '%s': member '%.200s': %s",
                             r->name, name, why);
        NEED(check_entry_size(r, entry, err));
        r->inside = true;
        if (!archive_reader_at_folder(r) || r->kind == ARCHIVE_FOLDERS) {
            *member = name;
            return STATUS_OK;
        }
    }
}

status archive_reader_next(archive_reader *r, const char **member, error *err) {
    const locale_t before = uselocale(r->utf8); // of this thread; 0 changes nothing
    const status rc = next_member(r, member, err);
    uselocale(before);
    return rc;
}

bool archive_reader_at_folder(const archive_reader *r) {
    return archive_entry_filetype(r->entry) == AE_IFDIR;
}

status archive_reader_read(archive_reader *r, void *data, size_t room, size_t *got, error *err) {
    *got = 0;
    if (!r->inside) return STATUS_OK;
    la_ssize_t n = archive_read_data(r->archive, data, room);
    if (n < 0) return refuse(r, err);
    if (n == 0) r->inside = false;
    *got = (size_t)n;
    r->handed += (uint64_t)n;
    return check_size(r, err);
}

void archive_reader_free(archive_reader *r) {
    if (!r) return;
    archive_entry_free(r->entry);
    archive_read_free(r->archive);
    if (r->own_fd >= 0) close(r->own_fd);
    if (r->utf8) freelocale(r->utf8);
    free(r);
}
