// SPDX-License-Identifier: MIT
// Published reports, each with the runs that reproduce its rows.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/bars.h"
#include "report/section_published.h"
#include "report/sections.h"
#include "results/reproduction.h"

// ---- The table of all rows ----

static void epochs_cell(const results *r, document *d, const seed_group *g) {
    const double full = reproduction_full_epochs(r->reproduction, g->name);
    const double epochs = g->runs[0]->planned_epochs;
    if (full < 0 || full == epochs || isnan(epochs))
        cell_number(d, "%.9g", epochs);
    else
        document_cell(d, CELL_NUMBER, say(r, "%.9g of %.9g"), epochs, full);
    cell_shows(d, 0, results_group_figure(r, g, "epochs"));
}

// Is the figure about a whole training, not about an epoch or a step?
static bool is_of_whole(published_key key) {
    return key == PUBLISHED_ACCURACY || key == PUBLISHED_TOTAL_SECONDS;
}

// Writes the published figure and ours. `view` is the report that the group belongs to. If our run
// has a different number of epochs, the published figure carries a note.
static status pair_cells(const results *r, const results *view, document *d, const seed_group *g,
                         published_key key, error *err) {
    const double full = reproduction_full_epochs(r->reproduction, g->name);
    text published = {0}, other;
    text_init(&other);
    status rc = published_append(&published, g, key, err);
    if (is_of_whole(key)) like_append_published(g->runs[0], full, "", r->options.language, &other);
    if (published.length && other.length)
        document_cell(d, CELL_NUMBER, say(r, "%s (here: %s)"), text_string(&published),
                      text_string(&other));
    else
        document_cell(d, CELL_NUMBER, "%s", text_string(&published));
    published_own_cell(view, d, g, key);
    text_release(&published);
    text_release(&other);
    return rc;
}

typedef struct row_style {
    bool wide; // for a page; else for a terminal
    size_t pairs;
} row_style;

static const row_style page = {true, 4}, terminal = {false, 2};

static status row(const results *r, const results *view, document *d, const char *source,
                  const seed_group *g, row_style style, error *err) {
    static const published_key keys[] = {PUBLISHED_ACCURACY, PUBLISHED_SECONDS_PER_EPOCH,
                                         PUBLISHED_TOTAL_SECONDS, PUBLISHED_SPEED_UP};
    document_cell(d, CELL_TEXT, "%s", source);
    document_cell(d, CELL_STRONG, "%s%s%s", view->plan.count ? view->plan.name : "",
                  view->plan.count ? ": " : "", g->name);
    epochs_cell(r, d, g);
    for (size_t i = 0; i < style.pairs; i++) {
        status rc = pair_cells(r, view, d, g, keys[i], err);
        if (rc != STATUS_OK) return rc;
    }
    if (style.wide) document_cell(d, CELL_CODE, "%.*s", SHORT_HASH, g->runs[0]->model_content);
    return STATUS_OK;
}

// Adds the accuracy of a row minus the published one, if both have the same number of epochs. From
// a published range, uses the point nearest to ours.
static status add_difference(const results *r, const results *view, bars *b, const char *source,
                             const seed_group *g) {
    const yaml_node *list = published_of(g->runs[0]);
    const figure *f = results_group_figure(view, g, "accuracy");
    const double full = reproduction_full_epochs(r->reproduction, g->name);
    char name[LABEL_TEXT];
    snprintf(name, sizeof name, "%s %s", source, g->name);
    if (!f || isnan(f->value) || (full >= 0 && full != g->runs[0]->planned_epochs))
        return STATUS_OK;
    for (size_t i = 0; list && i < list->count; i++) {
        const yaml_node *node = yaml_find(list->items[i], "accuracy");
        interval there;
        if (!node) continue;
        status rc = published_value(node, "accuracy", &there, b->err);
        if (rc != STATUS_OK) return rc;
        const double published = fmin(fmax(100 * f->value, there.low), there.high);
        const interval range = {100 * f->low - published, 100 * f->high - published};
        bars_add_value(b, 100 * f->value - published, range, name);
        return STATUS_OK;
    }
    return STATUS_OK;
}

static status difference_figure(const results *r, document *d, error *err) {
    status rc = STATUS_OK;
    bars b = {.id = "differences",
              .title = say(r, "Accuracy difference"),
              .axis = say(r, "points, here minus published"),
              .caption =
                  say(r, "Test accuracy measured here minus the published one, with the 95 % "
                         "interval of ours; for a published range, the nearest point. Only runs "
                         "with the published number of epochs."),
              .metric_count = 1,
              .reference = NAN,
              .err = err};
    for (size_t i = 0; i < r->reproduction->count; i++) {
        const reproduced *one = &r->reproduction->reports[i];
        for (size_t k = 0; k < one->rows.group_count; k++)
            TRY(add_difference(r, &one->rows, &b, one->source, &one->rows.groups[k]));
    }
    rc = bars_draw(&b, r, d);
out:
    bars_release(&b);
    return rc;
}

static void rows_head(const results *r, document *d, row_style style) {
    static const wording front[] = {"Report", "Experiment", "Epochs"},
                         pairs[] = {"Accuracy, published",  "Accuracy, here",
                                    "s / epoch, published", "s / epoch, here",
                                    "Total s, published",   "Total s, here",
                                    "Speed-up, published",  "Speed-up, here"};
    document_table(d, 3 + 2 * style.pairs + style.wide, "");
    head_cells(r, d, front, 3);
    head_cells(r, d, pairs, 2 * style.pairs);
    if (style.wide) document_cell(d, CELL_TEXT, "%s", say(r, "Model"));
}

// A study's rows are only its published variants.
static status study_rows(const results *r, document *d, const reproduced *one, row_style style,
                         error *err) {
    for (size_t i = 0; i < one->study_count; i++) {
        const results *view = &one->studies[i];
        for (size_t k = 0; k < view->group_count; k++) {
            const seed_group *g = &view->groups[k];
            const yaml_node *published = published_of(g->runs[0]);
            if (!published || !published->count) continue;
            status rc = row(r, view, d, one->source, g, style, err);
            if (rc != STATUS_OK) return rc;
        }
    }
    return STATUS_OK;
}

static status table_of_rows(const results *r, document *d, row_style style, error *err) {
    status rc = STATUS_OK;
    rows_head(r, d, style);
    for (size_t i = 0; i < r->reproduction->count; i++) {
        const reproduced *one = &r->reproduction->reports[i];
        for (size_t k = 0; k < one->rows.group_count; k++)
            TRY(row(r, &one->rows, d, one->source, &one->rows.groups[k], style, err));
        TRY(study_rows(r, d, one, style, err));
    }
out:
    return rc;
}

static void lead(const results *r, document *d) {
    const yaml_node *changed = r->reproduction->changed;
    text set = {0};
    for (size_t i = 0; changed && i < changed->count; i++) {
        if (set.length) text_append(&set, "; ");
        text_append(&set, changed->items[i]->kind == YAML_SCALAR ? changed->items[i]->text : "");
    }
    char runs[COUNT_TEXT], reports[COUNT_TEXT];
    document_add(
        d, BLOCK_LEAD,
        say(r, "%s the rows of %s. Published figures are from other machines: they are "
               "shown next to ours, and no speed-up is computed between them. All "
               "comparisons are between runs made here."),
        say_count(r, (double)r->list.count, "%.9g run reproduces", "%.9g runs reproduce", runs),
        say_count(r, (double)r->reproduction->count, "%.9g published report",
                  "%.9g published reports", reports));
    if (changed)
        document_add(d, BLOCK_LEAD,
                     say(r, "SHORTENED OR CHANGED: every run was made with %s. Accuracies, losses "
                            "and total times are not those of the unchanged experiments."),
                     text_string(&set));
    write_evidence(r, d);
    text_release(&set);
}

status section_rows(const results *r, document *d, bool wide, error *err) {
    status rc = STATUS_OK;
    lead(r, d);
    if (wide) TRY(difference_figure(r, d, err));
    TRY(table_of_rows(r, d, wide ? page : terminal, err));
    document_add(
        d, BLOCK_NOTE, "%s",
        say(r, "Epochs: \"2 of 25\" is a run of 2 epochs of an experiment of 25. Speed-up here: "
               "relative to the baseline named below, like for like; if one setting differs, the "
               "verdict names it. V fixes the arithmetic: models with the same hash are the same, "
               "bit for bit."));
    note_times(r, d);
out:
    return rc;
}

// ---- One report ----

static status compared_rows(const results *view, document *d, error *err) {
    static const wording front[] = {"Experiment", "Baseline"};
    if (!view->comparison_count) return STATUS_OK;
    document_add(d, BLOCK_HEADING, "%s", say(view, "Like for like"));
    head_comparison(view, d, front, 2);
    for (size_t i = 0; i < view->group_count; i++) {
        const seed_group *g = &view->groups[i];
        const comparison *c = reproduction_comparison(view, g);
        document_cell(d, CELL_STRONG, "%s", g->name);
        document_cell(d, CELL_TEXT, "%s", c ? c->baseline->name : "");
        if (c)
            cells_comparison(view, d, c);
        else
            cells_uncompared(view, d, g);
    }
    return section_speedups(view, d, say(view, "times as fast as its baseline"), err);
}

// A curve of one epoch is only a point.
static bool has_course(const results *view) {
    for (size_t i = 0; i < view->list.count; i++)
        if (view->list.runs[i].epoch_count > 1) return true;
    return false;
}

static status compose_rows(const results *r, document *d, const reproduced *one, error *err) {
    const results *view = &one->rows;
    status rc = STATUS_OK;
    TRY(compared_rows(view, d, err));
    TRY(section_published_table(view, d, err));
    section_findings(r, d, one);
    if (has_course(view)) TRY(section_curves(view, d, true, err));
    document_add(d, BLOCK_HEADING, "%s", say(r, "Time of a step"));
    TRY(section_time_figure(view, d, err));
    TRY(section_strategy(view, d, err));
    section_class_table(view, d);
out:
    return rc;
}

static status compose_study(const results *view, document *d, error *err) {
    status rc = STATUS_OK;
    const char *title = run_text(view->plan.head, "title");
    document_add(d, BLOCK_HEADING, "%s", *title ? say(view, title) : view->plan.name);
    TRY(section_study(view, d, true, err));
out:
    return rc;
}

// Moves a document composed for some of the runs into the page.
static status move_part(document *d, document *part, const char *tag, status rc) {
    if (rc == STATUS_OK) document_move(d, part, tag);
    document_release(part);
    return rc;
}

static status section_report(const results *r, document *d, const reproduced *one, error *err) {
    document part;
    if (*one->title)
        document_add(d, BLOCK_HEADING, say(r, "%s: %s"), one->source, say(r, one->title));
    else
        document_add(d, BLOCK_HEADING, "%s", one->source);
    document_init(&part, "", d->language);
    status rc = move_part(d, &part, one->source, compose_rows(r, &part, one, err));
    for (size_t i = 0; rc == STATUS_OK && i < one->study_count; i++) {
        document_init(&part, "", d->language);
        rc = move_part(d, &part, one->studies[i].plan.name,
                       compose_study(&one->studies[i], &part, err));
    }
    return rc;
}

status section_reproduction(const results *r, document *d, error *err) {
    status rc = STATUS_OK;
    TRY(section_rows(r, d, true, err));
    note_verdicts(r, d);
    if (any_target(r)) note_target(r, d);
    for (size_t i = 0; i < r->reproduction->count; i++)
        TRY(section_report(r, d, &r->reproduction->reports[i], err));
    section_repeats(r, d);
out:
    return rc;
}
