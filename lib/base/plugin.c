// SPDX-License-Identifier: MIT
#include "base/plugin.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/tool_list.h"

// Relative to the folder of the tools, or to its parent.
static const struct {
    bool in_parent;
    const char *folder;
} places[] = {{true, "lib"}, {true, "share/lockstep"}, {false, "lib"}, {false, "share"}};
enum { PLACES = sizeof places / sizeof *places };

static char *path_in(size_t place, const char *tools, const char *file) {
    const char *slash = strrchr(tools, '/');
    const size_t length =
        places[place].in_parent && slash ? (size_t)(slash - tools) : strlen(tools);
    return memory_format("%.*s/%s/%s", (int)length, tools, places[place].folder, file);
}

status plugin_find(const char *file, const char *variable, char **path, error *err) {
    char tools[PATH_MAX];
    const char *given = variable ? getenv(variable) : NULL;
    *path = NULL;
    if (given && *given) { // a name without a slash is a file here, not a system library
        *path = memory_format("%s%s", strchr(given, '/') ? "" : "./", given);
        return STATUS_OK;
    }
    NEED(tool_folder(tools, err));
    for (size_t i = 0; i < PLACES; i++) {
        *path = path_in(i, tools, file);
        if (access(*path, F_OK) == 0) return STATUS_OK;
        free(*path);
    }
    *path = path_in(0, tools, file);
    return STATUS_OK;
}
