// SPDX-License-Identifier: MIT
#include "fuzz.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// Files written here need not survive a power failure, and syncing takes most of the time.
int fsync(int fd) {
    return fcntl(fd, F_GETFD) < 0 ? -1 : 0;
}

// A fuzzer that cannot do its work must not look like one that found nothing.
static void give_up(const char *what) {
    perror(what);
    _exit(2);
}

const char *fuzz_path(const char *name) {
    static char path[4096];
    const char *folder = getenv("FUZZ_FOLDER");
    if (!folder) give_up("FUZZ_FOLDER is not set");
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

const char *fuzz_file(const char *name, const uint8_t *data, size_t bytes) {
    const char *path = fuzz_path(name);
    const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0 || write(fd, data, bytes) != (ssize_t)bytes || close(fd)) give_up(path);
    return path;
}

char *fuzz_text(const uint8_t *data, size_t bytes) {
    char *text = malloc(bytes + 1);
    if (!text) give_up("malloc");
    if (bytes) memcpy(text, data, bytes);
    text[bytes] = '\0';
    return text;
}
