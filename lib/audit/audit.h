// audit.h - holds a claim against its own figures: does the arithmetic work out, were the arms that
// it compares alike, is a difference more than chance, and is there a figure behind each statement?
//
// Only what cannot be true of any numbers that round to the printed ones is a finding. Conditions
// that neither of two compared rows gives (loader workers, learning rate) are taken as equal.
#ifndef LOCKSTEP_AUDIT_AUDIT_H
#define LOCKSTEP_AUDIT_AUDIT_H

#include <stddef.h>

#include "audit/claim.h"
#include "base/error.h"
#include "base/text.h"
#include "words/words.h"

typedef enum finding_kind {
    FINDING_ARITHMETIC,  // figures that contradict each other
    FINDING_ARMS,        // a comparison of runs that differ in more than what is compared
    FINDING_NOISE,       // a difference that chance explains
    FINDING_UNSUPPORTED, // a statement or figure without a measurement or source behind it
    FINDING_CONDITION,   // what a statement depends on is not said, or was not so
    FINDING_KINDS
} finding_kind;

typedef struct finding {
    finding_kind kind;
    text what; // one line
    text sums; // the arithmetic, lines that end in a line feed
    text so;   // the consequence, one line
} finding;

typedef struct audit {
    const claim *claim;
    language language;
    finding *items;
    size_t count, capacity;
    status rc; // the first failure sticks, as in text.h
    error *err;
} audit;

// All findings, rows first, then statements, each in the order of the file. The claim must outlive
// the audit. Release also after a failure.
status audit_run(audit *a, const claim *c, language l, error *err) MUST_CHECK;
void audit_release(audit *a);

// The findings of one claim as text for people, or "NAME: no findings".
void audit_print(const audit *a, text *out);

// Adds to `counts`, and the last line of what the tool prints: how many of each kind.
void audit_tally(const audit *a, size_t counts[FINDING_KINDS]);
void audit_print_tally(const size_t counts[FINDING_KINDS], size_t claims, language l, text *out);

const char *finding_name(finding_kind kind, language l); // "arithmetic fault"
// The sums of a finding and what follows from it on one line.
void audit_reasons(const audit *a, const finding *f, text *out);

// z of the difference of two independent proportions p (fractions) of n, with the pooled variance,
// and the two-sided p-value of a z.
double audit_proportions_z(double p1, double n1, double p2, double n2);
double audit_z_p_value(double z);

#endif
