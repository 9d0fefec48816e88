// SPDX-License-Identifier: MIT
#include "base/named_files.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/paths.h"

// A path without links, or as it was given if its folder does not exist yet.
typedef char place[PATH_MAX];

// Finds where output to `path` goes, or input from it comes from. Returns false if that cannot
// conflict with another file.
static bool find_place(const char *path, const char *stream, place p) {
    char folder[PATH_MAX + 1];
    struct stat info;
    if (!path || !*path) return false;
    const bool is_stream = strcmp(path, "-") == 0 || strcmp(path, stream) == 0;
    if (is_stream) path = stream;
    const bool exists = stat(path, &info) == 0;
    if (exists && !S_ISDIR(info.st_mode) && !S_ISREG(info.st_mode)) {
        snprintf(p, PATH_MAX, "%s", stream);
        return is_stream; // a terminal or a pipe; a device loses nothing
    }
    if (exists && realpath(path, p)) return true;
    paths_real_folder(path, folder);
    return snprintf(p, PATH_MAX, "%s%s", folder, *folder ? paths_name(path) : path) < PATH_MAX;
}

static status check_output(const named_file *inputs, size_t input_count, const named_file *outputs,
                           size_t at, error *err) {
    const named_file *o = &outputs[at];
    place out, other;
    if (!find_place(o->path, "/dev/stdout", out)) return STATUS_OK;
    for (size_t i = 0; i < input_count; i++)
        if (find_place(inputs[i].path, "/dev/stdin", other) && strcmp(out, other) == 0)
            return error_set(err, STATUS_USAGE,
                             "cannot write %s: '%s': the same file is an input (%s)", o->role,
                             o->path, inputs[i].role);
    for (size_t i = 0; i < at; i++)
        if (find_place(outputs[i].path, "/dev/stdout", other) && strcmp(out, other) == 0)
            return error_set(err, STATUS_USAGE,
                             "cannot write %s: '%s': the same file is already an output (%s)",
                             o->role, o->path, outputs[i].role);
    return STATUS_OK;
}

status named_files_check(const named_file *inputs, size_t input_count, const named_file *outputs,
                         size_t output_count, error *err) {
    for (size_t i = 0; i < output_count; i++)
        NEED(check_output(inputs, input_count, outputs, i, err));
    return STATUS_OK;
}
