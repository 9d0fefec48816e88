// SPDX-License-Identifier: MIT
// cuda_runtime.h - CUDA's kernel language for a plain C++ compiler; see cuda_runtime_api.h.
#ifndef LOCKSTEP_EMULATION_CUDA_RUNTIME_H
#define LOCKSTEP_EMULATION_CUDA_RUNTIME_H

#include "cuda_runtime_api.h"

#ifdef __cplusplus // C has no kernels, but may include this header

#include <math.h>
#include <string.h>

#include <functional>
#include <tuple>

#define __global__
#define __device__
#define __host__
#define __forceinline__        inline __attribute__((always_inline))
#define __launch_bounds__(...) // the host has no registers to share out
// One block runs at a time, so shared variables may be static. All of them lie in one section
// (shared.ld), which is filled with NaN before each block.
#define __shared__ static

// exact_winograd.cuh. What counts the work of a GPU's launches needs the GPU's portions.
#ifndef EMULATION_COUNTS
#define PORTION_FLOATS (1 << 18)
#endif

// ---- Launching ----

namespace emulation {

// The source line at which a thread waits for others.
struct place {
    const char *file;
    int line;
};

// Submits a launch to a stream; `body` is one thread.
cudaError_t launch(const char *kernel, place from, const cudaLaunchConfig_t &config,
                   std::function<void()> body);

// Copies the arguments now and converts them to the kernel's parameters, as a launch does.
template <typename... Parameters, typename... Arguments>
cudaError_t launch_kernel(const char *name, place from, const cudaLaunchConfig_t *config,
                          void (*kernel)(Parameters...), Arguments &&...arguments) {
    std::tuple<Parameters...> values{static_cast<Parameters>(arguments)...};
    return launch(name, from, *config, [kernel, values] { std::apply(kernel, values); });
}

void barrier(place here);
void wait_for_grids(place here);
void warp_barrier(unsigned mask, place here);
// Waits for all lanes of the warp; returns the value of lane `from`.
unsigned long long exchange(unsigned mask, unsigned long long value, unsigned from, place here);
unsigned lane(void);
void fence();

// What counts.cc counts of each thread. A join: of the block with others, at a counter.
enum counted { MULTIPLY_ADD, LOAD, EXCHANGE, JOIN, COUNTED };
#ifdef EMULATION_COUNTS
void note(counted what);
#else
inline void note(counted) {}
#endif

} // namespace emulation

// A macro, because messages name the kernel.
#define cudaLaunchKernelEx(config, kernel, ...)                                             \
    emulation::launch_kernel(#kernel, emulation::place{__FILE__, __LINE__}, config, kernel, \
                             ##__VA_ARGS__)

// Kernels count as compiled for the emulated device.
template <typename T> cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *attributes, T *) {
    attributes->ptxVersion = attributes->binaryVersion = 90;
    return cudaSuccess;
}

// ---- A thread's place in the grid ----

// Set for the thread that runs: only one runs at a time.
extern uint3 threadIdx, blockIdx;
extern dim3 blockDim, gridDim;
constexpr int warpSize = 32;

inline void __syncthreads(const char *file = __builtin_FILE(), int line = __builtin_LINE()) {
    emulation::barrier({file, line});
}

inline void __syncwarp(unsigned mask = 0xffffffffu, const char *file = __builtin_FILE(),
                       int line = __builtin_LINE()) {
    emulation::warp_barrier(mask, {file, line});
}

// Earlier kernels have always completed. The emulation checks that a kernel waits for them if it
// should.
inline void cudaGridDependencySynchronize(const char *file = __builtin_FILE(),
                                          int line = __builtin_LINE()) {
    emulation::wait_for_grids({file, line});
}

// No kernel begins before the earlier ones have ended.
inline void cudaTriggerProgrammaticLaunchCompletion() {}

// ---- Exchange within a warp; only with all lanes, so only whole warps ----

namespace emulation {

template <typename T> T shuffle(unsigned mask, T value, unsigned from, place here) {
    static_assert(sizeof(T) <= sizeof(unsigned long long), "a lane exchanges up to 8 bytes");
    note(EXCHANGE);
    unsigned long long bits = 0;
    memcpy(&bits, &value, sizeof value);
    bits = exchange(mask, bits, from, here);
    memcpy(&value, &bits, sizeof value);
    return value;
}

} // namespace emulation

template <typename T>
T __shfl_sync(unsigned mask, T value, int from, const char *file = __builtin_FILE(),
              int line = __builtin_LINE()) {
    return emulation::shuffle(mask, value, (unsigned)from % 32, {file, line});
}

template <typename T>
T __shfl_xor_sync(unsigned mask, T value, int distance, const char *file = __builtin_FILE(),
                  int line = __builtin_LINE()) {
    return emulation::shuffle(mask, value, (emulation::lane() ^ (unsigned)distance) % 32,
                              {file, line});
}

// Lanes past the last one return their own value.
template <typename T>
T __shfl_down_sync(unsigned mask, T value, unsigned distance, const char *file = __builtin_FILE(),
                   int line = __builtin_LINE()) {
    const unsigned from = emulation::lane() + distance;
    return emulation::shuffle(mask, value, from < 32 ? from : emulation::lane(), {file, line});
}

// ---- Between blocks ----

inline unsigned long long atomicAdd(unsigned long long *sum, unsigned long long value) {
    return __atomic_fetch_add(sum, value, __ATOMIC_RELAXED);
}

inline unsigned atomicAdd(unsigned *sum, unsigned value) {
    emulation::note(emulation::JOIN);
    return __atomic_fetch_add(sum, value, __ATOMIC_RELAXED);
}

// One thread runs at a time, and there are no caches: a write is visible at once. Only a search for
// races needs the fence.
inline void __threadfence() {
    emulation::fence();
}

template <typename T> T __ldcg(const T *from) {
    return *from;
}

// ---- Counted multiply-adds ----

#ifdef EMULATION_COUNTS
namespace emulation {

inline float counted_fmaf(float a, float b, float c) {
    note(MULTIPLY_ADD);
    return fmaf(a, b, c);
}

} // namespace emulation

#define fmaf emulation::counted_fmaf
#endif

// ---- Small functions ----

inline unsigned __float_as_uint(float value) {
    unsigned bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

inline float __uint_as_float(unsigned bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

inline float2 make_float2(float x, float y) {
    return {x, y};
}

inline float4 make_float4(float x, float y, float z, float w) {
    return {x, y, z, w};
}

template <typename T> constexpr T min(T a, T b) {
    return b < a ? b : a;
}

template <typename T> constexpr T max(T a, T b) {
    return a < b ? b : a;
}

#endif

#endif
