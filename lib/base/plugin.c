#include "base/plugin.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"

// Finds the parent of the running program's folder.
static status find_root(char root[PATH_MAX], error *err) {
    const ssize_t length = readlink("/proc/self/exe", root, PATH_MAX - 1);
    if (length < 0)
        return error_system(err, STATUS_FAILED, errno,
                            "cannot find the running program: /proc/self/exe");
    root[length] = 0;
    for (int up = 0; up < 2; up++) {
        char *slash = strrchr(root, '/');
        if (slash) *slash = 0;
    }
    return STATUS_OK;
}

static bool exists(const char *root, const char *place, const char *file) {
    char path[PATH_MAX];
    const int length = snprintf(path, sizeof path, "%s/%s/%s", root, place, file);
    return length < (int)sizeof path && access(path, F_OK) == 0;
}

status plugin_find(const char *file, const char *variable, char **path, error *err) {
    // The build's folder; then those that distributions use for LIBDIR of `make install`.
    static const char *const places[] = {"lib",
                                         "lib/lockstep",
                                         "lib64/lockstep",
                                         "lib/x86_64-linux-gnu/lockstep",
                                         "lib/aarch64-linux-gnu/lockstep",
                                         "share/lockstep"};
    const size_t count = sizeof places / sizeof *places;
    char root[PATH_MAX];
    const char *given = getenv(variable);
    size_t found = 0;
    status rc = STATUS_OK;
    *path = NULL;
    if (given && *given) { // a name without a slash is a file here, not a system library
        *path = memory_format(err, "%s%s", strchr(given, '/') ? "" : "./", given);
        return *path ? STATUS_OK : STATUS_FAILED;
    }
    TRY(find_root(root, err));
    while (found < count && !exists(root, places[found], file)) found++;
    *path = memory_format(err, "%s/%s/%s", root, places[found < count ? found : 0], file);
    if (!*path) rc = STATUS_FAILED;
out:
    return rc;
}
