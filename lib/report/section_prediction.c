// Predicted scaling beside the measured, with what the prediction is made of.
#include <math.h>
#include <stdio.h>

#include "report/sections.h"

// ---- The predictions ----

static void parts_cells(document *d, const epoch_parts *e) {
    cell_number(d, "%.4f", e->load);
    cell_number(d, "%.4f", e->compute);
    cell_number(d, "%.4f", e->update);
    cell_number(d, "%.4f", e->communication);
}

static void no_parts(document *d, int cells) {
    for (int i = 0; i < cells; i++) document_cell(d, CELL_NUMBER, "%s", "");
}

static void prediction_row(const results *r, document *d, const prediction *p) {
    const run *one = p->subject->runs[0];
    document_cell(d, CELL_STRONG, "%s", p->subject->name);
    cell_count(d, one->world_size);
    document_cell(d, CELL_TEXT, "%s", p->basis ? p->basis->name : "");
    if (p->reason) {
        no_parts(d, 6);
        cell_time(r, d, one, p->measured);
        document_cell(d, CELL_TEXT, say(r, "no prediction: %s"), p->reason);
        return;
    }
    parts_cells(d, &p->here);
    cell_time(r, d, one, epoch_parts_sum(&p->here));
    if (isnan(p->range.low))
        document_cell(d, CELL_NUMBER, "%s", "");
    else
        document_cell(d, CELL_NUMBER, "[%.4f, %.4f]", p->range.low, p->range.high);
    cell_time(r, d, one, p->measured);
    cell_number(d, "%+.1f %%", 100 * p->error);
}

static void prediction_table(const results *r, document *d) {
    static const wording head[] = {"Experiment",
                                   "Ranks",
                                   "From the one-rank run",
                                   "Load, s",
                                   "Compute, s",
                                   "Update, s",
                                   "Communication, s",
                                   "Predicted s / epoch",
                                   "95 % interval",
                                   "Measured s / epoch",
                                   "Error of the prediction"};
    document_table(d, 11, "");
    head_cells(r, d, head, 11);
    for (size_t i = 0; i < r->prediction_count; i++) prediction_row(r, d, &r->predictions[i]);
    document_add(
        d, BLOCK_NOTE, "%s",
        say(r, "A prediction, from the epoch of a like-for-like run on one rank and from what "
               "communication takes on this machine. Compute (forward, backward and their "
               "waiting): as measured on one rank, times the cores that were busy there, divided "
               "by the cores that are busy here: min(ranks × threads, cores). Load: of ddp divided "
               "by min(ranks, cores), of dp as measured, the master loads for all. Update: of ddp "
               "every rank updates all parameters, on its share of the cores; of dp the master "
               "alone. Communication: steps × (α + β · bytes), of ddp an all-reduce of the record "
               "(parameters, statistics, loss) times the vectors that a rank brings, of dp copies "
               "of parameters, samples, logits and records. Nothing is hidden, nobody waits for a "
               "slower rank. Interval: from the executions of the one-rank run, three or more; "
               "what the model leaves out is not in it. Error: predicted against measured."));
}

// ---- What the communication is counted with ----

static bool is_used(const results *r, const collective *c) {
    for (size_t i = 0; i < r->prediction_count; i++)
        if (!r->predictions[i].reason && r->predictions[i].cost == c) return true;
    return false;
}

static void cost_cells(const results *r, document *d, const collective *c) {
    cell_number(d, "%.3f", 1e6 * c->cost.alpha);
    cell_number(d, "%.4f", 1e9 * c->cost.beta);
    cell_number(d, "%.1f %%", 100 * c->cost.error);
    document_cell(d, CELL_TEXT, "%s", c->simulated ? say(r, "SIMULATED") : "");
}

static void collective_row(const results *r, document *d, const collective *c) {
    if (c->world_size > 1)
        document_cell(d, CELL_STRONG, "%lld", (long long)c->world_size);
    else
        document_cell(d, CELL_STRONG, "%s", say(r, "1: copy by one thread"));
    cost_cells(r, d, c);
}

static void collectives_table(const results *r, document *d) {
    static const wording head[] = {"Ranks", "α, µs", "β, ns / byte", "Error of the fit", "Note"};
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
                     say(r, "Fitted to what bench-allreduce measured: %s/manifest.yaml (%s, %s). "
                            "Error of the fit: root mean square over the sizes, relative."),
                     c->folder, c->host, c->cpu);
}

// All that were measured on devices, though no prediction is made of them: what exactness costs.
static void device_collectives_table(const results *r, document *d) {
    static const wording head[] = {"Ranks",        "Reduction",        "Transport", "α, µs",
                                   "β, ns / byte", "Error of the fit", "Note"};
    const collectives *c = &r->collectives;
    if (!c->devices) return;
    document_add(
        d, BLOCK_PARAGRAPH,
        say(r, "What reducing a vector of so many bytes takes on %s, α + β · bytes: exact, with "
               "the same bits for every world size, and fast, in an order that depends on it."),
        c->devices);
    document_table(d, 7, "");
    head_cells(r, d, head, 7);
    for (size_t i = 0; i < c->count; i++) {
        const collective *one = &c->items[i];
        document_cell(d, CELL_STRONG, "%lld", (long long)one->world_size);
        document_cell(d, CELL_TEXT, "%s", one->reduce);
        document_cell(d, CELL_TEXT, "%s", one->transport);
        cost_cells(r, d, one);
    }
    document_add(d, BLOCK_NOTE,
                 say(r, "Fitted to what bench-allreduce measured: %s/manifest.yaml (%s, %s). Error "
                        "of the fit: root mean square over the sizes, relative."),
                 c->folder, c->host, c->cpu);
}

// ---- On more devices than there are ----

// What somebody else projected for the experiment; NULL when nobody did.
static const yaml_node *published_projection(const run *one) {
    const yaml_node *list = yaml_get(one->train, "parameters.published");
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
    const run *one = p->subject->runs[0];
    const double seconds = epoch_parts_sum(&p->there);
    const char *mark = p->cost->simulated ? say(r, "SIMULATED") : "";
    document_cell(d, CELL_STRONG, "%s", p->subject->name);
    cell_count(d, one->world_size);
    parts_cells(d, &p->there);
    document_cell(d, CELL_NUMBER, "%.*f%s%s", seconds_digits(seconds), seconds, *mark ? " " : "",
                  mark);
    document_cell(d, CELL_NUMBER, "%.2f× %s", p->basis_seconds / seconds, p->basis->name);
    published_cell(d, one);
}

static void projection_table(const results *r, document *d) {
    static const wording head[] = {"Experiment",
                                   "Devices",
                                   "Load, s",
                                   "Compute, s",
                                   "Update, s",
                                   "Communication, s",
                                   "Projected s / epoch",
                                   "Projected times as fast as",
                                   "Published"};
    bool any = false;
    for (size_t i = 0; i < r->prediction_count; i++) {
        const prediction *p = &r->predictions[i];
        if (!p->projects) continue;
        if (!any) {
            document_add(d, BLOCK_PARAGRAPH, "%s",
                         say(r, "The same, projected to a device for each rank, such as the "
                                "one-rank run had, with communication counted:"));
            document_table(d, 9, "");
            head_cells(r, d, head, 9);
        }
        any = true;
        projection_row(r, d, p);
    }
    if (any)
        document_add(d, BLOCK_NOTE, "%s",
                     say(r, "A projection, never measured: this machine has fewer such devices. "
                            "Its communication is that of this machine: SIMULATED where its ranks "
                            "outnumbered the cores. What others projected is for their own "
                            "devices, and stands beside it only."));
}

void section_prediction(const results *r, document *d) {
    if (!r->prediction_count) return;
    document_add(d, BLOCK_HEADING, "%s", say(r, "Predicted beside measured"));
    prediction_table(r, d);
    collectives_table(r, d);
    device_collectives_table(r, d);
    projection_table(r, d);
}
