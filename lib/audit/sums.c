// SPDX-License-Identifier: MIT
// Consistency of a row besides its times: sources, batch sizes, accuracies.
#include <math.h>

#include "audit/checks.h"
#include "audit/row.h"
#include "base/json.h"

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

// Adds one finding for all rows for which `is` holds, with the names of the first few.
static void list_rows(findings *a, int topic, bool (*is)(const claim_row *), const char *id,
                      const char *so) {
    enum { NAMED = 6 };
    const claim *c = a->claim;
    const claim_row *first = NULL;
    size_t found = 0;
    yaml_node *names = yaml_new(YAML_SEQUENCE);
    for (size_t i = 0; i < c->row_count; i++) {
        if (!is(&c->rows[i])) continue;
        if (!first) first = &c->rows[i];
        if (found < NAMED) yaml_append(names, json_new_string(c->rows[i].name));
        found++;
    }
    if (first) {
        finding_add(a, FINDING_UNSUPPORTED, subject_row(topic, first), id, so);
        finding_put(a, {"rows", names}, whether("more", found > NAMED));
        finding_sum(a, "rows", counted("found", found), counted("all", c->row_count));
    } else {
        yaml_free(names);
    }
}

void check_sources(findings *a) {
    list_rows(a, TOPIC_MEASURED, is_expected, "not_measured", "guess");
    list_rows(a, TOPIC_SOURCE, is_quoted, "no_source", "unrepeatable");
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
    finding_add(a, FINDING_ARITHMETIC, subject_row(QUANTITY_GLOBAL_BATCH, r), "other_global_batch",
                "other_updates");
    if (ddp)
        finding_sum(a, "batch_of_ranks", given("batch", batch), given("ranks", devices),
                    shown("product", batch->value * devices->value), given("stated", global));
    else
        finding_sum(a, "batch_of_devices", given("batch", batch), given("stated", global));
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
    finding_add(a, FINDING_ARITHMETIC, subject_row(QUANTITY_ACCURACY, r), "no_proportion",
                "wrong_accuracy");
    finding_sum(a, "proportion", given("accuracy", accuracy), shown("samples", n),
                rounded("right", accuracy->value / 100 * n, 6), fixed("fewer", high, 0),
                rounded("fewer_percent", 100 * high / n, 6), fixed("more", low, 0),
                rounded("more_percent", 100 * low / n, 6));
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
    finding_add(a, FINDING_ARITHMETIC, subject_row(QUANTITY_ACCURACY, r), "other_classes",
                "two_evaluations");
    finding_sum(a, "classes", fixed("samples", all, 0), counted("classes", classes->count),
                fixed("accuracy", right / all, 2), given("stated", accuracy));
}

// Two keys of one quantity state the same: an accuracy and its error make 100.
static void check_again(findings *a, const claim_row *r) {
    for (size_t i = 0; i < r->again.count; i++) {
        const quantity q = r->again.of[i];
        const stated *first = &r->values[q], *second = &r->again.values[i];
        if (interval_meet(first->range, second->range)) continue;
        finding_add(a, FINDING_ARITHMETIC, subject_row((int)q, r), "stated_twice", "at_most_one");
        finding_put(a, named("quantity", quantity_key(q)));
        if (q == QUANTITY_ACCURACY)
            finding_sum(a, "not_hundred", given("accuracy", first),
                        rounded("error", 100 - second->value, 6),
                        rounded("sum", first->value + 100 - second->value, 6));
        else
            finding_sum(a, "both_figures", given("first", first), given("second", second));
    }
}

void check_sums(findings *a) {
    for (size_t i = 0; i < a->claim->row_count; i++) {
        const claim_row *r = &a->claim->rows[i];
        check_again(a, r);
        check_global_batch(a, r);
        check_row_times(a, r);
        check_proportion(a, r);
        check_class_list(a, r);
    }
    check_implied_batches(a);
}
