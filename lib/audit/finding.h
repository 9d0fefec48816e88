// SPDX-License-Identifier: MIT
// finding.h - adds findings to an audit. Used by the checks only.
#ifndef LOCKSTEP_AUDIT_FINDING_H
#define LOCKSTEP_AUDIT_FINDING_H

#include "audit/findings.h"

// The subject of a finding. It determines which `says` statement answers the finding.
typedef struct subject {
    int topic;
    const claim_statement *statement; // NULL: the rows alone
    const claim_row *of, *than;       // NULL: none
} subject;

static inline subject subject_of(int topic, const claim_statement *s) {
    return (subject){topic, s, s->of, s->than};
}
static inline subject subject_row(int topic, const claim_row *r) {
    return (subject){topic, NULL, r, NULL};
}

// finding_add() begins a finding; the two below add a line of arithmetic and the consequence to the
// last finding begun. Each takes the arguments of its message. If the report answers the finding,
// the consequence is dropped: the report's own words take its place.
void finding_add(findings *a, finding_kind kind, subject s, const char *what, ...)
    PRINTF_LIKE(4, 5);
void finding_arithmetic(findings *a, const char *line, ...) PRINTF_LIKE(2, 3);
void finding_consequence(findings *a, const char *so, ...) PRINTF_LIKE(2, 3);

__attribute__((format_arg(2))) static inline const char *finding_text(const findings *a,
                                                                      const char *m) {
    return words_in(a->language, m);
}

// Formats a part of a sum in the language of the audit. Use: finding_say(a, m, ...).text.
typedef struct phrase {
    char text[400];
} phrase;
phrase finding_say(const findings *a, const char *m, ...) PRINTF_LIKE(2, 3);

// Formats a computed number: four digits, or all digits before the point. Use:
// finding_show(x).text.
typedef struct shown {
    char text[32];
} shown;
shown finding_show(double x);
// Describes how the stated value differs from `computed`: "11.9 times less", "0.4 % more".
phrase finding_gap(const findings *a, double stated_value, double computed);

#endif
