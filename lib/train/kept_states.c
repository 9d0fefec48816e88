// SPDX-License-Identifier: MIT
#include "train/kept_states.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/output.h"
#include "base/paths.h"
#include "train/train_manifest.h"

static const char FOLDER[] = "states", DIGITS[] = "0123456789", SUFFIX[] = ".st.zst";
enum { NAME_DIGITS = 9 };

bool kept_states_is_due(int segments, uint64_t step, uint64_t total) {
    const uint64_t n = (uint64_t)segments;
    return step > 0 && step < total && step * n / total != (step - 1) * n / total;
}

status kept_states_path(const char *out, uint64_t step, char **path, error *err) {
    char *folder = memory_format("%s/%s", out, FOLDER);
    *path = NULL;
    status rc = output_make_folder(folder, err);
    if (rc == STATUS_OK)
        *path = memory_format("%s/%0*" PRIu64 "%s", folder, NAME_DIGITS, step, SUFFIX);
    free(folder);
    return rc;
}

static bool is_state(const char *name) {
    const size_t digits = strspn(name, DIGITS);
    return digits >= NAME_DIGITS && strcmp(name + digits, SUFFIX) == 0;
}

// Calls `work` for each state in the folder, by its number of steps.
static status for_each(const char *out, status (*work)(const char *path, manifest *m, error *err),
                       manifest *m, error *err) {
    strvec names = {0};
    char *folder = memory_format("%s/%s", out, FOLDER);
    status rc = STATUS_OK;
    if (!paths_list(folder, is_state, false, &names) && errno != ENOENT)
        rc = error_system(err, STATUS_FAILED, errno, "cannot read folder: '%s'", folder);
    for (size_t i = 0; rc == STATUS_OK && i < names.count; i++) {
        char *path = memory_format("%s/%s", folder, names.items[i]);
        rc = work(path, m, err);
        free(path);
    }
    strvec_release(&names);
    free(folder);
    return rc;
}

static status remove_state(const char *path, manifest *m, error *err) {
    (void)m;
    if (unlink(path) == 0 || errno == ENOENT) return STATUS_OK;
    return error_system(err, STATUS_FAILED, errno, "cannot remove old output: '%s'", path);
}

status kept_states_clear(const char *out, error *err) {
    return for_each(out, remove_state, NULL, err);
}

static status describe_state(const char *path, manifest *m, error *err) {
    tensor_file f = {0};
    status rc = tensor_file_read(path, TENSOR_FILE_DEFAULT_MAX, &f, err);
    if (rc == STATUS_OK) train_manifest_output(m, path, &f);
    tensor_file_release(&f);
    return rc;
}

status kept_states_describe(const char *out, manifest *m, error *err) {
    return for_each(out, describe_state, m, err);
}
