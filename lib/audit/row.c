// SPDX-License-Identifier: MIT
#include "audit/row.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

bool row_is(const claim_row *r, const char *strategy) {
    return r->labels[LABEL_STRATEGY] && !strcmp(r->labels[LABEL_STRATEGY], strategy);
}

static bool differ(const stated *x, const stated *y) {
    return x->given && y->given && !interval_meet(x->range, y->range);
}

bool rows_differ(const claim_row *x, const claim_row *y, quantity q) {
    return differ(&x->values[q], &y->values[q]);
}

bool rows_differ_in_label(const claim_row *x, const claim_row *y, claim_label l) {
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

// The quotient of two given values; "" as its text.
static stated quotient(const stated *x, const stated *y) {
    stated q = {.given = x->given && y->given};
    if (!q.given) return q;
    q.value = x->value / y->value;
    q.range = interval_divide(x->range, y->range);
    return q;
}

// The total without the seconds besides its epochs. Not given if nothing is left of it.
static stated time_in_epochs(const claim_row *r) {
    const stated *total = &r->values[QUANTITY_TOTAL_SECONDS];
    const stated *other = &r->values[QUANTITY_OTHER_SECONDS];
    stated left = {.given = total->given && other->given && total->value > other->value};
    if (!left.given) return left;
    left.value = total->value - other->value;
    left.range = interval_subtract(total->range, other->range);
    left.range.low = fmax(0, left.range.low);
    return left;
}

stated row_epoch(const claim_row *r) {
    const stated *v = r->values, in_epochs = time_in_epochs(r);
    if (v[QUANTITY_SECONDS_PER_EPOCH].given) return v[QUANTITY_SECONDS_PER_EPOCH];
    stated epoch = quotient(&in_epochs, &v[QUANTITY_EPOCHS]);
    if (epoch.given)
        snprintf(epoch.text, sizeof epoch.text, "(%.30s - %.30s) / %.8s",
                 v[QUANTITY_TOTAL_SECONDS].text, v[QUANTITY_OTHER_SECONDS].text,
                 v[QUANTITY_EPOCHS].text);
    if (epoch.given) return epoch;
    epoch = quotient(&v[QUANTITY_SAMPLES], &v[QUANTITY_IMAGES_PER_SECOND]);
    if (v[QUANTITY_OTHER_SECONDS].given) { // which it may include
        const double epochs = v[QUANTITY_EPOCHS].given ? v[QUANTITY_EPOCHS].value : 1;
        epoch.range.low = fmax(0, epoch.range.low - v[QUANTITY_OTHER_SECONDS].range.high / epochs);
    }
    epoch.range.low /= TIME_SLACK;
    epoch.range.high *= TIME_SLACK;
    if (epoch.given)
        snprintf(epoch.text, sizeof epoch.text, "(%.30s / %.30s)", v[QUANTITY_SAMPLES].text,
                 v[QUANTITY_IMAGES_PER_SECOND].text);
    return epoch;
}

stated row_listed_epoch(const claim_row *r) {
    const stated_list *list = &r->series[SERIES_EPOCH_SECONDS];
    if (!list->count) return (stated){0};
    const stated *least = &list->items[0], *most = &list->items[0];
    for (size_t i = 1; i < list->count; i++) {
        if (list->items[i].value < least->value) least = &list->items[i];
        if (list->items[i].value > most->value) most = &list->items[i];
    }
    stated listed = {.given = true, .value = most->value, .is_range = true};
    listed.range = (interval){least->range.low, most->range.high};
    snprintf(listed.text, sizeof listed.text, "%.30s–%.30s", least->text, most->text);
    return listed;
}

// Adds the seconds besides the epochs, if the row states them.
static stated add_other(const claim_row *r, stated epochs) {
    const stated *other = &r->values[QUANTITY_OTHER_SECONDS];
    if (!epochs.given || !other->given) return epochs;
    epochs.value += other->value;
    epochs.range = interval_add(epochs.range, other->range);
    return epochs;
}

stated row_mean_epoch(const claim_row *r) {
    const stated *v = r->values, *epochs = &v[QUANTITY_EPOCHS];
    if (v[QUANTITY_TOTAL_SECONDS].given) return quotient(&v[QUANTITY_TOTAL_SECONDS], epochs);
    const stated_list *list = &r->series[SERIES_EPOCH_SECONDS];
    stated sum = product(&v[QUANTITY_SECONDS_PER_EPOCH], epochs);
    if (list->count && epochs->value == (double)list->count) {
        sum.given = true;
        sum.range = row_sum(list, NULL, &sum.value);
    }
    sum = add_other(r, sum);
    return quotient(&sum, epochs);
}

stated row_total(const claim_row *r) {
    const stated *v = r->values, epoch = row_epoch(r);
    if (v[QUANTITY_TOTAL_SECONDS].given) return v[QUANTITY_TOTAL_SECONDS];
    stated of_epochs = product(&epoch, &v[QUANTITY_EPOCHS]);
    if (of_epochs.given) return add_other(r, of_epochs);
    stated steps = row_steps(r), all_steps = product(&steps, &v[QUANTITY_EPOCHS]);
    stated seconds = v[QUANTITY_BATCH_MS];
    seconds.value /= 1000;
    seconds.range = interval_divide(seconds.range, interval_exact(1000));
    return add_other(r, product(&all_steps, &seconds));
}

bool row_has_longer_time(const claim_row *r) {
    return r->values[QUANTITY_SECONDS_PER_EPOCH].given || r->values[QUANTITY_TOTAL_SECONDS].given ||
           r->values[QUANTITY_OTHER_SECONDS].given || r->series[SERIES_EPOCH_SECONDS].count;
}

interval row_sum(const stated_list *l, const stated_list *by, double *value) {
    interval sum = {0, 0};
    *value = 0;
    for (size_t i = 0; i < l->count; i++) {
        double weight = by ? by->items[i].value : 1;
        *value += weight * l->items[i].value;
        sum = interval_add(sum, interval_multiply(l->items[i].range, interval_exact(weight)));
    }
    return sum;
}

bool statement_compares(const claim_statement *s) {
    return s->of && s->than && s->kind != STATEMENT_PROJECTION && s->kind != STATEMENT_SAYS;
}

bool statements_share_rows(const claim_statement *s, const claim_statement *t) {
    return (s->of == t->of && s->than == t->than) || (s->of == t->than && s->than == t->of);
}

const char *time_basis_unit(quantity basis) {
    return basis == QUANTITY_BATCH_MS ? "ms" : basis == QUANTITY_IMAGES_PER_SECOND ? "img/s" : "s";
}

// As stated, else of the batches: a range if these may be of a rank or of all.
static stated image_time(const claim_row *r) {
    const stated *rate = &r->values[QUANTITY_IMAGES_PER_SECOND], batch = row_global_batch(r);
    if (rate->given) return stated_inverse(rate);
    stated time = quotient(&r->values[QUANTITY_BATCH_MS], &batch);
    time.value /= 1000;
    time.range = interval_divide(time.range, interval_exact(1000));
    if (!time.given) return time;
    if (row_batch_is_ambiguous(r))
        snprintf(time.text, sizeof time.text, "%.6g–%.6g", 1 / time.range.high, 1 / time.range.low);
    else
        snprintf(time.text, sizeof time.text, "%.6g", 1 / time.value);
    return time;
}

stated row_time(const claim_row *r, quantity basis) {
    if (basis == QUANTITY_SECONDS_PER_EPOCH) return row_epoch(r);
    return basis == QUANTITY_IMAGES_PER_SECOND ? image_time(r) : r->values[basis];
}
