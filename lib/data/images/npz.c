// SPDX-License-Identifier: MIT
#include "data/images/npz.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "data/source/archive.h"

enum { CHUNK_BYTES = 1 << 20 };

static npz_array *find(npz_array *arrays, size_t count, const char *member) {
    for (size_t i = 0; i < count; i++) {
        const size_t length = strlen(arrays[i].name);
        if (strncmp(member, arrays[i].name, length) == 0 && strcmp(member + length, ".npy") == 0)
            return &arrays[i];
    }
    return NULL;
}

static status read_array(archive_reader *r, npz_array *a, const char *path, error *err) {
    size_t bytes = 0, capacity = 0, got;
    char *name = NULL;
    status rc = STATUS_OK;
    if (a->bytes)
        return error_set(err, STATUS_INPUT, "cannot use '%s': array '%s' occurs twice", path,
                         a->name);
    do {
        TRY(memory_grow((void **)&a->bytes, &capacity, bytes + CHUNK_BYTES, 1, err));
        TRY(archive_reader_read(r, a->bytes + bytes, CHUNK_BYTES, &got, err));
        bytes += got;
    } while (got);
    name = memory_format(err, "%s:%s.npy", path, a->name);
    rc = name ? npy_parse(a->bytes, bytes, name, &a->array, err) : STATUS_FAILED;
out:
    free(name);
    return rc;
}

status npz_read(const char *path, npz_array *arrays, size_t count, error *err) {
    archive_reader *r = NULL;
    const char *member;
    status rc;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return error_system(err, STATUS_INPUT, errno, "cannot read: '%s'", path);
    TRY(archive_reader_open(fd, path, ARCHIVE_MEMBERS, &r, err));
    for (;;) {
        TRY(archive_reader_next(r, &member, err));
        if (!member) break;
        npz_array *a = find(arrays, count, member);
        if (a) TRY(read_array(r, a, path, err));
    }
out:
    archive_reader_free(r);
    close(fd);
    return rc;
}

void npz_release(npz_array *arrays, size_t count) {
    for (size_t i = 0; i < count; i++) {
        free(arrays[i].bytes);
        arrays[i].bytes = NULL;
    }
}
