// SPDX-License-Identifier: MIT
#include "pipeline/pipeline.h"

#include <stdlib.h>

#include "base/memory.h"
#include "base/program.h"
#include "pipeline/work.h"

// The folder of this program, which holds the other tools.
static char *find_tools(error *err) {
    char folder[PATH_MAX];
    return program_folder(folder, err) == STATUS_OK ? memory_string(folder) : NULL;
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
