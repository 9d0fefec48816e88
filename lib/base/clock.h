// SPDX-License-Identifier: MIT
// clock.h - the monotonic clock for durations, the wall clock for timestamps, what the threads of
// this process waited for cores, and the processor time of each core.
#ifndef LOCKSTEP_BASE_CLOCK_H
#define LOCKSTEP_BASE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

// Returns nanoseconds of CLOCK_MONOTONIC; only differences are meaningful.
uint64_t clock_now(void);

enum { CLOCK_TEXT_BYTES = 32 };

// Writes the current time as "2026-01-31T12:00:00Z" to `text` (CLOCK_TEXT_BYTES).
void clock_utc(char *text);
// The same of a time in seconds since 1970; "" if no calendar has it.
void clock_write_utc(int64_t seconds, char *text);

// Reads a text of clock_utc as seconds since 1970; false for any other text.
bool clock_read_utc(const char *text, int64_t *seconds) MUST_CHECK;

// Returns the seconds for which the threads of this process were ready to run and had no core, of
// those that live (/proc/self/task/*/schedstat); NAN: the kernel does not count.
double clock_waited(void);

enum { CORE_USE_CORES = 1024 };

// The processor time of each core of this machine, over all processes (/proc/stat): counters of the
// kernel, in seconds, by the core's number; NAN: there is no such core, or the machine does not
// count. They advance in ticks, usually of 0.01 s.
typedef struct core_use {
    double used[CORE_USE_CORES];   // all but idle, stolen time included
    double stolen[CORE_USE_CORES]; // taken by a hypervisor
} core_use;
void core_use_read(core_use *now);

#endif
