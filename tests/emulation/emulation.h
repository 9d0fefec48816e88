// SPDX-License-Identifier: MIT
// emulation.h - shared by the emulation's files; see cuda_runtime_api.h.
//
// One lock guards everything, and is held while a kernel runs: host threads take turns.
#ifndef LOCKSTEP_EMULATION_EMULATION_H
#define LOCKSTEP_EMULATION_EMULATION_H

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <mutex>
#include <vector>

#include "cuda_runtime_api.h"

// gcc and clang announce AddressSanitizer in different ways.
#if defined(__SANITIZE_ADDRESS__)
#define EMULATION_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define EMULATION_ASAN 1
#endif
#endif

namespace emulation {

extern std::recursive_mutex everything;
using hold = std::lock_guard<std::recursive_mutex>;

// ---- order.cc ----

enum class order { forward, backward, shuffle };
// Reads LOCKSTEP_EMULATED_ORDER each time: a test may change it.
order run_order();
// The numbers 0 … n-1 in the order in which to take them; each time another for order::shuffle.
void arrange(std::vector<size_t> *numbers, size_t n);

// ---- devices.cc ----

// Keeps an error for cudaGetLastError(). Every function of the runtime returns through it.
cudaError_t done(cudaError_t result);
cudaError_t device_exists(int device);
// A number for the host, from its name: devices and shared memory of another host are others.
uint32_t this_host();
// The calling thread's device; fails if there are no devices.
cudaError_t current_device(int *device);
// Stream priorities: lower numbers go first; 0 is the default, and the least.
enum { GREATEST_PRIORITY = -5 };
// Whether kernels of a device may touch another one's memory: access was enabled.
bool reaches(int device, int peer);

// ---- memory.cc ----

enum class memory { pageable, pinned, device, invalid };
// Returns where `count` bytes lie; invalid: partly inside an allocation and partly outside.
memory where(const void *pointer, size_t count, int *device = nullptr);

// Replaces the pages of an allocation by a file, once, and keeps their contents. Other processes
// may map the file. It is closed when the memory is freed.
cudaError_t share_memory(const void *pointer, int *file, size_t *size, int *device);
// Marks another process's memory, mapped at `at`, as device memory, or removes the mark.
void add_foreign(void *at, size_t size, int device);
cudaError_t remove_foreign(void *at, size_t *size);
// Bytes of memory that an allocation of `size` bytes on a device takes.
size_t whole_pages(size_t size);

// Device memory may be touched while one of these exists. At any other time AddressSanitizer, if
// enabled, reports the access.
class device_access {
  public:
    device_access();
    ~device_access();
    device_access(const device_access &) = delete;
    device_access &operator=(const device_access &) = delete;
};

// While one of these exists, and device memory may be touched, the memory of devices that this one
// does not reach may not.
class kernel_access {
  public:
    explicit kernel_access(int device);
    ~kernel_access();
    void close(); // forbids all device memory
    void open();  // returns to the initial state
    kernel_access(const kernel_access &) = delete;
    kernel_access &operator=(const kernel_access &) = delete;

  private:
    int device_;
};

// ---- copies.cc ----

// Opens for appending the file that this environment variable names; null: it is not set.
FILE *open_list(const char *variable);
// Notes that a copy was made.
void note_copy(const void *to, const void *from, size_t count);

// ---- counts.cc ----

#ifdef EMULATION_COUNTS
constexpr bool COUNTS = true;
#else
constexpr bool COUNTS = false;
#endif
// How many of so many blocks of a grid to run: all, unless LOCKSTEP_EMULATED_BLOCKS is set.
size_t blocks_to_run(size_t blocks);
// Adds the counts of the block that has just run.
void count_block(size_t threads);
// Appends the kernel that has just run to the list.
void list_kernel(const char *kernel, size_t blocks, size_t threads);

// ---- streams.cc ----

// Returns cudaErrorNotReady while it waits for another process, and is then called again.
using work = std::function<cudaError_t()>;
// Adds work to the stream, or to the graph that it captures. `stream` NULL: the current device's.
cudaError_t submit(cudaStream_t stream, work what);
// Whether the stream exists and belongs to the current device.
cudaError_t stream_is_here(cudaStream_t stream);
// Fails during a capture that forbids calls which allocate, free or wait; the capture is lost.
cudaError_t allowed_now();
// Waits for all work of all streams of one device, or of all.
cudaError_t finish_device(int device);
cudaError_t finish_all();
// Calls `what` until it returns no cudaErrorNotReady, at most for LOCKSTEP_EMULATED_SECONDS.
cudaError_t wait_patiently(const work &what);
double patience_seconds();

} // namespace emulation

#endif
