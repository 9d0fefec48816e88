// SPDX-License-Identifier: MIT
// error.h - how library functions fail.
//
// A function that can fail returns a `status`, which the compiler forces the caller to check, and
// takes as its last argument the `error` that receives the message. Libraries never print and never
// exit: a tool prints `TOOL: MESSAGE` and returns the status as its exit code, so the values below
// are the exit codes of every tool.
//
// A message reads "what failed: 'which': why", and says what to do if that is known:
//     cannot read tensor file: 'model.st.zst': wrong checksum in the frame that begins at byte 0
#ifndef LOCKSTEP_BASE_ERROR_H
#define LOCKSTEP_BASE_ERROR_H

#include <stdbool.h>

typedef enum status {
    STATUS_OK = 0,
    STATUS_FAILED = 1, // at run time: disk full, read-only, NaN loss, out of memory, a dead rank
    STATUS_USAGE = 2,  // the command line is wrong
    STATUS_INPUT = 3,  // an input is missing, corrupt, or not what it should be
    STATUS_FINDING =
        4, // the work was done, and the answer is "no": unequal, mismatch, outside the band
    STATUS_STOPPED = 5, // a signal asked to stop, and everything needed to resume was saved
} status;

// What the place is in with which a message begins. Callers that act on the cause of an error act
// on this, never on the text.
typedef enum error_origin {
    ERROR_ELSEWHERE,     // the message begins with no place
    ERROR_IN_FILE,       // "FILE:LINE:COLUMN: ", or "FILE: "
    ERROR_IN_ASSIGNMENT, // "--set 'KEY=VALUE': "
} error_origin;

typedef struct error {
    status code;
    char message[2048]; // one line, no newline at the end
    error_origin origin;
    int assignment;    // ERROR_IN_ASSIGNMENT: its number, from 0, among those that were given
    int place;         // the length of the place with which the message begins
    bool says_way_out; // the message already ends with what to write instead
} error;

#define MUST_CHECK               __attribute__((warn_unused_result))
#define PRINTF_LIKE(text, first) __attribute__((format(printf, text, first)))

// Fills `err` and returns `code`, so that a failure is one line: return error_set(err,
// STATUS_INPUT, ...). Long messages are truncated. If `err` is NULL, only the code is returned.
status error_set(error *err, status code, const char *format, ...) PRINTF_LIKE(3, 4);

// The same, with ": " and the text of the system error `errnum` (an errno value) after the message.
// ENOMEM is always STATUS_FAILED, whatever `code` is.
status error_system(error *err, status code, int errnum, const char *format, ...) PRINTF_LIKE(4, 5);

// Prepends context to the message that `err` already holds; returns its code.
status error_prefix(error *err, const char *format, ...) PRINTF_LIKE(2, 3);

// Appends to it; returns its code.
status error_append(error *err, const char *format, ...) PRINTF_LIKE(2, 3);

// Copies an error that a function kept to itself; returns its code. `err` may be NULL.
status error_pass(const error *from, error *err);

// Returns the message without the place with which it begins.
const char *error_reason(const error *err);

// Returns the code of a failure that was recorded in `err` but not returned, or STATUS_OK if there
// is none. Called at the end of work that is worthless without each of its parts.
status error_status(const error *err) MUST_CHECK;

// For functions that hold resources: needs a local `status rc` and a label `out` that frees
// everything.
#define TRY(call)                      \
    do {                               \
        rc = (call);                   \
        if (rc != STATUS_OK) goto out; \
    } while (0)

// For functions that hold none: returns at once unless the call succeeds. Has a `rc` of its own, so
// that the compiler refuses it where TRY is meant.
#define NEED(call)                      \
    do {                                \
        const status rc = (call);       \
        if (rc != STATUS_OK) return rc; \
    } while (0)

#endif
