// SPDX-License-Identifier: MIT
// shadow.h - shared by the files that look for races: accesses to watched memory.
#ifndef LOCKSTEP_EMULATION_RACES_SHADOW_H
#define LOCKSTEP_EMULATION_RACES_SHADOW_H

#include <cstddef>

namespace emulation {
namespace races {

// Whether this byte is watched: a page-locked allocation may end within a page of the heap.
bool is_watched(const void *at);
// An access by the running thread.
void touch(const void *at, size_t size, bool writes, bool atomic, const void *instruction);

} // namespace races
} // namespace emulation

#endif
