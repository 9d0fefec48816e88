// SPDX-License-Identifier: MIT
// Finds the folders of tools, experiment files and outputs.
#include <stdlib.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/plugin.h"
#include "base/program.h"
#include "pipeline/pipeline.h"
#include "pipeline/work.h"

// The folder of this program, which holds the other tools.
static char *find_tools(error *err) {
    char folder[PATH_MAX];
    return program_folder(folder, err) == STATUS_OK ? memory_string(folder, err) : NULL;
}

// The checkout's experiments, or, if there are none, the installed ones. If these are missing too,
// messages name the former.
static char *find_experiments(error *err) {
    char *installed;
    if (access("experiments", R_OK) == 0) return memory_string("experiments", err);
    if (plugin_find("experiments", NULL, &installed, err) != STATUS_OK) return NULL;
    if (access(installed, R_OK) == 0) return installed;
    free(installed);
    return memory_string("experiments", err);
}

status pipeline_open(pipeline *p, const char *tools, const char *artifacts, error *err) {
    if (!artifacts) artifacts = "artifacts";
    p->work.lock = -1;
    p->bin = tools ? memory_string(tools, err) : find_tools(err);
    if (!p->bin) return STATUS_FAILED;
    p->experiments = find_experiments(err);
    // A folder whose name begins with '-' would be parsed as an option.
    p->artifacts = memory_format(err, "%s%s", *artifacts == '-' ? "./" : "", artifacts);
    return p->experiments && p->artifacts ? STATUS_OK : STATUS_FAILED;
}

void pipeline_release(pipeline *p) {
    work_close(p);
    words_release(&p->done);
    free(p->artifacts);
    free(p->experiments);
    free(p->bin);
}
