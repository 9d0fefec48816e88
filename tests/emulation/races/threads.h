// SPDX-License-Identifier: MIT
// threads.h - shared by the files that look for races: the order of a kernel's threads.
#ifndef LOCKSTEP_EMULATION_RACES_THREADS_H
#define LOCKSTEP_EMULATION_RACES_THREADS_H

#include <cstdint>

namespace emulation {
namespace races {

enum { WARP_LANES = 32, BLOCK_THREADS = 1024 };

// A thread's stamp counts its barriers and fences.
struct place_in_kernel {
    uint32_t block, thread, stamp;
};

// The running thread; outside kernels all zeros.
place_in_kernel running_thread();
// Whether an access of the same kernel happened before what the running thread does now.
bool happened_in_kernel(const place_in_kernel &access);
// Whether `access` was made by a thread of the running block.
bool in_running_block(const place_in_kernel &access);

// After an atomic operation on the address.
void atomic_at(uintptr_t address);

} // namespace races
} // namespace emulation

#endif
