// SPDX-License-Identifier: MIT
// reasons.h - why something is not done: why times are not compared, how two runs differ, why
// nothing is predicted. As data: reasons.md of share/report has the words.
#ifndef LOCKSTEP_RESULTS_REASONS_H
#define LOCKSTEP_RESULTS_REASONS_H

#include <stddef.h>

// `of` says which reason it is: one that reasons.md knows, such as "resumed"; or what differs, in
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

#endif
