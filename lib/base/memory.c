// SPDX-License-Identifier: MIT
#include "base/memory.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

// From this size on a buffer is aligned to, and asks for, huge pages: below it they would only
// waste memory.
enum { HUGE_PAGE = 2 << 20 };

// ---- The end without memory ----

// The only state of the library that changes and belongs to no caller: whoever runs out of memory,
// in whatever thread, knows nothing of what the process must still do. A slot is taken by setting
// its process, and is ready once it has an act.
enum { ACTS = 64 };
static struct {
    _Atomic(pid_t) process; // 0: free
    _Atomic(memory_last_act *) act;
    _Atomic(void *) argument;
} acts[ACTS];
static _Atomic(memory_end *) end_by;
static atomic_flag dying = ATOMIC_FLAG_INIT;

void memory_at_death(memory_last_act *act, void *argument) {
    for (int i = 0; i < ACTS; i++) {
        pid_t none = 0;
        if (!atomic_compare_exchange_strong(&acts[i].process, &none, getpid())) continue;
        atomic_store(&acts[i].argument, argument);
        atomic_store(&acts[i].act, act);
        return;
    }
}

void memory_forget(memory_last_act *act, void *argument) {
    for (int i = 0; i < ACTS; i++) {
        if (atomic_load(&acts[i].process) != getpid() || atomic_load(&acts[i].act) != act ||
            atomic_load(&acts[i].argument) != argument)
            continue;
        atomic_store(&acts[i].act, NULL);
        atomic_store(&acts[i].process, 0);
        return;
    }
}

void memory_die_by(memory_end *end) {
    atomic_store(&end_by, end);
}

// "out of memory: cannot allocate 4096 bytes": snprintf may allocate.
static void describe(size_t bytes, char text[64]) {
    char digits[24], *first = digits + sizeof digits - 1;
    *first = 0;
    for (size_t rest = bytes; rest; rest /= 10) *--first = (char)('0' + rest % 10);
    strcpy(text, "out of memory");
    if (!bytes) return;
    strcat(text, ": cannot allocate ");
    strcat(text, bytes == SIZE_MAX ? "so many" : first);
    strcat(text, " bytes");
}

static void print(const char *message) {
    char line[128] = "";
    strncat(line, program_invocation_short_name, 32);
    strcat(line, ": ");
    strcat(line, message);
    strcat(line, "\n");
    (void)!write(STDERR_FILENO, line, strlen(line));
}

_Noreturn void memory_die(size_t bytes) {
    memory_end *end = atomic_load(&end_by);
    char message[64];
    bool told = false;
    if (end) end(bytes);
    while (atomic_flag_test_and_set(&dying)) pause(); // another thread ends the process
    describe(bytes, message);
    for (int i = 0; i < ACTS; i++) {
        memory_last_act *act = atomic_load(&acts[i].act);
        if (act && atomic_load(&acts[i].process) == getpid())
            told |= act(atomic_load(&acts[i].argument), message);
    }
    if (!told) print(message);
    _exit(STATUS_FAILED);
}

// SIZE_MAX if the product overflows.
static size_t product(size_t count, size_t size) {
    size_t bytes;
    return __builtin_mul_overflow(count, size, &bytes) ? SIZE_MAX : bytes;
}

// ---- Allocation of sizes that a file or a user dictates ----

static void *no_memory(error *err, size_t count, size_t size) {
    error_set(err, STATUS_FAILED, "out of memory: cannot allocate %zu elements of %zu bytes", count,
              size);
    return NULL;
}

// NULL: no memory.
static void *allocate(size_t count, size_t size) {
    return calloc(count ? count : 1, size ? size : 1);
}

static void *allocate_aligned(size_t count, size_t size) {
    const size_t bytes = product(count, size);
    if (bytes > SIZE_MAX / 2) return NULL;
    size_t align = bytes >= HUGE_PAGE ? (size_t)HUGE_PAGE : (size_t)MEMORY_ALIGNMENT;
    size_t round = (bytes + MEMORY_ALIGNMENT) / MEMORY_ALIGNMENT * MEMORY_ALIGNMENT;
    void *p = NULL;
    if (posix_memalign(&p, align, round)) return NULL;
    if (align == HUGE_PAGE)
        (void)madvise(p, round, MADV_HUGEPAGE); // advice: a refusal is no failure
    memset(p, 0, round);
    return p;
}

// Returns false if there is no memory.
static bool grow(void **array, size_t *capacity, size_t needed, size_t size) {
    if (needed <= *capacity) return true;
    size_t room = *capacity ? *capacity : 8, bytes;
    while (room < needed)
        if (__builtin_mul_overflow(room, (size_t)2, &room)) return false;
    if (__builtin_mul_overflow(room, size, &bytes)) return false;
    void *p = realloc(*array, bytes);
    if (!p) return false;
    *array = p;
    *capacity = room;
    return true;
}

void *memory_try_new(size_t count, size_t size, error *err) {
    void *p = allocate(count, size);
    return p ? p : no_memory(err, count, size);
}

void *memory_try_new_aligned(size_t count, size_t size, error *err) {
    void *p = allocate_aligned(count, size);
    return p ? p : no_memory(err, count, size);
}

status memory_try_grow(void **array, size_t *capacity, size_t needed, size_t size, error *err) {
    if (grow(array, capacity, needed, size)) return STATUS_OK;
    (void)no_memory(err, needed, size);
    return STATUS_FAILED;
}

// ---- Allocation that cannot fail ----

void *memory_new(size_t count, size_t size) {
    void *p = allocate(count, size);
    if (!p) memory_die(product(count, size));
    return p;
}

void *memory_new_aligned(size_t count, size_t size) {
    void *p = allocate_aligned(count, size);
    if (!p) memory_die(product(count, size));
    return p;
}

void *memory_grow(void *array, size_t *capacity, size_t needed, size_t size) {
    if (!grow(&array, capacity, needed, size)) memory_die(product(needed, size));
    return array;
}

char *memory_string(const char *text) {
    const size_t bytes = strlen(text) + 1;
    return memcpy(memory_new(bytes, 1), text, bytes);
}

char *memory_format_list(const char *format, va_list args) {
    char *text = NULL;
    if (vasprintf(&text, format, args) < 0) memory_die(0);
    return text;
}

char *memory_format(const char *format, ...) {
    va_list args;
    va_start(args, format);
    char *text = memory_format_list(format, args);
    va_end(args);
    return text;
}
