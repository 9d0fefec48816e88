// audit_checks.h - the checks of an audit, and what they share. Used by audit*.c only.
#ifndef LOCKSTEP_AUDIT_CHECKS_H
#define LOCKSTEP_AUDIT_CHECKS_H

#include "audit/audit.h"

// ---- The checks --------------------------------------------------------------------------------

void audit_sources(audit *a); // rows that nobody measured, or quoted from nowhere
void audit_sums(audit *a);    // times of a row that must add up, batch sizes, accuracies
void audit_names(audit *a, const claim_statement *s); // statements about rows that are not there
void audit_times(audit *a, const claim_statement *s); // slower, faster, speedup
void audit_arms(audit *a, const claim_statement *s);  // were the compared rows alike?
void audit_accuracy(audit *a, const claim_statement *s);
void audit_overhead(audit *a, const claim_statement *s);
void audit_projection(audit *a, const claim_statement *s);
void audit_effective_batch(audit *a, const claim_statement *s);
void audit_code(audit *a, const claim_statement *s);

// ---- Adding findings ---------------------------------------------------------------------------

// Each takes the arguments of its message. Begins a finding; the two below add to the last one that
// was begun.
void audit_add(audit *a, finding_kind kind, const char *what, ...) PRINTF_LIKE(3, 4);
void audit_sum(audit *a, const char *sum, ...) PRINTF_LIKE(2, 3); // a line of arithmetic
void audit_so(audit *a, const char *so, ...) PRINTF_LIKE(2, 3);   // the consequence

__attribute__((format_arg(2))) static inline const char *audit_text(const audit *a, const char *m) {
    return words_in(a->language, m);
}

// A part of a sum, in the language of the audit. Use: audit_say(a, m, ...).text.
typedef struct phrase {
    char text[400];
} phrase;
phrase audit_say(const audit *a, const char *m, ...) PRINTF_LIKE(2, 3);

// A computed number as people write it: four digits, or all before the point. Use:
// audit_show(x).text.
typedef struct shown {
    char text[32];
} shown;
shown audit_show(double x);
// How `stated` compares with `computed`: "11.9 times less", "0.4 % more".
phrase audit_gap(const audit *a, double stated_value, double computed);

// ---- Rows --------------------------------------------------------------------------------------

// Have both the value, and nothing that both may stand for?
bool audit_differ(const stated *x, const stated *y);
bool audit_labels_differ(const claim_row *x, const claim_row *y, label l);

// Samples a step over all devices. Under DDP a batch that is not said to be global may be a rank's
// or the whole step's: then it is the range of both, and audit_batch_is_open says so.
stated audit_global_batch(const claim_row *r);
bool audit_batch_is_open(const claim_row *r);

// Steps an epoch, from dropping the last batch to padding it; shows as the latter. Not given
// without samples and batch.
stated audit_steps(const claim_row *r);

// Seconds in total, as stated, or of its epochs, or of its batches.
stated audit_total(const claim_row *r);

// A statement that sets two rows side by side: all kinds that need `than`, both rows there.
bool audit_compares(const claim_statement *s);
// Are both about the same two rows, in any order?
bool audit_same_rows(const claim_statement *s, const claim_statement *t);

// The times that can be compared, in order of preference.
enum { AUDIT_BASES = 3 };
extern const quantity audit_bases[AUDIT_BASES];
const char *audit_basis_name(const audit *a, quantity basis); // "in total", "an epoch", "a batch"
const char *audit_basis_unit(quantity basis);                 // "s", "ms"

#endif
