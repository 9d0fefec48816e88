// SPDX-License-Identifier: MIT
#include "audit/row.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "words/words.h"

bool row_is(const claim_row *r, const char *strategy) {
    return r->labels[LABEL_STRATEGY] && !strcmp(r->labels[LABEL_STRATEGY], strategy);
}

static bool differ(const stated *x, const stated *y) {
    return x->given && y->given && !interval_meet(x->range, y->range);
}

bool rows_differ(const claim_row *x, const claim_row *y, quantity q) {
    return differ(&x->values[q], &y->values[q]);
}

bool rows_differ_in_label(const claim_row *x, const claim_row *y, label l) {
    return x->labels[l] && y->labels[l] && strcmp(x->labels[l], y->labels[l]) != 0;
}

bool rows_differ_in_batch(const claim_row *x, const claim_row *y) {
    const stated a = row_global_batch(x), b = row_global_batch(y);
    return differ(&a, &b);
}

bool row_batch_is_ambiguous(const claim_row *r) {
    return row_is(r, "ddp") && !r->values[QUANTITY_GLOBAL_BATCH].given &&
           r->values[QUANTITY_BATCH].given && r->values[QUANTITY_DEVICES].given &&
           r->values[QUANTITY_DEVICES].range.high > 1;
}

stated row_global_batch(const claim_row *r) {
    if (r->values[QUANTITY_GLOBAL_BATCH].given) return r->values[QUANTITY_GLOBAL_BATCH];
    stated batch = r->values[QUANTITY_BATCH];
    if (!row_batch_is_ambiguous(r)) return batch;
    batch.range.high *= r->values[QUANTITY_DEVICES].range.high;
    snprintf(batch.text, sizeof batch.text, "%.6g–%.6g", batch.range.low, batch.range.high);
    return batch;
}

stated row_steps(const claim_row *r) {
    stated batch = row_global_batch(r), steps = {0};
    const stated *samples = &r->values[QUANTITY_SAMPLES];
    if (!batch.given || !samples->given) return steps;
    steps.given = true;
    steps.value = ceil(samples->value / batch.value);
    steps.range.low = fmax(1, floor(samples->range.low / batch.range.high));
    steps.range.high = ceil(samples->range.high / batch.range.low);
    if (steps.range.high - steps.range.low <= 1)
        snprintf(steps.text, sizeof steps.text, "%.0f", steps.value);
    else
        snprintf(steps.text, sizeof steps.text, "%.0f–%.0f", steps.range.low, steps.range.high);
    return steps;
}

// The product of two given values, with an empty text.
static stated product(const stated *x, const stated *y) {
    stated p = {.given = x->given && y->given};
    if (!p.given) return p;
    p.value = x->value * y->value;
    p.range = interval_multiply(x->range, y->range);
    return p;
}

stated row_total(const claim_row *r) {
    const stated *v = r->values;
    if (v[QUANTITY_TOTAL_SECONDS].given) return v[QUANTITY_TOTAL_SECONDS];
    stated of_epochs = product(&v[QUANTITY_SECONDS_PER_EPOCH], &v[QUANTITY_EPOCHS]);
    if (of_epochs.given) return of_epochs;
    stated steps = row_steps(r), all_steps = product(&steps, &v[QUANTITY_EPOCHS]);
    stated seconds = v[QUANTITY_BATCH_MS];
    seconds.value /= 1000;
    seconds.range = interval_divide(seconds.range, interval_exact(1000));
    return product(&all_steps, &seconds);
}

bool statement_compares(const claim_statement *s) {
    return s->of && s->than && s->kind != STATEMENT_PROJECTION && s->kind != STATEMENT_SAYS;
}

bool statements_share_rows(const claim_statement *s, const claim_statement *t) {
    return (s->of == t->of && s->than == t->than) || (s->of == t->than && s->than == t->of);
}

const quantity time_bases[TIME_BASES] = {QUANTITY_TOTAL_SECONDS, QUANTITY_SECONDS_PER_EPOCH,
                                         QUANTITY_BATCH_MS};

const char *time_basis_name(quantity basis) {
    return basis == QUANTITY_TOTAL_SECONDS       ? WORD("in total")
           : basis == QUANTITY_SECONDS_PER_EPOCH ? WORD("per epoch")
                                                 : WORD("per batch");
}

const char *time_basis_unit(quantity basis) {
    return basis == QUANTITY_BATCH_MS ? "ms" : "s";
}
