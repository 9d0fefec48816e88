// SPDX-License-Identifier: MIT
// core_use.h - the processor time of each core of this machine, over all processes (/proc/stat).
#ifndef LOCKSTEP_BASE_CORE_USE_H
#define LOCKSTEP_BASE_CORE_USE_H

enum { CORE_USE_CORES = 1024 };

// Counters of the kernel, in seconds, by the core's number; NAN: there is no such core, or the
// machine does not count. They advance in ticks, usually of 0.01 s.
typedef struct core_use {
    double used[CORE_USE_CORES];   // all but idle, stolen time included
    double stolen[CORE_USE_CORES]; // taken by a hypervisor
} core_use;

void core_use_read(core_use *now);

#endif
