// comm_messages.h - collectives by messages, for ranks that share no memory: on several hosts.
//
// A collective is made of *exchanges*. In one, every rank sends some messages, receives some, and
// waits for all of them; all ranks count exchanges alike. An all-gather is one. A barrier is
// log2(size) of them, each with one neighbour at twice the distance (Hensgen, Finkel, Manber: Two
// algorithms for barrier synchronization, 1988). An all-reduce is two:
//
//     every rank sends each other one that one's slice of its vectors
//     every rank sums its slice over all ranks' vectors
//     every rank sends all others the sum
//
// which is the least that can be sent where a rank brings one vector, and whoever sums has all
// terms at hand, so that the order is the tree's.
//
// Failure. A rank that leaves, or that an exchange has failed on, tells all others how many
// exchanges it has completed, and who is to blame. Who waits in a later one fails, and tells the
// others in turn; who waits in an earlier one gets what it waits for. A rank that dies tells
// nobody: that the launcher must notice, and end the job (mpirun does; srun with
// --kill-on-bad-exit).
//
// Memory. All messages lie in memory of the group, and are copied to and from the caller's: an
// exchange that has failed cannot be called back, so its memory is kept as it is until the process
// ends, and a rank that still gets what was sent gets it as it was.
#ifndef LOCKSTEP_DIST_COMM_MESSAGES_H
#define LOCKSTEP_DIST_COMM_MESSAGES_H

#include "dist/comm.h"
#include "dist/transport.h"

// Takes the transport over: it is closed along with *c, also when this fails.
status comm_messages(transport *t, comm **c, error *err) MUST_CHECK;

#endif
