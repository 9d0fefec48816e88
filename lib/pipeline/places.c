// SPDX-License-Identifier: MIT
// Finds the folders of tools and outputs.
#include <stdlib.h>

#include "base/memory.h"
#include "base/tool_list.h"
#include "pipeline/pipeline.h"
#include "pipeline/work.h"

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
    words_release(&p->done);
    free(p->artifacts);
    free(p->bin);
}
