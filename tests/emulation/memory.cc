// SPDX-License-Identifier: MIT
// Memory: a table of allocations, and copies that check it first.
#include "emulation.h"
#include "races.h"

#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>

#ifdef EMULATION_ASAN
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(address, size)   ((void)(address), (void)(size))
#define ASAN_UNPOISON_MEMORY_REGION(address, size) ((void)(address), (void)(size))
#endif

namespace emulation {

struct allocation {
    size_t size;
    int device;           // PINNED: of the host
    int file = -1;        // for other processes to map; -1: none
    bool foreign = false; // another process's
};

static const int PINNED = -1;
static const size_t PAGE = 4096;
static const size_t HUGE_PAGE = 2 << 20;
static const int FRESH = 0xff; // fills new memory: NaN in every type
static std::map<uintptr_t, allocation> allocations;
static int accesses; // number of device_access objects

memory where(const void *pointer, size_t count, int *device) {
    const uintptr_t first = (uintptr_t)pointer, end = first + count;
    auto after = allocations.upper_bound(first);
    if (after != allocations.begin()) {
        const auto &[base, found] = *std::prev(after);
        if (first < base + found.size) {
            if (end > base + found.size) return memory::invalid;
            if (device) *device = found.device;
            return found.device == PINNED ? memory::pinned : memory::device;
        }
    }
    const bool runs_into_one = after != allocations.end() && end > after->first;
    return runs_into_one || !pointer ? memory::invalid : memory::pageable;
}

device_access::device_access() {
    if (accesses++ > 0) return;
    for (const auto &[base, a] : allocations)
        if (a.device != PINNED) ASAN_UNPOISON_MEMORY_REGION((void *)base, a.size);
}

device_access::~device_access() {
    if (--accesses > 0) return;
    for (const auto &[base, a] : allocations)
        if (a.device != PINNED) ASAN_POISON_MEMORY_REGION((void *)base, a.size);
}

// Any device may touch another process's memory once it is opened.
static bool is_out_of_reach(const allocation &a, int device) {
    return a.device != PINNED && !a.foreign && !reaches(device, a.device);
}

kernel_access::kernel_access(int device) : device_(device) {
    for (const auto &[base, a] : allocations)
        if (is_out_of_reach(a, device_)) ASAN_POISON_MEMORY_REGION((void *)base, a.size);
}

kernel_access::~kernel_access() {
    for (const auto &[base, a] : allocations)
        if (is_out_of_reach(a, device_)) ASAN_UNPOISON_MEMORY_REGION((void *)base, a.size);
}

void kernel_access::close() {
    for (const auto &[base, a] : allocations)
        if (a.device != PINNED) ASAN_POISON_MEMORY_REGION((void *)base, a.size);
}

void kernel_access::open() {
    for (const auto &[base, a] : allocations)
        if (a.device != PINNED && !is_out_of_reach(a, device_))
            ASAN_UNPOISON_MEMORY_REGION((void *)base, a.size);
}

// ---- Allocating and freeing ----

static size_t total_bytes() {
    const char *text = getenv("LOCKSTEP_EMULATED_MEMORY");
    return text && *text ? strtoull(text, nullptr, 10) : (size_t)16 << 30;
}

static size_t used_bytes(int device) {
    size_t sum = 0;
    for (const auto &[base, a] : allocations) sum += a.device == device && !a.foreign ? a.size : 0;
    return sum;
}

static cudaError_t take(void **pointer, size_t size, int device) {
    *pointer = nullptr;
    if (size == 0) return cudaSuccess;
    if (device != PINNED && size > total_bytes() - used_bytes(device))
        return cudaErrorMemoryAllocation;
    // Device memory has whole pages, so that a file can replace them. AddressSanitizer receives the
    // exact end, so that it detects the first byte past it. Huge pages make a cuBLAS workspace
    // cheap.
    const size_t room = device == PINNED ? size : whole_pages(size);
    if (posix_memalign(pointer, size < HUGE_PAGE ? PAGE : HUGE_PAGE, room) != 0)
        return cudaErrorMemoryAllocation;
    if (size >= HUGE_PAGE) (void)madvise(*pointer, size & ~(HUGE_PAGE - 1), MADV_HUGEPAGE);
    memset(*pointer, FRESH, size);
    allocations[(uintptr_t)*pointer] = {size, device};
    races::add_memory(*pointer, size);
    if (device == PINNED) return cudaSuccess;
    ASAN_POISON_MEMORY_REGION((char *)*pointer + size, room - size);
    if (accesses == 0) ASAN_POISON_MEMORY_REGION(*pointer, size);
    return cudaSuccess;
}

// Returns ordinary memory to the heap. Processes that have the memory open hold a lock (ipc.cc).
static void unshare(void *pointer, const allocation &a) {
    if (a.file < 0) return;
    if (flock(a.file, LOCK_EX | LOCK_NB) != 0) {
        fprintf(stderr, "emulation: memory is freed while another process has it open\n");
        abort();
    }
    close(a.file);
    if (mmap(pointer, whole_pages(a.size), PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
        abort();
}

static cudaError_t give_back(void *pointer, bool pinned) {
    const auto found = allocations.find((uintptr_t)pointer);
    if (found == allocations.end() || found->second.foreign ||
        (found->second.device == PINNED) != pinned)
        return cudaErrorInvalidValue;
    const allocation &a = found->second;
    ASAN_UNPOISON_MEMORY_REGION(pointer, pinned ? a.size : whole_pages(a.size));
    races::remove_memory(pointer, a.size);
    unshare(pointer, a);
    allocations.erase(found);
    free(pointer);
    return cudaSuccess;
}

// ---- Memory that processes share ----

size_t whole_pages(size_t size) {
    return (size + PAGE - 1) / PAGE * PAGE;
}

// Copies the pages to a new file of that size.
static int make_file(const void *pages, size_t size) {
    const int file = memfd_create("lockstep-device-memory", MFD_CLOEXEC);
    if (file < 0 || ftruncate(file, (off_t)size) != 0) return -1;
    void *at = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (at == MAP_FAILED) return -1;
    memcpy(at, pages, size);
    munmap(at, size);
    return file;
}

cudaError_t share_memory(const void *pointer, int *file, size_t *size, int *device) {
    const auto found = allocations.find((uintptr_t)pointer);
    if (found == allocations.end() || found->second.device == PINNED || found->second.foreign)
        return cudaErrorInvalidValue;
    allocation &a = found->second;
    const size_t room = whole_pages(a.size);
    void *const at = (void *)found->first;
    if (a.file < 0) {
        ASAN_UNPOISON_MEMORY_REGION(at, room);
        a.file = make_file(at, room);
        if (a.file < 0 ||
            mmap(at, room, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, a.file, 0) == MAP_FAILED)
            abort();
        const size_t open = accesses > 0 ? a.size : 0;
        ASAN_POISON_MEMORY_REGION((char *)at + open, room - open);
    }
    *file = a.file;
    *size = a.size;
    *device = a.device;
    return cudaSuccess;
}

void add_foreign(void *at, size_t size, int device) {
    allocations[(uintptr_t)at] = {size, device, -1, true};
    races::add_memory(at, size);
    const size_t open = accesses > 0 ? size : 0;
    ASAN_POISON_MEMORY_REGION((char *)at + open, whole_pages(size) - open);
}

cudaError_t remove_foreign(void *at, size_t *size) {
    const auto found = allocations.find((uintptr_t)at);
    if (found == allocations.end() || !found->second.foreign) return cudaErrorInvalidValue;
    *size = found->second.size;
    races::remove_memory(at, *size);
    ASAN_UNPOISON_MEMORY_REGION(at, whole_pages(*size));
    allocations.erase(found);
    return cudaSuccess;
}

// ---- Copies ----

// Whether the kinds of `to` and `from` match the direction.
static bool direction_fits(memory to, memory from, cudaMemcpyKind kind) {
    const bool to_device = to == memory::device, from_device = from == memory::device;
    if (to == memory::invalid || from == memory::invalid) return false;
    switch (kind) {
    case cudaMemcpyHostToHost: return !to_device && !from_device;
    case cudaMemcpyHostToDevice: return to_device && !from_device;
    case cudaMemcpyDeviceToHost: return !to_device && from_device;
    case cudaMemcpyDeviceToDevice: return to_device && from_device;
    case cudaMemcpyDefault: return true;
    }
    return false;
}

static cudaError_t check_copy(const void *to, const void *from, size_t count, cudaMemcpyKind kind) {
    if (kind < cudaMemcpyHostToHost || kind > cudaMemcpyDefault)
        return cudaErrorInvalidMemcpyDirection;
    return direction_fits(where(to, count), where(from, count), kind) ? cudaSuccess
                                                                      : cudaErrorInvalidValue;
}

static cudaError_t submit_copy(void *to, const void *from, size_t count, cudaMemcpyKind kind,
                               cudaStream_t stream) {
    if (count == 0) return cudaSuccess;
    const cudaError_t result = check_copy(to, from, count, kind);
    if (result != cudaSuccess) return result;
    // Checked again when it runs: a graph may outlive the memory that it was captured with.
    return submit(stream, [=] {
        const cudaError_t now = check_copy(to, from, count, kind);
        if (now != cudaSuccess) return now;
        memmove(to, from, count);
        note_copy(to, from, count);
        return now;
    });
}

// Ordinary host memory is copied before the call returns, which is impossible in a capture.
static cudaError_t finish_pageable(void *to, const void *from, size_t count, cudaStream_t stream) {
    if (where(to, count) != memory::pageable && where(from, count) != memory::pageable)
        return cudaSuccess;
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    if (stream) (void)cudaStreamIsCapturing(stream, &status);
    return status == cudaStreamCaptureStatusNone ? cudaStreamSynchronize(stream) : cudaSuccess;
}

static cudaError_t submit_fill(void *pointer, int value, size_t count, cudaStream_t stream) {
    if (count == 0) return cudaSuccess;
    if (where(pointer, count) != memory::device) return cudaErrorInvalidValue;
    return submit(stream, [=] {
        if (where(pointer, count) != memory::device) return cudaErrorInvalidValue;
        memset(pointer, value, count);
        return cudaSuccess;
    });
}

} // namespace emulation

using namespace emulation;

cudaError_t cudaMalloc(void **pointer, size_t size) {
    hold lock(everything);
    int device;
    cudaError_t result = current_device(&device);
    if (result == cudaSuccess) result = allowed_now();
    return done(result == cudaSuccess ? take(pointer, size, device) : result);
}

cudaError_t cudaFree(void *pointer) {
    hold lock(everything);
    if (!pointer) return cudaSuccess;
    cudaError_t result = allowed_now();
    if (result == cudaSuccess) result = finish_all();
    return done(result == cudaSuccess ? give_back(pointer, false) : result);
}

cudaError_t cudaHostAlloc(void **pointer, size_t size, unsigned flags) {
    hold lock(everything);
    (void)flags;
    int device;
    cudaError_t result = current_device(&device);
    if (result == cudaSuccess) result = allowed_now();
    return done(result == cudaSuccess ? take(pointer, size, PINNED) : result);
}

cudaError_t cudaMallocHost(void **pointer, size_t size) {
    return cudaHostAlloc(pointer, size, cudaHostAllocDefault);
}

cudaError_t cudaFreeHost(void *pointer) {
    hold lock(everything);
    if (!pointer) return cudaSuccess;
    cudaError_t result = allowed_now();
    if (result == cudaSuccess) result = finish_all();
    return done(result == cudaSuccess ? give_back(pointer, true) : result);
}

cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total) {
    hold lock(everything);
    int device;
    const cudaError_t result = current_device(&device);
    *total = total_bytes();
    *free_bytes = *total - used_bytes(device);
    return done(result);
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t count, cudaMemcpyKind kind,
                            cudaStream_t stream) {
    hold lock(everything);
    const cudaError_t result = submit_copy(to, from, count, kind, stream);
    return done(result == cudaSuccess ? finish_pageable(to, from, count, stream) : result);
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t count, cudaMemcpyKind kind) {
    hold lock(everything);
    cudaError_t result = allowed_now();
    if (result == cudaErrorStreamCaptureUnsupported) result = cudaErrorStreamCaptureImplicit;
    if (result == cudaSuccess) result = submit_copy(to, from, count, kind, nullptr);
    // Does not wait from device to device; neither does cudaMemset.
    const bool inside = where(to, count) == memory::device && where(from, count) == memory::device;
    return done(result == cudaSuccess && !inside ? cudaStreamSynchronize(nullptr) : result);
}

cudaError_t cudaMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device,
                                size_t count, cudaStream_t stream) {
    hold lock(everything);
    int to_owner = PINNED, from_owner = PINNED;
    if (count > 0 &&
        (where(to, count, &to_owner) != memory::device || to_owner != to_device ||
         where(from, count, &from_owner) != memory::device || from_owner != from_device))
        return done(cudaErrorInvalidValue);
    return done(submit_copy(to, from, count, cudaMemcpyDeviceToDevice, stream));
}

cudaError_t cudaMemsetAsync(void *pointer, int value, size_t count, cudaStream_t stream) {
    hold lock(everything);
    return done(submit_fill(pointer, value, count, stream));
}

cudaError_t cudaMemset(void *pointer, int value, size_t count) {
    hold lock(everything);
    cudaError_t result = allowed_now();
    if (result == cudaErrorStreamCaptureUnsupported) result = cudaErrorStreamCaptureImplicit;
    return done(result == cudaSuccess ? submit_fill(pointer, value, count, nullptr) : result);
}
