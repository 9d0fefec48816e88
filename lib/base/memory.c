// SPDX-License-Identifier: MIT
#include "base/memory.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

// From this size on a buffer is aligned to, and asks for, huge pages: below it they would only
// waste memory.
enum { HUGE_PAGE = 2 << 20 };

static void *no_memory(error *err, size_t count, size_t size) {
    error_set(err, STATUS_FAILED, "out of memory: cannot allocate %zu elements of %zu bytes", count,
              size);
    return NULL;
}

void *memory_new(size_t count, size_t size, error *err) {
    void *p = calloc(count ? count : 1, size ? size : 1);
    return p ? p : no_memory(err, count, size);
}

void *memory_new_aligned(size_t count, size_t size, error *err) {
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes) || bytes > SIZE_MAX / 2)
        return no_memory(err, count, size);
    size_t align = bytes >= HUGE_PAGE ? (size_t)HUGE_PAGE : (size_t)MEMORY_ALIGNMENT;
    size_t round = (bytes + MEMORY_ALIGNMENT) / MEMORY_ALIGNMENT * MEMORY_ALIGNMENT;
    void *p = NULL;
    if (posix_memalign(&p, align, round)) return no_memory(err, count, size);
    if (align == HUGE_PAGE)
        (void)madvise(p, round, MADV_HUGEPAGE); // advice: a refusal is no failure
    memset(p, 0, round);
    return p;
}

status memory_grow(void **array, size_t *capacity, size_t needed, size_t size, error *err) {
    if (needed <= *capacity) return STATUS_OK;
    size_t room = *capacity ? *capacity : 8, bytes;
    while (room < needed)
        if (__builtin_mul_overflow(room, (size_t)2, &room)) goto refuse;
    if (__builtin_mul_overflow(room, size, &bytes)) goto refuse;
    void *p = realloc(*array, bytes);
    if (!p) goto refuse;
    *array = p;
    *capacity = room;
    return STATUS_OK;
refuse:
    (void)no_memory(err, needed, size);
    return STATUS_FAILED;
}

char *memory_string(const char *text, error *err) {
    char *copy = strdup(text);
    return copy ? copy : no_memory(err, strlen(text) + 1, 1);
}

char *memory_format(error *err, const char *format, ...) {
    char *text = NULL;
    va_list args;
    va_start(args, format);
    int n = vasprintf(&text, format, args);
    va_end(args);
    return n >= 0 ? text : no_memory(err, 1, strlen(format));
}
