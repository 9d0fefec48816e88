// SPDX-License-Identifier: MIT
// The distribution of a step's time over its phases.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/bars.h"
#include "report/plot.h"
#include "report/sections.h"
#include "results/execution.h"

enum { ROWS = RUN_PHASES };
static const wording rows[ROWS] = {"load: the batch", "copy", "forward",
                                   "backward",        "comm", "wait: other threads or ranks",
                                   "update"};

static const char *const metrics[ROWS] = {"sample.load",     "sample.copy", "sample.forward",
                                          "sample.backward", "sample.comm", "sample.wait",
                                          "sample.update"};

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
