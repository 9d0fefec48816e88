// SPDX-License-Identifier: MIT
// submission.h - one archive to hand in: the report and its drawings, the experiments, every
// stage's manifest, the models up to MODEL_LIMIT, and a script that reproduces everything.
//
// The file given as --discussion in REPORT_FLAGS becomes report/discussion.md.
//
// The archive is a function of the runs and of REPORT_FLAGS: files are sorted by name, with a fixed
// time and owner. It holds no data set.
#ifndef LOCKSTEP_PIPELINE_SUBMISSION_H
#define LOCKSTEP_PIPELINE_SUBMISSION_H

#include "base/error.h"
#include "pipeline/pipeline.h"
#include "pipeline/planned_run.h"

#define SUBMISSION_DISCUSSION "discussion.md"

// Packs ARTIFACTS/submission-NAME-NAME.tar.gz from runs whose report was made, and reports its
// path.
status submission_pack(pipeline *p, const planned_runs *runs, error *err) MUST_CHECK;

#endif
