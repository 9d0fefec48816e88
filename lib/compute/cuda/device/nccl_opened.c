// SPDX-License-Identifier: MIT
// The functions of NCCL that nccl.c calls; see opened.h.
#include <nccl.h>

#include "compute/cuda/device/opened.h"

#define LIBRARY "libnccl.so.2"

bool cuda_has_nccl(void) {
    return dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL) != NULL;
}

#define NCCL(name, parameters, arguments) \
    OPENED(LIBRARY, ncclResult_t, name, parameters, arguments, ncclSystemError)

// The header declares these two without `void`, which is no prototype.
ncclResult_t ncclGroupStart(void);
ncclResult_t ncclGroupEnd(void);

NCCL(ncclGetUniqueId, (ncclUniqueId * id), (id))
NCCL(ncclCommInitRankConfig,
     (ncclComm_t * comm, int ranks, ncclUniqueId id, int rank, ncclConfig_t *config),
     (comm, ranks, id, rank, config))
NCCL(ncclCommFinalize, (ncclComm_t comm), (comm))
NCCL(ncclCommDestroy, (ncclComm_t comm), (comm))
NCCL(ncclCommAbort, (ncclComm_t comm), (comm))
NCCL(ncclCommGetAsyncError, (ncclComm_t comm, ncclResult_t *state), (comm, state))
NCCL(ncclGroupStart, (void), ())
NCCL(ncclGroupEnd, (void), ())
NCCL(ncclSend,
     (const void *from, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
      cudaStream_t stream),
     (from, count, type, peer, comm, stream))
NCCL(ncclRecv,
     (void *to, size_t count, ncclDataType_t type, int peer, ncclComm_t comm, cudaStream_t stream),
     (to, count, type, peer, comm, stream))
NCCL(ncclAllGather,
     (const void *from, void *to, size_t count, ncclDataType_t type, ncclComm_t comm,
      cudaStream_t stream),
     (from, to, count, type, comm, stream))
NCCL(ncclAllReduce,
     (const void *from, void *to, size_t count, ncclDataType_t type, ncclRedOp_t op,
      ncclComm_t comm, cudaStream_t stream),
     (from, to, count, type, op, comm, stream))
OPENED(LIBRARY, const char *, ncclGetErrorString, (ncclResult_t code), (code), "NCCL is missing")
OPENED(LIBRARY, const char *, ncclGetLastError, (ncclComm_t comm), (comm), NULL)
