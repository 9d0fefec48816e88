// SPDX-License-Identifier: MIT
// Every figure as data: its value, how the page shows it, and where it comes from.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/memory.h"
#include "report/facts_parts.h"
#include "results/origin.h"
#include "results/timed_arms.h"

// Seconds have two decimals, or four below one second; a value that rounds to 1 is shown as 1.00.
// An interval has the digits of its `value`.
static void append_value(text *out, double shown, const metric_style *style, double value) {
    const int digits = fabs(style->scale * value) < 0.99995 ? 4 : 2;
    if (!style->format)
        text_format(out, "%.*f", digits, style->scale * shown);
    else if (strcmp(style->format, "+") == 0)
        text_format(out, "%+.*f", digits, style->scale * shown);
    else
        text_format(out, style->format, style->scale * shown);
}

yaml_node *facts_shown(double value, const metric_style *style, bool simulated) {
    text out = {0};
    if (isfinite(value)) {
        append_value(&out, value, style, value);
        text_append(&out, style->sign);
        if (simulated) text_append(&out, "†");
    }
    yaml_node *node = json_new_string(text_string(&out));
    text_release(&out);
    return node;
}

static yaml_node *shown_range(const figure *f) {
    const metric_style *style = &f->row->style;
    text out = {0};
    if (isfinite(f->low) && isfinite(f->high)) {
        text_append(&out, "[");
        append_value(&out, f->low, style, f->value);
        text_append(&out, ", ");
        append_value(&out, f->high, style, f->value);
        text_append(&out, "]");
    }
    yaml_node *node = json_new_string(text_string(&out));
    text_release(&out);
    return node;
}

// ---- Where a figure comes from ----

static void add_part(yaml_node *ids, const figure *part) {
    if (part) yaml_append(ids, json_new_string(part->id));
}

// The executions of an arm, or of a whole run.
static void add_executions(yaml_node *ids, const results *r, const figure *f) {
    const run *one = f->run;
    const bool turns = one->timing && metric_is_epoch_time(f->row);
    for (size_t i = 1; turns && i <= turn_evidence_shown(&one->timing->evidence)->executions; i++) {
        char *metric = memory_format("turns.%zu.%s", i, f->metric);
        add_part(ids, figures_of(&r->figures, f->owner, metric));
        free(metric);
    }
    for (size_t i = 1; !turns && !*f->source && i <= run_execution_count(one); i++)
        add_part(ids, figures_of_execution(&r->figures, f, i));
}

static void add_runs(yaml_node *ids, const results *r, const figure *f, const seed_group *g) {
    for (size_t i = 0; g && i < g->count; i++)
        add_part(ids, figures_of(&r->figures, g->runs[i]->name, f->part));
}

// Adds the ids of the figures that it is computed from, or the file.
static void put_origin(yaml_node *node, const results *r, const figure *f) {
    yaml_node *ids = yaml_new(YAML_SEQUENCE);
    if (f->run && f->row->over == OVER_NOTHING) add_executions(ids, r, f);
    if (!f->run) add_runs(ids, r, f, f->of);
    if (!f->run) add_runs(ids, r, f, f->against);
    const file_place from = f->run ? metric_file_of(f->row->file, f->run) : (file_place){0};
    if (ids->count) {
        yaml_put(node, "from", ids);
        return;
    }
    yaml_free(ids);
    if (!from.name) return;
    char *file = origin_tidy_path(from.folder, from.name); // as `files` lists it
    yaml_put(node, "file", json_new_text(file));
    free(file);
}

static yaml_node *figure_node(const results *r, const figure *f) {
    yaml_node *node = yaml_new(YAML_MAPPING);
    yaml_put(node, "id", json_new_text(f->id));
    yaml_put(node, "value", json_new_number(f->value));
    yaml_put(node, "low", json_new_number(f->low));
    yaml_put(node, "high", json_new_number(f->high));
    yaml_put(node, "deviation", json_new_number(f->deviation));
    yaml_put(node, "unit", json_new_text(f->row->unit));
    yaml_put(node, "simulated", yaml_new_boolean(f->simulated));
    yaml_put(node, "text", facts_shown(f->value, &f->row->style, f->simulated));
    yaml_put(node, "range", shown_range(f));
    yaml_put(node, "note", json_new_text(f->note));
    yaml_put(node, "source", json_new_text(f->source));
    put_origin(node, r, f);
    return node;
}

yaml_node *facts_figures(const results *r) {
    yaml_node *node = yaml_new(YAML_SEQUENCE);
    for (size_t i = 0; i < r->figures.count; i++)
        yaml_append(node, figure_node(r, &r->figures.items[i]));
    return node;
}
