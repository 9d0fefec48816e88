// row.h - what follows from a row of a claim, and whether two rows are alike.
#ifndef LOCKSTEP_AUDIT_ROW_H
#define LOCKSTEP_AUDIT_ROW_H

#include "audit/claim.h"

bool row_is(const claim_row *r, const char *strategy);

// Have both the value, and nothing that both may stand for?
bool rows_differ(const claim_row *x, const claim_row *y, quantity q);
bool rows_differ_in_label(const claim_row *x, const claim_row *y, label l);
bool rows_differ_in_batch(const claim_row *x, const claim_row *y); // the global one

// Samples a step over all devices. Under DDP a batch that is not said to be global may be a rank's
// or the whole step's: then it is the range of both, and row_batch_is_open says so.
stated row_global_batch(const claim_row *r);
bool row_batch_is_open(const claim_row *r);

// Steps an epoch, from dropping the last batch to padding it; shows as the latter. Not given
// without samples and batch.
stated row_steps(const claim_row *r);

// Seconds in total, as stated, or of its epochs, or of its batches.
stated row_total(const claim_row *r);

// A statement that sets two rows side by side, both of them there.
bool statement_compares(const claim_statement *s);
// Are both about the same two rows, in any order?
bool statements_meet(const claim_statement *s, const claim_statement *t);

// The times that can be compared, in order of preference.
enum { TIME_BASES = 3 };
extern const quantity time_bases[TIME_BASES];
const char *time_basis_name(quantity basis); // "in total", "an epoch", "a batch": to be translated
const char *time_basis_unit(quantity basis); // "s", "ms"

#endif
