// Where DataParallel, pipelines and DistributedDataParallel lose their time.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "report/plot.h"
#include "report/sections.h"
#include "results/execution.h"

// What is shown, and the execution of each of its runs.
typedef struct page {
    const results *r;
    document *d;
    execution *of;
} page;

static const run *run_at(const page *p, size_t i) {
    return &p->r->list.runs[i];
}

static bool shows(const page *p, size_t i, execution_kind kind) {
    return p->of[i].kind == kind && execution_has_times(run_at(p, i));
}

static size_t count_shown(const page *p, execution_kind kind) {
    size_t count = 0;
    for (size_t i = 0; i < p->r->list.count; i++) count += shows(p, i, kind);
    return count;
}

static void cell_share(document *d, double share) {
    cell_number(d, "%.1f %%", 100 * share);
}

static void cell_run(const page *p, size_t i) {
    char label[LABEL_TEXT];
    document_cell(p->d, CELL_STRONG, "%s", label_run(p->r, run_at(p, i), label));
}

static device_use mean_use(const execution *e) {
    device_use mean = {0};
    for (size_t i = 0; i < e->count; i++) {
        mean.busy += e->devices[i].busy / (double)e->count;
        mean.copying += e->devices[i].copying / (double)e->count;
        mean.waiting += e->devices[i].waiting / (double)e->count;
    }
    return mean;
}

// A paragraph; releases `told`.
static void tell(const page *p, text *told) {
    if (text_status(told) != STATUS_OK) p->d->rc = STATUS_FAILED;
    document_add(p->d, BLOCK_PARAGRAPH, "%s", text_string(told));
    text_release(told);
}

// ---- DataParallel ----

// The master against the others, of which there is at least one.
static void append_master(const page *p, text *out, const execution *e) {
    const double alone = execution_master_share(e), master = 100 * e->devices[0].busy;
    double low = e->devices[1].busy, high = low;
    for (size_t i = 2; i < e->count; i++) {
        low = fmin(low, e->devices[i].busy);
        high = fmax(high, e->devices[i].busy);
    }
    if (!isnan(alone))
        text_format(out, say(p->r, " For %.1f %% of the step the master works alone."),
                    100 * alone);
    if (e->count == 2)
        text_format(out, say(p->r, " The master is busy for %.1f %% of it, replica 1 for %.1f %%."),
                    master, 100 * low);
    else
        text_format(
            out,
            say(p->r,
                " The master is busy for %.1f %% of it, the other replicas for %.1f to %.1f %%."),
            master, 100 * low, 100 * high);
}

static void tell_replicas(const page *p, size_t i) {
    char label[LABEL_TEXT];
    const execution *e = &p->of[i];
    const device_use mean = mean_use(e);
    if (!e->count || isnan(mean.waiting)) return;
    text told;
    text_init(&told, p->d->err);
    text_format(&told,
                say(p->r, "%s: a replica spends %.1f %% of a step on copying and reducing and %.1f "
                          "%% on waiting."),
                label_run(p->r, run_at(p, i), label), 100 * mean.copying, 100 * mean.waiting);
    if (e->count > 1) append_master(p, &told, e);
    tell(p, &told);
}

static int64_t bytes_of_step(const execution *e) {
    int64_t sum = 0;
    for (int k = 0; k < EXECUTION_ACTIVITIES; k++) sum += e->bytes[k] > 0 ? e->bytes[k] : 0;
    return sum;
}

// A row of the activities; EXECUTION_ACTIVITIES: their sum.
static void activity_row(const page *p, const char *name, int activity) {
    document_cell(p->d, CELL_STRONG, "%s", say(p->r, name));
    for (size_t i = 0; i < p->r->list.count; i++) {
        const execution *e = &p->of[i];
        if (!shows(p, i, EXECUTION_REPLICAS)) continue;
        const bool sum = activity == EXECUTION_ACTIVITIES;
        const double step = execution_step_seconds(e), seconds = sum ? step : e->seconds[activity];
        cell_number(p->d, "%.4f", 1000 * seconds);
        cell_share(p->d, seconds / step);
        cell_count(p->d, sum ? bytes_of_step(e) : e->bytes[activity]);
    }
}

static void activity_table(const page *p, size_t shown) {
    static const wording names[EXECUTION_ACTIVITIES] = {"broadcast parameters",
                                                        "scatter samples",
                                                        "forward",
                                                        "gather outputs",
                                                        "loss, at the master",
                                                        "scatter their gradients",
                                                        "backward",
                                                        "reduce gradients, at the master",
                                                        "update, at the master"};
    char label[LABEL_TEXT];
    document_table(p->d, 1 + 3 * shown, "");
    document_cell(p->d, CELL_TEXT, "%s", say(p->r, "Phase"));
    for (size_t i = 0; i < p->r->list.count; i++) {
        if (!shows(p, i, EXECUTION_REPLICAS)) continue;
        document_cell(p->d, CELL_TEXT, "%s, %s", label_run(p->r, run_at(p, i), label),
                      say(p->r, "ms / step"));
        document_cell(p->d, CELL_TEXT, "%s", "%");
        document_cell(p->d, CELL_TEXT, "%s", say(p->r, "bytes / step"));
    }
    for (int k = 0; k < EXECUTION_ACTIVITIES; k++) activity_row(p, names[k], k);
    activity_row(p, WORD("Sum"), EXECUTION_ACTIVITIES);
    document_add(p->d, BLOCK_NOTE, "%s",
                 say(p->r,
                     "What a DataParallel step does, one after the other, once its batch is there: "
                     "means over all steps of the run, the first epoch among them. Bytes are those "
                     "that cross between the master and the other replicas."));
}

static void use_cells(const page *p, const device_use *use) {
    cell_share(p->d, use->busy);
    cell_share(p->d, use->copying);
    cell_share(p->d, use->waiting);
}

static void cell_memory(document *d, int64_t bytes) {
    cell_number(d, "%.1f", bytes < 0 ? NAN : (double)bytes / (1 << 20));
}

static void replica_table(const page *p) {
    static const wording head[] = {"Run", "Replica", "Busy", "Copying", "Waiting", "Memory, MiB"};
    document_table(p->d, 6, "");
    head_cells(p->r, p->d, head, 6);
    for (size_t i = 0; i < p->r->list.count; i++) {
        if (!shows(p, i, EXECUTION_REPLICAS)) continue;
        for (size_t k = 0; k < p->of[i].count; k++) {
            cell_run(p, i);
            if (k == 0)
                document_cell(p->d, CELL_TEXT, say(p->r, "%zu, the master"), k);
            else
                document_cell(p->d, CELL_TEXT, "%zu", k);
            use_cells(p, &p->of[i].devices[k]);
            cell_memory(p->d, p->of[i].devices[k].memory);
        }
    }
}

static void show_replicas(const page *p) {
    const size_t shown = count_shown(p, EXECUTION_REPLICAS);
    if (!shown) return;
    for (size_t i = 0; i < p->r->list.count; i++)
        if (shows(p, i, EXECUTION_REPLICAS)) tell_replicas(p, i);
    activity_table(p, shown);
    replica_table(p);
}

// ---- Pipelines ----

// Stages of unlike work, if they differ by what is more than noise.
static void append_uneven(const page *p, text *out, const execution *e) {
    const double noise = 0.01;
    size_t most = 0, least = 0;
    for (size_t k = 1; k < e->count; k++) {
        if (e->devices[k].busy > e->devices[most].busy) most = k;
        if (e->devices[k].busy < e->devices[least].busy) least = k;
    }
    const device_use *busiest = &e->devices[most], *idlest = &e->devices[least];
    if (busiest->busy - idlest->busy > noise)
        text_format(out,
                    say(p->r, " Its busiest stage is %zu (%s to %s) with %.1f %%, its idlest %zu "
                              "(%s to %s) with %.1f %%."),
                    most, busiest->first, busiest->last, 100 * busiest->busy, least, idlest->first,
                    idlest->last, 100 * idlest->busy);
}

static void tell_stages(const page *p, size_t i) {
    char label[LABEL_TEXT];
    const execution *e = &p->of[i];
    if (!e->count || isnan(e->bubble_measured) || isnan(e->micro_batches)) return;
    text told;
    text_init(&told, p->d->err);
    text_format(&told,
                say(p->r, "%s: a stage has nothing to do for %.1f %% of a step (the bubble). "
                          "Filling and draining a pipeline of S = %zu stages with M = %.4g "
                          "micro-batches would cost %.1f %%."),
                label_run(p->r, run_at(p, i), label), 100 * e->bubble_measured, e->count,
                e->micro_batches, 100 * e->bubble_predicted);
    append_uneven(p, &told, e);
    tell(p, &told);
}

static void stage_table(const page *p) {
    static const wording head[] = {
        "Run", "Stage", "Layers", "Busy", "Copying", "Waiting", "Bytes sent / step", "Memory, MiB"};
    document_table(p->d, 8, "");
    head_cells(p->r, p->d, head, 8);
    for (size_t i = 0; i < p->r->list.count; i++) {
        if (!shows(p, i, EXECUTION_STAGES)) continue;
        for (size_t k = 0; k < p->of[i].count; k++) {
            const device_use *use = &p->of[i].devices[k];
            cell_run(p, i);
            document_cell(p->d, CELL_TEXT, "%zu", k);
            document_cell(p->d, CELL_TEXT, say(p->r, "%s to %s"), use->first, use->last);
            use_cells(p, use);
            cell_count(p->d, use->bytes_sent);
            cell_memory(p->d, use->memory);
        }
    }
}

static void bubble_table(const page *p) {
    static const wording head[] = {"Run", "Stages", "Micro-batches", "Bubble, measured",
                                   "(S - 1) / (M + S - 1)"};
    document_table(p->d, 5, "");
    head_cells(p->r, p->d, head, 5);
    for (size_t i = 0; i < p->r->list.count; i++) {
        const execution *e = &p->of[i];
        if (!shows(p, i, EXECUTION_STAGES)) continue;
        cell_run(p, i);
        cell_count(p->d, (int64_t)e->count);
        cell_number(p->d, "%.4g", e->micro_batches);
        cell_share(p->d, e->bubble_measured);
        cell_share(p->d, e->bubble_predicted);
    }
}

static void show_stages(const page *p) {
    if (!count_shown(p, EXECUTION_STAGES)) return;
    for (size_t i = 0; i < p->r->list.count; i++)
        if (shows(p, i, EXECUTION_STAGES)) tell_stages(p, i);
    bubble_table(p);
    stage_table(p);
}

// ---- DistributedDataParallel ----

static bool is_fast(const run *one) {
    return strcmp(one->reduce, "fast") == 0;
}

static double comm_share(const run *one) {
    enum { COMM = 4 }; // of run_phase_name
    const run_split split = run_time_split(one);
    return split.phase[COMM] / split.wall;
}

static void tell_ranks(const page *p, size_t i) {
    char label[LABEL_TEXT];
    const run *one = run_at(p, i);
    const device_use use = execution_mean_use(one);
    const double vectors = p->of[i].vectors;
    text told;
    text_init(&told, p->d->err);
    (void)label_run(p->r, one, label);
    if (is_fast(one))
        text_format(&told, say(p->r, "%s: reduced by --reduce fast, one vector a rank: not exact."),
                    label);
    else if (vectors > 1)
        text_format(
            &told,
            say(p->r,
                "%s: the shards of a rank are no whole subtree of the sum, so rank 0 brings %.4g "
                "vectors to each reduction instead of one. That factor is the price of exactness."),
            label, vectors);
    else
        text_format(&told,
                    say(p->r, "%s: the shards of a rank are a whole subtree of the sum, so it "
                              "brings one vector to each reduction."),
                    label);
    text_format(&told,
                say(p->r, " Exposed communication takes %.1f %% of a step, waiting %.1f %%; a rank "
                          "is busy for %.1f %% of it."),
                100 * comm_share(one), 100 * use.waiting, 100 * use.busy);
    tell(p, &told);
}

static void show_ranks(const page *p) {
    static const wording head[] = {"Run",
                                   "Ranks",
                                   "Vectors per reduction",
                                   "Bytes sent / step",
                                   "Exposed comm",
                                   "Hidden comm, ms / step",
                                   "Waiting",
                                   "Busy"};
    if (!count_shown(p, EXECUTION_RANKS)) return;
    for (size_t i = 0; i < p->r->list.count; i++)
        if (shows(p, i, EXECUTION_RANKS)) tell_ranks(p, i);
    document_table(p->d, 8, "");
    head_cells(p->r, p->d, head, 8);
    for (size_t i = 0; i < p->r->list.count; i++) {
        const run *one = run_at(p, i);
        if (!shows(p, i, EXECUTION_RANKS)) continue;
        const device_use use = execution_mean_use(one);
        cell_run(p, i);
        cell_count(p->d, one->world_size);
        cell_number(p->d, "%.4g", is_fast(one) ? 1 : p->of[i].vectors);
        cell_count(p->d, p->of[i].bytes_sent);
        cell_share(p->d, comm_share(one));
        cell_number(p->d, "%.4f", 1000 * p->of[i].hidden_comm);
        cell_share(p->d, use.waiting);
        cell_share(p->d, use.busy);
    }
}

// ---- The drawing ----

typedef struct bars {
    double (*value)[3];
    char (*label)[LABEL_TEXT + 32];
    const char **name;
    size_t count;
} bars;

static void add_bar(bars *b, const device_use *use) {
    const double shares[] = {use->busy, use->copying, use->waiting};
    for (int k = 0; k < 3; k++) b->value[b->count][k] = isfinite(shares[k]) ? 100 * shares[k] : 0;
    b->name[b->count] = b->label[b->count];
    b->count++;
}

// A run's name stands at its first bar alone.
static void add_bars(const page *p, size_t i, bars *b) {
    char label[LABEL_TEXT];
    const execution *e = &p->of[i];
    (void)label_run(p->r, run_at(p, i), label);
    if (e->kind == EXECUTION_RANKS) {
        const device_use use = execution_mean_use(run_at(p, i));
        snprintf(b->label[b->count], sizeof *b->label, "%s, %s", label, say(p->r, "mean"));
        add_bar(b, &use);
    }
    for (size_t k = 0; k < e->count; k++) {
        if (k == 0)
            snprintf(b->label[b->count], sizeof *b->label, "%s, %zu", label, k);
        else
            snprintf(b->label[b->count], sizeof *b->label, "%zu", k);
        add_bar(b, &e->devices[k]);
    }
}

static status draw(const page *p, const bars *b, error *err) {
    const char *parts[] = {say(p->r, "Busy"), say(p->r, "Copying"), say(p->r, "Waiting")};
    plot_bars plot = {.id = "use",
                      .title = say(p->r, "Where parallelism loses its time"),
                      .bars = b->name,
                      .parts = parts,
                      .x = say(p->r, "% of a step"),
                      .bar_count = b->count,
                      .part_count = 3,
                      .value = b->value[0]};
    char *svg, why[128];
    status rc = plot_stacked(&plot, &svg, why, err);
    if (rc != STATUS_OK) return rc;
    if (svg)
        document_figure(p->d, plot.id, svg,
                        say(p->r, "What each replica (its number; 0 is the master), each stage, "
                                  "and a rank on average does with its time in a step."));
    else
        document_add(p->d, BLOCK_NOTE, say(p->r, "No drawing here: %s when the report was made."),
                     why);
    return STATUS_OK;
}

static status use_figure(const page *p, error *err) {
    status rc = STATUS_FAILED;
    size_t room = 1;
    for (size_t i = 0; i < p->r->list.count; i++) room += p->of[i].count + 1;
    bars b = {.value = memory_new(room, sizeof *b.value, err),
              .label = memory_new(room, sizeof *b.label, err),
              .name = memory_new(room, sizeof *b.name, err)};
    if (!b.value || !b.label || !b.name) goto out;
    for (size_t i = 0; i < p->r->list.count; i++)
        if (p->of[i].kind != EXECUTION_PLAIN && execution_has_times(run_at(p, i)))
            add_bars(p, i, &b);
    rc = b.count ? draw(p, &b, err) : STATUS_OK;
out:
    free(b.value);
    free(b.label);
    free(b.name);
    return rc;
}

// ---- All of it ----

// Why a run that had figures of its strategy shows none.
static void tell_absent(const page *p, size_t i) {
    const run *one = run_at(p, i);
    char why[512];
    if (p->of[i].kind == EXECUTION_PLAIN || execution_has_times(one)) return;
    snprintf(why, sizeof why, say(p->r, like_no_time(one)), one->name);
    document_add(p->d, BLOCK_NOTE, say(p->r, "%s: not shown where its strategy loses time: %s."),
                 one->name, run_has_time(one) ? say(p->r, "the manifest has no phases") : why);
}

static status compose(const page *p, size_t shown, error *err) {
    document_add(p->d, BLOCK_HEADING, "%s", say(p->r, "Where parallelism loses its time"));
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
            document_add(
                p->d, BLOCK_NOTE, "%s",
                say(p->r, "Replicas and stages have a row each: shares of the step once its batch "
                          "is there, over all steps of the run. Copying has the reduction in it."));
    }
    for (size_t i = 0; i < p->r->list.count; i++) tell_absent(p, i);
    return STATUS_OK;
}

status section_strategy(const results *r, document *d, error *err) {
    status rc = STATUS_OK;
    size_t any = 0, shown = 0;
    page p = {r, d, memory_new(r->list.count, sizeof *p.of, err)};
    if (!p.of) return STATUS_FAILED;
    for (size_t i = 0; i < r->list.count; i++) {
        const run *one = &r->list.runs[i];
        TRY(execution_read(one, &p.of[i], err));
        any += p.of[i].kind != EXECUTION_PLAIN;
        shown += p.of[i].kind != EXECUTION_PLAIN && execution_has_times(one);
    }
    if (any) rc = compose(&p, shown, err);
out:
    for (size_t i = 0; i < r->list.count; i++) execution_release(&p.of[i]);
    free(p.of);
    return rc;
}
