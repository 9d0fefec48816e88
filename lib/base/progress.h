// progress.h - one line on standard error that says how far a long job is: only on a terminal, not
// with -q, at most ten times a second.
#ifndef LOCKSTEP_BASE_PROGRESS_H
#define LOCKSTEP_BASE_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/log.h"

typedef struct progress {
    const logger *log;
    const char *what; // "downloading"
    bool on, shown;
    uint64_t last; // clock of the last line
} progress;

// `log` may be NULL: then nothing is ever shown.
void progress_begin(progress *p, const logger *log, const char *what);

// `done` of `total` bytes; total 0: not known.
void progress_bytes(progress *p, uint64_t done, uint64_t total);

// Clears the line.
void progress_end(progress *p);

// What the functions above are made of, for lines of other kinds. The columns that a line may have:
// one less than the terminal; 79 where standard error does not tell.
int progress_columns(void);
// Shows `line`, one column a byte, in place of the last one. What does not fit is cut off: a line
// that wraps could not be cleared. "" clears.
void progress_line(const char *line);

#endif
