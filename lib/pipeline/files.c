// SPDX-License-Identifier: MIT
#include "pipeline/files.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/output.h"

enum { BUFFER_BYTES = 1 << 16, MOST_BYTES = 1 << 26 };

static status cannot_read(const char *path, error *err) {
    return error_system(err, STATUS_INPUT, errno, "cannot read: '%s'", path);
}

status copy_file(const char *from, const char *to, error *err) {
    char buffer[BUFFER_BYTES];
    output *out = NULL;
    ssize_t got;
    int fd = open(from, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return cannot_read(from, err);
    status rc = output_open(to, &out, err);
    while (rc == STATUS_OK && (got = read(fd, buffer, sizeof buffer)) != 0) {
        if (got < 0 && errno == EINTR) continue;
        rc = got < 0 ? cannot_read(from, err) : output_write(out, buffer, (size_t)got, err);
    }
    if (rc == STATUS_OK) rc = output_commit(out, err);
    output_free(out);
    close(fd);
    return rc;
}

status read_file(const char *path, char **text, error *err) {
    size_t used = 0, capacity = 0;
    ssize_t got = 1;
    void *room = NULL;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    *text = NULL;
    if (fd < 0) return cannot_read(path, err);
    status rc = STATUS_OK;
    while (rc == STATUS_OK && got != 0 && used < MOST_BYTES) {
        memory_grow(&room, &capacity, used + BUFFER_BYTES + 1, 1);
        got = read(fd, (char *)room + used, BUFFER_BYTES);
        if (rc == STATUS_OK && got < 0 && errno != EINTR) rc = cannot_read(path, err);
        if (rc == STATUS_OK && got > 0) used += (size_t)got;
    }
    close(fd);
    if (rc == STATUS_OK && used >= MOST_BYTES)
        rc = error_set(err, STATUS_INPUT, "cannot read: '%s': longer than %d bytes", path,
                       MOST_BYTES);
    if (rc == STATUS_OK) {
        *text = room;
        (*text)[used] = 0;
    } else {
        free(room);
    }
    return rc;
}

static int remove_entry(const char *path, const struct stat *info, int type, struct FTW *place) {
    (void)info;
    (void)place;
    return type == FTW_DP || type == FTW_DNR ? rmdir(path) : unlink(path);
}

status remove_tree(const char *path, error *err) {
    if (nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS) == 0) return STATUS_OK;
    return error_system(err, STATUS_FAILED, errno, "cannot remove: '%s'", path);
}
