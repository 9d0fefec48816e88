// SPDX-License-Identifier: MIT
#include "train/export/run_file.h"

#include <stdbool.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"

status run_file_find(const char *path, const char *name, char **found, error *err) {
    static const char *const below[] = {"", "train/"};
    struct stat info;
    const bool folder = stat(path, &info) == 0 && S_ISDIR(info.st_mode);
    *found = folder ? NULL : memory_string(path);
    if (!folder) return STATUS_OK;
    for (int i = 0; i < 2; i++) {
        *found = memory_format("%s/%s%s", path, below[i], name);
        if (access(*found, F_OK) == 0) return STATUS_OK;
        free(*found);
        *found = NULL;
    }
    return error_set(err, STATUS_INPUT, "cannot export run: '%s': no %s in it or in its train/",
                     path, name);
}
