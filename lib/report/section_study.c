// SPDX-License-Identifier: MIT
// The variants of a study compared, and conclusions of a study of loader workers.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/memory.h"
#include "report/bars.h"
#include "report/effects.h"
#include "report/sections.h"
#include "results/seed_group.h"

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

// Appends a value as text; a collection as JSON.
static void append_value(text *out, const planned *one, const char *key) {
    const yaml_node *values = yaml_find(one->entry, "values");
    const yaml_node *value = values && values->kind == YAML_MAPPING ? yaml_find(values, key) : NULL;
    char *json = NULL;
    if (value && value->kind == YAML_SCALAR)
        text_append(out, value->text);
    else if (value && json_from_yaml(value, &json, NULL) == STATUS_OK)
        text_append(out, json);
    free(json);
}

static const char *key_name(const plan *p, size_t i) {
    return p->vary->items[i]->kind == YAML_SCALAR ? p->vary->items[i]->text : "";
}

// Appends "loader_workers 4", "ddp, 8".
static void append_variant(const plan *p, text *out, const planned *one) {
    bool alone = p->vary->count == 1;
    if (alone) text_format(out, "%s ", key_name(p, 0));
    for (size_t i = 0; i < p->vary->count; i++) {
        if (i) text_append(out, ", ");
        append_value(out, one, key_name(p, i));
    }
}

// ---- The table ----

static void ratio_cells(const results *r, document *d, const planned *one) {
    if (one->compared) {
        const figure *f = results_figure(r, one->name, "time_ratio");
        cells_speedup(r, d, &one->step);
        cell_shows(d, 2, f);
        cell_shows(d, 1, f);
        return;
    }
    document_cell(d, CELL_NUMBER, "%s", "");
    document_cell(d, CELL_NUMBER, "%s", "");
    document_cell(d, CELL_TEXT, "%s", say(r, "baseline"));
}

// The others are compared with the first variant.
static void efficiency_cell(const results *r, document *d, const planned *one) {
    if (one->compared)
        cell_figure(r, d, one->name, "efficiency");
    else
        document_cell(d, CELL_NUMBER, "%s", "100 %");
}

static void busy_cell(const results *r, document *d, const seed_group *g) {
    const figure *f = results_group_figure(r, g, "busy");
    cell_number(d, "%.0f %%", f ? 100 * f->value : NAN);
    cell_shows(d, 0, f);
}

static void study_row(const results *r, document *d, const planned *one, bool brief) {
    const plan *p = &r->plan;
    const seed_group *g = &one->runs;
    for (size_t i = 0; i < p->vary->count; i++) {
        text value = {0};
        append_value(&value, one, key_name(p, i));
        document_cell(d, CELL_STRONG, "%s", text_string(&value));
        text_release(&value);
    }
    cell_group(r, d, g, "seconds_per_epoch");
    ratio_cells(r, d, one);
    if (varies(p, "world_size")) {
        efficiency_cell(r, d, one);
        busy_cell(r, d, g);
    }
    if (of_loader(r)) {
        if (!brief) cell_group(r, d, g, "step.load");
        if (!brief) cell_group(r, d, g, "step.rest");
        cell_figure(r, d, one->name, "load_share");
        cell_figure_range(r, d, one->name, "load_share");
    }
    cell_group(r, d, g, "accuracy");
    if (brief) return;
    cell_group(r, d, g, "total_seconds");
    document_cell(d, CELL_CODE, "%.*s", SHORT_HASH, g->runs[0]->model_content);
}

// A terminal has room for only some of the columns.
static void study_table(const results *r, document *d, bool brief) {
    static const wording front[] = {"s / epoch", "Times as fast", "95 % interval",
                                    "Verdict",   "Efficiency",    "Busy"},
                         loader[] = {"Load, ms / step", "Rest of the step, ms", "Load share",
                                     "95 % interval"},
                         back[] = {"Test accuracy", "Total s", "Model"};
    const plan *p = &r->plan;
    const size_t fronts = varies(p, "world_size") ? 6 : 4, skipped = brief ? 2 : 0;
    const size_t loads = of_loader(r) ? 4 - skipped : 0;
    document_table(d, p->vary->count + fronts + loads + 3 - skipped, "");
    for (size_t i = 0; i < p->vary->count; i++) document_cell(d, CELL_TEXT, "%s", key_name(p, i));
    head_cells(r, d, front, fronts);
    head_cells(r, d, loader + (loads ? skipped : 0), loads);
    head_cells(r, d, back, 3 - skipped);
    for (size_t i = 0; i < p->count; i++) study_row(r, d, &p->items[i], brief);
}

// ---- The drawing ----

static status study_figure(const results *r, document *d, const char *first, error *err) {
    static const char *const metric[] = {"time_ratio"};
    const plan *p = &r->plan;
    char axis[256];
    status rc = STATUS_OK;
    snprintf(axis, sizeof axis, say(r, "times as fast as %s"), first);
    bars b = {.id = "study",
              .title = say(r, "Times as fast"),
              .axis = axis,
              .caption = say(r, "With 95 % intervals; the dashed line marks no difference."),
              .metrics = metric,
              .metric_count = 1,
              .scale = 1,
              .reference = 1,
              .err = err};
    for (size_t i = 0; i < p->count; i++) {
        text label = {0};
        append_variant(p, &label, &p->items[i]);
        bars_add(&b, r, p->items[i].name, "", text_string(&label));
        text_release(&label);
    }
    rc = bars_draw(&b, r, d);
    bars_release(&b);
    return rc;
}

// ---- Loader bound or compute bound ----

static const figure *share_of(const results *r, const planned *one) {
    return results_figure(r, one->name, "load_share");
}

static load_bound bound_of(const results *r, const planned *one) {
    const figure *f = share_of(r, one);
    return f ? load_bound_of(f->value, (interval){f->low, f->high}) : LOAD_BOUND_UNKNOWN;
}

static void append_share(const results *r, text *out, const planned *one) {
    const figure *f = share_of(r, one);
    text_format(out, "%.1f %%", 100 * f->value);
    if (!isnan(f->low)) text_format(out, " [%.1f, %.1f]", 100 * f->low, 100 * f->high);
    text_append(out, " (");
    append_variant(&r->plan, out, one);
    text_append(out, ")");
}

// Writes "Loader bound: loader_workers 0, loader_workers 2."
static void write_bounds(const results *r, document *d) {
    static const wording words[] = {"Loader bound", "Compute bound", "Undecided",
                                    "No verdict (no times)"};
    const plan *p = &r->plan;
    for (int b = 0; b < LOAD_BOUNDS; b++) {
        text variants = {0};
        for (size_t i = 0; i < p->count; i++) {
            if (bound_of(r, &p->items[i]) != (load_bound)b) continue;
            if (variants.length) text_append(&variants, say(r, "; "));
            append_variant(p, &variants, &p->items[i]);
        }
        if (variants.length)
            document_add(d, BLOCK_LEAD, say(r, "%s: %s"), say(r, words[b]), text_string(&variants));
        text_release(&variants);
    }
}

static void write_range(const results *r, document *d) {
    const plan *p = &r->plan;
    const planned *least = NULL, *most = NULL;
    for (size_t i = 0; i < p->count; i++) {
        const planned *one = &p->items[i];
        if (!share_of(r, one)) continue;
        if (!least || share_of(r, one)->value < share_of(r, least)->value) least = one;
        if (!most || share_of(r, one)->value > share_of(r, most)->value) most = one;
    }
    if (!least) return;
    text low, high = {0};
    text_init(&low);
    append_share(r, &low, least);
    append_share(r, &high, most);
    document_add(d, BLOCK_PARAGRAPH, say(r, "The load share of a step ranges from %s to %s."),
                 text_string(&low), text_string(&high));
    text_release(&low);
    text_release(&high);
}

// Names the variant that is fastest relative to the first one, if one is certainly faster. Without
// any verdict, that is unknown.
static void write_fastest(const results *r, document *d) {
    const plan *p = &r->plan;
    const planned *best = NULL;
    bool judged = false;
    for (size_t i = 1; i < p->count; i++) {
        const planned *one = &p->items[i];
        judged = judged || one->step.time.kind != VERDICT_NONE;
        if (!verdict_is_difference(&one->step.time) || one->step.speedup.value <= 1) continue;
        if (!best || one->step.speedup.value > best->step.speedup.value) best = one;
    }
    text name, sentence = {0}, first;
    text_init(&name);
    text_init(&first);
    append_variant(p, &first, &p->items[0]);
    if (best) {
        append_variant(p, &name, best);
        verdict_append_time(&sentence, &best->step, VERDICT_SENTENCE, r->options.language);
        document_add(d, BLOCK_LEAD, say(r, "Fastest: %s; compared with %s: %s."),
                     text_string(&name), text_string(&first), text_string(&sentence));
    } else if (judged) {
        document_add(d, BLOCK_LEAD, say(r, "No variant is significantly faster than %s."),
                     text_string(&first));
    } else {
        document_add(d, BLOCK_LEAD, "%s",
                     say(r, "There is no verdict on the time of any variant."));
    }
    text_release(&name);
    text_release(&sentence);
    text_release(&first);
}

// Writes the shares on which loader bound and compute bound are based.
static void write_shares(const results *r, document *d) {
    write_range(r, d);
    document_add(d, BLOCK_NOTE,
                 say(r, "Load share: the share of a step's time spent waiting for the batch, mean "
                        "over executions of the median epoch. The range is the 95 %% interval of "
                        "the mean; with fewer than %d executions, it is from the lowest epoch to "
                        "the highest. Loader bound: the whole range is above 50 %%; compute bound: "
                        "below 50 %%; otherwise undecided."),
                 VERDICT_EXECUTIONS);
}

// ---- The section ----

status section_study(const results *r, document *d, bool draw, error *err) {
    status rc = STATUS_OK;
    text first = {0};
    append_variant(&r->plan, &first, &r->plan.items[0]);
    write_fastest(r, d);
    if (of_loader(r)) write_bounds(r, d);
    write_evidence(r, d);
    if (draw) TRY(study_figure(r, d, text_string(&first), err));
    study_table(r, d, !draw);
    if (of_loader(r)) write_shares(r, d);
    document_add(
        d, BLOCK_NOTE,
        say(r, "Times as fast: relative to %s. Variants differ only in the keys that the study "
               "varies, so their times are compared even if the work differs."),
        text_string(&first));
    note_verdicts(r, d);
    if (varies(&r->plan, "world_size"))
        document_add(
            d, BLOCK_NOTE, "%s",
            say(r,
                "Busy: the share of a step in which a device loads, computes or updates, that is 1 "
                "- (copy + comm + wait) / wall time; mean over replicas, stages or ranks."));
out:
    text_release(&first);
    return rc;
}
