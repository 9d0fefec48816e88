// SPDX-License-Identifier: MIT
// Identical devices, and each thread's last error.
#include "emulation.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>
#include <utility>

namespace emulation {

std::recursive_mutex everything;

static thread_local cudaError_t last_error = cudaSuccess;
static thread_local int chosen_device = 0;
static std::set<std::pair<int, int>> peers; // (device, peer) whose access is enabled

cudaError_t done(cudaError_t result) {
    if (result != cudaSuccess) last_error = result;
    return result;
}

static int device_count() {
    const char *text = getenv("LOCKSTEP_EMULATED_DEVICES");
    return text && *text ? atoi(text) : 1;
}

// 12040 is a driver for CUDA 12.4; 0: no driver.
static int driver_version() {
    const char *text = getenv("LOCKSTEP_EMULATED_DRIVER");
    return text && *text ? atoi(text) : CUDART_VERSION;
}

cudaError_t device_exists(int device) {
    const int count = device_count();
    if (count <= 0) return cudaErrorNoDevice;
    return device >= 0 && device < count ? cudaSuccess : cudaErrorInvalidDevice;
}

// FNV-1a of the host's name.
uint32_t this_host() {
    char name[256] = "";
    uint32_t hash = 2166136261u;
    (void)gethostname(name, sizeof name - 1);
    for (const char *c = name; *c; c++) hash = (hash ^ (unsigned char)*c) * 16777619u;
    return hash;
}

cudaError_t current_device(int *device) {
    *device = chosen_device;
    return device_exists(chosen_device);
}

static bool have_peers() {
    const char *text = getenv("LOCKSTEP_EMULATED_PEERS");
    return !text || strcmp(text, "0") != 0;
}

bool reaches(int device, int peer) {
    return device == peer || (have_peers() && peers.count({device, peer}));
}

} // namespace emulation

using namespace emulation;

cudaError_t cudaGetLastError() {
    return std::exchange(last_error, cudaSuccess);
}

cudaError_t cudaPeekAtLastError() {
    return last_error;
}

const char *cudaGetErrorName(cudaError_t error) {
    switch (error) {
#define CASE(name, value, text) \
    case name: return #name;
        EMULATION_ERRORS(CASE)
#undef CASE
    }
    return "unrecognized error code";
}

const char *cudaGetErrorString(cudaError_t error) {
    switch (error) {
#define CASE(name, value, text) \
    case name: return text;
        EMULATION_ERRORS(CASE)
#undef CASE
    }
    return "unrecognized error code";
}

cudaError_t cudaDriverGetVersion(int *version) {
    *version = driver_version();
    return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int *version) {
    *version = CUDART_VERSION;
    return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int *count) {
    *count = device_count() > 0 ? device_count() : 0;
    if (driver_version() / 1000 < CUDART_VERSION / 1000) return done(cudaErrorInsufficientDriver);
    return done(*count > 0 ? cudaSuccess : cudaErrorNoDevice);
}

cudaError_t cudaSetDevice(int device) {
    const cudaError_t result = device_exists(device);
    if (result == cudaSuccess) chosen_device = device;
    return done(result);
}

cudaError_t cudaGetDevice(int *device) {
    return done(current_device(device));
}

// The limits are those of all devices since compute capability 7.5. The size is that of a small
// device, so that nothing relies on many multiprocessors.
static cudaDeviceProp describe(int device) {
    cudaDeviceProp p = {};
    snprintf(p.name, sizeof p.name, "emulated");
    // As in reality, no two hosts have the same device.
    snprintf(p.uuid.bytes, sizeof p.uuid.bytes, "%08x %d", this_host(), device % 1000);
    size_t free_bytes;
    (void)cudaMemGetInfo(&free_bytes, &p.totalGlobalMem);
    p.sharedMemPerBlock = 48 << 10;
    p.regsPerBlock = 65536;
    p.warpSize = 32;
    p.maxThreadsPerBlock = p.maxThreadsDim[0] = p.maxThreadsDim[1] = 1024;
    p.maxThreadsDim[2] = 64;
    p.maxGridSize[0] = 2147483647;
    p.maxGridSize[1] = p.maxGridSize[2] = 65535;
    p.major = 9;
    p.multiProcessorCount = 2;
    p.maxThreadsPerMultiProcessor = 2048;
    p.asyncEngineCount = 1;
    p.memoryBusWidth = 64;
    p.l2CacheSize = 1 << 20;
    p.pciBusID = device;
    p.unifiedAddressing = p.concurrentKernels = 1;
    return p;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp *properties, int device) {
    const cudaError_t result = device_exists(device);
    if (result == cudaSuccess) *properties = describe(device);
    return done(result);
}

cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr attribute, int device) {
    const cudaError_t result = device_exists(device);
    if (result != cudaSuccess) return done(result);
    const cudaDeviceProp p = describe(device);
    switch (attribute) {
    case cudaDevAttrMaxThreadsPerBlock: *value = p.maxThreadsPerBlock; break;
    case cudaDevAttrMaxBlockDimX: *value = p.maxThreadsDim[0]; break;
    case cudaDevAttrMaxBlockDimY: *value = p.maxThreadsDim[1]; break;
    case cudaDevAttrMaxBlockDimZ: *value = p.maxThreadsDim[2]; break;
    case cudaDevAttrMaxGridDimX: *value = p.maxGridSize[0]; break;
    case cudaDevAttrMaxGridDimY: *value = p.maxGridSize[1]; break;
    case cudaDevAttrMaxGridDimZ: *value = p.maxGridSize[2]; break;
    case cudaDevAttrMaxSharedMemoryPerBlock: *value = (int)p.sharedMemPerBlock; break;
    case cudaDevAttrWarpSize: *value = p.warpSize; break;
    case cudaDevAttrClockRate:
    case cudaDevAttrMemoryClockRate: *value = 1000000; break; // kHz
    case cudaDevAttrMultiProcessorCount: *value = p.multiProcessorCount; break;
    case cudaDevAttrGlobalMemoryBusWidth: *value = p.memoryBusWidth; break;
    case cudaDevAttrL2CacheSize: *value = p.l2CacheSize; break;
    case cudaDevAttrUnifiedAddressing: *value = p.unifiedAddressing; break;
    case cudaDevAttrComputeCapabilityMajor: *value = p.major; break;
    case cudaDevAttrComputeCapabilityMinor: *value = p.minor; break;
    default: return done(cudaErrorInvalidValue);
    }
    return cudaSuccess;
}

cudaError_t cudaDeviceGetPCIBusId(char *id, int length, int device) {
    const cudaError_t result = device_exists(device);
    if (result == cudaSuccess) snprintf(id, (size_t)length, "0000:%02X:00.0", (unsigned)device);
    return done(result);
}

cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest) {
    if (least) *least = 0;
    if (greatest) *greatest = GREATEST_PRIORITY;
    return cudaSuccess;
}

cudaError_t cudaDeviceCanAccessPeer(int *can, int device, int peer) {
    cudaError_t result = device_exists(device);
    if (result == cudaSuccess) result = device_exists(peer);
    if (result == cudaSuccess) *can = device != peer && have_peers();
    return done(result);
}

cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags) {
    hold lock(everything);
    int device;
    cudaError_t result = current_device(&device);
    if (result == cudaSuccess) result = device_exists(peer);
    if (result == cudaSuccess && (peer == device || flags != 0)) result = cudaErrorInvalidDevice;
    if (result == cudaSuccess && !have_peers()) result = cudaErrorPeerAccessUnsupported;
    if (result == cudaSuccess && !peers.insert({device, peer}).second)
        result = cudaErrorPeerAccessAlreadyEnabled;
    return done(result);
}
