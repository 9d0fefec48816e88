// A build without NCCL: no engine joins a group, and ranks reduce through the host.
#include "compute/cuda/nccl.h"

bool cuda_group_device(const engine *e, unsigned char id[BACKEND_DEVICE_ID_BYTES]) {
    (void)e, (void)id;
    return false;
}

static status absent(const engine *e, error *err) {
    return error_set(
        err, STATUS_FAILED,
        "cannot reduce: 'cuda:%d' (%s): this build has no NCCL: install its header and "
        "library where CUDA is, and build again",
        e->options.device, e->name);
}

status cuda_group_id(engine *e, unsigned char id[BACKEND_GROUP_ID_BYTES], error *err) {
    (void)id;
    return absent(e, err);
}

status cuda_group_join(engine *e, const engine_group *member, error *err) {
    (void)member;
    return absent(e, err);
}

status cuda_group_reduce(engine *e, const int *first_leaf, bool exact, float *wishes, int n,
                         group_traffic *traffic, error *err) {
    (void)first_leaf, (void)exact, (void)wishes, (void)n, (void)traffic;
    return absent(e, err);
}

void cuda_group_close(engine *e) {
    (void)e;
}
