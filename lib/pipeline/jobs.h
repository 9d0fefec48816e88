// SPDX-License-Identifier: MIT
// jobs.h - work that is done in several processes at the same time.
#ifndef LOCKSTEP_PIPELINE_JOBS_H
#define LOCKSTEP_PIPELINE_JOBS_H

#include <stddef.h>

#include "base/error.h"

// One of the jobs. It runs in a process of its own, so that nothing that it changes in memory
// reaches the caller; what it starts with child.h ends with it.
typedef status job_work(void *context, size_t number, error *err);

// Does the jobs 0 to count - 1, in this order, `at_once` of them at the same time. `ended`, which
// may be NULL, is called after each with the number of those that have ended.
//
// The first one that fails ends the call with its status and message: the others are asked to stop
// by SIGTERM, so that trainings save their state, and waited for. If SIGINT ended one, this process
// ends by SIGINT, too, after all others have ended.
status jobs_run(size_t count, size_t at_once, job_work *work, void *context,
                void (*ended)(void *context, size_t count), error *err) MUST_CHECK;

#endif
