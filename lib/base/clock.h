// SPDX-License-Identifier: MIT
// clock.h - the monotonic clock for durations, and the wall clock for timestamps.
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

// Reads a text of clock_utc as seconds since 1970; false for any other text.
bool clock_read_utc(const char *text, int64_t *seconds) MUST_CHECK;

#endif
