// SPDX-License-Identifier: MIT
#include "results/verdict.h"

#include <math.h>

static const double alpha = 0.05;

verdict verdict_none(verdict_missing missing) {
    return (verdict){.kind = VERDICT_NONE,
                     .missing = missing,
                     .p = NAN,
                     .adjusted = NAN,
                     .tests = 1,
                     .difference = {NAN, NAN, NAN}};
}

verdict verdict_identical(void) {
    verdict v = verdict_none(MISSING_NOTHING);
    v.kind = VERDICT_IDENTICAL;
    return v;
}

// Derives the verdict from the p-values, unless something is lacking.
static void settle(verdict *v) {
    if (v->missing != MISSING_NOTHING || v->kind == VERDICT_COST || v->kind == VERDICT_IDENTICAL)
        return;
    const bool differs = v->adjusted < alpha;
    if (differs)
        v->kind = v->within ? VERDICT_SMALL : VERDICT_DIFFERENT;
    else
        v->kind = v->within ? VERDICT_SAME : VERDICT_UNDECIDED;
}

static void decide(verdict *v, const mean_estimate *m, double p, double margin) {
    v->p = v->adjusted = p;
    v->within = statistics_margin_p_value(m, margin) < alpha;
    settle(v);
}

// ---- Time ----

// Completes a verdict on time, which has its test and what is missing, by how many times as fast
// the subject is.
static void judge_time(verdict *v, const mean_estimate *log_faster, bool simulated,
                       estimate *ratio) {
    const interval range = statistics_interval(log_faster, 0.95);
    *ratio = (estimate){exp(log_faster->value), {exp(range.low), exp(range.high)}};
    if (v->missing != MISSING_NOTHING)
        v->test = TEST_NONE;
    else if (simulated)
        v->kind = VERDICT_COST;
    else
        decide(v, log_faster, statistics_p_value(log_faster), log1p(VERDICT_TIME_MARGIN));
}

verdict verdict_on_turns(const mean_estimate *longer, size_t executions, bool simulated,
                         estimate *ratio) {
    const bool enough = executions >= VERDICT_EXECUTIONS;
    verdict v = verdict_none(enough ? MISSING_NOTHING : MISSING_EXECUTIONS);
    const mean_estimate faster = {-longer->value, longer->error, longer->df};
    v.test = TEST_TURNS;
    v.subject = v.baseline = executions;
    judge_time(&v, &faster, simulated, ratio);
    return v;
}

// ---- Accuracy ----

// An accuracy is a whole number of samples, so seeds with equal differences may still differ by
// that rounding, whose variance is a twelfth of a sample's on each side. If the number of samples
// is unknown, a difference without spread has no error.
static double with_rounding(double spread, size_t seeds, int64_t samples) {
    if (samples > 0) return fmax(spread, 1 / (double)samples / sqrt(6.0 * (double)seeds));
    return spread > 1e-9 ? spread : NAN;
}

static verdict judge_seeds(mean_estimate m, verdict_test test, size_t subjects, size_t baselines,
                           int64_t samples, estimate *difference) {
    const size_t least = subjects < baselines ? subjects : baselines;
    m.error = least < 2 ? NAN : with_rounding(m.error, least, samples);
    const bool tested = least >= VERDICT_SEEDS && !isnan(m.error);
    verdict v = verdict_none(tested ? MISSING_NOTHING : MISSING_SEEDS);
    *difference = (estimate){m.value, statistics_interval(&m, 0.95)};
    v.subject = subjects;
    v.baseline = baselines;
    if (v.missing != MISSING_NOTHING) return v;
    v.test = test;
    v.difference = m;
    decide(&v, &m, statistics_p_value(&m), VERDICT_ACCURACY_MARGIN);
    return v;
}

verdict verdict_on_seeds(const double *subject, const double *baseline, size_t n, int64_t samples,
                         estimate *difference) {
    return judge_seeds(statistics_pairs(subject, baseline, n), TEST_SEEDS, n, n, samples,
                       difference);
}

verdict verdict_on_other_seeds(const double *subject, size_t subjects, const double *baseline,
                               size_t baselines, int64_t samples, estimate *difference) {
    return judge_seeds(statistics_welch(subject, subjects, baseline, baselines), TEST_APART,
                       subjects, baselines, samples, difference);
}

size_t verdict_seeds_needed(const verdict *v) {
    enum { MOST = 1000 };
    if (v->kind != VERDICT_UNDECIDED || !(v->difference.error > 0)) return 0;
    const int means = v->test == TEST_APART ? 2 : 1;
    const double size = fabs(v->difference.value), now = (double)v->subject;
    const double each = 2 / (1 / now + 1 / (double)v->baseline); // of sides of different size
    const double deviation = v->difference.error * sqrt(each);
    const size_t differs = statistics_sample_size(
        size / deviation, 1 - alpha / 2 / (double)v->tests, 0.8, means, MOST);
    const size_t same = statistics_sample_size((VERDICT_ACCURACY_MARGIN - size) / deviation,
                                               1 - alpha, 0.9, means, MOST);
    const size_t needed = !differs || (same && same < differs) ? same : differs;
    return needed && needed <= v->subject ? v->subject + 1 : needed;
}

verdict verdict_on_models(int64_t only_subject, int64_t only_baseline, int64_t samples,
                          estimate *difference) {
    const mean_estimate m = statistics_proportions(only_subject, only_baseline, samples);
    verdict v = verdict_none(MISSING_NOTHING);
    difference->range = statistics_interval(&m, 0.95);
    v.test = TEST_SAMPLES;
    v.subject = v.baseline = (size_t)samples;
    decide(&v, &m, statistics_mcnemar(only_subject, only_baseline), VERDICT_ACCURACY_MARGIN);
    return v;
}

// ---- Families of verdicts ----

static size_t count_tests(verdict *const *family, size_t count) {
    size_t tests = 0;
    for (size_t i = 0; i < count; i++)
        if (!isnan(family[i]->p)) tests++;
    return tests;
}

// Holm: the k-th smallest of m p-values is multiplied by m - k + 1, and is at least as large as the
// one before it. Equal values use the k of the first.
static double holm(verdict *const *family, size_t count, size_t tests, double p) {
    double adjusted = 0;
    for (size_t i = 0; i < count; i++) {
        const double other = family[i]->p;
        size_t smaller = 0;
        if (!(other <= p)) continue;
        for (size_t k = 0; k < count; k++)
            if (family[k]->p < other) smaller++;
        adjusted = fmax(adjusted, fmin(1, (double)(tests - smaller) * other));
    }
    return adjusted;
}

void verdict_correct(verdict *const *family, size_t count) {
    const size_t tests = count_tests(family, count);
    for (size_t i = 0; i < count; i++) {
        verdict *v = family[i];
        if (isnan(v->p)) continue;
        v->adjusted = holm(family, count, tests, v->p);
        v->tests = tests;
        settle(v);
    }
}
