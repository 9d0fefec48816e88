// SPDX-License-Identifier: MIT
// Notes on times; repeats.
#include <math.h>

#include "report/sections.h"

size_t timed_runs(const results *r) {
    size_t count = 0;
    for (size_t i = 0; i < r->list.count; i++) count += r->list.runs[i].timing != NULL;
    return count;
}

static void append_timed_names(const results *r, text *out) {
    for (size_t i = 0; i < r->list.count; i++) {
        const run *one = &r->list.runs[i];
        if (one->timing) text_format(out, "%s%s", out->length ? say(r, ", ") : "", one->name);
    }
}

// Appends what the seconds per epoch are, of whole trainings and of turns.
static void append_epoch_times(const results *r, text *out) {
    const size_t timed = timed_runs(r);
    text names = {0};
    append_timed_names(r, &names);
    if (timed < r->list.count)
        text_append(out,
                    say(r, "s / epoch: median over epochs, without the first if there are several; "
                           "evaluation is not counted."));
    if (timed && timed < r->list.count) text_append(out, say(r, " "));
    if (timed == r->list.count)
        text_append(out, say(r, "s / epoch: the time per sample while arms took turns, times the "
                                "samples of an epoch. Total and the parts of a step: of the whole "
                                "training."));
    else if (timed)
        text_format(out,
                    say(r, "s / epoch of %s: the time per sample while arms took turns, times the "
                           "samples of an epoch."),
                    text_string(&names));
    text_release(&names);
}

// Notes that times are means over executions, if some are.
static void note_executions(const results *r, document *d) {
    bool several = false, epochs = false;
    for (size_t i = 0; i < r->list.count; i++) {
        if (run_execution_count(&r->list.runs[i]) < 2) continue;
        several = true;
        epochs |= !r->list.runs[i].timing;
    }
    if (!several) return;
    document_add(
        d, BLOCK_NOTE, "%s",
        say(r, epochs
                   ? WORD("Some runs were executed several times, with the same model each time: "
                          "their s / epoch and total are geometric means over the executions; "
                          "single epochs and the parts of a step are from the execution with the "
                          "median time.")
                   : WORD("Some runs were executed several times, with the same model each time: "
                          "their total is the geometric mean over the executions; single epochs "
                          "and the parts of a step are from the execution with the median "
                          "time.")));
}

void note_times(const results *r, document *d) {
    text out = {0};
    append_epoch_times(r, &out);
    text_append(&out, say(r, " "));
    text_append(&out, say(r, "V: virtual shards, which fix the arithmetic. Model: first 12 digits "
                             "of the content hash of model.st.zst."));
    document_add(d, BLOCK_NOTE, "%s", text_string(&out));
    text_release(&out);
    note_executions(r, d);
}

// ---- Repeats ----

// The deviation is of the mean in the preceding cell.
static void deviation_cell(const results *r, document *d, const seed_group *g, const char *metric,
                           const char *format, double scale) {
    const figure *f = results_group_figure(r, g, metric);
    cell_number(d, format, f ? scale * f->deviation : NAN);
    cell_shows(d, 0, f);
}

static void repeats_row(const results *r, document *d, const seed_group *g) {
    document_cell(d, CELL_STRONG, "%s", g->name);
    cell_count(d, (int64_t)g->count);
    cell_group(r, d, g, "accuracy");
    deviation_cell(r, d, g, "accuracy", "%.2f", 100);
    cell_figure_range(r, d, g->name, "mean_accuracy");
    cell_group(r, d, g, "seconds_per_epoch");
    deviation_cell(r, d, g, "seconds_per_epoch", "%.3f", 1);
}

void section_repeats(const results *r, document *d) {
    static const wording head[] = {"Experiment",         "Runs",          "Mean accuracy",
                                   "Standard deviation", "95 % interval", "s / epoch",
                                   "Standard deviation"};
    bool any = false;
    for (size_t i = 0; i < r->group_count; i++) {
        if (r->groups[i].count < 2) continue;
        if (!any) {
            document_add(d, BLOCK_HEADING, "%s", say(r, "Repeats"));
            document_table(d, 7, "");
            head_cells(r, d, head, 7);
        }
        any = true;
        repeats_row(r, d, &r->groups[i]);
    }
    if (any)
        document_add(d, BLOCK_NOTE, "%s",
                     say(r, "Means over seeds with the sample standard deviation and the 95 % "
                            "interval of the mean (Student's t)."));
}
