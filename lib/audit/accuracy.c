// SPDX-License-Identifier: MIT
// Statements about accuracy: the arithmetic, and whether chance explains a difference.
#include <math.h>

#include "audit/checks.h"

// Below this |z|, chance alone gives such a difference more than once in twenty times.
static const double Z_NOISE = 1.959963984540054;

static void check_points(findings *a, const claim_statement *s) {
    const stated *of = &s->of->values[QUANTITY_ACCURACY];
    const stated *than = &s->than->values[QUANTITY_ACCURACY];
    const stated *points = &s->values[QUANTITY_POINTS];
    if (!points->given || interval_meet(interval_subtract(of->range, than->range), points->range))
        return;
    finding_add(a, FINDING_ARITHMETIC, subject_of(QUANTITY_ACCURACY, s), "other_points",
                "not_from_rows");
    finding_sum(a, "points", given("of", of), given("than", than),
                rounded("difference", of->value - than->value, 4), given("stated", points));
}

// ---- More than chance? ---

// Rows that were not measured and accuracies stated as ranges cannot be tested.
static bool can_be_tested(const claim_row *r) {
    const stated *accuracy = &r->values[QUANTITY_ACCURACY];
    return r->measured && accuracy->given && !accuracy->is_range;
}

// The test samples that the accuracy is a proportion of: in a mean of several runs, those of all
// runs. That calls fewer differences chance; whether rows are equal is asked of one run's samples.
static double tested_samples(const claim_statement *s, const claim_row *r) {
    const stated *repeats = &r->values[QUANTITY_REPEATS];
    const bool all = repeats->given && s->kind == STATEMENT_ACCURACY_DIFFERENCE;
    return r->values[QUANTITY_TEST_SAMPLES].value * (all ? repeats->value : 1);
}

static double z_of(const claim_statement *s) {
    return proportions_z(s->of->values[QUANTITY_ACCURACY].value / 100, tested_samples(s, s->of),
                         s->than->values[QUANTITY_ACCURACY].value / 100,
                         tested_samples(s, s->than));
}

static bool has_z(const claim_statement *s) {
    return s->of && s->than && can_be_tested(s->of) && can_be_tested(s->than) &&
           s->of->values[QUANTITY_TEST_SAMPLES].given &&
           s->than->values[QUANTITY_TEST_SAMPLES].given;
}

// Of all pairs that one statement calls equal, only the pair that is furthest apart is reported.
static bool is_furthest(const findings *a, const claim_statement *s) {
    for (size_t i = 0; i < a->claim->statement_count; i++) {
        const claim_statement *t = &a->claim->statements[i];
        if (t->list != s->list || !has_z(t)) continue;
        if (fabs(z_of(t)) > fabs(z_of(s)) || (t < s && fabs(z_of(t)) == fabs(z_of(s))))
            return false;
    }
    return true;
}

static void unknown_samples(findings *a, const claim_statement *s) {
    const stated *x = &s->of->values[QUANTITY_ACCURACY];
    const stated *y = &s->than->values[QUANTITY_ACCURACY];
    finding_add(a, FINDING_UNSUPPORTED, subject_of(QUANTITY_ACCURACY, s), "no_test_samples",
                "unknown_chance");
    finding_sum(a, "points", given("of", x), given("than", y),
                rounded("difference", x->value - y->value, 4), named("stated", NULL));
}

static void check_noise(findings *a, const claim_statement *s) {
    const stated *x = &s->of->values[QUANTITY_ACCURACY];
    const stated *y = &s->than->values[QUANTITY_ACCURACY];
    const stated *points = &s->values[QUANTITY_POINTS];
    const bool same = s->kind == STATEMENT_SAME_ACCURACY || (points->given && points->value == 0);
    if (!has_z(s)) {
        unknown_samples(a, s);
        return;
    }
    const double z = z_of(s);
    const bool noise = fabs(z) < Z_NOISE;
    if (noise == same || (same && !is_furthest(a, s))) return;
    finding_add(a, FINDING_UNSUPPORTED, subject_of(QUANTITY_ACCURACY, s),
                noise ? "maybe_equal" : "unequal", noise ? "chance" : "not_chance");
    finding_sum(a, "z_test", given("of", x), given("than", y),
                rounded("difference", x->value - y->value, 4),
                shown("samples", tested_samples(s, s->of)), fixed("z", z, 2),
                rounded("p", erfc(fabs(z) / sqrt(2)), 2));
    finding_sum(a, "z_limits", {0});
}

void check_accuracy(findings *a, const claim_statement *s) {
    if (s->kind != STATEMENT_ACCURACY_DIFFERENCE && s->kind != STATEMENT_SAME_ACCURACY) return;
    if (!s->of || !s->than) return;
    if (!s->of->values[QUANTITY_ACCURACY].given || !s->than->values[QUANTITY_ACCURACY].given) {
        finding_add(a, FINDING_UNSUPPORTED, subject_of(QUANTITY_ACCURACY, s), "no_accuracies",
                    "uncheckable");
        return;
    }
    check_points(a, s);
    if (can_be_tested(s->of) && can_be_tested(s->than)) check_noise(a, s);
}
