// SPDX-License-Identifier: MIT
// Published figures along a ladder, next to our measurements.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "audit/number.h"
#include "report/effects.h"
#include "report/sections.h"
#include "results/seed_group.h"

enum { NUMBER_TEXT = 64 };

// ---- Pieces ----

// Formats "3.94", or "1.54–1.82" for a range.
static const char *number_text(char buffer[NUMBER_TEXT], const char *format, interval value) {
    char low[NUMBER_TEXT / 2 - 2], high[NUMBER_TEXT / 2 - 2];
    snprintf(low, sizeof low, format, value.low);
    snprintf(high, sizeof high, format, value.high);
    bool same = strcmp(low, high) == 0;
    snprintf(buffer, NUMBER_TEXT, "%s%s%s", low, same ? "" : "–", same ? "" : high);
    return buffer;
}

// Appends "72.80 → 18.47 s", "65.39 → 64.16 %; 10 → 80 epochs".
static void append_figures(const results *r, text *out, const published_walk *w,
                           const published_step *s) {
    text figures = {0};
    effect_append_figure(&figures, s->before.node);
    text_append(&figures, " → ");
    effect_append_figure(&figures, s->after.node);
    if (!w->time)
        text_format(out, "%s %%", text_string(&figures));
    else
        text_format(out, say(r, effect_published_unit(w->key)), text_string(&figures));
    text_release(&figures);
    if (s->before.epochs == s->after.epochs) return;
    char epochs[NUMBER_TEXT];
    snprintf(epochs, sizeof epochs, "%g → %g", s->before.epochs, s->after.epochs);
    text_append(out, "; ");
    text_format(out, say(r, "%s epochs"), epochs);
}

// Did the source reach one accuracy in other numbers of epochs? Then these are its result, not one
// of its factors.
static bool is_shortening(const published_walk *w, const published_step *s) {
    const double points = s->after.value.low - s->before.value.low;
    return !w->time && s->before.epochs != s->after.epochs && fabs(points) < 0.05;
}

// Do the numbers of epochs differ in the published experiments only?
static bool is_as_long_here(const results *r, const published_step *s) {
    const run *from = r->plan.items[s->from].runs.runs[0], *to = r->plan.items[s->to].runs.runs[0];
    return s->before.epochs != s->after.epochs && from->planned_epochs == to->planned_epochs;
}

// Appends "3.94 times", "-1.23 points"; or "0.47 times the epochs".
static void append_effect(const results *r, text *out, const published_walk *w,
                          const published_step *s) {
    char number[NUMBER_TEXT];
    if (is_shortening(w, s)) {
        text_format(out, say(r, "%.2f times the epochs"), s->after.epochs / s->before.epochs);
        return;
    }
    text_format(out, say(r, w->time ? "%s times" : "%s points"),
                number_text(number, w->time ? "%.2f" : "%+.2f", s->effect));
}

// Appends "world size and strategy", "world size and strategy + epochs together".
static void append_factors(const results *r, text *out, const published_step *s,
                           bool without_epochs) {
    size_t count = 0;
    text factors = {0};
    for (size_t i = 0; i < s->factor_count; i++) {
        if (without_epochs && strcmp(s->factors[i], "epochs") == 0) continue;
        if (count++) text_append(&factors, " + ");
        text_append(&factors, effect_factor_phrase(r, s->factors[i]));
    }
    if (count > 1)
        text_format(out, say(r, "%s together"), text_string(&factors));
    else
        text_append(out, text_string(&factors));
    text_release(&factors);
}

// Returns the test images of both accuracies, if the source used as many as we do; 0: unknown.
static int64_t test_images(const results *r, const published_step *s) {
    const run *a = r->plan.items[s->from].runs.runs[0], *b = r->plan.items[s->to].runs.runs[0];
    return a->test_samples > 0 && a->test_samples == b->test_samples ? a->test_samples : 0;
}

static bool is_noise(const results *r, const published_step *s) {
    double n = (double)test_images(r, s);
    double a = s->before.value.low / 100, b = s->after.value.low / 100;
    bool ranges =
        s->before.value.low < s->before.value.high || s->after.value.low < s->after.value.high;
    return n > 0 && !ranges && a < 1 && b < 1 && fabs(proportions_z(a, n, b, n)) < 1.96;
}

// ---- In words ----

// Appends "loader workers gave 3.94 times the speed (72.80 → 18.47 s)" for every step.
static void append_steps(const results *r, text *out, const published_walk *w) {
    for (size_t i = 0; i < w->count; i++) {
        const published_step *s = &w->steps[i];
        text factors, came = {0}, figures;
        text_init(&factors);
        text_init(&figures);
        const bool shorter = is_shortening(w, s);
        append_factors(r, &factors, s, shorter);
        append_effect(r, &came, w, s);
        append_figures(r, &figures, w, s);
        if (!w->time && !shorter && is_noise(r, s)) {
            text_append(&figures, "; ");
            text_format(&figures, say(r, "within the noise of %lld test images"),
                        (long long)test_images(r, s));
        }
        if (i) text_append(out, "; ");
        text_format(out,
                    say(r, w->time   ? "%s gave %s the speed (%s)"
                           : shorter ? "with %s the same accuracy took %s (%s)"
                                     : "%s made a difference of %s (%s)"),
                    text_string(&factors), text_string(&came), text_string(&figures));
        text_release(&factors);
        text_release(&came);
        text_release(&figures);
    }
}

// Appends the steps that go against the whole: "; world size and strategy went the other way".
static void append_against(const results *r, text *out, const published_walk *w,
                           published_direction whole) {
    text against = {0};
    for (size_t i = 0; i < w->count; i++) {
        if (published_goes(&w->steps[i]) != -whole) continue;
        if (against.length) text_append(&against, ", ");
        append_factors(r, &against, &w->steps[i], false);
    }
    if (against.length)
        text_format(out, say(r, "; %s had the opposite effect"), text_string(&against));
    text_release(&against);
}

// Appends the step that caused the effect. For a single step, only notes that its factors cannot be
// separated.
static void append_cause(const results *r, text *out, const published_walk *w) {
    const published_cause cause = published_find_cause(w);
    if (w->count == 1) {
        if (w->steps[0].factor_count > 1)
            text_append(out, say(r, ": the figures do not show which of these was the cause"));
        return;
    }
    if (cause.direction == PUBLISHED_OPEN) {
        text_append(out, say(r, ": overall, the figures do not show which is faster"));
        return;
    }
    bool faster = cause.direction == PUBLISHED_FASTER;
    const char *what = say(r, faster ? "speed-up" : "slow-down");
    text factors = {0};
    append_factors(r, &factors, &w->steps[cause.step], false);
    if (cause.share >= 0.995)
        text_format(out, say(r, ": the %s came from %s"), what, text_string(&factors));
    else
        text_format(out,
                    say(r, cause.share > 0.5
                               ? ": most of the %s (%.0f %% of it, on a log scale) came from %s"
                               : ": no single factor caused most of the %s; the largest part (%.0f "
                                 "%% of it, on a log scale) came from %s"),
                    what, 100 * cause.share, text_string(&factors));
    text_release(&factors);
    append_against(r, out, w, cause.direction);
}

static void write_time(const results *r, document *d, const published_walk *w) {
    text steps = {0}, cause;
    text_init(&cause);
    append_steps(r, &steps, w);
    if (w->count > 1) {
        text whole = {0};
        const published_step all = published_whole(w);
        append_effect(r, &whole, w, &all);
        text_format(&cause, say(r, "; %s in all"), text_string(&whole));
        text_release(&whole);
    }
    append_cause(r, &cause, w);
    document_add(d, BLOCK_PARAGRAPH, say(r, "In %s's own figures, %s%s."), w->source,
                 text_string(&steps), text_string(&cause));
    text_release(&steps);
    text_release(&cause);
}

static void write_accuracy(const results *r, document *d, const published_walk *w) {
    text steps = {0};
    bool together = false;
    append_steps(r, &steps, w);
    for (size_t i = 0; i < w->count; i++)
        together |= w->steps[i].factor_count > (is_shortening(w, &w->steps[i]) ? 2 : 1);
    document_add(d, BLOCK_PARAGRAPH, say(r, "In %s's own accuracy figures, %s%s."), w->source,
                 text_string(&steps),
                 together ? say(r, ": the figures do not show which of these was the cause") : "");
    text_release(&steps);
}

// Notes the first of our runs with more or fewer epochs than published.
static void write_length(const results *r, document *d, const published_walk *w) {
    for (size_t i = 0; i < w->count; i++) {
        const published_figure *figures[] = {&w->steps[i].before, &w->steps[i].after};
        const size_t at[] = {w->steps[i].from, w->steps[i].to};
        for (int k = 0; k < 2; k++) {
            const planned *one = &r->plan.items[at[k]];
            const double here = one->runs.runs[0]->planned_epochs;
            if (isnan(here) || here == figures[k]->epochs) continue;
            char theirs[COUNT_TEXT], ours[COUNT_TEXT];
            document_add(d, BLOCK_PARAGRAPH,
                         say(r, "%s trained for %s, but %s trains for %s here: speeds can be "
                                "compared, accuracies cannot."),
                         w->source,
                         say_count(r, figures[k]->epochs, "%.9g epoch", "%.9g epochs", theirs),
                         run_text(one->entry, "same_as"),
                         say_count(r, here, "%.9g epoch", "%.9g epochs", ours));
            return;
        }
    }
}

// ---- Our measurements ----

static void append_share(text *out, const estimate *share) {
    text_format(out, "%.1f %%", 100 * share->value);
    if (!isnan(share->range.low))
        text_format(out, " [%.1f, %.1f]", 100 * share->range.low, 100 * share->range.high);
}

// Writes the share of loading in a step before the published effect, if the source gives it.
static status write_published_load(const results *r, document *d, const published_walk *w,
                                   const published_step *s, error *err) {
    const yaml_node *load = yaml_find(s->before.entry, "load_seconds");
    const yaml_node *update = yaml_find(s->before.entry, "update_seconds");
    double loading, updating;
    status rc = STATUS_OK;
    if (!load || !update || load->kind != YAML_SCALAR || update->kind != YAML_SCALAR) goto out;
    TRY(yaml_number(load, "load_seconds", &loading, err));
    TRY(yaml_number(update, "update_seconds", &updating, err));
    document_add(
        d, BLOCK_PARAGRAPH,
        say(r,
            "A step of %s spent %.0f %% of its time on loading (%s s, then %s s on the update)."),
        w->source, 100 * loading / (loading + updating), load->text, update->text);
out:
    return rc;
}

// Writes the most that more loader workers could bring here, from the time that a step waits for
// data without them, and the waiting time that the published effect needs.
static status write_load(const results *r, document *d, const published_walk *w,
                         const published_step *s, error *err) {
    const planned *from = &r->plan.items[s->from], *to = &r->plan.items[s->to];
    bool alone = s->factor_count == 1 && strcmp(s->factors[0], "loader-workers") == 0;
    bool more = to->runs.runs[0]->loader_workers > from->runs.runs[0]->loader_workers;
    estimate share;
    text known = {0};
    status rc = STATUS_OK;
    if (!alone || !more) goto out;
    seed_group_load_share(&from->runs, &share);
    if (isnan(share.value) || share.value >= 1) goto out;
    const double bound = 1 / (1 - share.value);
    append_share(&known, &share);
    document_add(d, BLOCK_PARAGRAPH,
                 say(r, "Here, loading takes %s of a step of %s, so more loader workers can give "
                        "at most %.2f times the speed."),
                 text_string(&known), from->name, bound);
    if (!(s->effect.low > bound)) goto out;
    document_add(d, BLOCK_PARAGRAPH,
                 say(r, "A speed-up of %.2f, as in %s, requires a step that waits for data for at "
                        "least %.0f %% of its time."),
                 s->effect.low, w->source, 100 * (1 - 1 / s->effect.low));
    TRY(write_published_load(r, d, w, s, err));
out:
    text_release(&known);
    return rc;
}

// Appends caveats: " (V 1 → 8; one seed; both of 9.9 epochs)". V is a separate rung of our ladder,
// but no factor of the source's.
static void append_caution(const results *r, text *out, const published_walk *w,
                           const published_step *s, const comparison *c) {
    const int64_t from = c->baseline->runs[0]->virtual_shards;
    const int64_t to = c->subject->runs[0]->virtual_shards;
    bool one_seed = !w->time && verdict_is_of_models(&c->accuracy);
    text caution = {0};
    if (from != to) text_format(&caution, "V %lld → %lld", (long long)from, (long long)to);
    if (one_seed) text_format(&caution, "%s%s", caution.length ? "; " : "", say(r, "one seed"));
    if (!w->time && is_as_long_here(r, s)) {
        char epochs[COUNT_TEXT];
        if (caution.length) text_append(&caution, "; ");
        text_format(
            &caution, say(r, "both of %s"),
            say_count(r, c->subject->runs[0]->planned_epochs, "%.9g epoch", "%.9g epochs", epochs));
    }
    if (caution.length) text_format(out, " (%s)", text_string(&caution));
    text_release(&caution);
}

static void append_measured(const results *r, text *out, const published_walk *w,
                            const published_step *s, const comparison *c) {
    if (w->time)
        verdict_append_time(out, c, VERDICT_SENTENCE, r->options.language);
    else if (c->identical)
        text_append(out, say(r, "same model: exactly 0"));
    else if (!isnan(c->accuracy_difference))
        verdict_append_points(out, c, r->options.language);
    if (out->length) append_caution(r, out, w, s, c);
}

// Appends "loader workers: 1.08 times as fast [1.06, 1.10]" for each step; for a single step only
// the effect.
static void append_here(const results *r, text *out, const published_walk *w,
                        const published_step *s, const comparison *c) {
    text factors, came = {0};
    text_init(&factors);
    append_factors(r, &factors, s, !w->time && is_as_long_here(r, s));
    append_measured(r, &came, w, s, c);
    if (out->length) text_append(out, "; ");
    if (w->count > 1)
        text_format(out, say(r, "%s: %s"), text_string(&factors), text_string(&came));
    else
        text_append(out, text_string(&came));
    text_release(&factors);
    text_release(&came);
}

static void walk_row(const results *r, document *d, const published_walk *w,
                     const published_step *s, const comparison *c, bool whole) {
    text cells[4];
    for (int i = 0; i < 4; i++) text_init(&cells[i]);
    if (whole)
        text_append(&cells[0], say(r, "All together"));
    else
        append_factors(r, &cells[0], s, is_shortening(w, s));
    append_figures(r, &cells[1], w, s);
    append_effect(r, &cells[2], w, s);
    append_measured(r, &cells[3], w, s, c);
    document_cell(d, CELL_STRONG, "%s", text_string(&cells[0]));
    for (int i = 1; i < 4; i++) document_cell(d, CELL_TEXT, "%s", text_string(&cells[i]));
    const char *note = run_text(s->after.entry, "note");
    document_cell(d, CELL_TEXT, "%s%s%s", w->source, *note ? ": " : "", note);
    for (int i = 0; i < 4; i++) text_release(&cells[i]);
}

// Writes the table of a walk. Our measurements of its steps go to `here`.
static status walk_table(const results *r, document *d, const published_walk *w, text *here,
                         error *err) {
    static const wording head[] = {"Factor", "Published", "Published effect", "Measured here",
                                   "Source"};
    const published_step whole = published_whole(w);
    document_table(d, 5, say(r, w->time ? "Seconds" : "Test accuracy"));
    head_cells(r, d, head, 5);
    for (size_t i = 0; i < w->count + (w->count > 1); i++) {
        const published_step *s = i < w->count ? &w->steps[i] : &whole;
        const planned *from = &r->plan.items[s->from], *to = &r->plan.items[s->to];
        comparison c;
        status rc = compare(&to->runs, &from->runs, &r->plan.varied, r->options.language, &c, err);
        if (rc != STATUS_OK) return rc;
        walk_row(r, d, w, s, &c, i == w->count);
        if (i < w->count) append_here(r, here, w, s, &c);
        comparison_release(&c);
    }
    return STATUS_OK;
}

// ---- The section ----

static status write_walk(const results *r, document *d, const published_walk *w, error *err) {
    text here = {0};
    status rc = walk_table(r, d, w, &here, err);
    if (rc != STATUS_OK) goto out;
    if (w->time)
        write_time(r, d, w);
    else
        write_accuracy(r, d, w);
    document_add(d, BLOCK_PARAGRAPH, say(r, "Measured here: %s."), text_string(&here));
    if (!w->time) write_length(r, d, w);
    for (size_t i = 0; w->time && i < w->count; i++) TRY(write_load(r, d, w, &w->steps[i], err));
out:
    text_release(&here);
    return rc;
}

status section_published_walk(const results *r, document *d, error *err) {
    const published_walks *walks = &r->plan.published;
    if (!walks->count) return STATUS_OK;
    document_add(d, BLOCK_HEADING, "%s", say(r, "Published figures along the ladder"));
    for (size_t i = 0; i < walks->count; i++) {
        status rc = write_walk(r, d, &walks->items[i], err);
        if (rc != STATUS_OK) return rc;
    }
    document_add(
        d, BLOCK_NOTE, "%s",
        say(r, "Published figures are listed with the runs of the same experiments. Those systems "
               "have no V: it matters only through the samples that batch norm normalises over. "
               "Factors are those in which the experiments differ as published; speed ratios are "
               "per epoch, and only figures of one source are compared. Measured here: from the "
               "run of one experiment to that of the other, including the cost of V between them. "
               "Noise: a two-proportion test at the 5 % level."));
    return STATUS_OK;
}
