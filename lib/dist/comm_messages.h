// SPDX-License-Identifier: MIT
// comm_messages.h - collectives by messages, for ranks without shared memory: on several hosts.
//
// A collective consists of *exchanges*. In an exchange every rank sends some messages, receives
// some, and waits for all of them; all ranks count the same exchanges. An all-gather is one
// exchange. A barrier is log2(size) exchanges, each with one neighbour at twice the previous
// distance (Hensgen, Finkel, Manber: Two algorithms for barrier synchronization, 1988). An
// all-reduce is two:
//
//     every rank sends each other rank that rank's slice of its vectors
//     every rank sums its slice over all ranks' vectors
//     every rank sends all others the sum
//
// If each rank has one vector, less cannot be sent. The rank that sums a slice has all its terms,
// so it can add them in the order of the tree.
//
// Failure. A rank that finalizes, or whose exchange has failed, sends all others a status word: how
// many exchanges it has completed, and which rank is the cause. A rank that waits in a later
// exchange fails, and sends its own word; a rank that waits in an earlier one still gets its
// messages. A rank that dies sends nothing: the launcher must detect that and end the job (mpirun
// does; srun with --kill-on-bad-exit).
//
// Memory. All messages lie in the group's memory, and are copied from and to the caller's. A failed
// exchange cannot be cancelled, so its memory is kept unchanged until the process ends, and a rank
// that still receives a message receives the original content.
#ifndef LOCKSTEP_DIST_COMM_MESSAGES_H
#define LOCKSTEP_DIST_COMM_MESSAGES_H

#include "dist/comm.h"
#include "dist/transport.h"

// Takes ownership of the transport: it is closed along with the group.
comm *comm_messages(transport *t);

#endif
