// SPDX-License-Identifier: MIT
#include "pipeline/pipeline.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file_lock.h"
#include "base/files.h"
#include "base/memory.h"
#include "base/output.h"
#include "base/paths.h"
#include "base/tool_list.h"

// ---- A folder for temporary files ----

static const char WORK[] = ".work-";

// Opens a file and locks it, if its file system has locks; -1 on failure.
static int lock_file(const char *folder, const char *name, int flags) {
    char *path = memory_format("%s/%s", folder, name);
    int fd = open(path, O_RDWR | flags, 0666);
    free(path);
    if (fd < 0 || file_lock(fd, true) != FILE_LOCK_FAILED) return fd;
    close(fd);
    return -1;
}

// While one call makes such a folder, no other may mistake it for a leftover.
static int guard(const pipeline *p) {
    return lock_file(p->artifacts, ".work.lock", O_CREAT | O_CLOEXEC);
}

static status make(pipeline *p, error *err) {
    char *path = memory_format("%s/%sXXXXXX", p->artifacts, WORK);
    if (!mkdtemp(path)) {
        status rc = error_system(err, STATUS_FAILED, errno, "cannot work in '%s'", p->artifacts);
        free(path);
        return rc;
    }
    p->work.path = path;
    // Children inherit the lock: a training that outlives its pipeline keeps the folder locked.
    p->work.lock = lock_file(path, "in-use", O_CREAT);
    return STATUS_OK;
}

status work_open(pipeline *p, error *err) {
    if (p->work.path) return STATUS_OK;
    status rc = output_make_folder(p->artifacts, err);
    if (rc != STATUS_OK) return rc;
    int held = guard(p);
    if (held < 0)
        return error_set(err, STATUS_FAILED, "cannot work in '%s': it cannot be written",
                         p->artifacts);
    rc = make(p, err);
    close(held);
    return rc;
}

void work_close(pipeline *p) {
    error ignored = {0};
    if (!p->work.path) return;
    if (remove_tree(p->work.path, &ignored) != STATUS_OK) log_warn(p->log, "%s", ignored.message);
    if (p->work.lock >= 0) close(p->work.lock);
    free(p->work.path);
    p->work = (work_folder){.lock = -1};
}

static bool is_work(const char *name) {
    return strncmp(name, WORK, sizeof WORK - 1) == 0;
}

static void remove_unused(const pipeline *p, const char *name) {
    char *folder = memory_format("%s/%s", p->artifacts, name);
    char *path = memory_format("%s/in-use", folder);
    int lock = open(path, O_RDWR | O_CLOEXEC);
    bool never_locked = lock < 0 && errno == ENOENT;
    if (never_locked || (lock >= 0 && file_lock(lock, false) == FILE_LOCK_TAKEN))
        (void)!remove_tree(folder, NULL);
    if (lock >= 0) close(lock);
    free(path);
    free(folder);
}

void work_remove_old(const pipeline *p) {
    strvec found = {0};
    (void)paths_list(p->artifacts, is_work, false, &found);
    const int held = found.count ? guard(p) : -1;
    for (size_t i = 0; held >= 0 && i < found.count; i++) remove_unused(p, found.items[i]);
    if (held >= 0) close(held);
    strvec_release(&found);
}

// ---- The call ----

// The folder of this program, which holds the other tools.
static char *find_tools(error *err) {
    char folder[PATH_MAX];
    return tool_folder(folder, err) == STATUS_OK ? memory_string(folder) : NULL;
}

// The tools are also started in other folders. A folder that is not there keeps its name for the
// message.
static char *absolute(const char *folder) {
    char *path = realpath(folder, NULL);
    return path ? path : memory_string(folder);
}

status pipeline_open(pipeline *p, const char *tools, const char *artifacts, error *err) {
    if (!artifacts) artifacts = "artifacts";
    p->work.lock = -1;
    p->bin = tools ? absolute(tools) : find_tools(err);
    if (!p->bin) return STATUS_FAILED;
    // A folder whose name begins with '-' would be parsed as an option.
    p->artifacts = memory_format("%s%s", *artifacts == '-' ? "./" : "", artifacts);
    return STATUS_OK;
}

void pipeline_release(pipeline *p) {
    work_close(p);
    strvec_release(&p->done);
    free(p->artifacts);
    free(p->bin);
}
