// SPDX-License-Identifier: MIT
// row.h - values derived from a row of a claim, and comparison of two rows.
#ifndef LOCKSTEP_AUDIT_ROW_H
#define LOCKSTEP_AUDIT_ROW_H

#include "audit/claim.h"

bool row_is(const claim_row *r, const char *strategy);

// Do both rows give the value, with disjoint ranges?
bool rows_differ(const claim_row *x, const claim_row *y, quantity q);
bool rows_differ_in_label(const claim_row *x, const claim_row *y, claim_label l);
bool rows_differ_in_batch(const claim_row *x, const claim_row *y); // the global one

// Samples per step over all devices. Under DDP, a batch not stated to be global may be one rank's
// or the whole step's: the result is then the range of both, and row_batch_is_ambiguous returns
// true.
stated row_global_batch(const claim_row *r);
bool row_batch_is_ambiguous(const claim_row *r);

// Steps per epoch: the range from dropping the last batch to padding it; printed as the latter. Not
// given without samples and batch.
stated row_steps(const claim_row *r);

// A time may exceed its parts by this factor: an epoch its batches, and a total its epochs, if the
// row does not state the rest of it (other_seconds).
static const double TIME_SLACK = 1.1;

// Seconds per epoch: as stated, else of the total without its other seconds, else of the samples at
// the stated throughput: with TIME_SLACK to either side, as it may leave out or include more than
// an epoch does.
stated row_epoch(const claim_row *r);
// The total divided by the epochs: as stated, else that of the epochs and other seconds.
stated row_mean_epoch(const claim_row *r);
// From the shortest to the longest epoch that the row lists; its value is the longest.
stated row_listed_epoch(const claim_row *r);
// Total seconds: as stated, else computed from epochs, else from batches.
stated row_total(const claim_row *r);

// Does the row state a time besides that of its batches, over which a throughput may be counted?
bool row_has_longer_time(const claim_row *r);

// The sum of a list, each item weighted by the item of another list (NULL: by 1).
interval row_sum(const stated_list *l, const stated_list *by, double *value);

// Does the statement compare two rows, both of which exist?
bool statement_compares(const claim_statement *s);
// Are both statements about the same two rows, in either order?
bool statements_share_rows(const claim_statement *s, const claim_statement *t);

// Is it slower, faster or speedup, of two rows that exist? times.c has these.
bool statement_is_about_time(const claim_statement *s);
// Do its rows give no other time than throughputs? These are of images, so it does not matter how
// many there were.
bool statement_compares_rates(const claim_statement *s);
// How many times as fast `of` is at least, by each time that both rows give; 0: they give none.
double statement_gain(const claim_statement *s);

const char *time_basis_unit(quantity basis); // "s", "ms", "img/s"
// The row's time by that basis: row_epoch(), or as stated. That of a throughput is the time of an
// image, as stated or of the batches, with the throughput as its text.
stated row_time(const claim_row *r, quantity basis);

#endif
