// SPDX-License-Identifier: MIT
// cuda_runtime_api.h - the part of the CUDA runtime that the backend uses, emulated on the host.
//
// The sources under lib/compute/cuda are compiled twice: by nvcc against NVIDIA's headers, and by
// an ordinary compiler against the headers in this folder, which declare the same functions under
// the same names. Thus every index, bound and sum of the kernels, and every call of the engine, is
// tested without a GPU, also under AddressSanitizer.
//
// **What it does.** Device memory is malloc'ed and starts as NaN; host code may not touch it
// (AddressSanitizer reports "use-after-poison"). The threads of a block are fibers; blocks run one
// after another. Streams run their work at once. Captured work becomes a graph with the
// dependencies that its streams and events define. Calls that fail on a device fail here, too: a
// copy in the wrong direction or past the end, too large a launch, a cudaMalloc during a capture.
//
// **What else it finds.** The environment variable LOCKSTEP_EMULATED_ORDER sets the order of things
// that have none by themselves; no result may depend on it:
//
//     forward     threads and blocks by number, graphs as captured, streams at once
//     backward    (default) the reverse; streams as late as possible: only when something waits
//     shuffle     threads, blocks and graphs in an order that differs from launch to launch
//
// A missing __syncthreads(), event or cudaStreamSynchronize() then gives other numbers, or NaN. A
// barrier or shuffle that not all threads reach ends the program with a message. So does a kernel
// that does not wait for earlier kernels (programmatic dependent launch), or that touches device
// memory before it does (only under AddressSanitizer). A launch that may start early fails if the
// last work in its stream is not a kernel: a device would ignore it there, or fail to capture it.
// Memory that is freed while another process has it open ends the program.
//
// **What it cannot show.** Threads switch only at barriers and shuffles, so it finds only those
// races between threads that such an order exposes; races.h finds the others. It does not find a
// kernel that reads ordinary host memory. Functions like expf, and the order of cuBLAS's sums, are
// the host's: a device gives other bits. Speeds mean nothing here.
//
// LOCKSTEP_EMULATED_DEVICES: the number of devices (1). LOCKSTEP_EMULATED_MEMORY: bytes per device
// (16 GiB). LOCKSTEP_EMULATED_PEERS=0: no device reaches another one's memory, and the host stages
// copies between them. LOCKSTEP_EMULATED_COPIES: a file to which every copy adds a line, FROM TO
// BYTES; a place is "host" or a device number (copies.cc). LOCKSTEP_EMULATED_IPC: what works
// between processes: nothing (none), handles that cannot be opened (export), everything (the
// default). LOCKSTEP_EMULATED_SECONDS: how long a stream or an NCCL rank waits for another process
// before it fails (20); a device would wait for ever. LOCKSTEP_EMULATED_PROGRAMMATIC=uncaptured:
// kernels that may be launched early cannot be captured. LOCKSTEP_EMULATED_WAITS=early: only these
// have to wait for earlier kernels. LOCKSTEP_EMULATED_GRAPHS: a file to which every graph launch
// adds a line, NODES URGENT CHAIN: the number of nodes, how many of them have priority over others,
// and how many follow each other in a row, at most (graphs.cc). LOCKSTEP_EMULATED_QUEUE: how many
// pieces of work a stream holds; a caller that submits more waits on the host (default: no limit).
#ifndef LOCKSTEP_EMULATION_CUDA_RUNTIME_API_H
#define LOCKSTEP_EMULATION_CUDA_RUNTIME_API_H

#include <stddef.h>

#define CUDART_VERSION 13000

#ifdef __cplusplus
#define EMULATION_DEFAULT(value) = value
extern "C" {
#else
#define EMULATION_DEFAULT(value)
#endif

// ---- Errors: names and values are CUDA's ----

#define EMULATION_ERRORS(X)                                                                       \
    X(cudaSuccess, 0, "no error")                                                                 \
    X(cudaErrorInvalidValue, 1, "invalid argument")                                               \
    X(cudaErrorMemoryAllocation, 2, "out of memory")                                              \
    X(cudaErrorInvalidConfiguration, 9, "invalid configuration argument")                         \
    X(cudaErrorInvalidMemcpyDirection, 21, "invalid copy direction for memcpy")                   \
    X(cudaErrorInsufficientDriver, 35,                                                            \
      "CUDA driver version is insufficient for CUDA runtime version")                             \
    X(cudaErrorNoDevice, 100, "no CUDA-capable device is detected")                               \
    X(cudaErrorInvalidDevice, 101, "invalid device ordinal")                                      \
    X(cudaErrorDeviceUninitialized, 201, "invalid device context")                                \
    X(cudaErrorPeerAccessUnsupported, 217,                                                        \
      "peer access is not supported between these two devices")                                   \
    X(cudaErrorInvalidResourceHandle, 400, "invalid resource handle")                             \
    X(cudaErrorIllegalState, 401, "the operation cannot be performed in the present state")       \
    X(cudaErrorNotReady, 600, "device not ready")                                                 \
    X(cudaErrorLaunchTimeout, 702, "the launch timed out and was terminated")                     \
    X(cudaErrorPeerAccessAlreadyEnabled, 704, "peer access is already enabled")                   \
    X(cudaErrorNotSupported, 801, "operation not supported")                                      \
    X(cudaErrorStreamCaptureUnsupported, 900, "operation not permitted when stream is capturing") \
    X(cudaErrorStreamCaptureInvalidated, 901,                                                     \
      "operation failed due to a previous error during capture")                                  \
    X(cudaErrorStreamCaptureMerge, 902,                                                           \
      "operation would result in a merge of separate capture sequences")                          \
    X(cudaErrorStreamCaptureUnmatched, 903,                                                       \
      "capture was not ended in the same stream as it began")                                     \
    X(cudaErrorStreamCaptureUnjoined, 904, "capturing stream has unjoined work")                  \
    X(cudaErrorStreamCaptureIsolation, 905,                                                       \
      "dependency created on uncaptured work in another stream")                                  \
    X(cudaErrorStreamCaptureImplicit, 906,                                                        \
      "operation would make the legacy stream depend on a capturing blocking stream")             \
    X(cudaErrorCapturedEvent, 907,                                                                \
      "operation not permitted on an event last recorded in a capturing stream")                  \
    X(cudaErrorStreamCaptureWrongThread, 908,                                                     \
      "attempt to terminate a thread-local capture sequence from another thread")                 \
    X(cudaErrorUnknown, 999, "unknown error")

typedef enum cudaError {
#define EMULATION_ENUMERATOR(name, value, text) name = value,
    EMULATION_ERRORS(EMULATION_ENUMERATOR)
#undef EMULATION_ENUMERATOR
} cudaError_t;

cudaError_t cudaGetLastError(void);
cudaError_t cudaPeekAtLastError(void);
const char *cudaGetErrorName(cudaError_t error);
const char *cudaGetErrorString(cudaError_t error);

// ---- Vectors ----

typedef struct uint3 {
    unsigned x, y, z;
} uint3;

typedef struct dim3 {
    unsigned x, y, z;
#ifdef __cplusplus
    constexpr dim3(unsigned width = 1, unsigned height = 1, unsigned depth = 1)
        : x(width), y(height), z(depth) {}
#endif
} dim3;

typedef struct __attribute__((aligned(8))) float2 {
    float x, y;
} float2;

typedef struct __attribute__((aligned(16))) float4 {
    float x, y, z, w;
} float4;

typedef struct __attribute__((aligned(16))) double2 {
    double x, y;
} double2;

// ---- Devices ----

typedef struct CUuuid_st {
    char bytes[16];
} cudaUUID_t;

// The fields that a program may need; NVIDIA's has more.
typedef struct cudaDeviceProp {
    char name[256];
    cudaUUID_t uuid;
    size_t totalGlobalMem, sharedMemPerBlock;
    int regsPerBlock, warpSize, maxThreadsPerBlock;
    int maxThreadsDim[3], maxGridSize[3];
    int major, minor;
    int multiProcessorCount, maxThreadsPerMultiProcessor, asyncEngineCount;
    int memoryBusWidth, l2CacheSize;
    int ECCEnabled, pciBusID, pciDeviceID, pciDomainID;
    int unifiedAddressing, concurrentKernels;
} cudaDeviceProp;

enum cudaDeviceAttr {
    cudaDevAttrMaxThreadsPerBlock = 1,
    cudaDevAttrMaxBlockDimX = 2,
    cudaDevAttrMaxBlockDimY = 3,
    cudaDevAttrMaxBlockDimZ = 4,
    cudaDevAttrMaxGridDimX = 5,
    cudaDevAttrMaxGridDimY = 6,
    cudaDevAttrMaxGridDimZ = 7,
    cudaDevAttrMaxSharedMemoryPerBlock = 8,
    cudaDevAttrWarpSize = 10,
    cudaDevAttrClockRate = 13,
    cudaDevAttrMultiProcessorCount = 16,
    cudaDevAttrMemoryClockRate = 36,
    cudaDevAttrGlobalMemoryBusWidth = 37,
    cudaDevAttrL2CacheSize = 38,
    cudaDevAttrUnifiedAddressing = 41,
    cudaDevAttrComputeCapabilityMajor = 75,
    cudaDevAttrComputeCapabilityMinor = 76
};

cudaError_t cudaDriverGetVersion(int *version);
cudaError_t cudaRuntimeGetVersion(int *version);
cudaError_t cudaGetDeviceCount(int *count);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaGetDevice(int *device);
cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *properties, int device);
cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int device);
cudaError_t cudaDeviceGetPCIBusId(char *id, int length, int device);
cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest);
cudaError_t cudaDeviceCanAccessPeer(int *can, int device, int peer);
cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags);
cudaError_t cudaDeviceSynchronize(void);

// ---- Memory ----

enum cudaMemcpyKind {
    cudaMemcpyHostToHost = 0,
    cudaMemcpyHostToDevice = 1,
    cudaMemcpyDeviceToHost = 2,
    cudaMemcpyDeviceToDevice = 3,
    cudaMemcpyDefault = 4
};

enum { cudaHostAllocDefault = 0, cudaHostAllocPortable = 1, cudaHostAllocMapped = 2 };

typedef struct CUstream_st *cudaStream_t;

cudaError_t cudaMalloc(void **pointer, size_t size);
cudaError_t cudaFree(void *pointer);
cudaError_t cudaMallocHost(void **pointer, size_t size);
cudaError_t cudaHostAlloc(void **pointer, size_t size, unsigned flags);
cudaError_t cudaFreeHost(void *pointer);
cudaError_t cudaMemGetInfo(size_t *free, size_t *total);
cudaError_t cudaMemcpy(void *to, const void *from, size_t count, enum cudaMemcpyKind kind);
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t count, enum cudaMemcpyKind kind,
                            cudaStream_t stream EMULATION_DEFAULT(NULL));
cudaError_t cudaMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device,
                                size_t count, cudaStream_t stream EMULATION_DEFAULT(NULL));
cudaError_t cudaMemset(void *pointer, int value, size_t count);
cudaError_t cudaMemsetAsync(void *pointer, int value, size_t count,
                            cudaStream_t stream EMULATION_DEFAULT(NULL));

// Memory of another process; see ipc.cc.
enum { CUDA_IPC_HANDLE_SIZE = 64, cudaIpcMemLazyEnablePeerAccess = 1 };
typedef struct cudaIpcMemHandle_st {
    char reserved[CUDA_IPC_HANDLE_SIZE];
} cudaIpcMemHandle_t;
cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t *handle, void *pointer);
cudaError_t cudaIpcOpenMemHandle(void **pointer, cudaIpcMemHandle_t handle, unsigned flags);
cudaError_t cudaIpcCloseMemHandle(void *pointer);

// ---- Streams and events ----

enum { cudaStreamDefault = 0, cudaStreamNonBlocking = 1 };
enum {
    cudaEventDefault = 0,
    cudaEventBlockingSync = 1,
    cudaEventDisableTiming = 2,
    cudaEventInterprocess = 4
};
enum { cudaEventRecordDefault = 0, cudaEventRecordExternal = 1 };
enum { cudaEventWaitDefault = 0, cudaEventWaitExternal = 1 };

typedef struct CUevent_st *cudaEvent_t;
typedef void (*cudaHostFn_t)(void *context);

cudaError_t cudaStreamCreate(cudaStream_t *stream);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags);
cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned flags, int priority);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaStreamQuery(cudaStream_t stream);
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event,
                                unsigned flags EMULATION_DEFAULT(0));
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void *context);

cudaError_t cudaEventCreate(cudaEvent_t *event);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream EMULATION_DEFAULT(NULL));
cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream EMULATION_DEFAULT(NULL),
                                     unsigned flags EMULATION_DEFAULT(0));
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaEventQuery(cudaEvent_t event);
cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t start, cudaEvent_t end);
cudaError_t cudaEventDestroy(cudaEvent_t event);

// Events of another process can be waited for and queried, not recorded.
typedef struct cudaIpcEventHandle_st {
    char reserved[CUDA_IPC_HANDLE_SIZE];
} cudaIpcEventHandle_t;
cudaError_t cudaIpcGetEventHandle(cudaIpcEventHandle_t *handle, cudaEvent_t event);
cudaError_t cudaIpcOpenEventHandle(cudaEvent_t *event, cudaIpcEventHandle_t handle);

// ---- Launches ----

// There are no other attributes, and no dynamic shared memory.
typedef enum cudaLaunchAttributeID {
    cudaLaunchAttributeProgrammaticStreamSerialization = 6
} cudaLaunchAttributeID;

typedef union cudaLaunchAttributeValue {
    char pad[64];
    int programmaticStreamSerializationAllowed;
} cudaLaunchAttributeValue;

typedef struct cudaLaunchAttribute_st {
    cudaLaunchAttributeID id;
    cudaLaunchAttributeValue val;
} cudaLaunchAttribute;

typedef struct cudaLaunchConfig_st {
    dim3 gridDim, blockDim;
    size_t dynamicSmemBytes;
    cudaStream_t stream;
    cudaLaunchAttribute *attrs;
    unsigned numAttrs;
} cudaLaunchConfig_t;

typedef struct cudaFuncAttributes {
    int ptxVersion, binaryVersion; // compute capability, e.g. 90
} cudaFuncAttributes;

// ---- Graphs ----

enum cudaStreamCaptureStatus {
    cudaStreamCaptureStatusNone = 0,
    cudaStreamCaptureStatusActive = 1,
    cudaStreamCaptureStatusInvalidated = 2
};

enum cudaStreamCaptureMode {
    cudaStreamCaptureModeGlobal = 0,
    cudaStreamCaptureModeThreadLocal = 1,
    cudaStreamCaptureModeRelaxed = 2
};

enum cudaGraphInstantiateFlags { cudaGraphInstantiateFlagUseNodePriority = 8 }; // others: none

typedef struct CUgraph_st *cudaGraph_t;
typedef struct CUgraphExec_st *cudaGraphExec_t;
typedef struct CUgraphNode_st *cudaGraphNode_t;

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode);
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph);
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, enum cudaStreamCaptureStatus *status);
// Only counts: nodes must be NULL.
cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count);
cudaError_t cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph,
                                 unsigned long long flags EMULATION_DEFAULT(0));
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream);
cudaError_t cudaGraphDestroy(cudaGraph_t graph);
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec);

#ifdef __cplusplus
}
#endif

#endif
