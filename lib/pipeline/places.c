// Finds the folders of tools, experiment files and outputs.
#include <libgen.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/memory.h"
#include "pipeline/pipeline.h"
#include "pipeline/work.h"

// The folder of this program, which holds the other tools.
static char *find_tools(error *err) {
    char own[PATH_MAX] = "";
    if (readlink("/proc/self/exe", own, sizeof own - 1) >= 0)
        return memory_string(dirname(own), err);
    error_set(err, STATUS_FAILED, "cannot find the tools: /proc/self/exe cannot be read");
    return NULL;
}

// The checkout's experiments, or, if there are none, the installed ones. If these are missing too,
// messages name the former.
static char *find_experiments(const char *tools, error *err) {
    if (access("experiments", R_OK) == 0) return memory_string("experiments", err);
    char *installed = memory_format(err, "%s/../share/lockstep/experiments", tools);
    if (!installed || access(installed, R_OK) == 0) return installed;
    free(installed);
    return memory_string("experiments", err);
}

status pipeline_open(pipeline *p, const char *tools, const char *artifacts, error *err) {
    if (!artifacts) artifacts = "artifacts";
    p->work.lock = -1;
    p->bin = tools ? memory_string(tools, err) : find_tools(err);
    if (!p->bin) return STATUS_FAILED;
    p->experiments = find_experiments(p->bin, err);
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
