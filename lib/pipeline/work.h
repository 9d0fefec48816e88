// SPDX-License-Identifier: MIT
// work.h - a folder for temporary files of this call.
//
// It is ARTIFACTS/.work-RANDOM, locked for the duration of the call; a call that was killed leaves
// it behind, and the next one removes it.
#ifndef LOCKSTEP_PIPELINE_WORK_H
#define LOCKSTEP_PIPELINE_WORK_H

#include "base/error.h"
#include "pipeline/pipeline.h"

// Makes the folder p->work.path, once per call.
status work_open(pipeline *p, error *err) MUST_CHECK;
// Removes the folder, if one was made.
void work_close(pipeline *p);
// Removes the folders of calls that were killed. Files that cannot be removed stay.
void work_remove_old(const pipeline *p);

// Removes a tree, as rm -r, without following links. STATUS_FAILED on the first file that cannot be
// removed.
status work_remove_tree(const char *path, error *err) MUST_CHECK;

#endif
