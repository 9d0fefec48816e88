#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

status error_set(error *err, status code, const char *format, ...) {
    if (!err) return code;
    va_list args;
    va_start(args, format);
    vsnprintf(err->message, sizeof err->message, format, args);
    va_end(args);
    err->code = code;
    return code;
}

status error_system(error *err, status code, int errnum, const char *format, ...) {
    if (!err) return code;
    va_list args;
    va_start(args, format);
    int used = vsnprintf(err->message, sizeof err->message, format, args);
    va_end(args);
    char reason[128];
    // The GNU variant: it returns the text, which need not be in the buffer.
    const char *text = strerror_r(errnum, reason, sizeof reason);
    if (used >= 0 && (size_t)used < sizeof err->message)
        snprintf(err->message + used, sizeof err->message - (size_t)used, ": %s", text);
    err->code = code;
    return code;
}

status error_prefix(error *err, const char *format, ...) {
    if (!err) return STATUS_FAILED;
    char old[sizeof err->message];
    memcpy(old, err->message, sizeof old);
    va_list args;
    va_start(args, format);
    int used = vsnprintf(err->message, sizeof err->message, format, args);
    va_end(args);
    if (used >= 0 && (size_t)used < sizeof err->message)
        snprintf(err->message + used, sizeof err->message - (size_t)used, "%s", old);
    return err->code;
}
