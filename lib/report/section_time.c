// Where the time of a step goes.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "report/plot.h"
#include "report/sections.h"

static const double tolerance = 0.02; // of the wall time; docs/formats.md

static bool has_split(const run *one) {
    return one->train && !isnan(run_time_split(one).sum);
}

status section_time_figure(const report *r, document *d, error *err) {
    status rc = STATUS_FAILED;
    size_t runs = r->list.count, count = 0;
    double *value = memory_new(runs * RUN_PHASES, sizeof *value, err);
    char(*label)[LABEL_TEXT] = memory_new(runs, sizeof *label, err);
    const char **bars = memory_new(runs, sizeof *bars, err), *parts[RUN_PHASES];
    if (!value || !label || !bars) goto out;
    for (int p = 0; p < RUN_PHASES; p++) parts[p] = say(r, (message)(MESSAGE_PHASE_LOAD + p));
    for (size_t i = 0; i < runs; i++) {
        const run *one = &r->list.runs[i];
        if (!has_split(one)) continue;
        run_split split = run_time_split(one);
        for (int p = 0; p < RUN_PHASES; p++) value[count * RUN_PHASES + (size_t)p] = split.phase[p];
        bars[count] = label_run(r, one, label[count]);
        count++;
    }
    plot_bars b = {.id = "split",
                   .title = say(r, MESSAGE_TIME_SPLIT),
                   .bars = bars,
                   .parts = parts,
                   .x = say(r, MESSAGE_MS_PER_STEP),
                   .bar_count = count,
                   .part_count = RUN_PHASES,
                   .value = value};
    char *svg, why[128];
    TRY(plot_stacked(&b, &svg, why, err));
    if (svg)
        document_figure(d, b.id, svg, say(r, MESSAGE_SPLIT_CAPTION));
    else
        document_add(d, BLOCK_NOTE, say(r, MESSAGE_NO_PLOT), why);
out:
    free(value);
    free(label);
    free(bars);
    return rc;
}

static void split_row(const report *r, document *d, message name, int phase) {
    document_cell(d, CELL_STRONG, "%s", say(r, name));
    for (size_t i = 0; i < r->list.count; i++) {
        const run *one = &r->list.runs[i];
        if (!has_split(one)) continue;
        run_split split = run_time_split(one);
        double ms = name == MESSAGE_SUM    ? split.sum
                    : name == MESSAGE_WALL ? split.wall
                                           : split.phase[phase];
        cell_number(d, "%.3f", ms);
        cell_number(d, "%.1f %%", 100 * ms / split.wall);
    }
}

static void split_table(const report *r, document *d, size_t splits) {
    char label[LABEL_TEXT];
    document_table(d, 1 + 2 * splits, "");
    document_cell(d, CELL_TEXT, "%s", say(r, MESSAGE_PHASE));
    for (size_t i = 0; i < r->list.count; i++) {
        const run *one = &r->list.runs[i];
        if (!has_split(one)) continue;
        label_run(r, one, label);
        document_cell(d, CELL_TEXT, "%s, %s", label, say(r, MESSAGE_MS_PER_STEP));
        document_cell(d, CELL_TEXT, "%s", "%");
    }
    for (int p = 0; p < RUN_PHASES; p++) split_row(r, d, (message)(MESSAGE_PHASE_LOAD + p), p);
    split_row(r, d, MESSAGE_SUM, 0);
    split_row(r, d, MESSAGE_WALL, 0);
}

// Does the split add up, or why is there none?
static void split_note(const report *r, document *d, const run *one) {
    if (!one->train) return;
    if (!has_split(one)) {
        char why[512];
        snprintf(why, sizeof why, say(r, compare_no_time(one)), one->name);
        document_add(d, BLOCK_NOTE, say(r, MESSAGE_SPLIT_UNKNOWN), one->name,
                     run_has_time(one) ? say(r, MESSAGE_SPLIT_ABSENT) : why);
        return;
    }
    run_split split = run_time_split(one);
    double off = split.sum / split.wall - 1;
    bool adds_up = fabs(off) <= tolerance;
    document_add(d, adds_up ? BLOCK_NOTE : BLOCK_PARAGRAPH,
                 say(r, adds_up ? MESSAGE_SPLIT_ADDS_UP : MESSAGE_SPLIT_DOES_NOT_ADD_UP), one->name,
                 100 * off);
}

status section_time_split(const report *r, document *d, error *err) {
    size_t splits = 0, trained = 0;
    for (size_t i = 0; i < r->list.count; i++) {
        splits += has_split(&r->list.runs[i]);
        trained += r->list.runs[i].train != NULL;
    }
    if (!trained) return STATUS_OK;
    document_add(d, BLOCK_HEADING, "%s", say(r, MESSAGE_TIME_SPLIT));
    if (splits) {
        status rc = section_time_figure(r, d, err);
        if (rc != STATUS_OK) return rc;
        split_table(r, d, splits);
    }
    for (size_t i = 0; i < r->list.count; i++) split_note(r, d, &r->list.runs[i]);
    return STATUS_OK;
}
