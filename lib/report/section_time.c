// SPDX-License-Identifier: MIT
// The distribution of a step's time over its phases.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/bars.h"
#include "report/plot.h"
#include "report/sections.h"
#include "results/execution.h"

static const double tolerance = 0.02; // of the wall time; docs/formats.md

enum { ROWS = RUN_PHASES + 2 };
static const wording rows[ROWS] = {"load: the batch", "copy", "forward",
                                   "backward",        "comm", "wait: other threads or ranks",
                                   "update",          "Sum",  "Wall time"};

static const char *const metrics[ROWS] = {"sample.load",     "sample.copy", "sample.forward",
                                          "sample.backward", "sample.comm", "sample.wait",
                                          "sample.update",   "sample.sum",  "sample.wall"};

static const int colours[RUN_PHASES] = {PLOT_LOAD, PLOT_COPY, PLOT_FORWARD, PLOT_BACKWARD,
                                        PLOT_COMM, PLOT_WAIT, PLOT_UPDATE};

static bool has_split(const results *r, const run *one) {
    return one->train && !isnan(results_value(r, one->name, "sample.sum"));
}

// What the runs of the table wait for at the end of their work.
static wording wait_of(const run *one) {
    switch (execution_kind_of(one)) {
    case EXECUTION_REPLICAS: return WORD("wait: other replicas");
    case EXECUTION_STAGES: return WORD("wait: other stages");
    case EXECUTION_RANKS: return WORD("wait: other ranks and threads");
    case EXECUTION_PLAIN: break;
    }
    return one->gpus > 0 ? WORD("wait: the GPU") : WORD("wait: other threads");
}

static wording row_label(const results *r, int row) {
    wording label = NULL;
    if (row != RUN_WAIT) return rows[row];
    for (size_t i = 0; i < r->list.count; i++) {
        if (!has_split(r, &r->list.runs[i])) continue;
        const wording own = wait_of(&r->list.runs[i]);
        if (label && strcmp(label, own) != 0) return rows[row];
        label = own;
    }
    return label ? label : rows[row];
}

status section_time_figure(const results *r, document *d, error *err) {
    status rc = STATUS_OK;
    const char *names[RUN_PHASES];
    for (int p = 0; p < RUN_PHASES; p++) names[p] = say(r, row_label(r, p));
    bars b = {.id = "split",
              .title = say(r, "Time of a step"),
              .axis = say(r, "µs / sample"),
              .caption =
                  say(r, "A step's time per sample, by phase, so that batches of any size can be "
                         "compared: mean over threads, ranks and steps, without the first epoch if "
                         "there are several. Hatched: simulated."),
              .metrics = metrics,
              .names = names,
              .metric_count = RUN_PHASES,
              .colours = colours,
              .scale = 1,
              .err = err};
    for (size_t i = 0; i < r->list.count; i++) {
        const run *one = &r->list.runs[i];
        char label[LABEL_TEXT];
        if (has_split(r, one)) bars_add(&b, r, one->name, "", label_run(one, label));
    }
    rc = bars_draw(&b, r, d);
    bars_release(&b);
    return rc;
}

static void split_row(const results *r, document *d, int row) {
    document_cell(d, CELL_STRONG, "%s", say(r, row_label(r, row)));
    for (size_t i = 0; i < r->list.count; i++) {
        const run *one = &r->list.runs[i];
        if (!has_split(r, one)) continue;
        cell_figure(r, d, one->name, metrics[row]);
        cell_share(r, d, one->name, metrics[row], "sample.wall");
    }
}

static void split_table(const results *r, document *d, size_t splits) {
    char label[LABEL_TEXT];
    document_table(d, 1 + 2 * splits, "");
    document_cell(d, CELL_TEXT, "%s", say(r, "Phase"));
    for (size_t i = 0; i < r->list.count; i++) {
        const run *one = &r->list.runs[i];
        if (!has_split(r, one)) continue;
        label_run(one, label);
        document_cell(d, CELL_TEXT, "%s, %s", label, say(r, "µs / sample"));
        document_cell(d, CELL_TEXT, "%s", "%");
    }
    for (int row = 0; row < ROWS; row++) split_row(r, d, row);
}

// Notes whether the split adds up, or why there is none.
static void split_note(const results *r, document *d, const run *one) {
    if (!one->train) return;
    if (!has_split(r, one)) {
        char why[512];
        snprintf(why, sizeof why, say(r, like_no_time(one)), one->name);
        document_add(d, BLOCK_NOTE, say(r, "%s: no breakdown of its time: %s."), one->name,
                     run_has_time(one) ? say(r, "the manifest has no phases") : why);
        return;
    }
    const double off =
        results_value(r, one->name, "sample.sum") / results_value(r, one->name, "sample.wall") - 1;
    bool adds_up = fabs(off) <= tolerance;
    document_add(
        d, adds_up ? BLOCK_NOTE : BLOCK_PARAGRAPH,
        say(r, adds_up
                   ? "%s: the phases add up to the wall time within 2 %% (%+.2f %%)."
                   : "%s: the phases do NOT add up to the wall time: %+.2f %%, more than 2 %%."),
        one->name, 100 * off);
    // A thread that has no core makes the others wait, and is counted in whatever phase it is in.
    const double no_core = results_value(r, one->name, "no_core");
    if (no_core >= tolerance)
        document_add(d, BLOCK_NOTE,
                     say(r,
                         "%s: in any of these phases, its threads had no core for %.0f %% of the "
                         "time in which they were ready to run."),
                     one->name, 100 * no_core);
}

status section_time_split(const results *r, document *d, error *err) {
    size_t splits = 0, trained = 0;
    for (size_t i = 0; i < r->list.count; i++) {
        splits += has_split(r, &r->list.runs[i]);
        trained += r->list.runs[i].train != NULL;
    }
    if (!trained) return STATUS_OK;
    document_add(d, BLOCK_HEADING, "%s", say(r, "Time of a step"));
    if (splits) {
        status rc = section_time_figure(r, d, err);
        if (rc != STATUS_OK) return rc;
        split_table(r, d, splits);
    }
    for (size_t i = 0; i < r->list.count; i++) split_note(r, d, &r->list.runs[i]);
    return STATUS_OK;
}
