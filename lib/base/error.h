// error.h - how functions of the libraries fail.
//
// A function that can fail returns a `status`, which the compiler makes the caller look at, and
// takes as its last argument the `error` to describe the failure in. Libraries never print and
// never exit: a tool prints `TOOL: MESSAGE` and returns the status as its exit code, so the values
// below are the exit codes of every tool.
//
// A message reads "what failed: 'which': why", and says what to do where that is known:
//     cannot read tensor file: 'model.st.zst': checksum differs in the frame that begins at byte 0
#ifndef LOCKSTEP_BASE_ERROR_H
#define LOCKSTEP_BASE_ERROR_H

typedef enum status {
    STATUS_OK = 0,
    STATUS_FAILED = 1, // at run time: disk full, read-only, NaN loss, out of memory, a dead rank
    STATUS_USAGE = 2,  // the command line is wrong
    STATUS_INPUT = 3,  // an input is missing, corrupt, or not what it should be
    STATUS_FINDING =
        4, // the work was done, and the answer is "no": unequal, mismatch, outside the band
    STATUS_STOPPED = 5, // a signal asked to stop, and everything needed to resume was saved
} status;

typedef struct error {
    status code;
    char message[2048]; // one line, no newline at the end
} error;

#define MUST_CHECK               __attribute__((warn_unused_result))
#define PRINTF_LIKE(text, first) __attribute__((format(printf, text, first)))

// Fills `err` and returns `code`, so that a failure is one line: return error_set(err,
// STATUS_INPUT, ...). A message that is too long is cut. `err` may be NULL: then only the code is
// returned.
status error_set(error *err, status code, const char *format, ...) PRINTF_LIKE(3, 4);

// The same, with ": " and the text of the system error `errnum` (an errno value) behind the
// message.
status error_system(error *err, status code, int errnum, const char *format, ...) PRINTF_LIKE(4, 5);

// Puts a context in front of the message that `err` already holds; returns its code.
status error_prefix(error *err, const char *format, ...) PRINTF_LIKE(2, 3);

// What `err` holds although nobody returned it: STATUS_OK when nothing does. For the end of work
// that is worth nothing without each of its parts.
status error_status(const error *err) MUST_CHECK;

// For functions that hold resources: needs a local `status rc` and a label `out` that frees
// everything.
#define TRY(call)                      \
    do {                               \
        rc = (call);                   \
        if (rc != STATUS_OK) goto out; \
    } while (0)

#endif
