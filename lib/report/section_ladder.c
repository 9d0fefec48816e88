// SPDX-License-Identifier: MIT
// The effect of each step from one experiment to another.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/bars.h"
#include "report/effects.h"
#include "report/sections.h"

// ---- In words ----

// Appends "Global batch: -7.01 points [-8.10, -5.92]".
static void append_step(const results *r, text *out, const planned *one, bool time) {
    text factor, came = {0};
    text_init(&factor);
    effect_append_factor(r, &factor, one);
    if (time)
        verdict_append_time(&came, &one->step, VERDICT_SENTENCE, r->options.language);
    else
        verdict_append_points(&came, &one->step, r->options.language);
    text_format(out, say(r, "%s: %s"), text_string(&factor), text_string(&came));
    text_release(&factor);
    text_release(&came);
}

// The kinds of verdict listed together, one bit each.
enum {
    NONE = 1 << VERDICT_NONE,
    SAME = 1 << VERDICT_SAME,
    UNDECIDED = 1 << VERDICT_UNDECIDED,
    IDENTICAL = 1 << VERDICT_IDENTICAL,
    COST = 1 << VERDICT_COST,
    DIFFERENT = 1 << VERDICT_DIFFERENT | 1 << VERDICT_SMALL
};

// Writes the steps with such verdicts into `format`: those on methods, or with `models` those on
// two models of one seed. Returns false if there are none.
static bool write_steps(const results *r, document *d, block_kind kind, int kinds, bool models,
                        bool time, const char *format) {
    text steps = {0};
    for (size_t i = 0; i < r->plan.count; i++) {
        const planned *one = &r->plan.items[i];
        const verdict *v = time ? &one->step.time : &one->step.accuracy;
        if (one->role != PLANNED_STEP || !(1 << v->kind & kinds)) continue;
        if (v->kind != VERDICT_NONE && verdict_is_of_models(v) != models) continue;
        if (steps.length) text_append(&steps, say(r, "; "));
        if (kinds & (DIFFERENT | COST))
            append_step(r, &steps, one, time);
        else
            effect_append_factor(r, &steps, one);
    }
    const bool any = steps.length > 0;
    if (any) document_add(d, kind, say(r, format), text_string(&steps));
    text_release(&steps);
    return any;
}

static void write_time(const results *r, document *d) {
    const plan *p = &r->plan;
    const double from = results_group_value(r, &p->items[0].runs, "seconds_per_epoch");
    const double to = results_group_value(r, &p->last->runs, "seconds_per_epoch");
    text before, after, sentence = {0};
    text_init(&before);
    text_init(&after);
    effect_append_seconds(r, &before, &p->items[0].runs, from);
    effect_append_seconds(r, &after, &p->last->runs, to);
    verdict_append_time(&sentence, &p->all, VERDICT_SENTENCE, r->options.language);
    if (isnan(from) || isnan(to))
        document_add(d, BLOCK_PARAGRAPH,
                     say(r, "There is no overall time figure from %s to %s: %s."), p->from, p->to,
                     text_string(&sentence));
    else
        document_add(d, BLOCK_PARAGRAPH, say(r, "An epoch of %s takes %s, one of %s takes %s: %s."),
                     p->from, text_string(&before), p->to, text_string(&after),
                     text_string(&sentence));
    text_release(&before);
    text_release(&after);
    text_release(&sentence);
    write_steps(r, d, BLOCK_PARAGRAPH, COST, false, true,
                "Simulated steps show only the cost on this machine: %s.");
    write_steps(r, d, BLOCK_PARAGRAPH, SAME, false, true, "The same, within the margin: %s.");
    write_steps(r, d, BLOCK_PARAGRAPH, UNDECIDED, false, true, "Undecided: %s.");
    write_steps(r, d, BLOCK_PARAGRAPH, NONE, false, true, "No verdict: %s.");
}

static void write_accuracy(const results *r, document *d) {
    const plan *p = &r->plan;
    const double from = results_group_value(r, &p->items[0].runs, "accuracy");
    const double to = results_group_value(r, &p->last->runs, "accuracy");
    text points = {0};
    verdict_append_points(&points, &p->all, r->options.language);
    if (!isnan(p->all.accuracy_difference))
        document_add(d, BLOCK_PARAGRAPH,
                     say(r, "Test accuracy: %s %.2f %%, %s %.2f %%, a difference of %s."), p->from,
                     100 * from, p->to, 100 * to, text_string(&points));
    text_release(&points);
    write_steps(r, d, BLOCK_PARAGRAPH, IDENTICAL, false, false,
                "The same model bit for bit, so exactly 0: %s.");
    write_steps(r, d, BLOCK_PARAGRAPH, SAME, false, false, "The same, within the margin: %s.");
    write_steps(r, d, BLOCK_PARAGRAPH, SAME, true, false,
                "The two models are equally good, within the margin: %s.");
    write_steps(r, d, BLOCK_PARAGRAPH, UNDECIDED, false, false, "Undecided: %s.");
    write_steps(r, d, BLOCK_PARAGRAPH, UNDECIDED, true, false,
                "Undecided between the two models: %s.");
    write_steps(r, d, BLOCK_PARAGRAPH, NONE, false, false, "No verdict: %s.");
}

static void write_control(const results *r, document *d, const planned *one) {
    const comparison *c = &one->step;
    text points = {0};
    verdict_append_points(&points, c, r->options.language);
    if (!isnan(c->accuracy_difference))
        document_add(d, BLOCK_PARAGRAPH,
                     say(r, "With a learning rate scaled with the batch, %s reaches %.2f %% "
                            "instead of %.2f %%: %s."),
                     c->baseline->name, 100 * results_group_value(r, c->subject, "accuracy"),
                     100 * results_group_value(r, c->baseline, "accuracy"), text_string(&points));
    text_release(&points);
}

// Finds the step that a control is compared with: the one whose learning rate was not scaled.
static const planned *find_controlled(const plan *p, const planned *control) {
    for (size_t i = 0; i < p->count; i++)
        if (&p->items[i].runs == control->step.baseline) return &p->items[i];
    return NULL;
}

// Appends "The cause is not world size and strategy (world_size 1 → 4), …", if more ranks left the
// model unchanged.
static void append_not_ranks(const results *r, text *out) {
    for (size_t i = 0; i < r->plan.count; i++) {
        const planned *one = &r->plan.items[i];
        const yaml_node *factors = yaml_find(one->entry, "factors");
        if (one->role != PLANNED_STEP || !factors || factors->count != 1) continue;
        if (strcmp(run_text(factors, "0"), "world-size") != 0 || !one->step.identical) continue;
        text changes = {0};
        effect_append_changes(&changes, one);
        text_format(out,
                    say(r, " The cause is not %s (%s), which leaves the model the same, bit "
                           "for bit."),
                    effect_factor_phrase(r, "world-size"), text_string(&changes));
        text_release(&changes);
    }
}

// If the larger batch lost accuracy and a learning rate scaled with it recovers some, names the
// rate as the cause.
static void write_rate(const results *r, document *d, const planned *control) {
    const planned *batch = find_controlled(&r->plan, control);
    if (!batch || !batch->compared) return;
    const verdict *came = &control->step.accuracy, *went = &batch->step.accuracy;
    const double back = control->step.accuracy_difference;
    if (!verdict_is_difference(came) || !verdict_is_difference(went) || !(back > 0)) return;
    if (!(batch->step.accuracy_difference < 0)) return;
    bool most = back >= -batch->step.accuracy_difference / 2;
    text lost, points = {0}, rest;
    text_init(&lost);
    text_init(&rest);
    append_step(r, &lost, batch, false);
    verdict_append_points(&points, &control->step, r->options.language);
    append_not_ranks(r, &rest);
    if (verdict_is_of_models(came) || verdict_is_of_models(went))
        text_append(&rest, say(r, " This is from one seed: SET=\"repeats=3\" shows whether it is "
                                  "chance."));
    document_add(d, BLOCK_LEAD,
                 say(r, most ? "The accuracy was lost because the learning rate was not scaled "
                               "with the batch (%s): a scaled rate recovers %s.%s"
                             : "The learning rate, which was not scaled with the batch (%s), "
                               "explains less than half of the lost accuracy: a scaled rate "
                               "recovers only %s.%s"),
                 text_string(&lost), text_string(&points), text_string(&rest));
    text_release(&lost);
    text_release(&points);
    text_release(&rest);
}

// Without any verdict, it is also unknown whether no step makes a difference.
static const char *say_no_difference(const results *r, bool time) {
    bool judged = false;
    for (size_t i = 0; i < r->plan.count; i++) {
        const planned *one = &r->plan.items[i];
        const verdict *v = time ? &one->step.time : &one->step.accuracy;
        judged |= one->role == PLANNED_STEP && !(1 << v->kind & (NONE | COST));
    }
    if (judged)
        return say(r, time ? "No step shows a difference in time."
                           : "No step shows a difference in accuracy.");
    return say(r, time ? "There is no verdict on the time of any step."
                       : "There is no verdict on the accuracy of any step.");
}

// Writes the conclusion: the steps that made the difference.
static void write_conclusion(const results *r, document *d) {
    bool none;
    if (!write_steps(r, d, BLOCK_LEAD, DIFFERENT, false, true,
                     "Factors that made the difference in time: %s."))
        document_add(d, BLOCK_LEAD, "%s", say_no_difference(r, true));
    none = !write_steps(r, d, BLOCK_LEAD, DIFFERENT, false, false,
                        "Factors that made the difference in accuracy: %s.");
    if (write_steps(r, d, BLOCK_LEAD, DIFFERENT, true, false,
                    "The models differ in accuracy, but one seed cannot separate the factor from "
                    "chance (SET=\"repeats=3\" can): %s."))
        none = false;
    if (none) document_add(d, BLOCK_LEAD, "%s", say_no_difference(r, false));
    for (size_t i = 0; i < r->plan.count; i++)
        if (r->plan.items[i].role == PLANNED_CONTROL) write_rate(r, d, &r->plan.items[i]);
    write_evidence(r, d);
}

// ---- Tables ----

// Were times, or accuracies, of these runs published?
static bool has_published(const results *r, bool time) {
    text out = {0};
    for (size_t i = 0; i < r->plan.count; i++)
        effect_append_published(r, &out, &r->plan.items[i], time);
    bool any = out.length > 0;
    text_release(&out);
    return any;
}

// Writes the head of a table: the factor, the published figures if there are any, the rest.
static void ladder_head(const results *r, document *d, const wording *head, size_t count,
                        bool published) {
    static const wording published_head[] = {"Published"};
    document_table(d, count + published, "");
    head_cells(r, d, head, 1);
    if (published) head_cells(r, d, published_head, 1);
    head_cells(r, d, head + 1, count - 1);
}

// Writes the first cells of a row. `one` is NULL for all steps together.
static void first_cells(const results *r, document *d, const planned *one, bool published,
                        bool time) {
    text factor = {0}, figures;
    text_init(&figures);
    if (one)
        effect_append_factor(r, &factor, one);
    else
        text_append(&factor, say(r, "All together"));
    cell_appended(d, CELL_STRONG, &factor);
    if (one && published) effect_append_published(r, &figures, one, time);
    if (published) cell_appended(d, CELL_TEXT, &figures);
    text_release(&figures);
}

static void change_cell(document *d, const planned *one) {
    text out = {0};
    effect_append_changes(&out, one);
    cell_appended(d, CELL_TEXT, &out);
}

// Writes a difference in seconds, with as many digits as the seconds themselves, and its interval:
// in the same cell, or in a separate one.
static void difference_cells(document *d, const comparison *c, const estimate *e, double seconds,
                             bool together) {
    const char *mark = c->simulated ? SIMULATED_MARK : "";
    int digits = seconds_digits(seconds);
    bool known = !c->reasons && !isnan(e->value), ranged = known && !isnan(e->range.low);
    char value[TIME_TEXT + 32] = "", range[TIME_TEXT] = "";
    if (known) snprintf(value, sizeof value, "%+.*f%s", digits, e->value, mark);
    if (ranged)
        snprintf(range, sizeof range, "[%+.*f, %+.*f]", digits, e->range.low, digits,
                 e->range.high);
    if (together) {
        document_cell(d, CELL_NUMBER, "%s%s%s", value, ranged ? " " : "", range);
    } else {
        document_cell(d, CELL_NUMBER, "%s", value);
        document_cell(d, CELL_NUMBER, "%s", range);
    }
}

// Returns the effect of a step, or of all together, for a cell; NULL for the start.
static const figure *effect_figure_of(const results *r, const comparison *c, const char *metric) {
    if (!c) return NULL;
    return results_figure(r, c == &r->plan.all ? "all" : c->subject->name, metric);
}

// Writes the cells about time, which follow the first cells. `c` is NULL for the start.
static void time_cells(const results *r, document *d, const seed_group *g, const comparison *c,
                       bool brief) {
    static const comparison none = {.seconds = {NAN, {NAN, NAN}}, .total = {NAN, {NAN, NAN}}};
    const double seconds = results_group_value(r, g, "seconds_per_epoch");
    const double total = results_group_value(r, g, "total_seconds");
    cell_group(r, d, g, "seconds_per_epoch");
    difference_cells(d, c ? c : &none, c ? &c->seconds : &none.seconds, seconds, false);
    cell_shows(d, 1, effect_figure_of(r, c, "seconds_per_epoch_effect"));
    cell_shows(d, 0, effect_figure_of(r, c, "seconds_per_epoch_effect"));
    if (c)
        cell_time_verdict(r, d, c, VERDICT_SENTENCE);
    else
        document_cell(d, CELL_TEXT, "%s", "");
    if (brief) return;
    cell_group(r, d, g, "total_seconds");
    difference_cells(d, c ? c : &none, c ? &c->total : &none.total, total, true);
    cell_shows(d, 0, effect_figure_of(r, c, "total_seconds_effect"));
}

static void time_table(const results *r, document *d, bool brief) {
    static const wording head[] = {"Factor",        "s / epoch", "Effect",
                                   "95 % interval", "Verdict",   "Total s",
                                   "Effect",        "Change",    "Run"};
    const plan *p = &r->plan;
    bool published = !brief && has_published(r, true);
    ladder_head(r, d, head, brief ? 5 : 9, published);
    for (size_t i = 0; i < p->count; i++) {
        const planned *one = &p->items[i];
        first_cells(r, d, one, published, true);
        time_cells(r, d, &one->runs, one->compared ? &one->step : NULL, brief);
        if (brief) continue;
        change_cell(d, one);
        document_cell(d, CELL_TEXT, "%s", one->name);
    }
    first_cells(r, d, NULL, published, true);
    time_cells(r, d, &p->last->runs, &p->all, brief);
    if (!brief) document_cell(d, CELL_TEXT, "%s → %s", p->from, p->to);
    if (!brief) document_cell(d, CELL_TEXT, "%s", "");
    document_add(d, BLOCK_NOTE, "%s",
                 say(r, "Effect: relative to the step before; a control is compared with the step "
                        "above it, and so is the step after it."));
    note_verdicts(r, d);
}

static void accuracy_cells(const results *r, document *d, const seed_group *g, const comparison *c,
                           bool brief) {
    cell_group(r, d, g, "accuracy");
    if (!c || isnan(c->accuracy_difference))
        document_cell(d, CELL_NUMBER, "%s", "");
    else if (c->identical)
        document_cell(d, CELL_NUMBER, "0");
    else
        document_cell(d, CELL_NUMBER, say(r, "%+.2f points"), 100 * c->accuracy_difference);
    if (!c || c->identical || isnan(c->accuracy_range.low))
        document_cell(d, CELL_NUMBER, "%s", "");
    else
        document_cell(d, CELL_NUMBER, "[%+.2f, %+.2f]", 100 * c->accuracy_range.low,
                      100 * c->accuracy_range.high);
    cell_shows(d, 1, effect_figure_of(r, c, "accuracy_effect"));
    cell_shows(d, 0, effect_figure_of(r, c, "accuracy_effect"));
    if (!c)
        document_cell(d, CELL_TEXT, "%s", "");
    else
        cell_accuracy_verdict(r, d, c);
    if (!brief) document_cell(d, CELL_CODE, "%.*s", SHORT_HASH, g->runs[0]->model_content);
}

static void accuracy_table(const results *r, document *d, bool brief) {
    static const wording head[] = {"Factor",        "Test accuracy", "Effect",
                                   "95 % interval", "Verdict",       "Model"};
    const plan *p = &r->plan;
    bool published = !brief && has_published(r, false);
    ladder_head(r, d, head, brief ? 5 : 6, published);
    for (size_t i = 0; i < p->count; i++) {
        const planned *one = &p->items[i];
        first_cells(r, d, one, published, false);
        accuracy_cells(r, d, &one->runs, one->compared ? &one->step : NULL, brief);
    }
    first_cells(r, d, NULL, published, false);
    accuracy_cells(r, d, &p->last->runs, &p->all, brief);
    document_add(
        d, BLOCK_NOTE, "%s",
        say(r, "Effect: relative to the step before, as for the time. The interval is that of the "
               "mean over seeds (Student's t, paired); with one seed, that over its test samples, "
               "which excludes the variance between seeds."));
}

// ---- Drawings ----

static void add_effects(const results *r, bars *b) {
    for (size_t i = 0; i < r->plan.count; i++) {
        const planned *one = &r->plan.items[i];
        text label = {0};
        effect_append_factor(r, &label, one);
        bars_add(b, r, one->name, "", text_string(&label));
        text_release(&label);
    }
}

static status effect_figure(const results *r, document *d, bool time, error *err) {
    const char *const metric[] = {time ? "seconds_per_epoch_effect" : "accuracy_effect"};
    bars b = {.id = time ? "timeeffect" : "accuracyeffect",
              .title =
                  say(r, time ? "Effect of each step on time" : "Effect of each step on accuracy"),
              .axis = say(r, time ? "change in seconds per epoch" : "change in points"),
              .caption = say(r, time ? "Seconds per epoch that each step adds (right) or saves "
                                       "(left), with 95 % intervals."
                                     : "Percentage points of test accuracy that each step adds "
                                       "(right) or loses (left), with 95 % intervals."),
              .metrics = metric,
              .metric_count = 1,
              .scale = time ? 1 : 100,
              .reference = NAN,
              .err = err};
    add_effects(r, &b);
    status rc = bars_draw(&b, r, d);
    bars_release(&b);
    return rc;
}

// ---- The section ----

// Notes which factor did not come in its turn, and why.
static void write_order(const results *r, document *d) {
    for (size_t i = 0; i < r->plan.count; i++) {
        const planned *one = &r->plan.items[i];
        const char *kept = run_text(one->entry, "kept");
        if (*kept)
            document_add(d, BLOCK_NOTE,
                         say(r, "%s comes before the factor %s, which could not be changed alone: "
                                "%s."),
                         one->name, kept, run_text(one->entry, "because"));
    }
}

status section_ladder(const results *r, document *d, bool draw, error *err) {
    const plan *p = &r->plan;
    status rc = STATUS_OK;
    write_conclusion(r, d);
    if (draw) TRY(effect_figure(r, d, true, err));
    if (draw) TRY(effect_figure(r, d, false, err));
    document_add(d, BLOCK_HEADING, "%s", say(r, "Effect of each step on time"));
    write_time(r, d);
    time_table(r, d, !draw);
    write_order(r, d);
    document_add(d, BLOCK_HEADING, "%s", say(r, "Effect of each step on accuracy"));
    write_accuracy(r, d);
    for (size_t i = 0; i < p->count; i++)
        if (p->items[i].role == PLANNED_CONTROL) write_control(r, d, &p->items[i]);
    accuracy_table(r, d, !draw);
    TRY(section_published_walk(r, d, err));
out:
    return rc;
}
