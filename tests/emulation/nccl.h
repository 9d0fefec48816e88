// SPDX-License-Identifier: MIT
// nccl.h - the part of NCCL that the backend uses, between processes and threads of one host; see
// cuda_runtime_api.h.
//
// **What it does.** Ranks share a file in memory, whose name is the unique id. Floats pass through
// it from rank to rank, in pieces; sums are taken in rank order. Communicators are non-blocking,
// and nothing happens in the background: each ncclCommGetAsyncError() does what it can at that
// moment, and a group of calls stays ncclInProgress until all of it is done.
//
// **What it finds.** A rank that breaks a rule of the library, or an agreement among the ranks,
// gets an error, and so do the others (ncclRemoteError; ncclGetLastError() names the cause):
//
//     counts that differ, collectives in different orders, a send that meets a collective
//     a send without a receive, or the other way round: after LOCKSTEP_EMULATED_SECONDS (20)
//         in which nothing moved
//     two ranks on one device or with one number, or that disagree on the number of ranks
//     calls before earlier ones are done, or work after them in the stream or capture
//     memory that is not of the communicator's device
//     a communicator that is destroyed before all ranks have finalized theirs
//
// The death of a rank is not detected: NCCL does not always detect it, either. To abort a
// or destroy a communicator while graphs hold calls of it would wait for ever; here it ends the
// process. So does a capture that ends while calls in it are in progress: NCCL has a thread that
// adds them. LOCKSTEP_EMULATED_NCCL_SECONDS: how long that thread works on each group of calls (0).
#ifndef LOCKSTEP_EMULATION_NCCL_H
#define LOCKSTEP_EMULATION_NCCL_H

#include <limits.h>
#include <stddef.h>

#include "cuda_runtime_api.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { NCCL_UNIQUE_ID_BYTES = 128 };
typedef struct {
    char internal[NCCL_UNIQUE_ID_BYTES];
} ncclUniqueId;

typedef struct ncclComm *ncclComm_t;

typedef enum {
    ncclSuccess = 0,
    ncclUnhandledCudaError = 1,
    ncclSystemError = 2,
    ncclInternalError = 3,
    ncclInvalidArgument = 4,
    ncclInvalidUsage = 5,
    ncclRemoteError = 6,
    ncclInProgress = 7
} ncclResult_t;

// NCCL's has more fields.
typedef struct ncclConfig {
    size_t size;
    unsigned magic, version;
    int blocking; // only 0 is supported here
} ncclConfig_t;
#define NCCL_CONFIG_INITIALIZER ((ncclConfig_t){sizeof(ncclConfig_t), 0xcafebeef, 22809, INT_MIN})

typedef enum { ncclFloat = 7 } ncclDataType_t;
typedef enum { ncclSum = 0 } ncclRedOp_t;

const char *ncclGetErrorString(ncclResult_t result);
const char *ncclGetLastError(ncclComm_t comm);

ncclResult_t ncclGetUniqueId(ncclUniqueId *id);
ncclResult_t ncclCommInitRankConfig(ncclComm_t *comm, int ranks, ncclUniqueId id, int rank,
                                    ncclConfig_t *config);
ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *state);
ncclResult_t ncclCommFinalize(ncclComm_t comm);
ncclResult_t ncclCommDestroy(ncclComm_t comm);
ncclResult_t ncclCommAbort(ncclComm_t comm);

ncclResult_t ncclGroupStart(void);
ncclResult_t ncclGroupEnd(void);
ncclResult_t ncclSend(const void *from, size_t count, ncclDataType_t type, int peer,
                      ncclComm_t comm, cudaStream_t stream);
ncclResult_t ncclRecv(void *to, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream);
ncclResult_t ncclAllGather(const void *from, void *to, size_t count, ncclDataType_t type,
                           ncclComm_t comm, cudaStream_t stream);
ncclResult_t ncclAllReduce(const void *from, void *to, size_t count, ncclDataType_t type,
                           ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
