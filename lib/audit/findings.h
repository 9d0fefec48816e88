// SPDX-License-Identifier: MIT
// findings.h - the findings of an audit of a claim, as data.
//
// A finding names the two sides that disagree, their places, the arithmetic, and the consequence.
// A finding that the report itself states is shown but not counted, and so is a remark.
#ifndef LOCKSTEP_AUDIT_FINDINGS_H
#define LOCKSTEP_AUDIT_FINDINGS_H

#include <stddef.h>

#include "audit/claim.h"
#include "base/error.h"
#include "base/yaml_tree.h"

typedef enum finding_kind {
    FINDING_ARITHMETIC,  // figures that cannot all be true
    FINDING_CONDITIONS,  // a comparison of runs that differ in more than the factor compared
    FINDING_UNSUPPORTED, // a statement that no figure supports
    FINDING_STATED,      // any of these, stated by the report itself
    FINDING_REMARK,      // nothing wrong, but a reader should know
    FINDING_KINDS
} finding_kind;

typedef struct findings {
    const claim *claim;
    yaml_node *list; // of findings as docs/formats.md describes them ("report.json")
    size_t counts[FINDING_KINDS];
} findings;

void findings_release(findings *a);

// Returns the number of findings that count: all but those that the report itself states.
size_t findings_counted(const findings *a);

const char *finding_name(finding_kind kind); // "arithmetic", as in the list

#endif
