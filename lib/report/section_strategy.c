// SPDX-License-Identifier: MIT
// The time lost by DataParallel, pipelines and DistributedDataParallel.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "report/bars.h"
#include "report/plot.h"
#include "report/sections.h"
#include "results/execution.h"

// The results shown, and the kind of execution of each run.
typedef struct page {
    const results *r;
    document *d;
    execution_kind *of;
} page;

static const run *run_at(const page *p, size_t i) {
    return &p->r->list.runs[i];
}

static bool shows(const page *p, size_t i, execution_kind kind) {
    return p->of[i] == kind && execution_has_times(run_at(p, i));
}

static size_t count_shown(const page *p, execution_kind kind) {
    size_t count = 0;
    for (size_t i = 0; i < p->r->list.count; i++) count += shows(p, i, kind);
    return count;
}

static void cell_run(const page *p, size_t i) {
    char label[LABEL_TEXT];
    document_cell(p->d, CELL_STRONG, "%s", label_run(run_at(p, i), label));
}

// ---- Figures of a device ----

static const char *const uses[] = {"busy", "copying", "waiting"};
enum { BUSY, COPYING, WAITING, USES };

static size_t device_count(const run *one) {
    const yaml_node *list = execution_devices(one);
    return list ? list->count : 0;
}

// Formats "replica.0.busy".
static const char *device_metric(const page *p, size_t i, size_t device, const char *what,
                                 char metric[64]) {
    snprintf(metric, 64, "%s.%zu.%s", p->of[i] == EXECUTION_STAGES ? "stage" : "replica", device,
             what);
    return metric;
}

static double device_value(const page *p, size_t i, size_t device, int use) {
    char metric[64];
    return results_value(p->r, run_at(p, i)->name, device_metric(p, i, device, uses[use], metric));
}

static double mean_value(const page *p, size_t i, int use) {
    const size_t count = device_count(run_at(p, i));
    double sum = 0;
    for (size_t k = 0; k < count; k++) sum += device_value(p, i, k, use);
    return sum / (double)count;
}

static void device_cells(const page *p, size_t i, size_t device, const char *const *columns,
                         size_t count) {
    char metric[64];
    for (size_t k = 0; k < count; k++)
        cell_figure(p->r, p->d, run_at(p, i)->name,
                    device_metric(p, i, device, columns[k], metric));
}

// Adds a paragraph; releases `sentences`.
static void add_paragraph(const page *p, text *sentences) {
    document_add(p->d, BLOCK_PARAGRAPH, "%s", text_string(sentences));
    text_release(sentences);
}

// ---- DataParallel ----

// Compares the master with the other replicas, of which there is at least one.
static void append_master(const page *p, text *out, size_t i) {
    const run *one = run_at(p, i);
    const size_t count = device_count(one);
    const double alone = results_value(p->r, one->name, "dp.master_alone");
    const double master = 100 * device_value(p, i, 0, BUSY);
    double low = device_value(p, i, 1, BUSY), high = low;
    for (size_t k = 2; k < count; k++) {
        low = fmin(low, device_value(p, i, k, BUSY));
        high = fmax(high, device_value(p, i, k, BUSY));
    }
    if (!isnan(alone))
        text_format(out, say(p->r, " Only the master works for %.1f %% of the step."), 100 * alone);
    if (count == 2)
        text_format(out, say(p->r, " The master is busy for %.1f %% of it, replica 1 for %.1f %%."),
                    master, 100 * low);
    else
        text_format(
            out,
            say(p->r,
                " The master is busy for %.1f %% of it, the other replicas for %.1f to %.1f %%."),
            master, 100 * low, 100 * high);
}

static void write_replicas(const page *p, size_t i) {
    char label[LABEL_TEXT];
    const double waiting = mean_value(p, i, WAITING);
    if (isnan(waiting)) return;
    text sentences = {0};
    text_format(&sentences,
                say(p->r, "%s: a replica spends %.1f %% of a step on copying and reducing and %.1f "
                          "%% on waiting."),
                label_run(run_at(p, i), label), 100 * mean_value(p, i, COPYING), 100 * waiting);
    if (device_count(run_at(p, i)) > 1) append_master(p, &sentences, i);
    add_paragraph(p, &sentences);
}

// Writes a row of the activities; EXECUTION_ACTIVITIES: their sum.
static void activity_row(const page *p, const char *name, int activity) {
    const bool sum = activity == EXECUTION_ACTIVITIES;
    char seconds[48] = "dp.sum", bytes[48] = "dp.bytes";
    if (!sum) snprintf(seconds, sizeof seconds, "dp.%s", execution_activity(activity));
    if (!sum) snprintf(bytes, sizeof bytes, "dp.bytes.%s", execution_activity(activity));
    document_cell(p->d, CELL_STRONG, "%s", say(p->r, name));
    for (size_t i = 0; i < p->r->list.count; i++) {
        const char *owner = run_at(p, i)->name;
        if (!shows(p, i, EXECUTION_REPLICAS)) continue;
        cell_figure(p->r, p->d, owner, seconds);
        cell_share(p->r, p->d, owner, seconds, "dp.sum");
        cell_figure(p->r, p->d, owner, bytes);
    }
}

static void activity_table(const page *p, size_t shown) {
    static const wording names[EXECUTION_ACTIVITIES] = {"broadcast parameters",
                                                        "scatter samples",
                                                        "forward",
                                                        "gather outputs",
                                                        "loss, on the master",
                                                        "scatter their gradients",
                                                        "backward",
                                                        "reduce gradients, on the master",
                                                        "update, on the master"};
    char label[LABEL_TEXT];
    document_table(p->d, 1 + 3 * shown, "");
    document_cell(p->d, CELL_TEXT, "%s", say(p->r, "Phase"));
    for (size_t i = 0; i < p->r->list.count; i++) {
        if (!shows(p, i, EXECUTION_REPLICAS)) continue;
        document_cell(p->d, CELL_TEXT, "%s, %s", label_run(run_at(p, i), label),
                      say(p->r, "ms / step"));
        document_cell(p->d, CELL_TEXT, "%s", "%");
        document_cell(p->d, CELL_TEXT, "%s", say(p->r, "bytes / step"));
    }
    for (int k = 0; k < EXECUTION_ACTIVITIES; k++) activity_row(p, names[k], k);
    activity_row(p, WORD("Sum"), EXECUTION_ACTIVITIES);
    document_add(p->d, BLOCK_NOTE, "%s",
                 say(p->r,
                     "The activities of a DataParallel step, in order, after its batch is loaded: "
                     "means over all steps of the run, including the first epoch. Bytes are those "
                     "copied between the master and the other replicas."));
}

static void replica_table(const page *p) {
    static const wording head[] = {"Run",           "Replica", "Busy",
                                   "Communication", "Waiting", "Memory, MiB"};
    static const char *const columns[] = {"busy", "copying", "waiting", "bytes"};
    document_table(p->d, 6, "");
    head_cells(p->r, p->d, head, 6);
    for (size_t i = 0; i < p->r->list.count; i++) {
        if (!shows(p, i, EXECUTION_REPLICAS)) continue;
        for (size_t k = 0; k < device_count(run_at(p, i)); k++) {
            cell_run(p, i);
            if (k == 0)
                document_cell(p->d, CELL_TEXT, say(p->r, "%zu, the master"), k);
            else
                document_cell(p->d, CELL_TEXT, "%zu", k);
            device_cells(p, i, k, columns, sizeof columns / sizeof *columns);
        }
    }
}

static void show_replicas(const page *p) {
    const size_t shown = count_shown(p, EXECUTION_REPLICAS);
    if (!shown) return;
    for (size_t i = 0; i < p->r->list.count; i++)
        if (shows(p, i, EXECUTION_REPLICAS)) write_replicas(p, i);
    activity_table(p, shown);
    replica_table(p);
}

// ---- Pipelines ----

// Reports stages with uneven work, if they differ by more than noise.
static void append_uneven(const page *p, text *out, size_t i) {
    const double noise = 0.01;
    const yaml_node *list = execution_devices(run_at(p, i));
    size_t most = 0, least = 0;
    for (size_t k = 1; k < list->count; k++) {
        if (device_value(p, i, k, BUSY) > device_value(p, i, most, BUSY)) most = k;
        if (device_value(p, i, k, BUSY) < device_value(p, i, least, BUSY)) least = k;
    }
    const double busiest = device_value(p, i, most, BUSY), idlest = device_value(p, i, least, BUSY);
    if (busiest - idlest > noise)
        text_format(out,
                    say(p->r, " Its busiest stage is %zu (%s to %s) with %.1f %%, its idlest %zu "
                              "(%s to %s) with %.1f %%."),
                    most, run_text(list->items[most], "first"), run_text(list->items[most], "last"),
                    100 * busiest, least, run_text(list->items[least], "first"),
                    run_text(list->items[least], "last"), 100 * idlest);
}

static void write_stages(const page *p, size_t i) {
    char label[LABEL_TEXT];
    const run *one = run_at(p, i);
    const size_t count = device_count(one);
    const double bubble = results_value(p->r, one->name, "bubble_measured");
    const double batches = results_value(p->r, one->name, "micro_batches");
    if (!count || isnan(bubble) || isnan(batches)) return;
    text sentences = {0};
    text_format(&sentences,
                say(p->r, "%s: a stage is idle for %.1f %% of a step (the bubble). Filling and "
                          "draining a pipeline of S = %zu stages with M = %.4g micro-batches would "
                          "cost %.1f %%."),
                label_run(one, label), 100 * bubble, count, batches,
                100 * results_value(p->r, one->name, "bubble_predicted"));
    append_uneven(p, &sentences, i);
    add_paragraph(p, &sentences);
}

static void stage_table(const page *p) {
    static const wording head[] = {
        "Run",        "Stage", "Layers", "Busy", "Communication", "Waiting", "Bytes sent / step",
        "Memory, MiB"};
    static const char *const columns[] = {"busy", "copying", "waiting", "bytes_sent_per_step",
                                          "bytes"};
    document_table(p->d, 8, "");
    head_cells(p->r, p->d, head, 8);
    for (size_t i = 0; i < p->r->list.count; i++) {
        if (!shows(p, i, EXECUTION_STAGES)) continue;
        const yaml_node *list = execution_devices(run_at(p, i));
        for (size_t k = 0; list && k < list->count; k++) {
            cell_run(p, i);
            document_cell(p->d, CELL_TEXT, "%zu", k);
            document_cell(p->d, CELL_TEXT, say(p->r, "%s to %s"), run_text(list->items[k], "first"),
                          run_text(list->items[k], "last"));
            device_cells(p, i, k, columns, sizeof columns / sizeof *columns);
        }
    }
}

static void bubble_table(const page *p) {
    static const wording head[] = {"Run", "Stages"};
    static const char *const columns[] = {"micro_batches", "bubble_measured", "bubble_predicted"};
    document_table(p->d, 5, "");
    head_cells(p->r, p->d, head, 2);
    head_figures(p->r, p->d, columns, 3);
    for (size_t i = 0; i < p->r->list.count; i++) {
        if (!shows(p, i, EXECUTION_STAGES)) continue;
        cell_run(p, i);
        cell_count(p->d, (int64_t)device_count(run_at(p, i)));
        cell_shows(p->d, 0, results_figure(p->r, run_at(p, i)->name, "world_size"));
        cell_figures(p->r, p->d, run_at(p, i)->name, columns, 3);
    }
}

static void show_stages(const page *p) {
    if (!count_shown(p, EXECUTION_STAGES)) return;
    for (size_t i = 0; i < p->r->list.count; i++)
        if (shows(p, i, EXECUTION_STAGES)) write_stages(p, i);
    bubble_table(p);
    stage_table(p);
}

// ---- DistributedDataParallel ----

static bool is_fast(const run *one) {
    return strcmp(one->reduce, "fast") == 0;
}

static void write_ranks(const page *p, size_t i) {
    char label[LABEL_TEXT];
    const run *one = run_at(p, i);
    const double vectors = results_value(p->r, one->name, "vectors_per_reduction");
    text sentences = {0};
    (void)label_run(one, label);
    if (is_fast(one))
        text_format(&sentences,
                    say(p->r, "%s: reduced by --reduce fast, one vector per rank: not exact."),
                    label);
    else if (vectors > 1)
        text_format(
            &sentences,
            say(p->r,
                "%s: the shards of a rank are not a whole subtree of the sum, so rank 0 "
                "contributes %.4g vectors per reduction instead of one. That factor is the price "
                "of exactness."),
            label, vectors);
    else
        text_format(&sentences,
                    say(p->r, "%s: the shards of a rank are a whole subtree of the sum, so it "
                              "contributes one vector per reduction."),
                    label);
    text_format(&sentences,
                say(p->r, " Exposed communication takes %.1f %% of a step, waiting %.1f %%; a rank "
                          "is busy for %.1f %% of it."),
                100 * results_value(p->r, one->name, "exposed_comm"),
                100 * results_value(p->r, one->name, "waiting"),
                100 * results_value(p->r, one->name, "busy"));
    add_paragraph(p, &sentences);
}

static void show_ranks(const page *p) {
    static const char *const columns[] = {
        "world_size",   "vectors_per_reduction", "bytes_sent_per_step",
        "exposed_comm", "hidden_comm_per_step",  "waiting",
        "busy"};
    static const wording head[] = {"Run"};
    if (!count_shown(p, EXECUTION_RANKS)) return;
    for (size_t i = 0; i < p->r->list.count; i++)
        if (shows(p, i, EXECUTION_RANKS)) write_ranks(p, i);
    document_table(p->d, 8, "");
    head_cells(p->r, p->d, head, 1);
    head_figures(p->r, p->d, columns, 7);
    for (size_t i = 0; i < p->r->list.count; i++) {
        if (!shows(p, i, EXECUTION_RANKS)) continue;
        const run *one = run_at(p, i);
        cell_run(p, i);
        cell_figure(p->r, p->d, one->name, columns[0]);
        if (is_fast(one))
            cell_count(p->d, 1);
        else
            cell_figure(p->r, p->d, one->name, columns[1]);
        cell_figures(p->r, p->d, one->name, columns + 2, 5);
    }
}

// ---- The drawing ----

// A run's name is shown only at its first bar.
static void add_bars(const page *p, size_t i, bars *b) {
    const run *one = run_at(p, i);
    char label[LABEL_TEXT], name[LABEL_TEXT + 32], prefix[64];
    (void)label_run(one, label);
    if (p->of[i] == EXECUTION_RANKS) {
        snprintf(name, sizeof name, "%s, %s", label, say(p->r, "mean"));
        bars_add(b, p->r, one->name, "", name);
    }
    for (size_t k = 0; k < device_count(one); k++) {
        snprintf(name, sizeof name, "%s%s%zu", k ? "" : label, k ? "" : ", ", k);
        bars_add(b, p->r, one->name, device_metric(p, i, k, "", prefix), name);
    }
}

static status use_figure(const page *p, error *err) {
    const char *names[] = {say(p->r, "Busy"), say(p->r, "Communication"), say(p->r, "Waiting")};
    static const int colours[] = {PLOT_BUSY, PLOT_COMM, PLOT_WAIT};
    bars b = {.id = "use",
              .title = say(p->r, "Time lost to parallelism"),
              .axis = say(p->r, "% of a step"),
              .caption = say(p->r, "The time of a step by replica (its number; 0 is the master), "
                                   "by stage, and for an average rank."),
              .metrics = uses,
              .names = names,
              .metric_count = USES,
              .colours = colours,
              .scale = 100,
              .err = err};
    status rc = STATUS_OK;
    for (size_t i = 0; i < p->r->list.count; i++)
        if (p->of[i] != EXECUTION_PLAIN && execution_has_times(run_at(p, i))) add_bars(p, i, &b);
    rc = bars_draw(&b, p->r, p->d);
    bars_release(&b);
    return rc;
}

// ---- The section ----

// Explains why a run with figures of its strategy shows none.
static void write_absent(const page *p, size_t i) {
    const run *one = run_at(p, i);
    char why[512];
    if (p->of[i] == EXECUTION_PLAIN || execution_has_times(one)) return;
    snprintf(why, sizeof why, say(p->r, like_no_time(one)), one->name);
    document_add(p->d, BLOCK_NOTE, say(p->r, "%s: the time lost to its strategy is not shown: %s."),
                 one->name, run_has_time(one) ? say(p->r, "the manifest has no phases") : why);
}

static status compose(const page *p, size_t shown, error *err) {
    document_add(p->d, BLOCK_HEADING, "%s", say(p->r, "Time lost to parallelism"));
    show_replicas(p);
    show_stages(p);
    show_ranks(p);
    if (shown) {
        status rc = use_figure(p, err);
        if (rc != STATUS_OK) return rc;
        document_add(
            p->d, BLOCK_NOTE, "%s",
            say(p->r,
                "Busy: the share of a step in which a device loads, computes or updates, that is 1 "
                "- (copy + comm + wait) / wall time; mean over replicas, stages or ranks."));
        if (count_shown(p, EXECUTION_REPLICAS) + count_shown(p, EXECUTION_STAGES))
            document_add(p->d, BLOCK_NOTE, "%s",
                         say(p->r,
                             "Replicas and stages have one row each: shares of the step after its "
                             "batch is loaded, over all steps of the run. Communication: copies "
                             "between devices, and the reduction."));
    }
    for (size_t i = 0; i < p->r->list.count; i++) write_absent(p, i);
    return STATUS_OK;
}

status section_strategy(const results *r, document *d, error *err) {
    status rc = STATUS_OK;
    size_t any = 0, shown = 0;
    page p = {r, d, memory_new(r->list.count, sizeof *p.of)};
    if (!p.of) return STATUS_FAILED;
    for (size_t i = 0; i < r->list.count; i++) {
        p.of[i] = execution_kind_of(&r->list.runs[i]);
        any += p.of[i] != EXECUTION_PLAIN;
        shown += p.of[i] != EXECUTION_PLAIN && execution_has_times(&r->list.runs[i]);
    }
    if (any) rc = compose(&p, shown, err);
    free(p.of);
    return rc;
}
