// What came out, in one sentence and one table; repeats.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/sections.h"
#include "results/machine_use.h"

static void lead_accuracy(const results *r, document *d, const run *one) {
    char value[32], low[32], high[32], count[COUNT_TEXT];
    const char *epochs =
        say_count(r, (double)one->planned_epochs, "%.9g epoch", "%.9g epochs", count);
    snprintf(value, sizeof value, "%.2f %%", 100 * one->accuracy);
    if (one->evaluate && one->test_samples > 0) {
        int64_t right = (int64_t)llround(one->accuracy * (double)one->test_samples);
        interval range = statistics_wilson(right, one->test_samples);
        snprintf(low, sizeof low, "%.2f", 100 * range.low);
        snprintf(high, sizeof high, "%.2f", 100 * range.high);
        document_add(
            d, BLOCK_PARAGRAPH,
            say(r,
                "Test accuracy %s (95 %% interval %s to %s, %lld samples) after %s of %s on %s."),
            value, low, high, (long long)one->test_samples, epochs, one->model, one->dataset);
    } else {
        document_add(d, BLOCK_PARAGRAPH, say(r, "Test accuracy %s after %s of %s on %s."), value,
                     epochs, one->model, one->dataset);
    }
}

static void lead_time(const results *r, document *d, const run *one) {
    if (!run_has_time(one) || isnan(one->seconds_per_epoch)) return;
    const char *mark = one->simulated ? say(r, "SIMULATED") : "", *gap = *mark ? " " : "";
    char epoch[96], total[96], how[160];
    snprintf(epoch, sizeof epoch, "%.*f%s%s", seconds_digits(one->seconds_per_epoch),
             one->seconds_per_epoch, gap, mark);
    snprintf(total, sizeof total, "%.*f%s%s", seconds_digits(one->total_seconds),
             one->total_seconds, gap, mark);
    if (run_execution_count(one) > 1)
        snprintf(how, sizeof how, say(r, "median of %zu executions"), run_execution_count(one));
    else if (one->epoch_count > 1)
        snprintf(how, sizeof how, say(r, "median of %zu, without the first"), one->timed);
    else
        snprintf(how, sizeof how, "%s", say(r, "the only one"));
    document_add(d, BLOCK_PARAGRAPH, say(r, "An epoch took %s s (%s), the whole training %s s."),
                 epoch, how, total);
}

static bool all_identical(const run_list *list) {
    const char *first = list->runs[0].model_content;
    for (size_t i = 0; i < list->count; i++)
        if (!*first || strcmp(list->runs[i].model_content, first) != 0) return false;
    return true;
}

static void lead(const results *r, document *d) {
    const run_list *list = &r->list;
    if (list->count > 1) {
        if (r->group_count == 1)
            document_add(d, BLOCK_PARAGRAPH, say(r, "%zu runs of one experiment."), list->count);
        else
            document_add(d, BLOCK_PARAGRAPH, say(r, "%zu runs of %zu experiments."), list->count,
                         r->group_count);
        if (all_identical(list))
            document_add(d, BLOCK_PARAGRAPH,
                         say(r, "All %zu runs ended in the same model, bit for bit."), list->count);
        return;
    }
    const run *one = &list->runs[0];
    if (one->train && !isnan(one->accuracy)) lead_accuracy(r, d, one);
    lead_time(r, d, one);
}

// The first run before this one with the same model.
static const run *find_twin(const results *r, const run *one) {
    for (size_t i = 0; i < r->list.count && *one->model_content; i++) {
        const run *other = &r->list.runs[i];
        if (strcmp(other->name, one->name) == 0) return NULL;
        if (strcmp(other->model_content, one->model_content) == 0) return other;
    }
    return NULL;
}

// The target that all runs have, so that it can stand in the head; else 0.
static double common_target(const results *r) {
    double target = run_target(&r->list.runs[0]);
    for (size_t i = 1; i < r->list.count; i++)
        if (run_target(&r->list.runs[i]) != target) return 0;
    return target;
}

static void target_cell(const results *r, document *d, const run *one, double target) {
    if (one->epoch_count && !run_reaches(one, target))
        document_cell(d, CELL_NUMBER, "%s", say(r, "not reached"));
    else
        cell_time(r, d, one, run_time_to(one, target));
}

static void model_cell(const results *r, document *d, const run *one) {
    const run *twin = find_twin(r, one);
    char same[160] = "";
    if (twin) snprintf(same, sizeof same, say(r, "identical to %s"), twin->name);
    document_cell(d, CELL_CODE, "%.*s%s%s", SHORT_HASH, one->model_content, twin ? " " : "", same);
}

static void summary_row(const results *r, document *d, size_t at, double target) {
    const run *one = &r->list.runs[at];
    document_cell(d, CELL_STRONG, "%s", one->name);
    cell_percent(d, one->accuracy);
    cell_time(r, d, one, one->seconds_per_epoch);
    cell_time(r, d, one, one->total_seconds);
    if (target > 0) target_cell(r, d, one, target);
    cell_number(d, "%.4f", one->train_loss);
    document_cell(d, CELL_TEXT, "%s", one->strategy);
    cell_count(d, one->world_size);
    cell_count(d, one->virtual_shards);
    cell_count(d, one->global_batch);
    cell_number(d, "%g", one->lr);
    model_cell(r, d, one);
}

static void summary_head(const results *r, document *d, double target) {
    static const wording front[] = {"Run", "Test accuracy", "s / epoch", "Total s"},
                         back[] = {"Train loss",   "Strategy", "Ranks", "V",
                                   "Global batch", "lr",       "Model"};
    document_table(d, target > 0 ? 12 : 11, "");
    head_cells(r, d, front, 4);
    if (target > 0) document_cell(d, CELL_TEXT, say(r, "s to %.3g %%"), 100 * target);
    head_cells(r, d, back, 7);
}

void note_executions(const results *r, document *d) {
    bool several = false;
    for (size_t i = 0; i < r->list.count; i++)
        several = several || run_execution_count(&r->list.runs[i]) > 1;
    if (several)
        document_add(
            d, BLOCK_NOTE, "%s",
            say(r, "Some runs were executed several times, with the same model each time: their s "
                   "/ epoch and total are medians over the executions; single epochs and the parts "
                   "of a step are those of the execution in the middle."));
}

// The worst of the executions of a run on a busy machine.
static machine_use find_busiest(const run *one) {
    machine_use worst = machine_use_of(run_execution(one, 0));
    for (size_t i = 1; i < run_execution_count(one); i++) {
        const machine_use u = machine_use_of(run_execution(one, i));
        if (machine_use_is_busy(&u) && !(u.others / u.wall < worst.others / worst.wall)) worst = u;
    }
    return worst;
}

static void note_busy(const results *r, document *d, const run *one) {
    const size_t busy = machine_busy_executions(one);
    if (!busy) return;
    const machine_use u = find_busiest(one);
    document_add(d, BLOCK_NOTE,
                 say(r, "BUSY: during %zu of %zu executions of %s the machine did something else "
                        "(up to %.1f of its %.0f cores; threads waited for %.0f %% of the time "
                        "that they wanted), so the time is not that of the run alone."),
                 busy, run_execution_count(one), one->name, u.others / u.wall, u.cores,
                 100 * u.waited / (u.waited + u.cpu));
}

// What must be said about times and evaluations of some runs, below the table.
static void summary_notes(const results *r, document *d) {
    document_add(d, BLOCK_NOTE, "%s",
                 say(r, "s / epoch: median over epochs, without the first when there are more; "
                        "evaluation is not counted. V: virtual shards, which fix the arithmetic. "
                        "Model: first 12 digits of the content hash of model.st.zst."));
    note_executions(r, d);
    if (common_target(r) > 0)
        document_add(d, BLOCK_NOTE, "%s",
                     say(r, "Time to target: seconds of training up to the end of the first epoch "
                            "after which the test accuracy is that of the experiment's target; "
                            "evaluation is not counted."));
    for (size_t i = 0; i < r->list.count; i++) {
        const run *one = &r->list.runs[i];
        char why[512];
        if (one->simulated && one->gpus) {
            snprintf(why, sizeof why, "%s: %lld > %lld", one->name, (long long)one->host_ranks,
                     (long long)one->gpus);
            document_add(d, BLOCK_NOTE,
                         say(r, "SIMULATED: several ranks share a GPU (%s), so the time says "
                                "nothing about as many real devices."),
                         why);
        } else if (one->simulated) {
            snprintf(why, sizeof why, "%s: %lld × %lld > %lld", one->name,
                     (long long)one->host_ranks, (long long)one->threads, (long long)one->cores);
            document_add(d, BLOCK_NOTE,
                         say(r, "SIMULATED: ranks × threads exceed the cores of the machine (%s), "
                                "so the time says nothing about as many real devices."),
                         why);
        }
        note_busy(r, d, one);
        if (one->train && !run_has_time(one)) {
            snprintf(why, sizeof why, say(r, like_no_time(one)), one->name);
            document_add(d, BLOCK_NOTE,
                         say(r, one->restarted ? "No times are shown where a run was restarted: %s."
                                               : "No times are shown where a run was resumed: %s."),
                         why);
        }
        if (!one->train)
            document_add(
                d, BLOCK_NOTE,
                say(r, "%s is an evaluation without its training run: only its accuracy is shown."),
                one->name);
    }
}

void section_summary(const results *r, document *d) {
    double target = common_target(r);
    lead(r, d);
    summary_head(r, d, target);
    for (size_t i = 0; i < r->list.count; i++) summary_row(r, d, i, target);
    summary_notes(r, d);
}

// ---- Repeats ----

static status repeats_row(const results *r, document *d, const group *g, error *err) {
    group_summary s;
    status rc = group_summarize(g, &s, err);
    if (rc != STATUS_OK) return rc;
    document_cell(d, CELL_STRONG, "%s", g->name);
    cell_count(d, (int64_t)g->count);
    cell_percent(d, s.accuracy);
    cell_number(d, "%.2f", 100 * s.accuracy_deviation);
    cell_range(d, s.accuracy_range);
    cell_time(r, d, g->runs[0], s.seconds);
    cell_number(d, "%.3f", s.seconds_deviation);
    return STATUS_OK;
}

status section_repeats(const results *r, document *d, error *err) {
    static const wording head[] = {"Experiment",    "Runs",      "Mean accuracy", "Deviation",
                                   "95 % interval", "s / epoch", "Deviation"};
    bool any = false;
    for (size_t i = 0; i < r->group_count; i++) {
        if (r->groups[i].count < 2) continue;
        if (!any) {
            document_add(d, BLOCK_HEADING, "%s", say(r, "Repeats"));
            document_table(d, 7, "");
            head_cells(r, d, head, 7);
        }
        any = true;
        status rc = repeats_row(r, d, &r->groups[i], err);
        if (rc != STATUS_OK) return rc;
    }
    if (any)
        document_add(d, BLOCK_NOTE, "%s",
                     say(r, "Means over seeds with the sample standard deviation and the 95 % "
                            "interval of the mean (Student's t)."));
    return STATUS_OK;
}
