// SPDX-License-Identifier: MIT
// The first screen of a page: results, duration, and the evidence for them.
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/effects.h"
#include "report/sections.h"
#include "results/like_for_like.h"
#include "results/origin.h"

// The most items listed one by one.
enum { LISTED_MAX = 4 };

// Adds a sentence of the answer, and releases it.
static void lead(document *d, text *sentence) {
    if (sentence->length) document_add(d, BLOCK_LEAD, "%s", text_string(sentence));
    text_release(sentence);
}

// ---- Byline ----

// ---- The footnote ----

// Appends "4 × 2 > 4": why the times of a run are simulated.
static void append_excess(text *out, const run *one) {
    if (run_shares_gpu(one))
        text_format(out, "%lld > %lld", (long long)(one->host_ranks - one->cpu_ranks),
                    (long long)one->gpus);
    else
        text_format(out, "%lld × %lld > %lld", (long long)one->cpu_ranks, (long long)one->threads,
                    (long long)one->cores);
}

static bool same_excess(const run *a, const run *b) {
    return b->simulated && a->host_ranks == b->host_ranks && a->cpu_ranks == b->cpu_ranks &&
           a->gpus == b->gpus &&
           (run_shares_gpu(a) || (a->threads == b->threads && a->cores == b->cores));
}

// Appends "tiny, many: 4 × 2 > 4; …", each excess once, of runs that share GPUs or of the others.
static void append_simulated(const results *r, text *out, bool gpus) {
    const run *runs = r->list.runs;
    for (size_t i = 0; i < r->list.count; i++) {
        bool listed = !runs[i].simulated || run_shares_gpu(&runs[i]) != gpus;
        for (size_t k = 0; !listed && k < i; k++) listed = same_excess(&runs[i], &runs[k]);
        if (listed) continue;
        if (out->length) text_append(out, "; ");
        for (size_t k = i; k < r->list.count; k++)
            if (same_excess(&runs[i], &runs[k]))
                text_format(out, "%s%s", k > i ? ", " : "", runs[k].name);
        text_append(out, ": ");
        append_excess(out, &runs[i]);
    }
}

void write_footnote(const results *r, document *d) {
    text cores, gpus = {0}, out;
    text_init(&cores);
    text_init(&out);
    append_simulated(r, &cores, false);
    append_simulated(r, &gpus, true);
    if (cores.length || gpus.length || r->collectives.count)
        text_append(&out,
                    say(r, "† Simulated: the time says nothing about that many real devices."));
    if (cores.length)
        text_format(&out, say(r, " Ranks × threads exceed the cores of the machine (%s)."),
                    text_string(&cores));
    if (gpus.length)
        text_format(&out, say(r, " Several ranks share a GPU (%s)."), text_string(&gpus));
    if (out.length) document_footnote(d, text_string(&out));
    text_release(&cores);
    text_release(&gpus);
    text_release(&out);
}

// ---- The answer ----

// ---- The arithmetic ----

// ---- The evidence ----

static bool all_identical(const run_list *list) {
    const char *first = list->runs[0].model_content;
    for (size_t i = 0; i < list->count; i++)
        if (!*first || strcmp(list->runs[i].model_content, first) != 0) return false;
    return true;
}

// EXECUTIONS counts those of all seeds of an experiment.
static size_t executions_to_repeat(const results *r) {
    size_t seeds = 1;
    for (size_t i = 0; i < r->group_count; i++)
        if (r->groups[i].count > seeds) seeds = r->groups[i].count;
    return 3 * seeds;
}

static void append_executions(const results *r, text *out) {
    size_t least = SIZE_MAX, all = 0;
    for (size_t i = 0; i < r->list.count; i++) {
        const size_t count = run_execution_count(&r->list.runs[i]);
        least = count < least ? count : least;
        all += count;
    }
    const char *once = timed_runs(r) == r->list.count
                           ? WORD("Each run was trained once: EXECUTIONS=%zu shows whether bits "
                                  "repeat.")
                           : WORD("Each run was executed once: EXECUTIONS=%zu shows whether bits "
                                  "and times repeat.");
    if (least > 1)
        text_format(out,
                    say(r, "Every run was executed %zu times or more, and gave the same model bit "
                           "for bit each time."),
                    least);
    else if (all > r->list.count)
        text_append(out, say(r, "Runs that were executed more than once gave the same model bit "
                                "for bit; the others were executed only once."));
    else
        text_format(out, say(r, once), executions_to_repeat(r));
}

static void append_turns(const results *r, text *out) {
    text turns = {0};
    timed_arms_append(&turns, r->list.runs, r->list.count, r->options.language);
    if (turns.length && r->list.count > 1) { // of a single run it was said
        text_append(out, say(r, " "));
        text_format(out, say(r, "For the times per epoch, %s."), text_string(&turns));
    }
    text_release(&turns);
}

static void append_models(const results *r, text *out) {
    if (r->list.count < 2) return;
    text_append(out, say(r, " "));
    if (r->group_count == 1)
        text_format(out, say(r, "%zu runs of one experiment."), r->list.count);
    else
        text_format(out, say(r, "%zu runs of %zu experiments."), r->list.count, r->group_count);
    if (!all_identical(&r->list)) return;
    text_append(out, say(r, " "));
    text_format(out, say(r, "All %zu runs ended in the same model, bit for bit."), r->list.count);
}

static void append_likeness(const results *r, text *out) {
    size_t unlike = 0, single = 0;
    for (size_t i = 0; i < r->comparison_count; i++) {
        unlike += r->comparisons[i].reasons != NULL;
        single += !r->comparisons[i].reasons && r->comparisons[i].setting;
    }
    if (!r->comparison_count) return;
    text_append(out, say(r, " "));
    if (unlike)
        text_format(out,
                    say(r, "%zu of %zu comparisons are not like for like and have no speed-up."),
                    unlike, r->comparison_count);
    else if (single)
        text_append(out, say(r, "Every comparison is like for like, or of runs that differ in one "
                                "setting, which the verdict names."));
    else
        text_append(out, say(r, "Every comparison is like for like."));
}

void write_evidence(const results *r, document *d) {
    bool simulated = false;
    text out = {0};
    append_executions(r, &out);
    append_turns(r, &out);
    append_models(r, &out);
    append_likeness(r, &out);
    for (size_t i = 0; i < r->list.count; i++) simulated |= r->list.runs[i].simulated;
    if (simulated) text_append(&out, say(r, " Times with † are simulated."));
    lead(d, &out);
}

// ---- Chart and table ----
