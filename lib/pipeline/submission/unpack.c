// SPDX-License-Identifier: MIT
#include "pipeline/submission/unpack.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/output.h"
#include "data/source/archive.h"

enum { BUFFER_BYTES = 1 << 16 };

// Returns the length of the first folder's name in a path, with the slash; 0 if there is none.
static size_t first_folder(const char *member) {
    const char *slash = strchr(member, '/');
    return slash && slash[1] ? (size_t)(slash - member) + 1 : 0;
}

static status write_member(archive_reader *reader, const char *path, error *err) {
    char buffer[BUFFER_BYTES];
    size_t got = 1;
    output *out = NULL;
    char *folder = memory_string(path, err);
    status rc = folder ? STATUS_OK : STATUS_FAILED;
    TRY(rc);
    *strrchr(folder, '/') = 0;
    TRY(output_make_folder(folder, err));
    TRY(output_open(path, &out, err));
    while (got) {
        TRY(archive_reader_read(reader, buffer, sizeof buffer, &got, err));
        if (got) TRY(output_write(out, buffer, got, err));
    }
    rc = output_commit(out, err);
out:
    output_free(out);
    free(folder);
    return rc;
}

static status unpack_member(archive_reader *reader, const char *archive, const char *member,
                            const char *folder, char **root, error *err) {
    while (strncmp(member, "./", 2) == 0) member += 2;
    const size_t length = first_folder(member);
    if (!*root && length) *root = memory_format(err, "%.*s", (int)length, member);
    if (length && !*root) return STATUS_FAILED;
    if (!length || strncmp(member, *root, length) != 0)
        return error_set(err, STATUS_INPUT,
                         "cannot unpack: '%s': '%s' is not in the one folder of a submission",
                         archive, member);
    char *path = memory_format(err, "%s/%s", folder, member + length);
    status rc = path ? write_member(reader, path, err) : STATUS_FAILED;
    free(path);
    return rc;
}

static status unpack_all(int fd, const char *archive, const char *folder, error *err) {
    archive_reader *reader = NULL;
    const char *member;
    char *root = NULL;
    status rc;
    TRY(archive_reader_open(fd, archive, ARCHIVE_MEMBERS, &reader, err));
    for (;;) {
        TRY(archive_reader_next(reader, &member, err));
        if (!member) break;
        TRY(unpack_member(reader, archive, member, folder, &root, err));
    }
    if (!root) rc = error_set(err, STATUS_INPUT, "cannot unpack: '%s': it holds no file", archive);
out:
    archive_reader_free(reader);
    free(root);
    return rc;
}

status unpack_archive(const char *archive, const char *folder, error *err) {
    const int fd = open(archive, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return error_system(err, STATUS_INPUT, errno, "cannot read submission: '%s'", archive);
    status rc = unpack_all(fd, archive, folder, err);
    close(fd);
    return rc;
}
