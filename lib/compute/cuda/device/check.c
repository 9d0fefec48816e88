// SPDX-License-Identifier: MIT
// Error checks of CUDA calls, and failures that a call could not return.
#include "compute/cuda/group/group.h"

status cuda_check(const engine *e, cudaError_t code, const char *what, error *err) {
    if (code == cudaSuccess) return STATUS_OK;
    return error_set(err, STATUS_FAILED, "cannot compute: 'cuda:%d' (%s): %s: %s",
                     e->options.device, e->name, what, cudaGetErrorString(code));
}

status cuda_check_blas(const engine *e, cublasStatus_t code, const char *what, error *err) {
    if (code == CUBLAS_STATUS_SUCCESS) return STATUS_OK;
    return error_set(err, STATUS_FAILED, "cannot compute: 'cuda:%d' (%s): %s: %s",
                     e->options.device, e->name, what, cublasGetStatusString(code));
}

status cuda_sync(engine *e, error *err) {
    const status rc = cuda_group_finish(e, err);
    if (rc != STATUS_OK) return rc;
    return cuda_check(e, cudaStreamSynchronize(e->stream), "waiting for the device", err);
}

status cuda_pending_failure(engine *e, error *err) {
    const status rc = e->failed;
    if (rc != STATUS_OK) *err = e->failure;
    e->failed = STATUS_OK;
    return rc;
}
