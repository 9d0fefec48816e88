// Where the time of a step goes.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "report/plot.h"
#include "report/sections.h"

static const double tolerance = 0.02; // of the wall time; docs/formats.md

static const wording phases[RUN_PHASES] = {"load", "copy", "forward", "backward",
                                           "comm", "wait", "update"};
enum { ROW_SUM = RUN_PHASES, ROW_WALL };

static bool has_split(const run *one) {
    return one->train && !isnan(run_time_split(one).sum);
}

status section_time_figure(const results *r, document *d, error *err) {
    status rc = STATUS_FAILED;
    size_t runs = r->list.count, count = 0;
    double *value = memory_new(runs * RUN_PHASES, sizeof *value, err);
    char(*label)[LABEL_TEXT] = memory_new(runs, sizeof *label, err);
    const char **bars = memory_new(runs, sizeof *bars, err), *parts[RUN_PHASES];
    if (!value || !label || !bars) goto out;
    for (int p = 0; p < RUN_PHASES; p++) parts[p] = say(r, phases[p]);
    for (size_t i = 0; i < runs; i++) {
        const run *one = &r->list.runs[i];
        if (!has_split(one)) continue;
        run_split split = run_time_split(one);
        for (int p = 0; p < RUN_PHASES; p++) value[count * RUN_PHASES + (size_t)p] = split.phase[p];
        bars[count] = label_run(r, one, label[count]);
        count++;
    }
    plot_bars b = {.id = "split",
                   .title = say(r, "Time of a step"),
                   .bars = bars,
                   .parts = parts,
                   .x = say(r, "ms / step"),
                   .bar_count = count,
                   .part_count = RUN_PHASES,
                   .value = value};
    char *svg, why[128];
    TRY(plot_stacked(&b, &svg, why, err));
    if (svg)
        document_figure(d, b.id, svg,
                        say(r, "Where the time of a step goes: mean over threads, ranks and steps, "
                               "first epoch left out when there are more."));
    else
        document_add(d, BLOCK_NOTE, say(r, "No drawing here: %s when the report was made."), why);
out:
    free(value);
    free(label);
    free(bars);
    return rc;
}

static void split_row(const results *r, document *d, const char *name, int phase) {
    document_cell(d, CELL_STRONG, "%s", say(r, name));
    for (size_t i = 0; i < r->list.count; i++) {
        const run *one = &r->list.runs[i];
        if (!has_split(one)) continue;
        run_split split = run_time_split(one);
        double ms = phase == ROW_SUM    ? split.sum
                    : phase == ROW_WALL ? split.wall
                                        : split.phase[phase];
        cell_number(d, "%.3f", ms);
        cell_number(d, "%.1f %%", 100 * ms / split.wall);
    }
}

static void split_table(const results *r, document *d, size_t splits) {
    char label[LABEL_TEXT];
    document_table(d, 1 + 2 * splits, "");
    document_cell(d, CELL_TEXT, "%s", say(r, "Phase"));
    for (size_t i = 0; i < r->list.count; i++) {
        const run *one = &r->list.runs[i];
        if (!has_split(one)) continue;
        label_run(r, one, label);
        document_cell(d, CELL_TEXT, "%s, %s", label, say(r, "ms / step"));
        document_cell(d, CELL_TEXT, "%s", "%");
    }
    for (int p = 0; p < RUN_PHASES; p++) split_row(r, d, phases[p], p);
    split_row(r, d, WORD("Sum"), ROW_SUM);
    split_row(r, d, WORD("Wall time"), ROW_WALL);
}

// Does the split add up, or why is there none?
static void split_note(const results *r, document *d, const run *one) {
    if (!one->train) return;
    if (!has_split(one)) {
        char why[512];
        snprintf(why, sizeof why, say(r, like_no_time(one)), one->name);
        document_add(d, BLOCK_NOTE, say(r, "%s: no time split: %s."), one->name,
                     run_has_time(one) ? say(r, "the manifest has no phases") : why);
        return;
    }
    run_split split = run_time_split(one);
    double off = split.sum / split.wall - 1;
    bool adds_up = fabs(off) <= tolerance;
    document_add(
        d, adds_up ? BLOCK_NOTE : BLOCK_PARAGRAPH,
        say(r, adds_up
                   ? "%s: the phases add up to the wall time within 2 %% (%+.2f %%)."
                   : "%s: the phases do NOT add up to the wall time: %+.2f %%, more than 2 %%."),
        one->name, 100 * off);
}

status section_time_split(const results *r, document *d, error *err) {
    size_t splits = 0, trained = 0;
    for (size_t i = 0; i < r->list.count; i++) {
        splits += has_split(&r->list.runs[i]);
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
