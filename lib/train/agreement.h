// SPDX-License-Identifier: MIT
// agreement.h - do all ranks hold the same numbers?
//
// Every rank makes the same updates from the same sums, so after each step all hold the same bits.
// A rank that does not has computed or stored something wrongly: its processor, memory or device is
// faulty, or its program is another one. Ranks compare hashes of what they hold before each save,
// so that nothing wrong is saved.
#ifndef LOCKSTEP_TRAIN_AGREEMENT_H
#define LOCKSTEP_TRAIN_AGREEMENT_H

#include "dist/comm.h"
#include "train/checkpoint.h"

// STATUS_FINDING, on every rank with the same message, if a rank holds other parameters, running
// statistics, optimizer state or averages than most ranks do (of two candidates, the lowest rank's
// counts as theirs). The message names that rank, its host, and the first step at which its
// parameters differed. All ranks call it with the state after step c->step - 1 in `c`. Steps before
// `since` are known to agree.
status agreement_check(comm *ranks, const checkpoint *c, uint64_t since, uint64_t steps_per_epoch,
                       error *err) MUST_CHECK;

// The bytes that a rank gathers at once, at most.
enum { AGREEMENT_BYTES = 4096 };

#endif
