// SPDX-License-Identifier: MIT
#include "base/log.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include "base/printable.h"

static void PRINTF_LIKE(2, 0) say(const logger *log, const char *format, va_list args) {
    char line[2304];
    // On a terminal a progress line may stand where this one goes.
    int head =
        snprintf(line, sizeof line, "%s%s: ", isatty(STDERR_FILENO) ? "\r\033[K" : "", log->tool);
    int body = vsnprintf(line + head, sizeof line - (size_t)head - 1, format, args);
    if (body < 0) line[head] = 0;
    size_t used = (size_t)head + printable(line + head, false);
    line[used++] = '\n';
    ssize_t written = write(STDERR_FILENO, line, used);
    (void)written; // nothing sensible is left to do if standard error is gone
}

#define SAY_IF(condition)             \
    if (!log || !(condition)) return; \
    va_list args;                     \
    va_start(args, format);           \
    say(log, format, args);           \
    va_end(args)

void log_info(const logger *log, const char *format, ...) {
    SAY_IF(log->level >= LOG_NORMAL);
}
void log_debug(const logger *log, const char *format, ...) {
    SAY_IF(log->level >= LOG_VERBOSE);
}
void log_warn(const logger *log, const char *format, ...) {
    SAY_IF(true);
}

void log_error(const logger *log, error *err) {
    if (err->message[0]) log_warn(log, "%s", err->message);
    err->message[0] = 0;
}
