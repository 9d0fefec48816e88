// SPDX-License-Identifier: MIT
// demand.h - whether other programs want this machine's processors now.
#ifndef LOCKSTEP_BASE_DEMAND_H
#define LOCKSTEP_BASE_DEMAND_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define DEMAND_UNKNOWN UINT32_MAX

// Returns how many threads of other programs are runnable on the whole machine (/proc/loadavg): all
// but this thread and those of the `own` processes. It takes up to some milliseconds, and is the
// least of a few counts, so that a moment's work of the kernel does not count. A container sees the
// whole machine, too, unless its /proc is replaced; what its quota leaves it is not seen.
// DEMAND_UNKNOWN where /proc does not say.
uint32_t demand_of_others(const pid_t *own, size_t count);

#endif
