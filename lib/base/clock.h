// clock.h - the monotonic clock that every duration comes from, and the wall clock for "when".
#ifndef LOCKSTEP_BASE_CLOCK_H
#define LOCKSTEP_BASE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

// Nanoseconds on CLOCK_MONOTONIC; only differences mean anything.
uint64_t clock_now(void);

enum { CLOCK_TEXT_BYTES = 32 };

// The current time as "2026-01-31T12:00:00Z" into `text` (CLOCK_TEXT_BYTES).
void clock_utc(char *text);

// What clock_utc wrote, as seconds since 1970; false where the text is none of its.
bool clock_read_utc(const char *text, int64_t *seconds) MUST_CHECK;

#endif
