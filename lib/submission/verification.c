// SPDX-License-Identifier: MIT
#include "submission/verification.h"

#include <stdarg.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/printable.h"

const char *check_subject_name(check_subject s) {
    static const char *const names[CHECK_SUBJECTS] = {
        [CHECK_FILES] = "files",           [CHECK_FIGURES] = "figures", [CHECK_REPORT] = "report",
        [CHECK_EXPERIMENT] = "experiment", [CHECK_DATA] = "data",       [CHECK_TEST] = "test",
        [CHECK_TRAINING] = "training"};
    return names[s];
}

const char *check_outcome_name(check_outcome o) {
    static const char *const names[] = {"equal", "not shown", "different"};
    return names[o];
}

check_outcome verification_outcome(const verification *v, check_subject s) {
    check_outcome heaviest = CHECK_EQUAL;
    for (int k = 0; s == CHECK_SUBJECTS && k < CHECK_SUBJECTS; k++) {
        const check_outcome one = verification_outcome(v, (check_subject)k);
        if (one > heaviest) heaviest = one;
    }
    size_t count = 0;
    for (size_t i = 0; i < v->count; i++) {
        if (v->checks[i].subject != s) continue;
        count++;
        if (v->checks[i].outcome > heaviest) heaviest = v->checks[i].outcome;
    }
    return s != CHECK_SUBJECTS && !count ? CHECK_NOT_SHOWN : heaviest;
}

void verification_add(verification *v, check_subject s, check_outcome o, const char *format, ...) {
    va_list args;
    v->checks = memory_grow(v->checks, &v->capacity, v->count + 1, sizeof *v->checks);
    va_start(args, format);
    char *text = memory_format_list(format, args);
    va_end(args);
    text[printable(text, true)] = 0;
    v->checks[v->count++] = (check){s, o, text};
}

// A child has printed its message itself.
status verification_add_failure(verification *v, check_subject s, status rc, const char *name,
                                const error *why, error *err) {
    const char *text = *why->message ? why->message : "a tool refused it";
    if (rc == STATUS_OK) return rc;
    if (rc == STATUS_STOPPED) return error_set(err, rc, "%s", why->message);
    if (rc == STATUS_FAILED) v->failed = true;
    verification_add(v, s, rc == STATUS_FAILED ? CHECK_NOT_SHOWN : CHECK_DIFFERENT, "%s: %s", name,
                     text);
    return STATUS_OK;
}

void verification_add_accuracy(verification *v, double accuracy, bool again) {
    if (!v->accuracies || accuracy < v->lowest) v->lowest = accuracy;
    if (!v->accuracies || accuracy > v->highest) v->highest = accuracy;
    v->accuracies++;
    v->recorded = v->recorded || !again;
}

void verification_release(verification *v) {
    for (size_t i = 0; i < v->count; i++) free(v->checks[i].text);
    free(v->checks);
    free(v->archive);
    free(v->author);
    free(v->report);
    free(v->own_page);
    free(v->refused);
    strvec_release(&v->traces);
    strvec_release(&v->beside);
    *v = (verification){0};
}
