// work.h - a folder for temporary files of this call.
//
// It lies in ARTIFACTS as .work-RANDOM and is locked as long as the call goes on; a call that was
// killed leaves it, and the next one removes it.
#ifndef LOCKSTEP_PIPELINE_WORK_H
#define LOCKSTEP_PIPELINE_WORK_H

#include "base/error.h"
#include "pipeline/pipeline.h"

// Makes it, once a call: p->work.path.
status work_open(pipeline *p, error *err) MUST_CHECK;
// Removes it. Also fine where none was made.
void work_close(pipeline *p);
// Removes those of calls that were killed. Anything that cannot be removed stays.
void work_remove_old(const pipeline *p);

// rm -r, without following links. STATUS_FAILED names the first file that could not be removed.
status work_remove_tree(const char *path, error *err) MUST_CHECK;

#endif
