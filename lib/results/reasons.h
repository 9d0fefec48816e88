// SPDX-License-Identifier: MIT
// reasons.h - why something is not done: why times are not compared, how two runs differ, why
// nothing is predicted. As data, for pages in any language, and in English, for files.
#ifndef LOCKSTEP_RESULTS_REASONS_H
#define LOCKSTEP_RESULTS_REASONS_H

#include <stddef.h>

#include "base/text.h"

// `of` says which reason it is: one of reasons.c's table, such as "resumed"; or what differs, in
// English: "global batch".
typedef struct reason {
    const char *of; // static
    char *a, *b;    // what it is about: for a difference the two values, "?" if unknown; NULL: none
} reason;

typedef struct reason_list {
    reason *items;
    size_t count, capacity;
} reason_list;

// Adds a reason; copies a and b, which may be NULL.
void reasons_add(reason_list *list, const char *of, const char *a, const char *b);
void reasons_release(reason_list *list);

// Appends them in English: "global batch 64 vs 256; data differs".
void reasons_append(const reason_list *list, text *out);

#endif
