// SPDX-License-Identifier: MIT
// An archive in any compression. Only a megabyte of its contents is read: `bombs` is a separate
// battery.
#include <fcntl.h>
#include <unistd.h>

#include "data/source/archive.h"
#include "fuzz.h"

static void read_all(const char *path, archive_kind kind) {
    enum { MOST = 1 << 20 };
    static char part[1 << 14];
    archive_reader *r = NULL;
    const char *member;
    error err;
    size_t got, all = 0;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (archive_reader_open(fd, "archive", kind, &r, &err) == STATUS_OK)
        while (all < MOST && archive_reader_next(r, &member, &err) == STATUS_OK && member)
            while (all < MOST &&
                   archive_reader_read(r, part, sizeof part, &got, &err) == STATUS_OK && got)
                all += got;
    archive_reader_free(r);
    close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    const char *path = fuzz_file("archive", data, bytes);
    read_all(path, ARCHIVE_MEMBERS);
    read_all(path, ARCHIVE_SINGLE);
    return 0;
}
