// SPDX-License-Identifier: MIT
// checks.h - the checks of an audit, one file per kind, and how they add their findings. Used
// within this folder only.
#ifndef LOCKSTEP_AUDIT_CHECKS_H
#define LOCKSTEP_AUDIT_CHECKS_H

#include "audit/findings.h"

// Checks of the whole claim.
void check_sources(findings *a); // rows that were not measured, or have no source
void check_sums(findings *a);    // each row's times, batch sizes and accuracies
void check_row_times(findings *a, const claim_row *r); // the first contradiction among its times
void check_implied_batches(findings *a); // the batch sizes that the times of all rows imply

// Checks of one statement; each ignores the kinds that it does not cover.
void check_times(findings *a, const claim_statement *s);      // slower, faster, speedup, difference
void check_conditions(findings *a, const claim_statement *s); // were the compared rows alike?
void check_accuracy(findings *a, const claim_statement *s);
void check_parts(findings *a, const claim_statement *s); // overhead, load_to_update
void check_projection(findings *a, const claim_statement *s);

// ---- Findings (findings.c) ----

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
