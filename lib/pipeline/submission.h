// submission.h - one archive to hand in: the report and its drawings, the experiments, the
// manifest of every stage, the models up to MODEL_LIMIT, and a script that makes it all again.
//
// What REPORT_FLAGS names as --discussion lies in it as report/discussion.md.
//
// The archive is a function of the runs and of REPORT_FLAGS: files in the order of their names,
// with one time and one owner. It holds no data set.
#ifndef LOCKSTEP_PIPELINE_SUBMISSION_H
#define LOCKSTEP_PIPELINE_SUBMISSION_H

#include "base/error.h"
#include "pipeline/pipeline.h"
#include "pipeline/planned_run.h"

#define SUBMISSION_DISCUSSION "discussion.md"

// Packs ARTIFACTS/submission-NAME-NAME.tar.gz from runs whose report was made, and says where it
// is.
status submission_pack(pipeline *p, const planned_runs *runs, error *err) MUST_CHECK;

#endif
