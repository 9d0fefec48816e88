// SPDX-License-Identifier: MIT
// log.h - messages on standard error while a tool works. Tools make a logger and pass it down;
// there is no global one. Results never go through it: they are data, on standard output or in
// files.
#ifndef LOCKSTEP_BASE_LOG_H
#define LOCKSTEP_BASE_LOG_H

#include "base/error.h"

typedef enum log_level { LOG_QUIET, LOG_NORMAL, LOG_VERBOSE } log_level;

typedef struct logger {
    const char *tool;
    log_level level; // -q: quiet, -v: verbose
} logger;

// Each prints "TOOL: MESSAGE" by one write, so that lines of several ranks do not mix. A NULL
// logger prints nothing.
void log_info(const logger *log, const char *format, ...) PRINTF_LIKE(2, 3);  // not with -q
void log_debug(const logger *log, const char *format, ...) PRINTF_LIKE(2, 3); // only with -v
void log_warn(const logger *log, const char *format, ...) PRINTF_LIKE(2, 3);  // always

// Prints the message of `err` and empties it, so that it is printed once: a tool's last line, or
// before a step after which a launcher may kill this process. An empty message prints nothing.
void log_error(const logger *log, error *err);

#endif
