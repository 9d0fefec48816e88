// findings.h - what an audit found in a claim, and how that is said.
//
// A finding says what is held against what, where both stand, the arithmetic, and what follows.
// What the report says of itself is shown and not counted.
#ifndef LOCKSTEP_AUDIT_FINDINGS_H
#define LOCKSTEP_AUDIT_FINDINGS_H

#include <stddef.h>

#include "audit/claim.h"
#include "base/error.h"
#include "base/text.h"
#include "words/words.h"

typedef enum finding_kind {
    FINDING_ARITHMETIC,  // figures that cannot all be true
    FINDING_ARMS,        // a comparison of runs that differ in more than what is compared
    FINDING_UNSUPPORTED, // a statement that no figure supports
    FINDING_SAID,        // one of these, and the report says so itself
    FINDING_KINDS
} finding_kind;

typedef struct finding {
    finding_kind kind;
    text what;  // one line
    text where; // the places of both sides, one line; "": the claim does not give them
    text sums;  // the arithmetic, lines that end in a line feed
    text so;    // the consequence, or what the report says itself; one line
} finding;

typedef struct findings {
    const claim *claim;
    language language;
    finding *items;
    size_t count, capacity;
    status rc; // the first failure sticks, as in text.h
    error *err;
} findings;

void findings_release(findings *a);

// The findings of one claim as text for people, or "NAME: no findings".
void findings_print(const findings *a, text *out);

// How many count: all but what the report says itself.
size_t findings_counted(const findings *a);
// Adds to `counts`, and the last line of what the tool prints: how many of each kind.
void findings_tally(const findings *a, size_t counts[FINDING_KINDS]);
void findings_print_tally(const size_t counts[FINDING_KINDS], size_t claims, language l, text *out);

const char *finding_name(finding_kind kind, language l); // "arithmetic fault"
// Places, sums and what follows from them on one line.
void finding_reasons(const findings *a, const finding *f, text *out);

#endif
