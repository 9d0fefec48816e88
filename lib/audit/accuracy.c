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
    finding_add(a, FINDING_ARITHMETIC, subject_of(QUANTITY_ACCURACY, s),
                "'%s' and '%s': their accuracies differ by another amount", s->of->name,
                s->than->name);
    finding_arithmetic(a, "%s - %s = %.4g points, stated %s", of->text, than->text,
                       of->value - than->value, points->text);
    finding_consequence(a, "the stated difference does not follow from the rows");
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
    finding_add(a, FINDING_UNSUPPORTED, subject_of(QUANTITY_ACCURACY, s),
                "'%s' and '%s': the number of test samples is not given", s->of->name,
                s->than->name);
    finding_arithmetic(a, "%s - %s = %.4g points", x->text, y->text, x->value - y->value);
    finding_consequence(a, "it is unknown whether the difference is more than chance");
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
                noise ? "'%s' and '%s' are not shown to differ in accuracy"
                      : "'%s' and '%s' are not equal in accuracy",
                s->of->name, s->than->name);
    finding_arithmetic(a, "%s - %s = %.4g points of %s test samples: z = %.2f, p = %.2g", x->text,
                       y->text, x->value - y->value, finding_show(tested_samples(s, s->of)).text, z,
                       z_p_value(z));
    finding_arithmetic(a,
                       "z treats the images of the two as independent: on the same images it would "
                       "rather be larger (conservative); it excludes the variance between seeds");
    finding_consequence(
        a, noise ? "chance alone can give such a difference: neither arm is shown to be better"
                 : "the choice of test images does not explain the difference: the cause is "
                   "the arms or their seeds, and one run of each cannot separate them");
}

void check_accuracy(findings *a, const claim_statement *s) {
    if (s->kind != STATEMENT_ACCURACY_DIFFERENCE && s->kind != STATEMENT_SAME_ACCURACY) return;
    if (!s->of || !s->than) return;
    if (!s->of->values[QUANTITY_ACCURACY].given || !s->than->values[QUANTITY_ACCURACY].given) {
        finding_add(a, FINDING_UNSUPPORTED, subject_of(QUANTITY_ACCURACY, s),
                    "'%s' and '%s': the rows do not give both accuracies", s->of->name,
                    s->than->name);
        finding_consequence(a, "the statement cannot be checked");
        return;
    }
    check_points(a, s);
    if (can_be_tested(s->of) && can_be_tested(s->than)) check_noise(a, s);
}
