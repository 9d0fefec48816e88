// SPDX-License-Identifier: MIT
// progress.h - a line on standard error that shows the progress of a long job: only on a terminal,
// not with -q, updated a few times per second, and cleared at the end. A job of less than half a
// second shows none.
//
//     progress p;
//     progress_begin(&p, log, "evaluating", "images");
//     for (…) progress_show(&p, done, total);
//     progress_end(&p);                               // also after a failure
#ifndef LOCKSTEP_BASE_PROGRESS_H
#define LOCKSTEP_BASE_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/log.h"

typedef struct progress {
    const logger *log;
    const char *what; // "downloading"
    const char *unit; // "images"; NULL: bytes, shown as MB
    bool on, shown;
    uint64_t began, last; // clock_now at the beginning, and at the last line
} progress;

// `log` may be NULL: then nothing is ever shown. The strings are the caller's.
void progress_begin(progress *p, const logger *log, const char *what, const char *unit);

// Shows `done` of `total` units; total 0: not known. NULL is fine.
void progress_show(progress *p, uint64_t done, uint64_t total);

// Clears the line.
void progress_end(progress *p);

// The building blocks of the functions above, for lines of other kinds.

// A program that starts this tool at its terminal may say what the work is called there, as
// "ddp4, run 7 of 15" (LOCKSTEP_PLACE), and how many seconds it expects afterwards
// (LOCKSTEP_SECONDS_AFTER). Returns the former, or the tool's name; *after is 0 if not known; it
// may be NULL.
const char *progress_label(const logger *log, double *after);
// Is this tool started by such a program, which says itself what comes out?
bool progress_is_part(void);

enum { PROGRESS_LINE_BYTES = 256 };

// "TOOL: HEAD [#####     ]  TAIL  EXTRA  EXTRA". If the line is too long, the bar becomes shorter
// first; then these are dropped: the extras, last one first, the tool, the bar, and the end of the
// rest.
typedef struct progress_parts {
    const char *tool, *head, *tail;
    const char *extras[3]; // NULL: none
    double share;          // shown by the bar, 0 to 1; negative: no bar
} progress_parts;
// Writes the line for a terminal of `columns` columns. All text must be ASCII.
void progress_compose(const progress_parts *p, int columns, char line[PROGRESS_LINE_BYTES]);

// Returns the columns of the terminal that a file descriptor is; `otherwise` if it is none.
int progress_terminal_columns(int fd, int otherwise);
// Returns the columns that a line may have: one less than the terminal; 79 if standard error does
// not tell.
int progress_columns(void);
// Shows `line`, one column per byte, in place of the last one. A line that is too long is cut: if
// it wrapped, it could not be cleared. "" clears.
void progress_line(const char *line);

#endif
