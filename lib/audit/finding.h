// finding.h - adding to what an audit found. Used by the checks only.
#ifndef LOCKSTEP_AUDIT_FINDING_H
#define LOCKSTEP_AUDIT_FINDING_H

#include "audit/findings.h"

// What a finding is about: it decides which statement `says` answers it.
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

// Each takes the arguments of its message. Begins a finding; the two below add to the last one that
// was begun. Where the report answers the finding, it is what the report says itself, and `so` is
// left out.
void finding_add(findings *a, finding_kind kind, subject s, const char *what, ...)
    PRINTF_LIKE(4, 5);
void finding_sum(findings *a, const char *sum, ...) PRINTF_LIKE(2, 3); // a line of arithmetic
void finding_so(findings *a, const char *so, ...) PRINTF_LIKE(2, 3);   // the consequence

__attribute__((format_arg(2))) static inline const char *finding_text(const findings *a,
                                                                      const char *m) {
    return words_in(a->language, m);
}

// A part of a sum, in the language of the audit. Use: finding_say(a, m, ...).text.
typedef struct phrase {
    char text[400];
} phrase;
phrase finding_say(const findings *a, const char *m, ...) PRINTF_LIKE(2, 3);

// A computed number as people write it: four digits, or all before the point. Use: show(x).text.
typedef struct shown {
    char text[32];
} shown;
shown finding_show(double x);
// How `stated` compares with `computed`: "11.9 times less", "0.4 % more".
phrase finding_gap(const findings *a, double stated_value, double computed);

#endif
