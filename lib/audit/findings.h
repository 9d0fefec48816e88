// SPDX-License-Identifier: MIT
// findings.h - the findings of an audit of a claim, and their texts.
//
// A finding names the two sides that disagree, their places, the arithmetic, and the consequence.
// A finding that the report itself states is shown but not counted.
#ifndef LOCKSTEP_AUDIT_FINDINGS_H
#define LOCKSTEP_AUDIT_FINDINGS_H

#include <stddef.h>

#include "audit/claim.h"
#include "base/error.h"
#include "base/text.h"
#include "words/words.h"

typedef enum finding_kind {
    FINDING_ARITHMETIC,  // figures that cannot all be true
    FINDING_CONDITIONS,  // a comparison of runs that differ in more than the factor compared
    FINDING_UNSUPPORTED, // a statement that no figure supports
    FINDING_STATED,      // any of these, stated by the report itself
    FINDING_KINDS
} finding_kind;

typedef struct finding {
    finding_kind kind;
    text what;  // one line
    text where; // the places of both sides, one line; "": not given by the claim
    text sums;  // the arithmetic, each line ends in a line feed
    text so;    // the consequence, or the report's own words; one line
} finding;

typedef struct findings {
    const claim *claim;
    language language;
    finding *items;
    size_t count, capacity;
} findings;

void findings_release(findings *a);

// Writes the findings of one claim as text for people, or "NAME: no findings".
void findings_print(const findings *a, text *out);

// Returns the number of findings that count: all but those that the report itself states.
size_t findings_counted(const findings *a);
// Adds the number of findings of each kind to `counts`; prints them as the tool's last line.
void findings_tally(const findings *a, size_t counts[FINDING_KINDS]);
void findings_print_tally(const size_t counts[FINDING_KINDS], size_t claims, language l, text *out);

const char *finding_name(finding_kind kind, language l); // "arithmetic fault"
// Writes places, sums and consequence on one line.
void finding_reasons(const findings *a, const finding *f, text *out);

#endif
