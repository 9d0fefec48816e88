// comm_shm.h - collectives through shared memory, for ranks on one host.
//
// An all-reduce is two meetings:
//
//     every rank lays down its vectors           (all but its own slice of them)
//     -- meeting --
//     every rank sums its slice over all ranks' vectors into the result
//     -- meeting --
//     every rank copies the result out
//
// The next collective needs no third meeting to be safe: it writes vectors, which everybody has
// read before the second meeting, and the result only behind its own first meeting, to which nobody
// comes before having copied the last one. An all-gather is one meeting; its two areas take turns,
// so that the one being written was read before the meeting in between.
//
// What does not fit into it goes in rounds; the bits do not depend on it.
#ifndef LOCKSTEP_DIST_COMM_SHM_H
#define LOCKSTEP_DIST_COMM_SHM_H

#include "dist/comm.h"
#include "dist/shared_memory.h"

// Makes this process rank `rank` of the group that shares `s`. With `own` that is freed
// along with *c, also when this fails; else it must outlive it.
status comm_shm(shared_memory *s, int rank, bool own, comm **c, error *err) MUST_CHECK;

#endif
