// nccl.h - engines that reduce among themselves (backend.h, "Ranks whose engines are on devices of
// their own"): by NCCL in nccl.c; nccl_absent.c takes its place in a build without.
#ifndef LOCKSTEP_COMPUTE_CUDA_NCCL_H
#define LOCKSTEP_COMPUTE_CUDA_NCCL_H

#include "compute/cuda/engine.h"

bool cuda_group_device(const engine *e, unsigned char id[BACKEND_DEVICE_ID_BYTES]);
status cuda_group_id(engine *e, unsigned char id[BACKEND_GROUP_ID_BYTES], error *err) MUST_CHECK;
status cuda_group_join(engine *e, const engine_group *member, error *err) MUST_CHECK;
status cuda_group_reduce(engine *e, const int *first_leaf, bool exact, float *wishes, int n,
                         group_traffic *traffic, error *err) MUST_CHECK;
// Leaves the group, if there is one.
void cuda_group_close(engine *e);

#endif
