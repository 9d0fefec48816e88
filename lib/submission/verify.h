// SPDX-License-Identifier: MIT
// verify.h - checks a submission (pack.h) against its own files, the data, and replay.
//
//     archive ─► unpack.h ─► files: recorded hashes, keys and digests
//         ─► page.h: the report again, compared figure by figure and as text
//         ─► experiments, data, models: evaluated again, parts of the trainings run again
//         (replay.h) ─► verification: a list of checks
//
// A submission may come from anyone. Nothing in it is executed, no file outside its folder is
// written, and texts from it are shown without control characters. Its author's own templates make
// a page beside ours, and only that (base/template.h has their limits).
#ifndef LOCKSTEP_SUBMISSION_VERIFY_H
#define LOCKSTEP_SUBMISSION_VERIFY_H

#include <stdint.h>

#include "base/error.h"
#include "pipeline/pipeline.h"
#include "submission/verification.h"

// Verifies one archive, or a folder that one was unpacked to. Its files and the report made again
// stay in ARTIFACTS/`kept`, which is replaced. Its author must not know `choice` in advance. A
// contradiction is a check with CHECK_DIFFERENT, not a failure; nor is an archive that is no
// submission: `refused` says why.
status verify_archive(pipeline *p, const char *archive, const char *kept, uint64_t choice,
                      verification *v, error *err) MUST_CHECK;

#endif
