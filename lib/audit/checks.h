// checks.h - the checks of an audit, one file a kind. Used by audit.c only.
#ifndef LOCKSTEP_AUDIT_CHECKS_H
#define LOCKSTEP_AUDIT_CHECKS_H

#include "audit/finding.h"

// Of the claim.
void check_sources(findings *a); // rows that nobody measured, or quoted from nowhere
void check_sums(findings *a);    // times of a row that must add up, batch sizes, accuracies

// Of a statement; each looks only at the kinds that it is about.
void check_names(findings *a, const claim_statement *s); // statements about rows that are not there
void check_times(findings *a, const claim_statement *s); // slower, faster, speedup, difference
void check_arms(findings *a, const claim_statement *s);  // were the compared rows alike?
void check_accuracy(findings *a, const claim_statement *s);
void check_parts(findings *a, const claim_statement *s); // overhead, load_to_update
void check_projection(findings *a, const claim_statement *s);
void check_effective_batch(findings *a, const claim_statement *s);
void check_code(findings *a, const claim_statement *s);

#endif
