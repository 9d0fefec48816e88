// SPDX-License-Identifier: MIT
// pack.h - one archive to hand in: the report and its drawings, the experiments, every stage's
// manifest, the files that the report's figures come from, the models up to MODEL_LIMIT, and a
// script that reproduces everything.
//
// Inside, an archive has the folders of ARTIFACTS: runs/KEY12/N/{train,evaluate}, data, machine.
// The report is made from these files: its figures have no other source, and verify.h can make it
// again.
//
// The archive is a function of the runs and of REPORT_FLAGS: files are sorted by name, with a fixed
// time and owner. It holds no data set.
#ifndef LOCKSTEP_SUBMISSION_PACK_H
#define LOCKSTEP_SUBMISSION_PACK_H

#include "base/error.h"
#include "pipeline/pipeline.h"
#include "pipeline/planned_runs.h"

// Packs ARTIFACTS/submission-NAME-NAME.tar.gz from runs whose report was made, and reports its
// path.
status submission_pack(pipeline *p, const planned_runs *runs, error *err) MUST_CHECK;

#endif
