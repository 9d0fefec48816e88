// SPDX-License-Identifier: MIT
// comm_shm.h - collectives through shared memory, for ranks on one host.
//
// An all-reduce has two barriers:
//
//     every rank writes its vectors              (except its own slice of them)
//     -- barrier --
//     every rank sums its slice over all ranks' vectors into the result
//     -- barrier --
//     every rank copies the result out
//
// The next collective is safe without a third barrier. It writes vectors, which all ranks have read
// before the second barrier, and it writes the result only after its own first barrier, which a
// rank enters only after copying the last result. An all-gather has one barrier; its two areas
// alternate, so all ranks have read the one being written before the barrier in between.
//
// Larger data go in several rounds; the bits do not depend on that.
#ifndef LOCKSTEP_DIST_COMM_SHM_H
#define LOCKSTEP_DIST_COMM_SHM_H

#include "dist/comm.h"
#include "dist/shared_memory.h"

// Makes this process rank `rank` of the group that shares `s`. With `own`, `s` is freed along with
// *c, also if this fails; otherwise it must outlive *c.
status comm_shm(shared_memory *s, int rank, bool own, comm **c, error *err) MUST_CHECK;

#endif
