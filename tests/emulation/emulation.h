// emulation.h - what the files of the emulation know of each other; see cuda_runtime_api.h.
//
// One lock guards everything, and is held while a kernel runs: host threads take turns.
#ifndef LOCKSTEP_EMULATION_EMULATION_H
#define LOCKSTEP_EMULATION_EMULATION_H

#include <cstddef>
#include <cstdio>
#include <functional>
#include <mutex>
#include <vector>

#include "cuda_runtime_api.h"

// gcc and clang say in different ways that AddressSanitizer is on.
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
// Of LOCKSTEP_EMULATED_ORDER, read each time: a test may change it.
order run_order();
// The numbers 0 … n-1 as they are to be taken; in order::shuffle differently each time.
void arrange(std::vector<size_t> *numbers, size_t n);

// ---- devices.cc ----

// What every function of the runtime returns by: keeps an error for cudaGetLastError().
cudaError_t done(cudaError_t result);
cudaError_t device_exists(int device);
// Of the calling thread; fails where there are no devices.
cudaError_t current_device(int *device);
// Of streams: lower numbers go first; 0 is the default, and the least.
enum { GREATEST_PRIORITY = -5 };
// Whether kernels of a device may touch memory of another one: access was enabled.
bool reaches(int device, int peer);

// ---- memory.cc ----

enum class memory { pageable, pinned, device, invalid };
// Where `count` bytes lie; invalid: partly inside of an allocation and partly not.
memory where(const void *pointer, size_t count, int *device = nullptr);

// Puts a file in the place of the pages of an allocation, once; what they hold stays. It is closed
// when the memory is freed. Other processes may map it.
cudaError_t share_memory(const void *pointer, int *file, size_t *size, int *device);
// Memory of another process, mapped at `at`, is device memory from now on, or no longer.
void add_foreign(void *at, size_t size, int device);
cudaError_t remove_foreign(void *at, size_t *size);
// Bytes of memory that `size` bytes of a device take.
size_t whole_pages(size_t size);

// While one of these lives, device memory may be touched. Otherwise AddressSanitizer, where it
// is there, reports whoever does.
class device_access {
  public:
    device_access();
    ~device_access();
    device_access(const device_access &) = delete;
    device_access &operator=(const device_access &) = delete;
};

// While one of these lives, and device memory may be touched, that of devices which this one does
// not reach may not.
class kernel_access {
  public:
    explicit kernel_access(int device);
    ~kernel_access();
    void close(); // nothing may be touched
    void open();  // as in the beginning
    kernel_access(const kernel_access &) = delete;
    kernel_access &operator=(const kernel_access &) = delete;

  private:
    int device_;
};

// ---- copies.cc ----

// The file of this name in the environment, to add lines to; null: none was asked for.
FILE *open_list(const char *variable);
// A copy has been made.
void note_copy(const void *to, const void *from, size_t count);

// ---- streams.cc ----

// Returns cudaErrorNotReady as long as it waits for another process, and is then called again.
using work = std::function<cudaError_t()>;
// Into the stream, or into the graph that it captures. `stream` NULL: the current device's.
cudaError_t submit(cudaStream_t stream, work what);
// Whether the stream exists and belongs to the current device.
cudaError_t stream_is_here(cudaStream_t stream);
// Fails during a capture that forbids calls which allocate, free or wait; the capture is lost.
cudaError_t allowed_now();
// Waits for all work of all streams of one device, or of all.
cudaError_t finish_device(int device);
cudaError_t finish_all();
// Asks `what` until it does not say cudaErrorNotReady, or for LOCKSTEP_EMULATED_SECONDS.
cudaError_t wait_patiently(const work &what);
double patience_seconds();

} // namespace emulation

#endif
