// SPDX-License-Identifier: MIT
// Predicted and measured scaling, and the parts of the prediction.
#include <math.h>
#include <stdio.h>

#include "report/sections.h"

// ---- The predictions ----

static const char *const predicted[] = {
    "predicted_load_seconds",          "predicted_compute_seconds",   "predicted_update_seconds",
    "predicted_communication_seconds", "predicted_seconds_per_epoch",
};
static const char *const projected[] = {
    "projected_load_seconds",          "projected_compute_seconds",   "projected_update_seconds",
    "projected_communication_seconds", "projected_seconds_per_epoch",
};

static void prediction_row(const results *r, document *d, const prediction *p) {
    const seed_group *g = p->subject;
    document_cell(d, CELL_STRONG, "%s", g->name);
    cell_group(r, d, g, "world_size");
    document_cell(d, CELL_TEXT, "%s", p->basis ? p->basis->name : "");
    cell_figures(r, d, g->name, predicted, 5);
    cell_figure_range(r, d, g->name, "predicted_seconds_per_epoch");
    cell_group(r, d, g, "seconds_per_epoch");
    if (p->reason)
        document_cell(d, CELL_TEXT, say(r, "no prediction: %s"), p->reason);
    else
        cell_figure(r, d, g->name, "prediction_error");
}

static void prediction_table(const results *r, document *d) {
    static const wording front[] = {"Experiment", "Ranks", "One-rank run"},
                         back[] = {"95 % interval", "Measured s / epoch", "Prediction error"};
    document_table(d, 11, "");
    head_cells(r, d, front, 3);
    head_figures(r, d, predicted, 5);
    head_cells(r, d, back, 3);
    for (size_t i = 0; i < r->prediction_count; i++) prediction_row(r, d, &r->predictions[i]);
    document_add(
        d, BLOCK_NOTE, "%s",
        say(r, "A prediction, from the epoch time of a like-for-like run on one rank and the cost "
               "of communication on this machine. Compute (forward, backward and their waiting): "
               "as measured on one rank, times the cores that were busy there, divided by the "
               "cores that are busy here: min(ranks × threads, cores). Load: for ddp, divided by "
               "min(ranks, cores); for dp, as measured, because the master loads for all. Update: "
               "in ddp, every rank updates all parameters, on its share of the cores; in dp, only "
               "the master does. Communication: steps × (α + β · bytes); for ddp, an all-reduce of "
               "the record (parameters, statistics, loss) times the vectors that a rank "
               "contributes; for dp, copies of parameters, samples, logits and records. No "
               "communication is hidden, and no rank waits for a slower one. Interval: from the "
               "executions of the one-rank run, three or more; effects outside the model are not "
               "in it. Error: predicted relative to measured."));
}

// ---- The cost of communication ----

static bool is_used(const results *r, const collective *c) {
    for (size_t i = 0; i < r->prediction_count; i++)
        if (!r->predictions[i].reason && r->predictions[i].cost == c) return true;
    return false;
}

static void cost_cells(document *d, const collective *c) {
    cell_number(d, "%.3f", 1e6 * c->cost.alpha);
    cell_number(d, "%.4f", 1e9 * c->cost.beta);
    cell_number(d, "%.1f %%", 100 * c->cost.error);
    document_cell(d, CELL_TEXT, "%s", c->simulated ? SIMULATED_MARK : "");
}

static void collective_row(const results *r, document *d, const collective *c) {
    if (c->world_size > 1)
        document_cell(d, CELL_STRONG, "%lld", (long long)c->world_size);
    else
        document_cell(d, CELL_STRONG, "%s", say(r, "1: copy by one thread"));
    cost_cells(d, c);
}

static void collectives_table(const results *r, document *d) {
    static const wording head[] = {"Ranks", "α, µs", "β, ns / byte", "Fit error", "Note"};
    const collectives *c = &r->collectives;
    bool any = false;
    for (size_t i = 0; i < c->count; i++) {
        if (!is_used(r, &c->items[i])) continue;
        if (!any) {
            document_table(d, 5, "");
            head_cells(r, d, head, 5);
        }
        any = true;
        collective_row(r, d, &c->items[i]);
    }
    if (any)
        document_add(d, BLOCK_NOTE,
                     say(r, "Fitted to the measurements of bench-allreduce: %s/manifest.yaml (%s, "
                            "%s). Fit error: relative, root mean square over the sizes."),
                     c->folder, c->host, c->cpu);
}

// Lists all collectives measured on devices, to show the cost of exactness; predictions do not use
// them.
static void device_collectives_table(const results *r, document *d) {
    static const wording head[] = {"Ranks",        "Reduction", "Transport", "α, µs",
                                   "β, ns / byte", "Fit error", "Note"};
    const collectives *c = &r->collectives;
    if (!c->devices) return;
    document_add(
        d, BLOCK_PARAGRAPH,
        say(r, "Time to reduce a vector on %s, α + β · bytes: exact, with the same bits for every "
               "world size, and fast, in an order that depends on the world size."),
        c->devices);
    document_table(d, 7, "");
    head_cells(r, d, head, 7);
    for (size_t i = 0; i < c->count; i++) {
        const collective *one = &c->items[i];
        document_cell(d, CELL_STRONG, "%lld", (long long)one->world_size);
        document_cell(d, CELL_TEXT, "%s", one->reduce);
        document_cell(d, CELL_TEXT, "%s", one->transport);
        cost_cells(d, one);
    }
    document_add(d, BLOCK_NOTE,
                 say(r, "Fitted to the measurements of bench-allreduce: %s/manifest.yaml (%s, %s). "
                        "Fit error: relative, root mean square over the sizes."),
                 c->folder, c->host, c->cpu);
}

// ---- On more devices than available ----

// Returns a published projection for the experiment; NULL if there is none.
static const yaml_node *published_projection(const run *one) {
    const yaml_node *list = one->published;
    for (size_t i = 0; list && list->kind == YAML_SEQUENCE && i < list->count; i++)
        if (yaml_get(list->items[i], "projected_speed_up")) return list->items[i];
    return NULL;
}

static void published_cell(document *d, const run *one) {
    const yaml_node *entry = published_projection(one);
    if (entry)
        document_cell(d, CELL_TEXT, "%s× (%s)", run_text(entry, "projected_speed_up"),
                      run_text(entry, "source"));
    else
        document_cell(d, CELL_TEXT, "%s", "");
}

static void projection_row(const results *r, document *d, const prediction *p) {
    const char *name = p->subject->name;
    document_cell(d, CELL_STRONG, "%s", name);
    cell_group(r, d, p->subject, "world_size");
    cell_figures(r, d, name, projected, 5);
    document_cell(d, CELL_NUMBER, "%.2f× %s", results_value(r, name, "projected_ratio"),
                  p->basis->name);
    cell_shows(d, 0, results_figure(r, name, "projected_ratio"));
    published_cell(d, p->subject->runs[0]);
}

static void projection_table(const results *r, document *d) {
    static const wording front[] = {"Experiment", "Devices"},
                         back[] = {"Projected speed-up over", "Published"};
    bool any = false;
    for (size_t i = 0; i < r->prediction_count; i++) {
        const prediction *p = &r->predictions[i];
        if (!p->projects) continue;
        if (!any) {
            document_add(d, BLOCK_PARAGRAPH, "%s",
                         say(r, "The same, projected to one device per rank, each like that of the "
                                "one-rank run, including communication:"));
            document_table(d, 9, "");
            head_cells(r, d, front, 2);
            head_figures(r, d, projected, 5);
            head_cells(r, d, back, 2);
        }
        any = true;
        projection_row(r, d, p);
    }
    if (any)
        document_add(d, BLOCK_NOTE, "%s",
                     say(r, "A projection, not a measurement: this machine has fewer such devices. "
                            "Its communication was measured on this machine: † if the ranks "
                            "outnumbered the cores. Published projections are for other devices, "
                            "and are shown only for reference."));
}

void section_prediction(const results *r, document *d) {
    if (!r->prediction_count) return;
    document_add(d, BLOCK_HEADING, "%s", say(r, "Predicted and measured"));
    prediction_table(r, d);
    collectives_table(r, d);
    device_collectives_table(r, d);
    projection_table(r, d);
}
