// SPDX-License-Identifier: MIT
#include "base/program.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

status program_folder(char folder[PATH_MAX], error *err) {
    const ssize_t length = readlink("/proc/self/exe", folder, PATH_MAX - 1);
    if (length < 0)
        return error_system(err, STATUS_FAILED, errno,
                            "cannot find the running program: /proc/self/exe");
    folder[length] = 0;
    char *slash = strrchr(folder, '/');
    if (slash) *slash = 0;
    return STATUS_OK;
}
