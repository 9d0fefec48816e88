// SPDX-License-Identifier: MIT
// Compares every experiment with the baseline.
#include <math.h>
#include <stdio.h>

#include "report/bars.h"
#include "report/sections.h"

void cell_time_verdict(const results *r, document *d, const comparison *c, verdict_length length) {
    text out = {0};
    verdict_append_time(&out, c, length, r->options.language);
    cell_appended(d, CELL_TEXT, &out);
}

void cell_accuracy_verdict(const results *r, document *d, const comparison *c) {
    text out = {0};
    verdict_append_accuracy(&out, c, VERDICT_WORD, r->options.language);
    cell_appended(d, CELL_TEXT, &out);
}

void cells_speedup(const results *r, document *d, const comparison *c) {
    const interval range = c->speedup.range;
    const char *mark = c->simulated ? SIMULATED_MARK : "";
    if (isnan(c->speedup.value))
        document_cell(d, CELL_NUMBER, "%s", "");
    else
        document_cell(d, CELL_NUMBER, "%.2f×%s", c->speedup.value, mark);
    if (!isnan(range.low))
        document_cell(d, CELL_NUMBER, "[%.2f, %.2f]", range.low, range.high);
    else if (!isnan(c->spread.low))
        document_cell(d, CELL_NUMBER, say(r, "epochs %.2f–%.2f"), c->spread.low, c->spread.high);
    else
        document_cell(d, CELL_NUMBER, "%s", "");
    cell_time_verdict(r, d, c, VERDICT_WORD);
}

void cells_comparison(const results *r, document *d, const comparison *c) {
    const figure *speedup = results_figure(r, c->subject->name, "speedup");
    cell_group(r, d, c->subject, "seconds_per_epoch");
    cells_speedup(r, d, c);
    cell_shows(d, 2, speedup);
    cell_shows(d, 1, speedup);
    if (c->arithmetic)
        document_cell(d, CELL_TEXT, say(r, "no: %s"), c->arithmetic);
    else
        document_cell(d, CELL_TEXT, "%s", say(r, "yes"));
    if (isnan(c->accuracy_difference))
        document_cell(d, CELL_NUMBER, "%s", "");
    else
        document_cell(d, CELL_NUMBER, say(r, "%+.2f points"), 100 * c->accuracy_difference);
    cell_shows(d, 0, results_figure(r, c->subject->name, "accuracy_difference"));
    cell_accuracy_verdict(r, d, c);
    if (any_target(r)) cell_target(r, d, c->subject);
}

void cells_uncompared(const results *r, document *d, const seed_group *g) {
    cell_group(r, d, g, "seconds_per_epoch");
    document_cell(d, CELL_NUMBER, "%s", "");
    document_cell(d, CELL_NUMBER, "%s", "");
    document_cell(d, CELL_TEXT, "%s", say(r, "baseline"));
    document_cell(d, CELL_TEXT, "%s", "");
    document_cell(d, CELL_NUMBER, "%s", "");
    document_cell(d, CELL_TEXT, "%s", "");
    if (any_target(r)) cell_target(r, d, g);
}

void head_comparison(const results *r, document *d, const wording *front, size_t count) {
    static const wording head[] = {"s / epoch",        "Speed-up",        "95 % interval",
                                   "Verdict",          "Same arithmetic", "Accuracy difference",
                                   "Accuracy verdict", "Time to target"};
    size_t columns = any_target(r) ? 8 : 7;
    document_table(d, count + columns, "");
    head_cells(r, d, front, count);
    head_cells(r, d, head, columns);
}

// Bars of the speed-ups for which times are comparable.
status section_speedups(const results *r, document *d, const char *axis, error *err) {
    static const char *const metric[] = {"speedup"};
    status rc = STATUS_OK;
    bars b = {.id = "speedup",
              .title = say(r, "Speed-up"),
              .axis = axis,
              .caption = say(r, "Speed-ups with 95 % intervals; the dashed line marks no "
                                "difference. Comparisons that are not like for like have no bar."),
              .metrics = metric,
              .metric_count = 1,
              .scale = 1,
              .reference = 1,
              .err = err};
    for (size_t i = 0; i < r->comparison_count; i++) {
        const char *name = r->comparisons[i].subject->name;
        bars_add(&b, r, name, "", name);
    }
    rc = bars_draw(&b, r, d);
    bars_release(&b);
    return rc;
}

// Appends what a verdict on times needs, and what its interval is.
static void append_time_rules(const results *r, text *out) {
    const size_t timed = timed_runs(r);
    text turns = {0};
    timed_arms_append(&turns, r->list.runs, r->list.count, r->options.language);
    if (timed)
        text_format(out,
                    say(r, "Two runs that took turns are compared by them, whatever machine and "
                           "build each was trained with (%s). Intervals: 95 %%, Student's t on the "
                           "logarithms of the times per sample, over executions."),
                    text_string(&turns));
    if (timed && timed < r->list.count) text_append(out, say(r, " "));
    if (timed < r->list.count)
        text_format(out,
                    say(r, "A verdict needs %d executions of each side, interleaved "
                           "(EXECUTIONS=%d). Intervals: 95 %%, Student's t on the logarithms of "
                           "the executions' times, paired by round if there are %d rounds or "
                           "more; with fewer executions, from the slowest to the fastest epochs."),
                    VERDICT_EXECUTIONS, VERDICT_EXECUTIONS, VERDICT_ROUNDS);
    text_release(&turns);
}

void note_verdicts(const results *r, document *d) {
    text times = {0};
    text_append(
        &times,
        say(r, "Times are compared only like for like: the same data, model, global batch, epochs, "
               "augmentation, optimizer, precision, sources, compiler, flags, machine, kind of "
               "device, instruction set and loader workers, and, at the same world size, the same "
               "number of threads; keys that a study or a step varies may differ. Runs that are "
               "alike in all of these, in strategy, ranks and V, and differ in one setting, are "
               "compared too; the verdict names the setting."));
    text_append(&times, say(r, " "));
    append_time_rules(r, &times);
    document_add(d, BLOCK_NOTE, "%s", text_string(&times));
    text_release(&times);
    document_add(
        d, BLOCK_NOTE,
        say(r, "Different: p below 0.05, corrected for all verdicts of a table (Holm). The same: "
               "two one-sided tests, 5 %% each, times within ±%g %%, accuracies within ±%g points. "
               "Neither: undecided. Accuracies are paired by seed, with %d seeds or more; with one "
               "seed, McNemar's test compares the two models, not the methods."),
        100 * VERDICT_TIME_MARGIN, 100 * VERDICT_ACCURACY_MARGIN, VERDICT_SEEDS);
}
