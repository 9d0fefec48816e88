// SPDX-License-Identifier: MIT
#include "results/verdict_text.h"

#include <math.h>
#include <stdio.h>

// ---- Time ----

static double percent_more(double times_as_fast) {
    return 100 * (1 / times_as_fast - 1);
}

// Appends the range of the cost on this machine.
static void append_cost(text *out, const comparison *c, language l) {
    const double least = percent_more(c->speedup.range.high),
                 most = percent_more(c->speedup.range.low);
    const bool fine = fmax(fabs(least), fabs(most)) < 10 || most - least < 1;
    char low[32], high[32];
    snprintf(low, sizeof low, "%.*f", fine ? 1 : 0, fabs(least));
    snprintf(high, sizeof high, "%.*f", fine ? 1 : 0, fabs(most));
    if (least > 0)
        text_format(out, words_in(l, "costs %s–%s %% more"), low, high);
    else if (most < 0)
        text_format(out, words_in(l, "takes %s–%s %% less"), high, low);
    else
        text_format(out, words_in(l, "takes between %s %% less and %s %% more"), low, high);
}

// Appends "on these 2 cores; says nothing about 4 devices".
static void append_place(text *out, const run *crowded, language l) {
    const bool ranks = crowded->host_ranks > 1;
    const int64_t needed = ranks ? crowded->host_ranks : crowded->host_ranks * crowded->threads;
    const bool on_gpus = run_shares_gpu(crowded);
    const int64_t there = on_gpus ? crowded->gpus : crowded->cores;
    const char *on = on_gpus     ? there > 1 ? WORD(" on these %lld GPUs") : WORD(" on this GPU")
                         : there > 1 ? WORD(" on these %lld cores")
                                 : WORD(" on this core");
    text_format(out, words_in(l, on), (long long)there);
    text_format(out,
                words_in(l, ranks ? WORD("; says nothing about %lld devices")
                                  : WORD("; says nothing about %lld cores")),
                (long long)needed);
}

// Appends the ratio with its interval, or else the spread over epochs.
static void append_ratio(text *out, const comparison *c, language l) {
    const double times = c->speedup.value;
    const bool among_epochs = isnan(c->speedup.range.low), longer = times < 1;
    const interval range = among_epochs ? c->spread : c->speedup.range;
    text_format(out, words_in(l, longer ? "takes %.2f times as long" : "%.2f times as fast"),
                longer ? 1 / times : times);
    if (!isnan(range.low))
        text_format(out, " [%.2f, %.2f]", longer ? 1 / range.high : range.low,
                    longer ? 1 / range.low : range.high);
    if (!isnan(range.low) && among_epochs) text_append(out, words_in(l, " over epochs"));
}

// Appends why there is no verdict, and how to get one.
static void append_lack(text *out, const comparison *c, verdict_length length, language l) {
    const verdict *v = &c->time;
    const size_t least = v->subject < v->baseline ? v->subject : v->baseline;
    const size_t most = v->subject < v->baseline ? v->baseline : v->subject;
    if (v->missing == MISSING_LIKE_FOR_LIKE) {
        text_format(out, words_in(l, "not like for like: %s"), c->reasons);
        return;
    }
    if (length == VERDICT_SENTENCE && !isnan(c->speedup.value)) {
        append_ratio(out, c, l);
        text_append(out, words_in(l, "; "));
    }
    if (v->missing == MISSING_EXECUTIONS)
        text_format(out, words_in(l, "no verdict: %zu of %d executions (EXECUTIONS=%d)"), least,
                    VERDICT_EXECUTIONS, VERDICT_EXECUTIONS);
    else
        text_format(out,
                    words_in(l, "no verdict: the executions of the two sides were not interleaved "
                                "(EXECUTIONS=%zu adds interleaved ones)"),
                    most + VERDICT_EXECUTIONS);
    if (c->crowded) append_place(out, c->crowded, l);
}

static void append_p(text *out, const verdict *v, language l) {
    if (v->tests > 1)
        text_format(out, words_in(l, "p = %.2g, Holm-corrected for %zu verdicts"), v->adjusted,
                    v->tests);
    else
        text_format(out, words_in(l, "p = %.2g"), v->p);
}

static void append_small(text *out, const comparison *c, language l) {
    const double more = percent_more(c->speedup.value);
    text_format(out,
                words_in(l, more > 0 ? WORD("takes %.1f %% more: within the margin of %g %%")
                                     : WORD("takes %.1f %% less: within the margin of %g %%")),
                fabs(more), 100 * VERDICT_TIME_MARGIN);
}

// Appends the range of speeds: "between 4 % slower and 9 % faster".
static void append_speeds(text *out, const interval *range, language l) {
    const double low = 100 * (range->low - 1), high = 100 * (range->high - 1);
    const int digits = fmax(fabs(low), fabs(high)) < 10 ? 1 : 0;
    const char *both = low > 0    ? WORD("between %s %% and %s %% faster")
                       : high < 0 ? WORD("between %s %% and %s %% slower")
                                  : WORD("between %s %% slower and %s %% faster");
    char first[32], second[32];
    snprintf(first, sizeof first, "%.*f", digits, fabs(high < 0 ? high : low));
    snprintf(second, sizeof second, "%.*f", digits, fabs(high < 0 ? low : high));
    text_format(out, words_in(l, both), first, second);
}

static void append_undecided(text *out, const comparison *c, verdict_length length, language l) {
    text p = {0};
    append_p(&p, &c->time, l);
    text_format(out, words_in(l, "undecided (%s)"), text_string(&p));
    text_release(&p);
    if (length == VERDICT_WORD) return;
    text_append(out, words_in(l, ": "));
    append_speeds(out, &c->speedup.range, l);
}

// Appends "loader workers 2 vs 0: ", for the verdict is on this setting.
static void append_setting(text *out, const comparison *c, language l) {
    like_append_setting(c->subject->runs[0], c->baseline->runs[0], c->setting, l, out);
    text_append(out, words_in(l, ": "));
}

void verdict_append_time(text *out, const comparison *c, verdict_length length, language l) {
    if (c->setting && !c->reasons && length == VERDICT_WORD) append_setting(out, c, l);
    switch (c->time.kind) {
    case VERDICT_DIFFERENT:
        if (length == VERDICT_SENTENCE)
            append_ratio(out, c, l);
        else
            text_append(out, words_in(l, c->speedup.value > 1 ? "faster" : "slower"));
        break;
    case VERDICT_SMALL: append_small(out, c, l); break;
    case VERDICT_SAME:
        text_format(out, words_in(l, "the same within ±%g %%"), 100 * VERDICT_TIME_MARGIN);
        break;
    case VERDICT_UNDECIDED: append_undecided(out, c, length, l); break;
    case VERDICT_COST:
        append_cost(out, c, l);
        append_place(out, c->crowded, l);
        break;
    case VERDICT_NONE:
    case VERDICT_IDENTICAL: append_lack(out, c, length, l); break;
    }
}

// ---- Accuracy ----

void verdict_append_points(text *out, const comparison *c, language l) {
    const interval range = c->accuracy_range;
    text_format(out, words_in(l, "%+.2f points"), 100 * c->accuracy_difference);
    if (!isnan(range.low) && !c->identical)
        text_format(out, " [%+.2f, %+.2f]", 100 * range.low, 100 * range.high);
}

// Appends "p = 0.01, paired t-test over 3 seeds".
static void append_test(text *out, const verdict *v, language l) {
    append_p(out, v, l);
    text_append(out, words_in(l, ", "));
    text_format(out,
                words_in(l, v->test == TEST_SEEDS ? "paired t-test over %zu seeds"
                                                  : "McNemar's test on %zu samples"),
                v->subject);
}

// The format takes the margin, if it mentions one, and the test.
static const char *accuracy_format(const verdict *v, bool *margin) {
    const bool models = verdict_is_of_models(v);
    *margin = v->kind == VERDICT_SAME || v->kind == VERDICT_SMALL;
    switch (v->kind) {
    case VERDICT_DIFFERENT:
        return models ? WORD("the two models differ (%s); one seed says nothing about the method")
                      : WORD("significant (%s)");
    case VERDICT_SMALL:
        return models ? WORD("the two models differ, within ±%g points (%s); one seed")
                      : WORD("significant, but within ±%g points (%s)");
    case VERDICT_SAME:
        return models ? WORD("the two models are equally good within ±%g points (%s); one seed")
                      : WORD("the same within ±%g points (%s)");
    case VERDICT_NONE:
    case VERDICT_IDENTICAL:
    case VERDICT_UNDECIDED:
    case VERDICT_COST: break;
    }
    return models ? WORD("undecided between the two models (%s)") : WORD("undecided (%s)");
}

static void append_tested(text *out, const verdict *v, language l) {
    bool margin;
    const char *format = words_in(l, accuracy_format(v, &margin));
    text test = {0};
    append_test(&test, v, l);
    if (margin)
        text_format(out, format, 100 * VERDICT_ACCURACY_MARGIN, text_string(&test));
    else
        text_format(out, format, text_string(&test));
    text_release(&test);
}

void verdict_append_accuracy(text *out, const comparison *c, verdict_length length, language l) {
    const verdict *v = &c->accuracy;
    if (v->kind == VERDICT_IDENTICAL) {
        text_append(out, words_in(l, "same model: exactly 0"));
        return;
    }
    if (length == VERDICT_SENTENCE && !isnan(c->accuracy_difference)) {
        verdict_append_points(out, c, l);
        text_append(out, words_in(l, ": "));
    }
    if (v->missing == MISSING_TEST_DATA)
        text_append(out, words_in(l, "not comparable: different or missing test data"));
    else if (v->missing == MISSING_SEEDS)
        text_append(out, words_in(l, "not tested: this needs predictions of one common seed, or "
                                     "three common seeds"));
    else
        append_tested(out, v, l);
}
