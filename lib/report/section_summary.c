// SPDX-License-Identifier: MIT
// A table of all runs; repeats.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/tta.h"
#include "report/sections.h"
#include "results/execution.h"

// Returns the first run before this one with the same model.
static const run *find_twin(const results *r, const run *one) {
    for (size_t i = 0; i < r->list.count && *one->model_content; i++) {
        const run *other = &r->list.runs[i];
        if (strcmp(other->name, one->name) == 0) return NULL;
        if (strcmp(other->model_content, one->model_content) == 0) return other;
    }
    return NULL;
}

// Returns the target shared by all runs, to be shown in the head; else NAN.
static double common_target(const results *r) {
    double target = run_target(&r->list.runs[0]);
    for (size_t i = 1; i < r->list.count; i++)
        if (run_target(&r->list.runs[i]) != target) return NAN;
    return target;
}

static void target_cell(const results *r, document *d, const run *one, double target) {
    static const char metric[] = "seconds_to_target";
    const figure *f = results_figure(r, one->name, metric);
    if (!one->epoch_count || run_reaches(one, target)) {
        cell_figure(r, d, one->name, metric);
        return;
    }
    document_cell(d, CELL_NUMBER, "%s", say(r, "not reached"));
    cell_shows(d, 0, f);
}

static void model_cell(const results *r, document *d, const run *one) {
    const run *twin = find_twin(r, one);
    char same[160] = "";
    if (twin) snprintf(same, sizeof same, say(r, "identical to %s"), twin->name);
    document_cell(d, CELL_CODE, "%.*s%s%s", SHORT_HASH, one->model_content, twin ? " " : "", same);
}

static const char *const front[] = {"accuracy", "seconds_per_epoch", "total_seconds"};
static const char *const learnt[] = {"train_loss"};
static const char *const parameters[] = {"world_size", "virtual_shards", "global_batch", "lr"};

static void summary_row(const results *r, document *d, size_t at, double target) {
    const run *one = &r->list.runs[at];
    document_cell(d, CELL_STRONG, "%s", one->name);
    cell_figures(r, d, one->name, front, 3);
    if (target > 0) target_cell(r, d, one, target);
    cell_figures(r, d, one->name, learnt, 1);
    document_cell(d, CELL_TEXT, "%s", one->strategy);
    cell_figures(r, d, one->name, parameters, 4);
    model_cell(r, d, one);
}

static void summary_head(const results *r, document *d, double target) {
    document_table(d, target > 0 ? 12 : 11, "");
    document_cell(d, CELL_TEXT, "%s", say(r, "Run"));
    head_figures(r, d, front, 3);
    if (target > 0) document_cell(d, CELL_TEXT, say(r, "s to %.3g %%"), 100 * target);
    head_figures(r, d, learnt, 1);
    document_cell(d, CELL_TEXT, "%s", say(r, "Strategy"));
    head_figures(r, d, parameters, 4);
    document_cell(d, CELL_TEXT, "%s", say(r, "Model"));
}

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

// States the most that other programs used, and the longest that threads waited for a core.
static void note_disturbance(const results *r, document *d) {
    double used = 0, cores = 0, without = 0;
    text out;
    for (size_t i = 0; i < r->list.count; i++) {
        for (size_t k = 0; k < run_execution_count(&r->list.runs[i]); k++) {
            const execution_load u = execution_load_of(run_execution(&r->list.runs[i], k));
            if (!execution_is_disturbed(&u)) continue;
            without = fmax(without, execution_without_core(&u));
            if (u.others / u.wall > used) used = u.others / u.wall, cores = u.cores;
        }
    }
    if (!(used > 0)) return;
    text_init(&out);
    text_format(&out,
                say(r, "Other programs used up to %.1f of %.0f cores while these runs trained"),
                used, cores);
    if (without > 0) // else it is unknown
        text_format(
            &out,
            say(r,
                ", and threads that were ready to run had no core for up to %.0f %% of the time"),
            100 * without);
    text_append(&out, say(r, "; the times and their intervals include what that cost."));
    document_add(d, BLOCK_NOTE, "%s", text_string(&out));
    text_release(&out);
}

// States the most that other programs used during turns, if it is a tenth of a core or more.
static void note_disturbed_turns(const results *r, document *d) {
    const timed_arms *most = NULL;
    for (size_t i = 0; i < r->list.count; i++) {
        const timed_arms *t = r->list.runs[i].timing;
        if (t && t->others >= 0.1 && (!most || t->others > most->others)) most = t;
    }
    if (most)
        document_add(d, BLOCK_NOTE,
                     say(r, "While the arms took turns, other programs used %.1f of %.0f cores on "
                            "average; the intervals include what that cost."),
                     most->others, most->cores);
}

// 5000 as 5,000.
static void group_digits(const char *digits, char *grouped, size_t size) {
    const size_t length = strlen(digits);
    size_t used = 0;
    for (size_t i = 0; i < length && used + 2 < size; i++) {
        if (i && (length - i) % 3 == 0) grouped[used++] = ',';
        grouped[used++] = digits[i];
    }
    grouped[used] = 0;
}

// States what validation samples chose, and that test data did not.
static void note_validation(const results *r, document *d, const run *one) {
    const char *digits = run_text(one->train, "parameters.validation.samples");
    const bool best = strcmp(run_text(one->train, "parameters.keep"), "best") == 0;
    const bool stops = run_may_stop_early(one->train);
    const char *test = say(r, one->evaluate ? WORD("test data was read after training")
                                            : WORD("test data was not read"));
    char samples[40];
    if (!*digits) return;
    group_digits(digits, samples, sizeof samples);
    if (best)
        document_add(d, BLOCK_NOTE,
                     say(r, "%s: its model, that after epoch %s, was chosen by %s validation "
                            "samples of the training data; %s. Accuracies after epochs are of the "
                            "validation samples."),
                     one->name, run_text(one->train, "results.best_epoch"), samples, test);
    else if (stops)
        document_add(d, BLOCK_NOTE,
                     say(r, "%s: its number of epochs, %zu, was chosen by %s validation samples of "
                            "the training data; %s. Accuracies after epochs are of the validation "
                            "samples."),
                     one->name, one->epoch_count, samples, test);
    else
        document_add(d, BLOCK_NOTE,
                     say(r, "%s: %s samples of the training data were left out for validation; %s. "
                            "Accuracies after epochs are of the validation samples."),
                     one->name, samples, test);
}

// Writes the notes on times and evaluations below the table.
static void summary_notes(const results *r, document *d) {
    note_times(r, d);
    if (common_target(r) > 0) note_target(r, d);
    note_disturbance(r, d);
    note_disturbed_turns(r, d);
    for (size_t i = 0; i < r->list.count; i++) {
        const run *one = &r->list.runs[i];
        char why[512];
        note_validation(r, d, one);
        if (one->train && !run_has_time(one)) {
            snprintf(why, sizeof why, say(r, like_no_time(one)), one->name);
            document_add(d, BLOCK_NOTE,
                         say(r, one->restarted
                                    ? "No times are shown for runs that were restarted: %s."
                                    : "No times are shown for runs that were resumed: %s."),
                         why);
        }
        if (strcmp(one->views, tta_word(TTA_NONE)) != 0)
            document_add(d, BLOCK_NOTE,
                         say(r, "The accuracy of %s is that of the mean logits of several views of "
                                "each test image (tta: %s)."),
                         one->name, one->views);
        if (!one->train)
            document_add(
                d, BLOCK_NOTE,
                say(r, "%s is an evaluation without its training run: only its accuracy is shown."),
                one->name);
    }
}

void section_summary(const results *r, document *d) {
    double target = common_target(r);
    document_add(d, BLOCK_HEADING, "%s", say(r, "All runs"));
    summary_head(r, d, target);
    for (size_t i = 0; i < r->list.count; i++) summary_row(r, d, i, target);
    summary_notes(r, d);
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
