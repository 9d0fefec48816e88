// SPDX-License-Identifier: MIT
// verify_internal.h - the parts of verify.h.
#ifndef LOCKSTEP_SUBMISSION_VERIFY_INTERNAL_H
#define LOCKSTEP_SUBMISSION_VERIFY_INTERNAL_H

#include "pipeline/pipeline.h"
#include "pipeline/planned_runs.h"
#include "submission/verification.h"

// `folder` is that of the unpacked submission.

// CHECK_FILES; also fills v->traces.
status submission_check_files(const char *folder, verification *v, error *err) MUST_CHECK;
// CHECK_FIGURES and CHECK_REPORT; also fills v->author. The author's report moves to
// FOLDER/report-author. `test`: for the pictures; NULL: none.
status submission_check_page(const pipeline *p, const char *folder, const char *test,
                             verification *v, error *err) MUST_CHECK;
// All others, for one seed of an experiment in FOLDER/experiments. `key` names its run; NULL: there
// is none. `data`: the data set is there.
status submission_check_run(pipeline *p, const char *folder, const planned_run *r,
                            const planned_seed *seed, const char *key, bool data, verification *v,
                            error *err) MUST_CHECK;

// Calls `visit` for each folder FOLDER/NAME whose name consists of these characters, in order.
status submission_each_folder(const char *folder, const char *characters,
                              status (*visit)(const char *folder, void *context, error *err),
                              void *context, error *err) MUST_CHECK;

#endif
