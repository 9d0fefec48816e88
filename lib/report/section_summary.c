// What came out, in one sentence and one table; repeats.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/sections.h"

static void lead_accuracy(const report *r, document *d, const run *one) {
    char value[32], low[32], high[32], count[COUNT_TEXT];
    const char *epochs =
        say_count(r, (double)one->planned_epochs, MESSAGE_COUNT_EPOCH, MESSAGE_COUNT_EPOCHS, count);
    snprintf(value, sizeof value, "%.2f %%", 100 * one->accuracy);
    if (one->evaluate && one->test_samples > 0) {
        int64_t right = (int64_t)llround(one->accuracy * (double)one->test_samples);
        interval range = statistics_wilson(right, one->test_samples);
        snprintf(low, sizeof low, "%.2f", 100 * range.low);
        snprintf(high, sizeof high, "%.2f", 100 * range.high);
        document_add(d, BLOCK_PARAGRAPH, say(r, MESSAGE_LEAD_ACCURACY), value, low, high,
                     (long long)one->test_samples, epochs, one->model, one->dataset);
    } else {
        document_add(d, BLOCK_PARAGRAPH, say(r, MESSAGE_LEAD_ACCURACY_BARE), value, epochs,
                     one->model, one->dataset);
    }
}

static void lead_time(const report *r, document *d, const run *one) {
    if (!run_has_time(one) || isnan(one->seconds_per_epoch)) return;
    const char *mark = one->simulated ? say(r, MESSAGE_SIMULATED) : "", *gap = *mark ? " " : "";
    char epoch[96], total[96], how[160];
    snprintf(epoch, sizeof epoch, "%.*f%s%s", seconds_digits(one->seconds_per_epoch),
             one->seconds_per_epoch, gap, mark);
    snprintf(total, sizeof total, "%.*f%s%s", seconds_digits(one->total_seconds),
             one->total_seconds, gap, mark);
    if (run_execution_count(one) > 1)
        snprintf(how, sizeof how, say(r, MESSAGE_LEAD_EXECUTIONS), run_execution_count(one));
    else if (one->epoch_count > 1)
        snprintf(how, sizeof how, say(r, MESSAGE_LEAD_MEDIAN), one->timed);
    else
        snprintf(how, sizeof how, "%s", say(r, MESSAGE_LEAD_ONE_EPOCH));
    document_add(d, BLOCK_PARAGRAPH, say(r, MESSAGE_LEAD_TIME), epoch, how, total);
}

static bool all_identical(const run_list *list) {
    const char *first = list->runs[0].model_content;
    for (size_t i = 0; i < list->count; i++)
        if (!*first || strcmp(list->runs[i].model_content, first) != 0) return false;
    return true;
}

static void lead(const report *r, document *d) {
    const run_list *list = &r->list;
    if (list->count > 1) {
        if (r->group_count == 1)
            document_add(d, BLOCK_PARAGRAPH, say(r, MESSAGE_LEAD_MANY_OF_ONE), list->count);
        else
            document_add(d, BLOCK_PARAGRAPH, say(r, MESSAGE_LEAD_MANY), list->count,
                         r->group_count);
        if (all_identical(list))
            document_add(d, BLOCK_PARAGRAPH, say(r, MESSAGE_LEAD_IDENTICAL), list->count);
        return;
    }
    const run *one = &list->runs[0];
    if (one->train && !isnan(one->accuracy)) lead_accuracy(r, d, one);
    lead_time(r, d, one);
}

// The first run before this one with the same model.
static const run *find_twin(const report *r, const run *one) {
    for (size_t i = 0; i < r->list.count && *one->model_content; i++) {
        const run *other = &r->list.runs[i];
        if (strcmp(other->name, one->name) == 0) return NULL;
        if (strcmp(other->model_content, one->model_content) == 0) return other;
    }
    return NULL;
}

// The target that all runs have, so that it can stand in the head; else 0.
static double common_target(const report *r) {
    double target = run_target(&r->list.runs[0]);
    for (size_t i = 1; i < r->list.count; i++)
        if (run_target(&r->list.runs[i]) != target) return 0;
    return target;
}

static void target_cell(const report *r, document *d, const run *one, double target) {
    if (one->epoch_count && !run_reaches(one, target))
        document_cell(d, CELL_NUMBER, "%s", say(r, MESSAGE_NOT_REACHED));
    else
        cell_time(r, d, one, run_time_to(one, target));
}

static void model_cell(const report *r, document *d, const run *one) {
    const run *twin = find_twin(r, one);
    char same[160] = "";
    if (twin) snprintf(same, sizeof same, say(r, MESSAGE_IDENTICAL), twin->name);
    document_cell(d, CELL_CODE, "%.*s%s%s", SHORT_HASH, one->model_content, twin ? " " : "", same);
}

static void summary_row(const report *r, document *d, size_t at, double target) {
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

static void summary_head(const report *r, document *d, double target) {
    static const message front[] = {MESSAGE_RUN, MESSAGE_ACCURACY, MESSAGE_SECONDS_PER_EPOCH,
                                    MESSAGE_TOTAL_SECONDS},
                         back[] = {MESSAGE_TRAIN_LOSS,   MESSAGE_STRATEGY,
                                   MESSAGE_WORLD_SIZE,   MESSAGE_VIRTUAL_SHARDS,
                                   MESSAGE_GLOBAL_BATCH, MESSAGE_LEARNING_RATE,
                                   MESSAGE_MODEL};
    document_table(d, target > 0 ? 12 : 11, "");
    head_cells(r, d, front, 4);
    if (target > 0) document_cell(d, CELL_TEXT, say(r, MESSAGE_TIME_TO_TARGET), 100 * target);
    head_cells(r, d, back, 7);
}

void note_executions(const report *r, document *d) {
    bool several = false;
    for (size_t i = 0; i < r->list.count; i++)
        several = several || run_execution_count(&r->list.runs[i]) > 1;
    if (several) document_add(d, BLOCK_NOTE, "%s", say(r, MESSAGE_EXECUTIONS_NOTE));
}

// What must be said about times and evaluations of some runs, below the table.
static void summary_notes(const report *r, document *d) {
    document_add(d, BLOCK_NOTE, "%s", say(r, MESSAGE_SUMMARY_NOTE));
    note_executions(r, d);
    if (common_target(r) > 0) document_add(d, BLOCK_NOTE, "%s", say(r, MESSAGE_TARGET_NOTE));
    for (size_t i = 0; i < r->list.count; i++) {
        const run *one = &r->list.runs[i];
        char why[512];
        if (one->simulated && one->gpus) {
            snprintf(why, sizeof why, "%s: %lld > %lld", one->name, (long long)one->host_ranks,
                     (long long)one->gpus);
            document_add(d, BLOCK_NOTE, say(r, MESSAGE_SIMULATED_GPU_NOTE), why);
        } else if (one->simulated) {
            snprintf(why, sizeof why, "%s: %lld × %lld > %lld", one->name,
                     (long long)one->host_ranks, (long long)one->threads, (long long)one->cores);
            document_add(d, BLOCK_NOTE, say(r, MESSAGE_SIMULATED_NOTE), why);
        }
        if (one->train && !run_has_time(one)) {
            snprintf(why, sizeof why, say(r, compare_no_time(one)), one->name);
            document_add(d, BLOCK_NOTE,
                         say(r, one->restarted ? MESSAGE_RESTARTED_NOTE : MESSAGE_RESUMED_NOTE),
                         why);
        }
        if (!one->train) document_add(d, BLOCK_NOTE, say(r, MESSAGE_NOT_COMPLETE), one->name);
    }
}

void section_summary(const report *r, document *d) {
    double target = common_target(r);
    lead(r, d);
    summary_head(r, d, target);
    for (size_t i = 0; i < r->list.count; i++) summary_row(r, d, i, target);
    summary_notes(r, d);
}

// ---- Repeats ----

static status repeats_row(const report *r, document *d, const group *g, error *err) {
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

status section_repeats(const report *r, document *d, error *err) {
    static const message head[] = {MESSAGE_EXPERIMENT, MESSAGE_RUNS,     MESSAGE_MEAN_ACCURACY,
                                   MESSAGE_DEVIATION,  MESSAGE_INTERVAL, MESSAGE_SECONDS_PER_EPOCH,
                                   MESSAGE_DEVIATION};
    bool any = false;
    for (size_t i = 0; i < r->group_count; i++) {
        if (r->groups[i].count < 2) continue;
        if (!any) {
            document_add(d, BLOCK_HEADING, "%s", say(r, MESSAGE_SEEDS));
            document_table(d, 7, "");
            head_cells(r, d, head, 7);
        }
        any = true;
        status rc = repeats_row(r, d, &r->groups[i], err);
        if (rc != STATUS_OK) return rc;
    }
    if (any) document_add(d, BLOCK_NOTE, "%s", say(r, MESSAGE_SEEDS_NOTE));
    return STATUS_OK;
}
