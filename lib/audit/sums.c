// SPDX-License-Identifier: MIT
// Consistency of a row besides its times: sources, batch sizes, accuracies.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "audit/checks.h"
#include "audit/row.h"

// ---- Sources of figures ------------------------------------------------------------------------

static bool has_figures(const claim_row *r) {
    for (int q = QUANTITY_TOTAL_SECONDS; q < QUANTITY_BY_PERCENT; q++)
        if (r->values[q].given) return true;
    return false;
}

static bool is_expected(const claim_row *r) {
    return !r->measured;
}

static bool is_quoted(const claim_row *r) {
    return r->measured && r->source == SOURCE_NONE && has_figures(r);
}

// Adds one finding for all rows for which `is` holds, naming only the first few. Returns false if
// there are none.
static bool list_rows(findings *a, int topic, bool (*is)(const claim_row *), const char *what) {
    enum { NAMED = 6 };
    const claim *c = a->claim;
    const claim_row *first = NULL;
    size_t found = 0;
    text names = {0};
    for (size_t i = 0; i < c->row_count; i++) {
        if (!is(&c->rows[i])) continue;
        if (!first) first = &c->rows[i];
        if (found && found < NAMED) text_append(&names, finding_text(a, ", "));
        if (found == NAMED) text_append(&names, finding_text(a, ", …"));
        if (found < NAMED) text_format(&names, finding_text(a, "'%s'"), c->rows[i].name);
        found++;
    }
    if (found) {
        finding_add(a, FINDING_UNSUPPORTED, subject_row(topic, first), what, text_string(&names));
        finding_arithmetic(a, "%zu of %zu rows", found, c->row_count);
    }
    text_release(&names);
    return found > 0;
}

void check_sources(findings *a) {
    if (list_rows(a, TOPIC_MEASURED, is_expected, "%s expected, never measured"))
        finding_consequence(a, "these rows are a guess, and so is every speed-up between them");
    if (list_rows(a, TOPIC_SOURCE, is_quoted, "%s quoted without a source"))
        finding_consequence(a,
                            "these figures cannot be checked, and their runs cannot be repeated");
}

// ---- Batch sizes and accuracies ----------------------------------------------------------------

static void check_global_batch(findings *a, const claim_row *r) {
    const stated *v = r->values, *global = &v[QUANTITY_GLOBAL_BATCH], *batch = &v[QUANTITY_BATCH];
    if (!global->given || !batch->given || !r->labels[LABEL_STRATEGY]) return;
    if (interval_meet(global->range, batch->range)) return;
    bool ddp = row_is(r, "ddp");
    const stated *devices = &v[QUANTITY_DEVICES];
    if (ddp && !devices->given) return;
    if (ddp && interval_meet(global->range, interval_multiply(batch->range, devices->range)))
        return;
    finding_add(a, FINDING_ARITHMETIC, subject_row(QUANTITY_GLOBAL_BATCH, r),
                "'%s': its batch does not match its global batch", r->name);
    if (ddp)
        finding_arithmetic(a, "%s per rank x %s ranks = %s per step, stated %s", batch->text,
                           devices->text, finding_show(batch->value * devices->value).text,
                           global->text);
    else
        finding_arithmetic(a, "a batch of %s is split over the devices: %s per step, stated %s",
                           batch->text, batch->text, global->text);
    finding_consequence(
        a, "the number of updates and the learning rate per sample differ from the stated ones");
}

// The proportion of n samples can take n + 1 values.
static void check_proportion(findings *a, const claim_row *r) {
    const stated *v = r->values, *accuracy = &v[QUANTITY_ACCURACY];
    if (!accuracy->given || !v[QUANTITY_TEST_SAMPLES].given) return;
    double n = v[QUANTITY_TEST_SAMPLES].range.high;
    if (v[QUANTITY_REPEATS].given) n *= v[QUANTITY_REPEATS].range.high;
    double low = ceil(accuracy->range.low / 100 * n - 1e-6);
    double high = floor(accuracy->range.high / 100 * n + 1e-6);
    if (low <= high) return;
    finding_add(a, FINDING_ARITHMETIC, subject_row(QUANTITY_ACCURACY, r),
                "'%s': no whole number of samples gives its accuracy", r->name);
    finding_arithmetic(a, "%s %% of %s = %.6g samples: %.0f are %.6g %%, %.0f are %.6g %%",
                       accuracy->text, finding_show(n).text, accuracy->value / 100 * n, high,
                       100 * high / n, low, 100 * low / n);
    finding_consequence(a, "the accuracy or the number of test samples is wrong");
}

// Weighted by their numbers of samples, the classes' accuracies must give the overall accuracy.
static void check_class_list(findings *a, const claim_row *r) {
    const stated_list *classes = &r->series[SERIES_CLASS_ACCURACIES];
    const stated_list *samples = &r->series[SERIES_CLASS_SAMPLES];
    const stated *accuracy = &r->values[QUANTITY_ACCURACY];
    double all, right;
    if (!accuracy->given || !classes->count || classes->count != samples->count) return;
    (void)row_sum(samples, NULL, &all);
    interval range = row_sum(classes, samples, &right);
    if (interval_meet(interval_divide(range, interval_exact(all)), accuracy->range)) return;
    finding_add(a, FINDING_ARITHMETIC, subject_row(QUANTITY_ACCURACY, r),
                "'%s': the accuracies of its classes do not give its overall accuracy", r->name);
    finding_arithmetic(a, "%.0f samples of %zu classes: %.2f %%, stated %s %%", all, classes->count,
                       right / all, accuracy->text);
    finding_consequence(a, "they are not from one evaluation");
}

void check_sums(findings *a) {
    for (size_t i = 0; i < a->claim->row_count; i++) {
        const claim_row *r = &a->claim->rows[i];
        check_global_batch(a, r);
        check_row_times(a, r);
        check_proportion(a, r);
        check_class_list(a, r);
    }
    check_implied_batches(a);
}
