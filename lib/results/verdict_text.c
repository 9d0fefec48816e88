// SPDX-License-Identifier: MIT
#include "results/verdict_text.h"

#include <math.h>

// ---- Time ----

static double percent_more(double times_as_fast) {
    return 100 * (1 / times_as_fast - 1);
}

// Appends the range of the cost on this machine.
static void append_cost(text *out, const comparison *c) {
    const double least = percent_more(c->speedup.range.high),
                 most = percent_more(c->speedup.range.low);
    const int digits = fmax(fabs(least), fabs(most)) < 10 || most - least < 1;
    const double low = fabs(least), high = fabs(most);
    if (least > 0)
        text_format(out, "costs %.*f–%.*f %% more", digits, low, digits, high);
    else if (most < 0)
        text_format(out, "takes %.*f–%.*f %% less", digits, high, digits, low);
    else
        text_format(out, "takes between %.*f %% less and %.*f %% more", digits, low, digits, high);
}

// Appends "on these 2 cores; says nothing about 4 devices".
static void append_place(text *out, const run *crowded) {
    const bool ranks = crowded->host_ranks > 1, gpus = run_shares_gpu(crowded);
    const int64_t needed = ranks ? crowded->host_ranks : crowded->host_ranks * crowded->threads;
    const int64_t there = gpus ? crowded->gpus : crowded->cores;
    const char *kind = gpus ? "GPU" : "core";
    if (there > 1)
        text_format(out, " on these %lld %ss", (long long)there, kind);
    else
        text_format(out, " on this %s", kind);
    text_format(out, "; says nothing about %lld %s", (long long)needed,
                ranks ? "devices" : "cores");
}

// Appends why there is no verdict, and how to get one.
static void append_lack(text *out, const comparison *c) {
    const verdict *v = &c->time;
    const size_t least = v->subject < v->baseline ? v->subject : v->baseline;
    const size_t most = v->subject < v->baseline ? v->baseline : v->subject;
    if (v->missing == MISSING_LIKE_FOR_LIKE) {
        text_append(out, "not like for like: ");
        reasons_append(&c->unlike, out);
        return;
    }
    if (v->missing == MISSING_EXECUTIONS)
        text_format(out, "no verdict: %zu of %d executions (EXECUTIONS=%d)", least,
                    VERDICT_EXECUTIONS, VERDICT_EXECUTIONS);
    else
        text_format(out,
                    "no verdict: the executions of the two sides were not interleaved "
                    "(EXECUTIONS=%zu adds interleaved ones)",
                    most + VERDICT_EXECUTIONS);
    if (c->crowded) append_place(out, c->crowded);
}

static void append_p(text *out, const verdict *v) {
    if (v->tests > 1)
        text_format(out, "p = %.2g, Holm-corrected for %zu verdicts", v->adjusted, v->tests);
    else
        text_format(out, "p = %.2g", v->p);
}

static void append_small(text *out, const comparison *c) {
    const double more = percent_more(c->speedup.value);
    text_format(out, "takes %.1f %% %s: within the margin of %g %%", fabs(more),
                more > 0 ? "more" : "less", 100 * VERDICT_TIME_MARGIN);
}

void verdict_append_time(text *out, const comparison *c) {
    if (c->setting && !c->unlike.count) {
        reason_list setting = {0};
        like_setting(c->subject->runs[0], c->baseline->runs[0], c->setting, &setting);
        reasons_append(&setting, out);
        reasons_release(&setting);
        text_append(out, ": ");
    }
    switch (c->time.kind) {
    case VERDICT_DIFFERENT: text_append(out, c->speedup.value > 1 ? "faster" : "slower"); break;
    case VERDICT_SMALL: append_small(out, c); break;
    case VERDICT_SAME: text_format(out, "the same within ±%g %%", 100 * VERDICT_TIME_MARGIN); break;
    case VERDICT_UNDECIDED:
        text_append(out, "undecided (");
        append_p(out, &c->time);
        text_append(out, ")");
        break;
    case VERDICT_COST:
        append_cost(out, c);
        append_place(out, c->crowded);
        break;
    case VERDICT_NONE:
    case VERDICT_IDENTICAL: append_lack(out, c); break;
    }
}

// Appends the range of speeds: "between 4 % slower and 9 % faster".
static void append_speeds(text *out, const interval *range) {
    const double low = 100 * (range->low - 1), high = 100 * (range->high - 1);
    const int digits = fmax(fabs(low), fabs(high)) < 10;
    if (low > 0)
        text_format(out, "between %.*f %% and %.*f %% faster", digits, low, digits, high);
    else if (high < 0)
        text_format(out, "between %.*f %% and %.*f %% slower", digits, -high, digits, -low);
    else
        text_format(out, "between %.*f %% slower and %.*f %% faster", digits, -low, digits, high);
}

void verdict_append_times(text *out, const comparison *c) {
    const double times = c->speedup.value;
    const interval range = c->speedup.range;
    if (c->time.kind != VERDICT_DIFFERENT) {
        verdict_append_time(out, c);
        if (c->time.kind == VERDICT_UNDECIDED) text_append(out, ": ");
        if (c->time.kind == VERDICT_UNDECIDED) append_speeds(out, &range);
    } else if (times < 1) {
        text_format(out, "takes %.2f times as long [%.2f, %.2f]", 1 / times, 1 / range.high,
                    1 / range.low);
    } else {
        text_format(out, "%.2f times as fast [%.2f, %.2f]", times, range.low, range.high);
    }
}

// ---- Accuracy ----

// Appends "p = 0.01, paired t-test over 3 seeds".
static void append_test(text *out, const verdict *v) {
    append_p(out, v);
    if (v->test == TEST_SEEDS)
        text_format(out, ", paired t-test over %zu seeds", v->subject);
    else
        text_format(out, ", McNemar's test on %zu samples", v->subject);
}

// Appends the verdict up to the margin, if it has one.
static void append_kind(text *out, const verdict *v) {
    const bool models = verdict_is_of_models(v);
    switch (v->kind) {
    case VERDICT_DIFFERENT:
        text_append(out, models ? "the two models differ" : "significant");
        return;
    case VERDICT_SMALL:
        text_append(out, models ? "the two models differ, within" : "significant, but within");
        return;
    case VERDICT_SAME:
        text_append(out, models ? "the two models are equally good within" : "the same within");
        return;
    case VERDICT_NONE:
    case VERDICT_IDENTICAL:
    case VERDICT_UNDECIDED:
    case VERDICT_COST: break;
    }
    text_append(out, models ? "undecided between the two models" : "undecided");
}

static void append_tested(text *out, const verdict *v) {
    append_kind(out, v);
    if (v->kind == VERDICT_SMALL || v->kind == VERDICT_SAME)
        text_format(out, " ±%g points", 100 * VERDICT_ACCURACY_MARGIN);
    text_append(out, " (");
    append_test(out, v);
    text_append(out, ")");
    if (!verdict_is_of_models(v) || v->kind == VERDICT_UNDECIDED) return;
    text_append(out, v->kind == VERDICT_DIFFERENT ? "; one seed says nothing about the method"
                                                  : "; one seed");
}

void verdict_append_accuracy(text *out, const comparison *c) {
    const verdict *v = &c->accuracy;
    if (v->kind == VERDICT_IDENTICAL)
        text_append(out, "same model: exactly 0");
    else if (v->missing == MISSING_TEST_DATA)
        text_append(out, "not comparable: different or missing test data");
    else if (v->missing == MISSING_SEEDS)
        text_append(out, "not tested: this needs predictions of one common seed, or three common "
                         "seeds");
    else
        append_tested(out, v);
}
