// The variants of a study side by side, and what a study of loader workers says.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/memory.h"
#include "report/effects.h"
#include "report/plot.h"
#include "report/sections.h"
#include "results/execution.h"

enum { COLUMNS_MAX = 24 };

static const char loader_key[] = "loader_workers";

static bool varies(const plan *p, const char *key) {
    for (size_t i = 0; i < p->vary->count; i++)
        if (p->vary->items[i]->kind == YAML_SCALAR && strcmp(p->vary->items[i]->text, key) == 0)
            return true;
    return false;
}

static bool of_loader(const results *r) {
    return r->plan.count && !r->plan.ladder && varies(&r->plan, loader_key);
}

// ---- Names ----

// A value as text: a collection as JSON.
static void append_value(text *out, const planned *one, const char *key) {
    const yaml_node *values = yaml_find(one->entry, "values");
    const yaml_node *value = values && values->kind == YAML_MAPPING ? yaml_find(values, key) : NULL;
    char *json = NULL;
    if (value && value->kind == YAML_SCALAR)
        text_append(out, value->text);
    else if (value && json_from_yaml(value, &json, out->err) != STATUS_OK)
        out->rc = STATUS_FAILED;
    else if (json)
        text_append(out, json);
    free(json);
}

static const char *key_name(const plan *p, size_t i) {
    return p->vary->items[i]->kind == YAML_SCALAR ? p->vary->items[i]->text : "";
}

// "loader_workers 4", "ddp, 8".
static void append_variant(const plan *p, text *out, const planned *one) {
    bool alone = p->vary->count == 1;
    if (alone) text_format(out, "%s ", key_name(p, 0));
    for (size_t i = 0; i < p->vary->count; i++) {
        if (i) text_append(out, ", ");
        append_value(out, one, key_name(p, i));
    }
}

// ---- The table ----

static double ranks_of(const group *g) {
    return (double)g->runs[0]->world_size;
}

// How much of the ideal speed-up came: of the first variant's, by its ranks.
static double efficiency(const plan *p, const planned *one) {
    if (one == &p->items[0]) return 1;
    if (one->step.reasons) return NAN;
    return one->step.speedup.value * ranks_of(&p->items[0].runs) / ranks_of(&one->runs);
}

static void ratio_cells(const results *r, document *d, const planned *one) {
    if (one->compared) {
        cells_speedup(r, d, &one->step);
        return;
    }
    document_cell(d, CELL_NUMBER, "%s", "");
    document_cell(d, CELL_NUMBER, "%s", "");
    document_cell(d, CELL_TEXT, "%s", say(r, "baseline"));
}

// Mean over the devices and over the runs.
static void busy_cell(document *d, const group *g) {
    double busy = 0;
    for (size_t i = 0; i < g->count; i++)
        busy += execution_mean_use(g->runs[i]).busy / (double)g->count;
    cell_number(d, "%.0f %%", 100 * busy);
}

// Milliseconds a step of waiting for data and of all else, means over the runs.
static void step_cells(const results *r, document *d, const group *g) {
    double load = 0, rest = 0;
    for (size_t i = 0; i < g->count; i++) {
        run_split split = run_time_split(g->runs[i]);
        load += split.phase[0] / (double)g->count;
        rest += (split.wall - split.phase[0]) / (double)g->count;
    }
    cell_time(r, d, g->runs[0], load);
    cell_time(r, d, g->runs[0], rest);
}

static void share_cells(document *d, const estimate *share) {
    cell_number(d, "%.1f %%", 100 * share->value);
    if (isnan(share->range.low))
        document_cell(d, CELL_NUMBER, "%s", "");
    else
        document_cell(d, CELL_NUMBER, "[%.1f, %.1f]", 100 * share->range.low,
                      100 * share->range.high);
}

static status study_row(const results *r, document *d, const planned *one, error *err) {
    const plan *p = &r->plan;
    const group *g = &one->runs;
    group_summary s;
    estimate share;
    status rc = STATUS_OK;
    TRY(group_summarize(g, &s, err));
    TRY(plan_load_share(g, &share, err));
    for (size_t i = 0; i < p->vary->count; i++) {
        text value;
        text_init(&value, err);
        append_value(&value, one, key_name(p, i));
        document_cell(d, CELL_STRONG, "%s", text_string(&value));
        text_release(&value);
    }
    cell_time(r, d, g->runs[0], s.seconds);
    ratio_cells(r, d, one);
    if (varies(p, "world_size")) {
        cell_number(d, "%.0f %%", 100 * efficiency(p, one));
        busy_cell(d, g);
    }
    if (of_loader(r)) {
        step_cells(r, d, g);
        share_cells(d, &share);
    }
    cell_time(r, d, g->runs[0], effect_total_seconds(g));
    cell_percent(d, s.accuracy);
    document_cell(d, CELL_CODE, "%.*s", SHORT_HASH, g->runs[0]->model_content);
out:
    return rc;
}

static status study_table(const results *r, document *d, error *err) {
    static const wording front[] = {"s / epoch", "Times as fast", "95 % interval",
                                    "Verdict",   "Efficiency",    "Busy"},
                         loader[] = {"Load, ms / step", "Rest of the step, ms", "Load share",
                                     "95 % interval"},
                         back[] = {"Total s", "Test accuracy", "Model"};
    const plan *p = &r->plan;
    size_t fronts = varies(p, "world_size") ? 6 : 4, loads = of_loader(r) ? 4 : 0;
    document_table(d, p->vary->count + fronts + loads + 3, "");
    for (size_t i = 0; i < p->vary->count; i++) document_cell(d, CELL_TEXT, "%s", key_name(p, i));
    head_cells(r, d, front, fronts);
    head_cells(r, d, loader, loads);
    head_cells(r, d, back, 3);
    for (size_t i = 0; i < p->count; i++) {
        status rc = study_row(r, d, &p->items[i], err);
        if (rc != STATUS_OK) return rc;
    }
    return STATUS_OK;
}

// ---- The drawing ----

static status study_figure(const results *r, document *d, const char *first, error *err) {
    status rc = STATUS_FAILED;
    const plan *p = &r->plan;
    size_t count = 0;
    double *value = memory_new(3 * p->count, sizeof *value, err);
    text *label = memory_new(p->count, sizeof *label, err);
    const char **names = memory_new(p->count, sizeof *names, err);
    char *svg = NULL, why[128], axis[256];
    if (!value || !label || !names) goto out;
    rc = STATUS_OK;
    for (size_t i = 0; i < p->count; i++) {
        const comparison *c = &p->items[i].step;
        text_init(&label[count], err);
        if (!p->items[i].compared || c->reasons || isnan(c->speedup.value)) continue;
        value[count] = c->speedup.value;
        value[p->count + count] = c->speedup.range.low;
        value[2 * p->count + count] = c->speedup.range.high;
        append_variant(p, &label[count], &p->items[i]);
        names[count] = text_string(&label[count]);
        count++;
    }
    if (!count) goto out;
    snprintf(axis, sizeof axis, say(r, "times as fast as %s"), first);
    plot_values v = {.id = "study",
                     .title = say(r, "Times as fast"),
                     .x = axis,
                     .names = names,
                     .value = value,
                     .low = value + p->count,
                     .high = value + 2 * p->count,
                     .count = count,
                     .reference = 1};
    TRY(plot_whiskers(&v, &svg, why, err));
    if (svg)
        document_figure(d, v.id, svg,
                        say(r, "With 95 % intervals; the dashed line is no difference."));
    else
        document_add(d, BLOCK_NOTE, say(r, "No drawing here: %s when the report was made."), why);
out:
    for (size_t i = 0; label && i < p->count; i++) text_release(&label[i]);
    free(value);
    free(label);
    free(names);
    return rc;
}

// ---- Loader bound or compute bound ----

typedef enum bound { BOUND_LOADER, BOUND_COMPUTE, BOUND_BORDER, BOUND_UNKNOWN, BOUNDS } bound;

static bound bound_of(const estimate *share) {
    double low = share->range.low, high = share->range.high;
    if (isnan(share->value)) return BOUND_UNKNOWN;
    return low > 0.5 ? BOUND_LOADER : high < 0.5 ? BOUND_COMPUTE : BOUND_BORDER;
}

static void append_share(text *out, const plan *p, size_t at, const estimate *share) {
    text_format(out, "%.1f %%", 100 * share[at].value);
    if (!isnan(share[at].range.low))
        text_format(out, " [%.1f, %.1f]", 100 * share[at].range.low, 100 * share[at].range.high);
    text_append(out, " (");
    append_variant(p, out, &p->items[at]);
    text_append(out, ")");
}

// "Loader bound: loader_workers 0, loader_workers 2."
static void tell_bounds(const results *r, document *d, const estimate *share) {
    static const wording words[] = {"Loader bound", "Compute bound", "Undecided",
                                    "No verdict, for want of times"};
    const plan *p = &r->plan;
    for (int b = 0; b < BOUNDS; b++) {
        text variants;
        text_init(&variants, d->err);
        for (size_t i = 0; i < p->count; i++) {
            if (bound_of(&share[i]) != (bound)b) continue;
            if (variants.length) text_append(&variants, "; ");
            append_variant(p, &variants, &p->items[i]);
        }
        if (variants.length)
            document_add(d, BLOCK_PARAGRAPH, say(r, "%s: %s"), say(r, words[b]),
                         text_string(&variants));
        text_release(&variants);
    }
}

static void tell_range(const results *r, document *d, const estimate *share) {
    const plan *p = &r->plan;
    size_t least = p->count, most = p->count;
    for (size_t i = 0; i < p->count; i++) {
        if (isnan(share[i].value)) continue;
        if (least == p->count || share[i].value < share[least].value) least = i;
        if (most == p->count || share[i].value > share[most].value) most = i;
    }
    if (least == p->count) return;
    text low, high;
    text_init(&low, d->err);
    text_init(&high, d->err);
    append_share(&low, p, least, share);
    append_share(&high, p, most, share);
    document_add(d, BLOCK_PARAGRAPH, say(r, "The load share of a step goes from %s to %s."),
                 text_string(&low), text_string(&high));
    text_release(&low);
    text_release(&high);
}

// The variant that is faster than the first one by most, if one surely is.
static void tell_fastest(const results *r, document *d) {
    const plan *p = &r->plan;
    const planned *best = NULL;
    for (size_t i = 1; i < p->count; i++) {
        const planned *one = &p->items[i];
        if (!verdict_is_difference(&one->step.time) || one->step.speedup.value <= 1) continue;
        if (!best || one->step.speedup.value > best->step.speedup.value) best = one;
    }
    text name, said, first;
    text_init(&name, d->err);
    text_init(&said, d->err);
    text_init(&first, d->err);
    append_variant(p, &first, &p->items[0]);
    if (best) {
        append_variant(p, &name, best);
        verdict_append_time(&said, &best->step, VERDICT_SENTENCE, r->options.language);
        document_add(d, BLOCK_PARAGRAPH, say(r, "Fastest: %s; against %s: %s."), text_string(&name),
                     text_string(&first), text_string(&said));
    } else {
        document_add(d, BLOCK_PARAGRAPH, say(r, "No variant is surely faster than %s."),
                     text_string(&first));
    }
    text_release(&name);
    text_release(&said);
    text_release(&first);
}

// The load shares of all variants; free() them.
static estimate *load_shares(const plan *p, error *err) {
    estimate *share = memory_new(p->count, sizeof *share, err);
    for (size_t i = 0; share && i < p->count; i++) {
        if (plan_load_share(&p->items[i].runs, &share[i], err) == STATUS_OK) continue;
        free(share);
        share = NULL;
    }
    return share;
}

status section_loader_verdict(const results *r, document *d, error *err) {
    const plan *p = &r->plan;
    if (!of_loader(r)) return STATUS_OK;
    estimate *share = load_shares(p, err);
    if (!share) return STATUS_FAILED;
    document_add(d, BLOCK_HEADING, "%s", say(r, "Verdict"));
    tell_bounds(r, d, share);
    tell_range(r, d, share);
    tell_fastest(r, d);
    document_add(d, BLOCK_NOTE,
                 say(r, "Load share: how much of a step's time the trainer waits for its batch, "
                        "mean over executions of the median epoch. The range is the 95 %% interval "
                        "of the mean, with fewer than %d executions from the least epoch to the "
                        "largest. Loader bound: all of it lies above 50 %%; compute bound: below; "
                        "else undecided."),
                 VERDICT_EXECUTIONS);
    free(share);
    return STATUS_OK;
}

// ---- All of it ----

status section_study(const results *r, document *d, bool draw, error *err) {
    status rc = STATUS_OK;
    text first;
    text_init(&first, err);
    append_variant(&r->plan, &first, &r->plan.items[0]);
    if (of_loader(r)) {
        estimate *share = load_shares(&r->plan, err);
        TRY(share ? STATUS_OK : STATUS_FAILED);
        tell_bounds(r, d, share);
        free(share);
    }
    TRY(study_table(r, d, err));
    document_add(
        d, BLOCK_NOTE,
        say(r, "Times as fast: as %s. Variants differ in nothing but what the study varies, so "
               "their times stand side by side also where the work is not the same."),
        text_string(&first));
    note_verdicts(r, d);
    if (varies(&r->plan, "world_size"))
        document_add(
            d, BLOCK_NOTE, "%s",
            say(r,
                "Busy: the share of a step in which a device loads, computes or updates, that is 1 "
                "- (copy + comm + wait) / wall time; mean over replicas, stages or ranks."));
    if (draw) TRY(study_figure(r, d, text_string(&first), err));
out:
    text_release(&first);
    return rc;
}
