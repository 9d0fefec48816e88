// SPDX-License-Identifier: MIT
#include "results/compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "results/origin.h"
#include "results/predictions.h"
#include "results/timed_arms.h"

static const estimate no_estimate = {NAN, {NAN, NAN}};

// ---- Times ----

// The means over the executions of one side that have times, NAN if none has: of the logarithm of
// the seconds per epoch, of these, and of the total.
typedef struct side {
    double log_seconds, seconds, total;
    interval epochs; // fastest and slowest
} side;

static void add_times(side *s, const run *r) {
    s->log_seconds += log(r->seconds_per_epoch);
    s->seconds += r->seconds_per_epoch;
    s->total += r->total_seconds;
    for (size_t k = 0; k < r->timed; k++) {
        s->epochs.low = fmin(s->epochs.low, r->seconds[k]);
        s->epochs.high = fmax(s->epochs.high, r->seconds[k]);
    }
}

static side read_side(const seed_group *g) {
    side s = {.epochs = {INFINITY, 0}};
    const run **executions;
    size_t all;
    double count = 0;
    seed_group_executions(g, &executions, &all);
    for (size_t i = 0; i < all; i++) {
        const run *r = executions[i];
        if (!run_has_time(r) || !r->timed || isnan(r->seconds_per_epoch)) continue;
        add_times(&s, r);
        count++;
    }
    free(executions);
    s.log_seconds /= count;
    s.seconds /= count;
    s.total /= count;
    return s;
}

// The difference in seconds per epoch, over the executions of two arms.
static void turn_difference(const turn_fit *f, const double samples[2], const size_t arm[2],
                            estimate *difference) {
    double *seconds = memory_new(2 * f->executions, sizeof *seconds);
    for (size_t e = 0; e < f->executions; e++) {
        seconds[e] = samples[0] * turn_fit_execution(f, e, arm[0]);
        seconds[f->executions + e] = samples[1] * turn_fit_execution(f, e, arm[1]);
    }
    const mean_estimate m = statistics_pairs(seconds, seconds + f->executions, f->executions);
    *difference = (estimate){m.value, statistics_interval(&m, 0.95)};
    free(seconds);
}

// Judges two arms by the rounds of one fit.
static verdict judge_arms(const turn_fit *f, size_t subject, size_t baseline, double samples,
                          bool simulated, estimate *ratio) {
    mean_estimate longer = turn_fit_difference(f, subject, baseline);
    longer.value += log(samples);
    return verdict_on_turns(&longer, f->executions, simulated, ratio);
}

void compare_arms(const turn_evidence *e, size_t subject, size_t baseline, double samples,
                  comparison *c) {
    const turn_fit *f = turn_evidence_on(e, subject, baseline);
    c->beside = no_estimate;
    c->time = judge_arms(f, subject, baseline, samples, c->simulated, &c->speedup);
    if (c->time.missing == MISSING_NOTHING) return;
    c->speedup.range = (interval){NAN, NAN};
    if (f == &e->all) return;
    const verdict beside =
        judge_arms(&e->all, subject, baseline, samples, c->simulated, &c->beside);
    c->speedup = no_estimate;
    c->time = verdict_none(beside.missing != MISSING_NOTHING ? beside.missing
                           : e->known                        ? MISSING_QUIET
                                                             : MISSING_DEMAND);
    c->time.subject = c->time.baseline = e->all.executions;
}

// Takes the times per epoch from the turns. An epoch may have fewer samples on one side, where they
// are left out for validation.
static void take_turns(comparison *c) {
    size_t arm[2];
    const run *subject = seed_group_arm(c->subject, c->timing, &arm[0]);
    const run *baseline = seed_group_arm(c->baseline, c->timing, &arm[1]);
    const double samples[2] = {(double)subject->samples, (double)baseline->samples};
    const turn_evidence *e = &c->timing->evidence;
    compare_arms(e, arm[0], arm[1], samples[0] / samples[1], c);
    c->spread = (interval){NAN, NAN};
    c->seconds = no_estimate;
    if (isnan(c->speedup.value)) return; // no evidence
    turn_difference(turn_evidence_on(e, arm[0], arm[1]), samples, arm, &c->seconds);
    if (c->time.missing == MISSING_EXECUTIONS) c->seconds.range = (interval){NAN, NAN};
}

// Whole trainings, of which none was timed beside the other, show a ratio and its range over their
// epochs, and no verdict: a change of the machine would look like a difference.
static void compare_executions(comparison *c) {
    const side of = read_side(c->subject), against = read_side(c->baseline);
    c->time = verdict_none(MISSING_TURNS);
    c->speedup.value = exp(against.log_seconds - of.log_seconds);
    c->seconds.value = of.seconds - against.seconds;
    c->total.value = of.total - against.total;
    // With one epoch per side there is no spread.
    if (of.epochs.low < of.epochs.high || against.epochs.low < against.epochs.high)
        c->spread =
            (interval){against.epochs.low / of.epochs.high, against.epochs.high / of.epochs.low};
}

static void compare_times(comparison *c) {
    compare_executions(c);
    if (c->timing) take_turns(c);
}

// Finds the simulated run with the most ranks.
static void find_crowded(const seed_group *g, comparison *c) {
    for (size_t i = 0; i < g->count; i++) {
        const run *r = g->runs[i];
        if (r->simulated && (!c->crowded || r->host_ranks > c->crowded->host_ranks)) c->crowded = r;
    }
    c->simulated = c->crowded != NULL;
}

// The only setting in which every run of one side differs from every run of the other.
static const char *single_setting(const comparison *c) {
    const bool together = c->timing != NULL;
    const char *one = like_single_setting(c->subject->runs[0], c->baseline->runs[0], together);
    for (size_t i = 0; one && i < c->subject->count; i++)
        for (size_t k = 0; one && k < c->baseline->count; k++)
            if (like_single_setting(c->subject->runs[i], c->baseline->runs[k], together) != one)
                one = NULL;
    return one;
}

// Compares every run of one side with every run of the other, until a reason is found.
static void find_reasons(comparison *c, const varied_keys *varied) {
    const varied_keys single = {&c->setting, 1};
    if (!varied && (c->setting = single_setting(c))) varied = &single;
    for (size_t i = 0; !c->unlike.count && i < c->subject->count; i++)
        for (size_t k = 0; !c->unlike.count && k < c->baseline->count; k++)
            like_for_like(c->subject->runs[i], c->baseline->runs[k], varied, c->timing, &c->unlike);
}

// ---- Accuracy ----

// The run of `g` with that seed, if its accuracy is known.
static const run *with_seed(const seed_group *g, int64_t seed) {
    for (size_t i = 0; i < g->count; i++)
        if (g->runs[i]->seed == seed && !isnan(g->runs[i]->accuracy)) return g->runs[i];
    return NULL;
}

static status check_predictions(const run *r, const predictions *p, error *err) {
    const file_place file = metric_file_of(FILE_PREDICTIONS, r);
    return run_check_content(&file, p->file.content, err);
}

// Leaves the difference untested if the predictions are about other samples.
static status test_samples(const run *a, const run *b, comparison *c, error *err) {
    predictions of_a = {0}, of_b = {0};
    int64_t only_a, only_b;
    status rc = STATUS_OK;
    TRY(predictions_read(a->evaluation, &of_a, err));
    TRY(predictions_read(b->evaluation, &of_b, err));
    TRY(check_predictions(a, &of_a, err));
    TRY(check_predictions(b, &of_b, err));
    if (predictions_compare(&of_a, &of_b, &only_a, &only_b, err) != STATUS_OK) goto out;
    c->accuracy = verdict_on_models(only_a, only_b, (int64_t)of_a.samples, &c->accuracy_difference);
out:
    predictions_release(&of_a);
    predictions_release(&of_b);
    return rc;
}

// Does every run of `a` have a run in `b` with the same seed, the same model and the same views of
// the test images?
static bool has_models(const seed_group *a, const seed_group *b) {
    for (size_t i = 0; i < a->count; i++) {
        const run *one = a->runs[i];
        bool found = false;
        for (size_t k = 0; k < b->count; k++) {
            const run *other = b->runs[k];
            if (one->seed != other->seed) continue;
            if (!*one->model_content || strcmp(one->model_content, other->model_content) != 0)
                return false;
            if (strcmp(one->views, other->views) != 0) return false;
            found = true;
        }
        if (!found) return false;
    }
    return true;
}

// Seeds with an accuracy on both sides, each once: timing a run again adds no seed.
typedef struct seed_pairs {
    double *subject, *baseline; // accuracies
    size_t count;
    const run *left, *right; // the first pair
} seed_pairs;

// The accuracies of all seeds of a side, each once; free() them.
static double *list_seeds(const seed_group *g, size_t *count) {
    double *accuracies = memory_new(g->count, sizeof *accuracies);
    *count = 0;
    for (size_t i = 0; i < g->count; i++)
        if (with_seed(g, g->runs[i]->seed) == g->runs[i])
            accuracies[(*count)++] = g->runs[i]->accuracy;
    return accuracies;
}

// Seeds that the other side lacks: false if there are too few for a test.
static bool test_other_seeds(comparison *c) {
    size_t subjects, baselines;
    double *subject = list_seeds(c->subject, &subjects);
    double *baseline = list_seeds(c->baseline, &baselines);
    const bool enough = subjects >= VERDICT_SEEDS && baselines >= VERDICT_SEEDS;
    if (enough)
        c->accuracy =
            verdict_on_other_seeds(subject, subjects, baseline, baselines,
                                   c->subject->runs[0]->test_samples, &c->accuracy_difference);
    free(subject);
    free(baseline);
    return enough;
}

static void find_pairs(const seed_group *a, const seed_group *b, seed_pairs *p) {
    *p = (seed_pairs){.subject = memory_new(a->count, sizeof(double)),
                      .baseline = memory_new(a->count, sizeof(double))};
    for (size_t i = 0; i < a->count; i++) {
        const run *r = a->runs[i], *other = with_seed(b, r->seed);
        if (!other || with_seed(a, r->seed) != r) continue;
        if (!p->count) p->left = r, p->right = other;
        p->subject[p->count] = r->accuracy;
        p->baseline[p->count++] = other->accuracy;
    }
}

static double mean_difference(const comparison *c) {
    const metric_row *accuracy = metrics_find("accuracy");
    return seed_group_mean(c->subject, accuracy, 0).mean -
           seed_group_mean(c->baseline, accuracy, 0).mean;
}

static status test_accuracy(comparison *c, const seed_pairs *p, error *err) {
    estimate *difference = &c->accuracy_difference;
    status rc = STATUS_OK;
    if (p->count < VERDICT_SEEDS && test_other_seeds(c)) return rc;
    // Two seeds are too few for a verdict, but the first must not stand for both.
    if (p->count > 1) {
        const int64_t samples =
            p->left->test_samples > 0 ? p->left->test_samples : p->right->test_samples;
        c->accuracy = verdict_on_seeds(p->subject, p->baseline, p->count, samples, difference);
    } else if (p->count && p->left->evaluation && p->right->evaluation) {
        difference->value = p->left->accuracy - p->right->accuracy;
        rc = test_samples(p->left, p->right, c, err);
    } else {
        difference->value = mean_difference(c);
    }
    return rc;
}

static status compare_accuracy(comparison *c, error *err) {
    const char *data = origin_test_data(c->subject->runs[0]);
    seed_pairs p = {0};
    status rc = STATUS_OK;
    c->identical = has_models(c->subject, c->baseline) && has_models(c->baseline, c->subject);
    c->accuracy = verdict_none(MISSING_TEST_DATA);
    if (!*data || strcmp(data, origin_test_data(c->baseline->runs[0])) != 0) goto out;
    find_pairs(c->subject, c->baseline, &p);
    if (!c->identical) {
        c->accuracy = verdict_none(MISSING_SEEDS);
        TRY(test_accuracy(c, &p, err));
    } else {
        c->accuracy = verdict_identical();
        c->accuracy_difference = (estimate){0, {0, 0}};
    }
out:
    free(p.subject);
    free(p.baseline);
    return rc;
}

// ---- Both ----

status compare(const seed_group *subject, const seed_group *baseline, const varied_keys *varied,
               comparison *c, error *err) {
    status rc = STATUS_OK;
    *c = (comparison){.subject = subject,
                      .baseline = baseline,
                      .timing = seed_group_common_timing(subject, baseline),
                      .time = verdict_none(MISSING_LIKE_FOR_LIKE),
                      .speedup = no_estimate,
                      .beside = no_estimate,
                      .seconds = no_estimate,
                      .total = no_estimate,
                      .spread = {NAN, NAN},
                      .accuracy_difference = no_estimate};
    find_crowded(subject, c);
    find_crowded(baseline, c);
    find_reasons(c, varied);
    like_arithmetic(subject->runs[0], baseline->runs[0], &c->arithmetic);
    if (!c->unlike.count) compare_times(c);
    rc = compare_accuracy(c, err);
    if (rc != STATUS_OK) comparison_release(c);
    return rc;
}

void compare_together(comparison *const *family, size_t count) {
    verdict **verdicts = memory_new(count, sizeof *verdicts);
    for (size_t i = 0; i < count; i++) verdicts[i] = &family[i]->time;
    verdict_correct(verdicts, count);
    for (size_t i = 0; i < count; i++) verdicts[i] = &family[i]->accuracy;
    verdict_correct(verdicts, count);
    free(verdicts);
}

void compare_table(comparison *table, size_t count) {
    comparison **family = memory_new(count, sizeof *family);
    for (size_t i = 0; i < count; i++) family[i] = &table[i];
    compare_together(family, count);
    free(family);
}

void comparison_release(comparison *c) {
    reasons_release(&c->unlike);
    reasons_release(&c->arithmetic);
}
