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

// ---- Findings ----

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

// A finding is data: the ids of its sentences, which are templates
// (share/report/LANGUAGE/audit.md), and the operands that fill them. finding_add() begins one,
// whose consequence is `so`; the others add to the last one begun: operands of the finding itself,
// and a line of arithmetic with its own.
typedef struct operand {
    const char *key;
    yaml_node *value; // taken over
} operand;

void finding_add(findings *a, finding_kind kind, subject s, const char *id, const char *so);
void finding_put_all(findings *a, const operand *list);
void finding_sum_all(findings *a, const char *id, const operand *list);
#define finding_put(a, ...)     finding_put_all(a, (const operand[]){__VA_ARGS__, {0}})
#define finding_sum(a, id, ...) finding_sum_all(a, id, (const operand[]){__VA_ARGS__, {0}})

// Operands. A text that is NULL, or a figure that is not given, is null. Figures have a `value` and
// the `text` that sentences show.
operand named(const char *key, const char *text);
operand counted(const char *key, size_t count);
operand whether(const char *key, bool truth);
operand given(const char *key, const stated *s);        // as printed
operand shown(const char *key, double x);               // four digits, or all of a whole
operand rounded(const char *key, double x, int digits); // significant digits
operand fixed(const char *key, double x, int decimals);
operand gap(double stated_value, double computed); // how the one differs from the other: `gap`
// A mapping: its id, which may be NULL, and its own operands.
operand nested_all(const char *key, const char *id, const operand *list);
#define nested(key, id, ...) nested_all(key, id, (const operand[]){__VA_ARGS__, {0}})

#endif
