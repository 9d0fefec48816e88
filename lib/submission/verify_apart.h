// SPDX-License-Identifier: MIT
// verify_apart.h - verifies a submission in a process of its own: whatever is wrong with it, a
// crash, want of memory or a training without an end, ends with that process.
#ifndef LOCKSTEP_SUBMISSION_VERIFY_APART_H
#define LOCKSTEP_SUBMISSION_VERIFY_APART_H

#include <stdint.h>

#include "base/error.h"
#include "pipeline/pipeline.h"
#include "submission/verification.h"

// As verify_archive. If that fails at run time, or takes more than so many seconds, v->ungraded
// says why; only a signal that asks to stop is a failure.
status verify_apart(pipeline *p, const char *archive, const char *kept, uint64_t choice,
                    int64_t seconds, verification *v, error *err) MUST_CHECK;

#endif
