// SPDX-License-Identifier: MIT
// state_check.h - what ends a training although nothing failed: values that are not finite, and
// ranks that hold different numbers.
#ifndef LOCKSTEP_TRAIN_STATE_CHECK_H
#define LOCKSTEP_TRAIN_STATE_CHECK_H

#include "dist/comm.h"
#include "train/checkpoint.h"

// STATUS_FAILED for a step (from 0) with a non-finite loss, naming the step. Also names the first
// tensor of `c`, the state after the step, that has a bad value, if there is one.
status state_check_loss(const checkpoint *c, uint64_t step, uint64_t steps_per_epoch, float loss,
                        error *err) MUST_CHECK;

// STATUS_FAILED if a tensor of `c` holds a bad value after the step. The loss does not show that:
// it is computed before the update, and does not depend on running statistics.
status state_check_tensors(const checkpoint *c, uint64_t step, uint64_t steps_per_epoch,
                           error *err) MUST_CHECK;

// Do all ranks hold the same numbers? Every rank makes the same updates from the same sums, so
// after each step all hold the same bits. A rank that does not has computed or stored something
// wrongly: its processor, memory or device is faulty, or its program is another one. Ranks compare
// hashes of what they hold before each save, so that nothing wrong is saved.
//
// STATUS_FINDING, on every rank with the same message, if a rank holds other parameters, running
// statistics, optimizer state or averages than most ranks do (of two candidates, the lowest rank's
// counts as theirs). The message names that rank, its host, and the first step at which its
// parameters differed. All ranks call it with the state after step c->step - 1 in `c`. Steps before
// `since` are known to agree.
status state_check_ranks(comm *ranks, const checkpoint *c, uint64_t since, uint64_t steps_per_epoch,
                         error *err) MUST_CHECK;

// The bytes that a rank gathers at once, at most.
enum { STATE_CHECK_BYTES = 4096 };

#endif
