// SPDX-License-Identifier: MIT
// checks.h - the checks of an audit, one file per kind. Used by audit.c only.
#ifndef LOCKSTEP_AUDIT_CHECKS_H
#define LOCKSTEP_AUDIT_CHECKS_H

#include "audit/finding.h"

// Checks of the whole claim.
void check_sources(findings *a); // rows that were not measured, or have no source
void check_sums(findings *a);    // each row's times, batch sizes and accuracies
void check_row_times(findings *a, const claim_row *r); // the first contradiction among its times
void check_implied_batches(findings *a); // the batch sizes that the times of all rows imply

// Checks of one statement; each ignores the kinds that it does not cover.
void check_names(findings *a, const claim_statement *s); // statements about rows that do not exist
void check_times(findings *a, const claim_statement *s); // slower, faster, speedup, difference
void check_arms(findings *a, const claim_statement *s);  // were the compared rows alike?
void check_accuracy(findings *a, const claim_statement *s);
void check_parts(findings *a, const claim_statement *s); // overhead, load_to_update
void check_projection(findings *a, const claim_statement *s);
void check_effective_batch(findings *a, const claim_statement *s);
void check_code(findings *a, const claim_statement *s);

#endif
