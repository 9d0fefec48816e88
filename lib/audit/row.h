// SPDX-License-Identifier: MIT
// row.h - values derived from a row of a claim, and comparison of two rows.
#ifndef LOCKSTEP_AUDIT_ROW_H
#define LOCKSTEP_AUDIT_ROW_H

#include "audit/claim.h"

bool row_is(const claim_row *r, const char *strategy);

// Do both rows give the value, with disjoint ranges?
bool rows_differ(const claim_row *x, const claim_row *y, quantity q);
bool rows_differ_in_label(const claim_row *x, const claim_row *y, label l);
bool rows_differ_in_batch(const claim_row *x, const claim_row *y); // the global one

// Samples per step over all devices. Under DDP, a batch not stated to be global may be one rank's
// or the whole step's: the result is then the range of both, and row_batch_is_ambiguous returns
// true.
stated row_global_batch(const claim_row *r);
bool row_batch_is_ambiguous(const claim_row *r);

// Steps per epoch: the range from dropping the last batch to padding it; printed as the latter. Not
// given without samples and batch.
stated row_steps(const claim_row *r);

// Total seconds: as stated, else computed from epochs, else from batches.
stated row_total(const claim_row *r);

// Does the statement compare two rows, both of which exist?
bool statement_compares(const claim_statement *s);
// Are both statements about the same two rows, in either order?
bool statements_share_rows(const claim_statement *s, const claim_statement *t);

// The times that can be compared, in order of preference.
enum { TIME_BASES = 3 };
extern const quantity time_bases[TIME_BASES];
const char *time_basis_name(quantity basis); // "in total", "an epoch", "a batch": to be translated
const char *time_basis_unit(quantity basis); // "s", "ms"

#endif
