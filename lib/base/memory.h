// SPDX-License-Identifier: MIT
// memory.h - allocation that cannot overflow, with a message if it fails.
#ifndef LOCKSTEP_BASE_MEMORY_H
#define LOCKSTEP_BASE_MEMORY_H

#include <stddef.h>

#include "base/error.h"

// Every float buffer that kernels touch starts on this boundary: a cache line and an AVX-512
// register.
enum { MEMORY_ALIGNMENT = 64 };

// Returns `count` zeroed elements of `size` bytes; free() them. NULL, with `err` filled, if there
// is no memory or the product overflows. count = 0 gives a valid pointer.
void *memory_new(size_t count, size_t size, error *err) MUST_CHECK;

// The same, aligned to MEMORY_ALIGNMENT, backed by huge pages if the system grants them. free() it.
void *memory_new_aligned(size_t count, size_t size, error *err) MUST_CHECK;

// Grows *array (elements of `size` bytes, room for *capacity) to hold at least `needed`, by
// doubling. New elements are not zeroed. On failure the old array stays valid.
status memory_grow(void **array, size_t *capacity, size_t needed, size_t size,
                   error *err) MUST_CHECK;

// Returns a copy of a string; free() it. NULL, with `err` filled, if there is no memory.
char *memory_string(const char *text, error *err) MUST_CHECK;

// Formats as printf does into a new string; free() it.
char *memory_format(error *err, const char *format, ...) PRINTF_LIKE(2, 3) MUST_CHECK;

#endif
