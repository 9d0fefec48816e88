// SPDX-License-Identifier: MIT
#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/printable.h"

static void PRINTF_LIKE(2, 0) write_message(error *err, const char *format, va_list args) {
    err->origin = ERROR_ELSEWHERE;
    err->assignment = err->place = 0;
    err->says_way_out = false;
    vsnprintf(err->message, sizeof err->message, format, args);
    // Names that come from files may hold anything.
    (void)printable(err->message, true);
}

static void append(error *err, const char *text) {
    size_t used = strlen(err->message);
    snprintf(err->message + used, sizeof err->message - used, "%s", text);
}

status error_set(error *err, status code, const char *format, ...) {
    if (!err) return code;
    va_list args;
    va_start(args, format);
    write_message(err, format, args);
    va_end(args);
    err->code = code;
    return code;
}

status error_system(error *err, status code, int errnum, const char *format, ...) {
    if (errnum == ENOMEM) code = STATUS_FAILED;
    if (!err) return code;
    va_list args;
    va_start(args, format);
    write_message(err, format, args);
    va_end(args);
    char reason[128];
    append(err, ": ");
    // The GNU variant: it returns the text, which need not be in the buffer.
    append(err, strerror_r(errnum, reason, sizeof reason));
    err->code = code;
    return code;
}

status error_prefix(error *err, const char *format, ...) {
    if (!err) return STATUS_FAILED;
    char old[sizeof err->message];
    memcpy(old, err->message, sizeof old);
    va_list args;
    va_start(args, format);
    write_message(err, format, args);
    va_end(args);
    append(err, old);
    return err->code;
}

status error_append(error *err, const char *format, ...) {
    if (!err) return STATUS_FAILED;
    const size_t used = strlen(err->message);
    va_list args;
    va_start(args, format);
    vsnprintf(err->message + used, sizeof err->message - used, format, args);
    va_end(args);
    (void)printable(err->message, true);
    return err->code;
}

status error_pass(const error *from, error *err) {
    if (err) *err = *from;
    return from->code;
}

const char *error_reason(const error *err) {
    const size_t length = strlen(err->message), place = (size_t)err->place;
    return err->message + (place < length ? place : length); // a long message is cut
}

status error_status(const error *err) {
    return err ? err->code : STATUS_OK;
}
