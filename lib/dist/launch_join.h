// SPDX-License-Identifier: MIT
// launch_join.h - joining a group that was started elsewhere.
#ifndef LOCKSTEP_DIST_LAUNCH_JOIN_H
#define LOCKSTEP_DIST_LAUNCH_JOIN_H

#include "base/error.h"
#include "base/log.h"
#include "dist/comm.h"
#include "dist/launch_environment.h"

// Joins the group. A rank that waits longer than env->seconds fails with STATUS_FAILED and names
// the missing ranks. A signal that signals_watch noted ends the wait with STATUS_STOPPED. (With
// MPI, the launcher does the waiting: until all ranks are there, SIGTERM and SIGINT end the
// process. If the ranks do not agree on the size of the group, all fail with STATUS_USAGE.)
//
// At an address: rank 0 listens, the others connect, and all map one shared memory. All ranks must
// be on this host, belong to one user, and agree on the size of the group and of the vectors. A
// process that does not match is refused with STATUS_USAGE; the others go on waiting for one that
// does. `n` is the largest vector (floats) and `gather_bytes` the largest all_gather contribution
// that will be used; larger ones work, but take more rounds.
status launch_join(const launch_environment *env, size_t n, size_t gather_bytes, comm **c,
                   error *err) MUST_CHECK;

// Aborts the group's start, for a rank that ends with this error before it has called launch_join.
// With MPI, the others would wait for it, under some launchers for ever: it joins and finalizes at
// once, which makes them fail, and the launcher then kills all ranks. So it prints the error first
// (log_error). (At an address, the message at the timeout names it.) Does nothing if the
// environment names no group.
void launch_abort(const launch_environment *env, const logger *log, error *err);

#endif
