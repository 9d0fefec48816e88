// Every experiment against the baseline.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "report/plot.h"
#include "report/sections.h"

static double seconds_of(const group *g) {
    double sum = 0;
    for (size_t i = 0; i < g->count; i++) sum += g->runs[i]->seconds_per_epoch;
    return sum / (double)g->count;
}

void cell_time_verdict(const results *r, document *d, const comparison *c, verdict_length length) {
    text out;
    text_init(&out, d->err);
    verdict_append_time(&out, c, length, r->options.language);
    cell_appended(d, CELL_TEXT, &out);
}

void cell_accuracy_verdict(const results *r, document *d, const comparison *c) {
    text out;
    text_init(&out, d->err);
    verdict_append_accuracy(&out, c, VERDICT_WORD, r->options.language);
    cell_appended(d, CELL_TEXT, &out);
}

void cells_speedup(const results *r, document *d, const comparison *c) {
    const interval range = c->speedup.range;
    const char *mark = c->simulated ? say(r, "SIMULATED") : "";
    if (isnan(c->speedup.value))
        document_cell(d, CELL_NUMBER, "%s", "");
    else
        document_cell(d, CELL_NUMBER, "%.2f×%s%s", c->speedup.value, *mark ? " " : "", mark);
    if (!isnan(range.low))
        document_cell(d, CELL_NUMBER, "[%.2f, %.2f]", range.low, range.high);
    else if (!isnan(c->spread.low))
        document_cell(d, CELL_NUMBER, say(r, "epochs %.2f–%.2f"), c->spread.low, c->spread.high);
    else
        document_cell(d, CELL_NUMBER, "%s", "");
    cell_time_verdict(r, d, c, VERDICT_WORD);
}

void cells_comparison(const results *r, document *d, const comparison *c) {
    cell_time(r, d, c->subject->runs[0], seconds_of(c->subject));
    cells_speedup(r, d, c);
    if (c->arithmetic)
        document_cell(d, CELL_TEXT, say(r, "no: %s"), c->arithmetic);
    else
        document_cell(d, CELL_TEXT, "%s", say(r, "yes"));
    if (isnan(c->accuracy_difference))
        document_cell(d, CELL_NUMBER, "%s", "");
    else
        document_cell(d, CELL_NUMBER, say(r, "%+.2f points"), 100 * c->accuracy_difference);
    cell_accuracy_verdict(r, d, c);
    if (any_target(r)) cell_target(r, d, c->subject);
}

void cells_uncompared(const results *r, document *d, const group *g) {
    cell_time(r, d, g->runs[0], seconds_of(g));
    document_cell(d, CELL_NUMBER, "%s", "");
    document_cell(d, CELL_NUMBER, "%s", "");
    document_cell(d, CELL_TEXT, "%s", say(r, "baseline"));
    document_cell(d, CELL_TEXT, "%s", "");
    document_cell(d, CELL_NUMBER, "%s", "");
    document_cell(d, CELL_TEXT, "%s", "");
    if (any_target(r)) cell_target(r, d, g);
}

void head_comparison(const results *r, document *d, const wording *front, size_t count) {
    static const wording head[] = {"s / epoch",   "Speed-up",        "95 % interval",
                                   "Verdict",     "Same arithmetic", "Accuracy difference",
                                   "Its verdict", "Time to target"};
    size_t columns = any_target(r) ? 8 : 7;
    document_table(d, count + columns, "");
    head_cells(r, d, front, count);
    head_cells(r, d, head, columns);
}

// Bars of the speed-ups that may be given.
status section_speedups(const results *r, document *d, const char *axis, error *err) {
    status rc = STATUS_FAILED;
    size_t room = r->comparison_count, count = 0;
    double *value = memory_new(3 * room, sizeof *value, err);
    const char **names = memory_new(room, sizeof *names, err);
    char *svg = NULL, why[128];
    if (!value || !names) goto out;
    for (size_t i = 0; i < room; i++) {
        const comparison *c = &r->comparisons[i];
        if (c->reasons || isnan(c->speedup.value)) continue;
        value[count] = c->speedup.value;
        value[room + count] = c->speedup.range.low;
        value[2 * room + count] = c->speedup.range.high;
        names[count++] = c->subject->name;
    }
    rc = STATUS_OK;
    if (!count) goto out;
    plot_values v = {.id = "speedup",
                     .title = say(r, "Speed-up"),
                     .x = axis,
                     .names = names,
                     .value = value,
                     .low = value + room,
                     .high = value + 2 * room,
                     .count = count,
                     .reference = 1};
    TRY(plot_whiskers(&v, &svg, why, err));
    if (svg)
        document_figure(d, v.id, svg,
                        say(r, "Speed-ups with their 95 % intervals; the dashed line is no "
                               "difference. What was not like for like has no bar."));
    else
        document_add(d, BLOCK_NOTE, say(r, "No drawing here: %s when the report was made."), why);
out:
    free(value);
    free(names);
    return rc;
}

void note_verdicts(const results *r, document *d) {
    document_add(
        d, BLOCK_NOTE,
        say(r,
            "Times are compared only like for like: the same data, model, global batch, epochs, "
            "augmentation, optimizer, precision, sources, compiler, flags, machine, kind of "
            "device, instruction set and loader workers, and at one world size as many threads; "
            "what a study or a step varies may differ. A verdict takes %d executions of each "
            "side, in turns (EXECUTIONS=%d), on a machine that did nothing else. Intervals: "
            "95 %%, Student's t on the logarithms of the medians of executions, from %d rounds "
            "on paired by round; with fewer executions, from the slowest to the fastest epochs."),
        VERDICT_EXECUTIONS, VERDICT_EXECUTIONS, VERDICT_ROUNDS);
    document_add(
        d, BLOCK_NOTE,
        say(r, "Different: p below 0.05, corrected for the verdicts of a table (Holm). The same: "
               "two one-sided tests, 5 %% each, times within ±%g %%, accuracies within ±%g points. "
               "Neither: undecided. Accuracies are paired by seed, with %d seeds or more; with "
               "fewer, McNemar's test tells two models apart, not what made them."),
        100 * VERDICT_TIME_MARGIN, 100 * VERDICT_ACCURACY_MARGIN, VERDICT_SEEDS);
}

status section_comparison(const results *r, document *d, error *err) {
    static const wording front[] = {"Experiment"};
    const group *baseline = &r->groups[0];
    char axis[256];
    if (!r->comparison_count) return STATUS_OK;
    document_add(d, BLOCK_HEADING, say(r, "Against %s"), baseline->name);
    head_comparison(r, d, front, 1);
    document_cell(d, CELL_STRONG, "%s", baseline->name);
    cells_uncompared(r, d, baseline);
    for (size_t i = 0; i < r->comparison_count; i++) {
        document_cell(d, CELL_STRONG, "%s", r->comparisons[i].subject->name);
        cells_comparison(r, d, &r->comparisons[i]);
    }
    note_verdicts(r, d);
    if (any_target(r))
        document_add(d, BLOCK_NOTE, "%s",
                     say(r, "Time to target: seconds of training up to the end of the first epoch "
                            "after which the test accuracy is that of the experiment's target; "
                            "evaluation is not counted."));
    snprintf(axis, sizeof axis, say(r, "times as fast as %s"), baseline->name);
    return section_speedups(r, d, axis, err);
}
