// SPDX-License-Identifier: MIT
// For a build without NCCL: ranks reduce by other means.
#include "compute/cuda/comm/cuda_comm.h"

static status join(cuda_comm *c, const comm_card *cards, bool *joined, error *why, error *err) {
    (void)c, (void)cards, (void)err;
    *joined = false;
    (void)error_set(why, STATUS_FAILED, "this build has no NCCL");
    return STATUS_OK;
}

static bool available(void) {
    return false;
}

static void leave(cuda_comm *c) {
    (void)c;
}

const comm_transport cuda_nccl = {
    .name = "nccl", .available = available, .join = join, .abort_comm = leave, .leave = leave};
