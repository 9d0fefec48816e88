// SPDX-License-Identifier: MIT
// For a build without NCCL: ranks reduce by other means.
#include "compute/cuda/group/group.h"

static status join(cuda_group *g, const group_card *cards, bool *joined, error *why, error *err) {
    (void)g, (void)cards, (void)err;
    *joined = false;
    (void)error_set(why, STATUS_FAILED, "this build has no NCCL");
    return STATUS_OK;
}

static bool available(void) {
    return false;
}

static void leave(cuda_group *g) {
    (void)g;
}

const group_transport cuda_nccl = {
    .name = "nccl", .available = available, .join = join, .abort_group = leave, .leave = leave};
