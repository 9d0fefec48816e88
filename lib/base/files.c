// SPDX-License-Identifier: MIT
#include "base/files.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/output.h"
#include "base/text.h"

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

status read_file(const char *path, char **content, error *err) {
    text all = {0};
    status rc = STATUS_OK;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    *content = NULL;
    if (fd < 0) return cannot_read(path, err);
    if (!text_read(&all, fd, MOST_BYTES))
        rc = cannot_read(path, err);
    else if (all.length > MOST_BYTES)
        rc = error_set(err, STATUS_INPUT, "cannot read: '%s': longer than %d bytes", path,
                       MOST_BYTES);
    else
        *content = text_take(&all);
    close(fd);
    text_release(&all);
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
