// SPDX-License-Identifier: MIT
// verdict_counts.c - counts the verdicts on real executions of one training, which do not differ.
//
//     verdict_counts FOLDER...
//
// Reads train folders in the order in which they were made, two per round, and forms 200
// comparisons of 3, 5 and 10 rounds, each through lib/results as a report does: in every round one
// of the two, at random, is the subject. Then the subject's times are multiplied by known factors,
// to find the slow-down that 80 % of the comparisons detect. Prints a Markdown table. If there are
// fewer than 200 times as many rounds, comparisons share some of them.
//
// Exit code 4 if more than 16 of 200 say "differ".
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/random.h"
#include "results/compare.h"
#include "results/run_list.h"

enum { COMPARISONS = 200, ALLOWED = 16, LARGEST = 10 };

// One side of a comparison: copies of executions.
typedef struct arm {
    run runs[LARGEST];
    const run *pointers[LARGEST];
} arm;

static void set_run(arm *a, size_t at, const run *from, double factor) {
    a->runs[at] = *from;
    a->runs[at].seconds_per_epoch *= factor;
    a->runs[at].total_seconds *= factor;
    a->pointers[at] = &a->runs[at];
}

// Computes the verdict of comparison `number`, of n rounds.
static status judge(const run_list *list, size_t n, size_t number, double factor, comparison *c,
                    error *err) {
    static const varied_keys nothing = {NULL, 0};
    const size_t rounds = list->execution_count / 2;
    const size_t first = number * (rounds - n) / (COMPARISONS - 1);
    const random_stream s = {
        .seed = 1, .purpose = RANDOM_TRIAL, .epoch = (uint32_t)n, .sample = (uint32_t)number};
    arm subject, baseline;
    for (size_t i = 0; i < n; i++) {
        const run *pair = &list->executions[2 * (first + i)];
        const uint32_t which = random_below(&s, i, 2);
        set_run(&subject, i, &pair[which], factor);
        set_run(&baseline, i, &pair[1 - which], 1);
    }
    const group of = {.name = "subject", .runs = subject.pointers, .count = n};
    const group against = {.name = "baseline", .runs = baseline.pointers, .count = n};
    return compare(&of, &against, &nothing, LANGUAGE_EN, c, err);
}

typedef struct tally {
    size_t differ, same, undecided; // "differ" in the factor's direction, if there is one
} tally;

static status count(const run_list *list, size_t n, double factor, tally *t, error *err) {
    *t = (tally){0};
    for (size_t i = 0; i < COMPARISONS; i++) {
        comparison c;
        status rc = judge(list, n, i, factor, &c, err);
        if (rc != STATUS_OK) return rc;
        const bool found = factor == 1 || (c.speedup.value < 1) == (factor > 1);
        if (verdict_is_difference(&c.time) && found)
            t->differ++;
        else if (c.time.kind == VERDICT_SAME)
            t->same++;
        else
            t->undecided++;
        comparison_release(&c);
    }
    return STATUS_OK;
}

// Finds the least slow-down that 80 % of the comparisons detect, in per cent, to a quarter; NAN:
// they do not even detect 100 %. More of them detect a larger one, so bisection finds it.
static status find_slowdown(const run_list *list, size_t n, double *percent, error *err) {
    int missed = 0, detected = 401; // quarters
    while (detected - missed > 1) {
        const int quarter = detected > 400 ? 400 : (missed + detected) / 2;
        tally t;
        status rc = count(list, n, 1 + quarter / 400.0, &t, err);
        if (rc != STATUS_OK) return rc;
        *(5 * t.differ >= 4 * COMPARISONS ? &detected : &missed) = quarter;
    }
    *percent = detected > 400 ? NAN : detected / 4.0;
    return STATUS_OK;
}

static status print_row(const run_list *list, size_t n, tally *worst, error *err) {
    tally t;
    double percent;
    char found[32] = "none";
    status rc = count(list, n, 1, &t, err);
    if (rc == STATUS_OK) rc = find_slowdown(list, n, &percent, err);
    if (rc != STATUS_OK) return rc;
    if (!isnan(percent)) snprintf(found, sizeof found, "%.2f %%", percent);
    printf("| %zu | %d | %zu | %zu | %zu | %s |\n", n, COMPARISONS, t.differ, t.same, t.undecided,
           found);
    if (t.differ > worst->differ) worst->differ = t.differ;
    return STATUS_OK;
}

static status run_counts(run_list *list, int folders, char **folder, error *err) {
    static const size_t rounds[] = {3, 5, LARGEST};
    tally worst = {0};
    status rc = STATUS_OK;
    if (folders < 2 * (LARGEST + 1))
        return error_set(err, STATUS_USAGE, "expected %d executions or more", 2 * (LARGEST + 1));
    for (int i = 0; i < folders; i++) TRY(run_list_add(list, folder[i], err));
    printf("| rounds | comparisons | differ | the same within ±%g %% | undecided | "
           "slow-down found in 80 %% |\n|---|---|---|---|---|---|\n",
           100 * VERDICT_TIME_MARGIN);
    for (size_t i = 0; i < 3; i++) TRY(print_row(list, rounds[i], &worst, err));
    if (worst.differ > ALLOWED)
        rc = error_set(err, STATUS_FINDING, "more than %d of %d comparisons of equals differ",
                       ALLOWED, COMPARISONS);
out:
    return rc;
}

int main(int argc, char **argv) {
    error err = {0};
    run_list list = {0};
    const status rc = run_counts(&list, argc - 1, argv + 1, &err);
    run_list_release(&list);
    if (rc != STATUS_OK) fprintf(stderr, "verdict_counts: %s\n", err.message);
    return (int)rc;
}
