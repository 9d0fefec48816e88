// SPDX-License-Identifier: MIT
// memory.h - allocation.
//
// What a program needs in small pieces - text, lists, nodes, its own structures - is there, or the
// process ends: nothing above this file handles its absence (memory_die). What a file or a user
// dictates in size - tensors, images, archives, a network's parameters - is bounded first, and then
// allocated by memory_try_*, which can fail with a message.
#ifndef LOCKSTEP_BASE_MEMORY_H
#define LOCKSTEP_BASE_MEMORY_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

// Every float buffer that kernels touch starts on this boundary: a cache line and an AVX-512
// register.
enum { MEMORY_ALIGNMENT = 64 };

// ---- Allocation that cannot fail ----

// Returns `count` zeroed elements of `size` bytes; free() them. count = 0 gives a valid pointer.
void *memory_new(size_t count, size_t size) MUST_CHECK;
// The same, aligned to MEMORY_ALIGNMENT.
void *memory_new_aligned(size_t count, size_t size) MUST_CHECK;

// Returns the array (elements of `size` bytes, room for *capacity) grown to hold at least `needed`,
// by doubling. New elements are not zeroed.
void *memory_grow(void *array, size_t *capacity, size_t needed, size_t size) MUST_CHECK;

// Returns a copy of a string; free() it.
char *memory_string(const char *text) MUST_CHECK;

// Format as printf does into a new string; free() it.
char *memory_format(const char *format, ...) PRINTF_LIKE(1, 2) MUST_CHECK;
char *memory_format_list(const char *format, va_list args) PRINTF_LIKE(1, 0) MUST_CHECK;

// ---- Allocation of sizes that a file or a user dictates ----

// As those above, but they fail with STATUS_FAILED and a message that has the size, and return
// NULL, if there is no memory or the product overflows. Large buffers are backed by huge pages if
// the system grants them. If memory_try_grow fails, the old array stays valid.
void *memory_try_new(size_t count, size_t size, error *err) MUST_CHECK;
void *memory_try_new_aligned(size_t count, size_t size, error *err) MUST_CHECK;
status memory_try_grow(void **array, size_t *capacity, size_t needed, size_t size,
                       error *err) MUST_CHECK;

// ---- The end without memory ----

// Ends the process with exit code STATUS_FAILED: writes "TOOL: out of memory: cannot allocate 4096
// bytes" to standard error (without the size if `bytes` is 0), unless an act says that it will be
// told elsewhere, and does the acts below. Safe in any thread and in forked children: it allocates
// nothing, takes no lock, and leaves stdio and atexit alone. Also for the failures of libraries
// that report no memory.
_Noreturn void memory_die(size_t bytes);

// What a process still does in memory_die: it may only call what is safe in a signal handler.
// `message` is "out of memory: cannot allocate 4096 bytes". Returns true if another process prints
// the message: then this one does not.
typedef bool memory_last_act(void *argument, const char *message);

// Registers an act, for this process and not for the children that it forks, until memory_forget.
// A few dozen acts have room; one for which there is none is not done.
void memory_at_death(memory_last_act *act, void *argument);
void memory_forget(memory_last_act *act, void *argument);

// For shared objects, which have a copy of this file: lets the program that opened them end the
// process, with its own acts.
typedef void memory_end(size_t bytes);
void memory_die_by(memory_end *end);

#endif
