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

static const yaml_node *root_of(const run *one) {
    return one->train ? one->train : one->evaluate;
}

// Appends the dates on which the runs began: "2026-01-01", "2026-01-01 – 2026-01-03".
static void append_days(const results *r, text *out) {
    enum { DAY = 10 };
    const char *first = "", *last = "";
    for (size_t i = 0; i < r->list.execution_count; i++) {
        const char *start = run_text(root_of(&r->list.executions[i]), "run.start");
        if (strlen(start) < DAY) continue;
        if (!*first || strcmp(start, first) < 0) first = start;
        if (strcmp(start, last) > 0) last = start;
    }
    if (*first) text_format(out, " · %.*s", DAY, first);
    if (strncmp(first, last, DAY) != 0) text_format(out, " – %.*s", DAY, last);
}

static void append_machine(const results *r, text *out) {
    const run *first = &r->list.runs[0];
    for (size_t i = 1; i < r->list.count; i++) {
        const run *one = &r->list.runs[i];
        if (strcmp(one->host, first->host) == 0 && strcmp(one->cpu, first->cpu) == 0) continue;
        text_append(out, " · ");
        text_append(out, say(r, "several machines"));
        return;
    }
    if (*first->cpu) text_format(out, " · %s", first->cpu);
    if (first->cores > 0) text_format(out, say(r, ", %lld cores"), (long long)first->cores);
    if (*first->host) text_format(out, " · %s", first->host);
}

static void write_byline(const results *r, const report_options *o, document *d) {
    static const char gap[] = " · ";
    text out = {0};
    if (o->author && *o->author) text_format(&out, "%s%s", gap, o->author);
    if (o->student && *o->student) {
        text_append(&out, gap);
        text_format(&out, say(r, "student number %s"), o->student);
    }
    append_machine(r, &out);
    append_days(r, &out);
    if (out.length) document_byline(d, text_string(&out) + strlen(gap));
    text_release(&out);
}

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

bool any_speedup(const results *r) {
    for (size_t i = 0; i < r->comparison_count; i++)
        if (!r->comparisons[i].reasons && !isnan(r->comparisons[i].speedup.value)) return true;
    return false;
}

// The epochs after which the model was kept.
static double epochs_of_model(const run *one) {
    int64_t best;
    error ignored;
    if (run_count(one->train, "results.best_epoch", &best, &ignored) == STATUS_OK && best > 0)
        return (double)best;
    const bool stops = run_may_stop_early(one->train);
    return stops ? (double)one->epoch_count : one->planned_epochs;
}

static void write_accuracy_of_one(const results *r, text *out, const run *one) {
    char value[32], low[32], high[32], count[COUNT_TEXT];
    const char *epochs = say_count(r, epochs_of_model(one), "%.9g epoch", "%.9g epochs", count);
    if (!one->train || isnan(one->accuracy)) return;
    snprintf(value, sizeof value, "%.2f %%", 100 * one->accuracy);
    const figure *f = results_figure(r, one->name, "accuracy");
    if (f && !isnan(f->low)) {
        snprintf(low, sizeof low, "%.2f", 100 * f->low);
        snprintf(high, sizeof high, "%.2f", 100 * f->high);
        text_format(
            out,
            say(r,
                "Test accuracy %s (95 %% interval %s to %s, %lld samples) after %s of %s on %s."),
            value, low, high, (long long)one->test_samples, epochs, one->model, one->dataset);
    } else {
        text_format(out, say(r, "Test accuracy %s after %s of %s on %s."), value, epochs,
                    one->model, one->dataset);
    }
}

// Appends a mean over repeats, with half of its interval.
static void append_mean(text *out, const figure *f, const seed_group *g, int digits, double scale) {
    text_format(out, "%.*f%s", digits, scale * f->value, scale > 1 ? " %" : "");
    if (g->count > 1 && !isnan(f->low))
        text_format(out, " ± %.*f", digits, scale * (f->high - f->low) / 2);
}

// Appends "single 64.12 % ± 0.41, …" for every experiment, or from the lowest to the highest of
// many.
static void write_accuracies(const results *r, text *out) {
    const seed_group *least = NULL, *most = NULL;
    double low = NAN, high = NAN;
    text all = {0};
    for (size_t i = 0; i < r->group_count; i++) {
        const seed_group *g = &r->groups[i];
        const figure *f = results_group_figure(r, g, "accuracy");
        if (!f || isnan(f->value)) continue;
        if (!least || f->value < low) least = g, low = f->value;
        if (!most || f->value > high) most = g, high = f->value;
        text_append(&all, all.length ? say(r, ", ") : "");
        text_format(&all, "%s ", g->name);
        append_mean(&all, f, g, 2, 100);
    }
    if (all.length && r->group_count > LISTED_MAX)
        text_format(out, say(r, "Test accuracy: from %.2f %% (%s) to %.2f %% (%s)."), 100 * low,
                    least->name, 100 * high, most->name);
    else if (all.length)
        text_format(out, say(r, "Test accuracy: %s."), text_string(&all));
    text_release(&all);
}

// Appends where the time of an epoch comes from.
static void append_source(const results *r, text *out, const run *one) {
    if (one->timing)
        timed_arms_append(out, one, 1, r->options.language);
    else if (run_execution_count(one) > 1)
        text_format(out, say(r, "mean of %zu executions"), run_execution_count(one));
    else if (one->epoch_count > 1)
        text_format(out, say(r, "median of %zu, without the first"), one->timed);
    else
        text_append(out, say(r, "the only one"));
}

static void write_time_of_one(const results *r, text *out, const run *one) {
    if (!run_has_epoch_time(one) || isnan(one->seconds_per_epoch)) return;
    const char *mark = one->simulated ? SIMULATED_MARK : "";
    char epoch[96], total[96];
    text how = {0};
    append_source(r, &how, one);
    snprintf(epoch, sizeof epoch, "%.*f%s", seconds_digits(one->seconds_per_epoch),
             one->seconds_per_epoch, mark);
    snprintf(total, sizeof total, "%.*f%s", seconds_digits(one->total_seconds), one->total_seconds,
             mark);
    if (run_has_time(one))
        text_format(out, say(r, "An epoch took %s s (%s), the whole training %s s."), epoch,
                    text_string(&how), total);
    else
        text_format(out, say(r, "An epoch took %s s (%s)."), epoch, text_string(&how));
    text_release(&how);
}

// Appends the name of a group, and the only setting in which it differs from the baseline, if there
// is one.
static void append_subject(const results *r, text *out, const comparison *c) {
    text setting = {0};
    text_append(out, c->subject->name);
    if (!c->setting) return;
    like_append_setting(c->subject->runs[0], c->baseline->runs[0], c->setting, r->options.language,
                        &setting);
    text_format(out, say(r, " (%s)"), text_string(&setting));
    text_release(&setting);
}

// Appends the first comparisons of comparable times, and the number of others.
static void write_comparisons(const results *r, text *out) {
    size_t listed = 0;
    text all = {0};
    for (size_t i = 0; i < r->comparison_count; i++) {
        text subject, sentence = {0};
        if (r->comparisons[i].reasons || listed++ >= LISTED_MAX) continue;
        text_init(&subject);
        append_subject(r, &subject, &r->comparisons[i]);
        verdict_append_time(&sentence, &r->comparisons[i], VERDICT_SENTENCE, r->options.language);
        text_append(&all, all.length ? say(r, "; ") : "");
        text_format(&all, say(r, "%s: %s"), text_string(&subject), text_string(&sentence));
        text_release(&sentence);
        text_release(&subject);
    }
    if (listed > LISTED_MAX) text_format(&all, say(r, "; %zu more below"), listed - LISTED_MAX);
    text_format(out, say(r, "Time per epoch compared with %s: %s."), r->groups[0].name,
                text_string(&all));
    text_release(&all);
}

static void write_times(const results *r, text *out) {
    text all = {0};
    size_t listed = 0;
    for (size_t i = 0; i < r->group_count; i++) {
        const double seconds = results_group_value(r, &r->groups[i], "seconds_per_epoch");
        if (isnan(seconds) || listed++ >= LISTED_MAX) continue;
        text_append(&all, all.length ? say(r, ", ") : "");
        text_format(&all, "%s ", r->groups[i].name);
        effect_append_seconds(r, &all, &r->groups[i], seconds);
    }
    if (listed > LISTED_MAX) text_format(&all, say(r, "; %zu more below"), listed - LISTED_MAX);
    if (all.length) text_format(out, say(r, "Time per epoch: %s."), text_string(&all));
    text_release(&all);
}

// ---- The arithmetic ----

// Appends "single 1, ddp4 4", or the least and the most of many.
static void append_shards(const results *r, text *out) {
    int64_t least = INT64_MAX, most = 0;
    for (size_t i = 0; i < r->group_count; i++) {
        const int64_t own = r->groups[i].runs[0]->virtual_shards;
        if (own < least) least = own;
        if (own > most) most = own;
        if (r->group_count <= LISTED_MAX)
            text_format(out, "%s%s %lld", i ? say(r, ", ") : "", r->groups[i].name, (long long)own);
    }
    if (r->group_count > LISTED_MAX)
        text_format(out, say(r, "%lld to %lld"), (long long)least, (long long)most);
}

// Runs with different V are often compared by mistake, as V follows the ranks if a file lacks it.
static void write_shards(const results *r, document *d) {
    bool differ = false;
    text shards, out;
    for (size_t i = 0; i < r->group_count; i++) {
        const int64_t own = r->groups[i].runs[0]->virtual_shards;
        if (own < 1) return; // no training is known
        differ |= own != r->groups[0].runs[0]->virtual_shards;
    }
    if (!differ) return;
    text_init(&shards);
    text_init(&out);
    append_shards(r, &shards);
    text_format(&out,
                say(r, "V (virtual_shards) differs: %s. Another V means another order of sums and "
                       "other groups of samples for batch norm, so accuracies may differ for this "
                       "reason alone."),
                text_string(&shards));
    lead(d, &out);
    text_release(&shards);
}

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

status section_chart(const results *r, document *d, error *err) {
    char axis[256];
    if (!any_speedup(r)) return section_accuracy_figure(r, d, err);
    snprintf(axis, sizeof axis, say(r, "times as fast as %s"), r->groups[0].name);
    return section_speedups(r, d, axis, err);
}

static void mean_cell(const results *r, document *d, const seed_group *g, const char *metric,
                      bool time) {
    const figure *f = results_group_figure(r, g, metric);
    text shown = {0};
    if (f && !isnan(f->value))
        append_mean(&shown, f, g, time ? seconds_digits(f->value) : 2, time ? 1 : 100);
    if (shown.length && f->simulated) text_append(&shown, SIMULATED_MARK);
    document_cell(d, CELL_NUMBER, "%s", text_string(&shown));
    cell_shows(d, 0, f);
    text_release(&shown);
}

// Writes the table of a single run: one line per fact.
static void table_of_facts(const results *r, document *d, const run *one) {
    static const char *const facts[] = {
        "accuracy",       "train_loss", "global_batch",      "lr",
        "virtual_shards", "world_size", "seconds_per_epoch", "total_seconds"};
    document_table(d, 2, "");
    document_cell(d, CELL_TEXT, "%s", say(r, "Experiment"));
    document_cell(d, CELL_TEXT, "%s", one->name);
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) {
        if (isnan(results_value(r, one->name, facts[i]))) continue;
        document_cell(d, CELL_STRONG, "%s", say(r, joint_metrics_find(facts[i])->heading));
        cell_figure(r, d, one->name, facts[i]);
    }
}

static void table_of_groups(const results *r, document *d) {
    static const wording head[] = {"Experiment", "Test accuracy", "s / epoch",
                                   "Ranks",      "Runs",          "Model"};
    const bool compared = any_speedup(r);
    document_table(d, 6 + compared, "");
    head_cells(r, d, head, 3);
    if (compared) document_cell(d, CELL_TEXT, "%s", say(r, "Speed-up"));
    head_cells(r, d, head + 3, 3);
    for (size_t i = 0; i < r->group_count; i++) {
        const seed_group *g = &r->groups[i];
        document_cell(d, CELL_STRONG, "%s", g->name);
        mean_cell(r, d, g, "accuracy", false);
        mean_cell(r, d, g, "seconds_per_epoch", true);
        if (compared) cell_figure(r, d, g->name, "speedup");
        cell_group(r, d, g, "world_size");
        cell_count(d, (int64_t)g->count);
        document_cell(d, CELL_CODE, "%.*s", SHORT_HASH,
                      g->count == 1 ? g->runs[0]->model_content : "");
    }
}

// Do two runs have the same data?
static bool same_data(const run *a, const run *b) {
    return strcmp(origin_train_data(a), origin_train_data(b)) == 0 &&
           strcmp(origin_test_data(a), origin_test_data(b)) == 0;
}

// An accuracy on images that the model was trained on must not be taken for one on others.
static status write_repeated_images(const results *r, document *d, error *err) {
    const run *runs = r->list.runs;
    for (size_t i = 0; i < r->list.count; i++) {
        text out;
        int64_t count, samples;
        bool said = false;
        for (size_t k = 0; !said && k < i; k++) said = same_data(&runs[k], &runs[i]);
        const status rc = origin_repeated_images(&runs[i], &count, &samples, err);
        if (rc != STATUS_OK) return rc;
        if (said || count < 1) continue;
        text_init(&out);
        text_format(&out,
                    say(r, "%lld of %lld test images of %s are also training images: an accuracy "
                           "on them says nothing."),
                    (long long)count, (long long)samples, runs[i].dataset);
        lead(d, &out);
    }
    return STATUS_OK;
}

static status write_results(const results *r, document *d, error *err) {
    const bool alone = r->list.count == 1;
    text accuracy = {0}, time;
    text_init(&time);
    if (alone)
        write_accuracy_of_one(r, &accuracy, &r->list.runs[0]);
    else
        write_accuracies(r, &accuracy);
    if (alone)
        write_time_of_one(r, &time, &r->list.runs[0]);
    else if (any_speedup(r))
        write_comparisons(r, &time);
    else
        write_times(r, &time);
    lead(d, &accuracy);
    const status rc = write_repeated_images(r, d, err);
    lead(d, &time);
    if (!alone) write_shards(r, d);
    return rc;
}

void section_byline(const results *r, const report_options *o, document *d) {
    write_byline(r, o, d);
    write_footnote(r, d);
}

status section_first(const results *r, document *d, error *err) {
    status rc = write_results(r, d, err);
    write_evidence(r, d);
    if (rc == STATUS_OK) rc = section_chart(r, d, err);
    if (r->list.count == 1)
        table_of_facts(r, d, &r->list.runs[0]);
    else
        table_of_groups(r, d);
    return rc;
}
