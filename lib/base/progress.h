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

#endif
