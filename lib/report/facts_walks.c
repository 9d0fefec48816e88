// SPDX-License-Identifier: MIT
// Published figures along a ladder as data, beside our measurements of the same steps.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "audit/number.h"
#include "base/json.h"
#include "report/facts_parts.h"

// Did the source reach one accuracy in other numbers of epochs? Then these are its result, not one
// of its factors.
static bool is_shortening(const published_walk *w, const published_step *s) {
    const double points = s->after.value.low - s->before.value.low;
    return !w->time && s->before.epochs != s->after.epochs && fabs(points) < 0.05;
}

// The test images of both accuracies, if they are as many: if the source used as many, too, a
// difference within their noise says nothing.
static int64_t noise_of(const results *r, const published_walk *w, const published_step *s) {
    const run *from = r->plan.items[s->from].runs.runs[0], *to = r->plan.items[s->to].runs.runs[0];
    const double n = (double)from->test_samples, a = s->before.value.low / 100,
                 b = s->after.value.low / 100;
    const bool ranges =
        s->before.value.low < s->before.value.high || s->after.value.low < s->after.value.high;
    if (w->time || is_shortening(w, s) || ranges || !(n > 0) || a >= 1 || b >= 1) return -1;
    if (from->test_samples != to->test_samples) return -1;
    return fabs(proportions_z(a, n, b, n)) < 1.96 ? from->test_samples : -1;
}

static yaml_node *figure_of(const published_figure *f) {
    yaml_node *node = yaml_new(YAML_MAPPING);
    text written = {0};
    published_append_figure(&written, f->node);
    yaml_put(node, "value", json_new_number((f->value.low + f->value.high) / 2));
    yaml_put(node, "text", json_new_text(text_string(&written)));
    yaml_put(node, "epochs", json_new_number(f->epochs));
    text_release(&written);
    return node;
}

static const char *direction_of(const published_step *s) {
    switch (published_goes(s)) {
    case PUBLISHED_FASTER: return "faster";
    case PUBLISHED_SLOWER: return "slower";
    case PUBLISHED_OPEN: break;
    }
    return "open";
}

// The factors of a step; `epochs` not, where they are its result.
static yaml_node *factors_of(const results *r, const published_walk *w, const published_step *s) {
    const planned *from = &r->plan.items[s->from], *to = &r->plan.items[s->to];
    yaml_node *list = yaml_new(YAML_SEQUENCE);
    for (size_t i = 0; i < s->factor_count; i++)
        if (!is_shortening(w, s) || strcmp(s->factors[i], "epochs") != 0)
            yaml_append(list, facts_factor(s->factors[i], from->runs.runs[0], to->runs.runs[0]));
    return list;
}

// How long a step of the source spent on its batch, and on the rest; null if it does not say.
static status put_published_load(yaml_node *node, const published_step *s, error *err) {
    const yaml_node *load = yaml_find(s->before.entry, "load_seconds");
    const yaml_node *update = yaml_find(s->before.entry, "update_seconds");
    double loading, updating;
    yaml_put(node, "published", json_new_text(NULL));
    if (!load || !update || load->kind != YAML_SCALAR || update->kind != YAML_SCALAR)
        return STATUS_OK;
    NEED(yaml_number(load, "load_seconds", &loading, err));
    NEED(yaml_number(update, "update_seconds", &updating, err));
    yaml_node *published = yaml_new(YAML_MAPPING);
    yaml_put(published, "load", json_new_text(load->text));
    yaml_put(published, "update", json_new_text(update->text));
    yaml_put(published, "share", json_new_number(loading / (loading + updating)));
    yaml_put(node, "published", published);
    return STATUS_OK;
}

// The most that more loader workers can bring here, from the time that a step waits for its data
// without them; and the waiting that the published effect needs, if that is more. Null for other
// steps.
static status load_of(const results *r, const published_walk *w, const published_step *s,
                      yaml_node **made, error *err) {
    const planned *from = &r->plan.items[s->from], *to = &r->plan.items[s->to];
    const bool alone = s->factor_count == 1 && strcmp(s->factors[0], "loader-workers") == 0;
    const bool more = to->runs.runs[0]->loader_workers > from->runs.runs[0]->loader_workers;
    estimate share = {.value = (double)NAN};
    if (w->time && alone && more) share = seed_group_load_share(&from->runs);
    *made = json_new_text(NULL);
    if (isnan(share.value) || share.value >= 1) return STATUS_OK;
    // At most: by the upper end of the share, if it has one.
    const double most = isnan(share.range.high) ? share.value : fmin(share.range.high, 0.999);
    const double bound = 1 / (1 - most), effect = s->effect.low;
    yaml_free(*made);
    yaml_node *node = *made = yaml_new(YAML_MAPPING);
    yaml_put(node, "experiment", json_new_text(from->name));
    yaml_put(node, "share", json_new_number(share.value));
    yaml_put(node, "low", json_new_number(share.range.low));
    yaml_put(node, "high", json_new_number(share.range.high));
    yaml_put(node, "bound", json_new_number(bound));
    yaml_put(node, "needed", json_new_number(effect > bound ? 1 - 1 / effect : (double)NAN));
    return put_published_load(node, s, err);
}

// Our measurement of the same step.
static status put_here(const results *r, yaml_node *node, const published_step *s, error *err) {
    const planned *from = &r->plan.items[s->from], *to = &r->plan.items[s->to];
    const run *before = from->runs.runs[0], *after = to->runs.runs[0];
    comparison c;
    const status rc = compare(&to->runs, &from->runs, &r->plan.varied, &c, err);
    if (rc != STATUS_OK) return rc;
    yaml_put(node, "here", facts_comparison(&c, NULL));
    yaml_put(node, "shards_before", json_new_count(before->virtual_shards));
    yaml_put(node, "shards_after", json_new_count(after->virtual_shards));
    yaml_put(node, "epochs_before", json_new_number(before->planned_epochs));
    yaml_put(node, "epochs_after", json_new_number(after->planned_epochs));
    comparison_release(&c);
    return STATUS_OK;
}

static status step_node(const results *r, const published_walk *w, const published_step *s,
                        yaml_node **made, error *err) {
    yaml_node *node = *made = yaml_new(YAML_MAPPING), *effect = yaml_new(YAML_MAPPING), *load;
    const bool shortening = is_shortening(w, s);
    status rc;
    yaml_put(effect, "low", json_new_number(s->effect.low));
    yaml_put(effect, "high", json_new_number(s->effect.high));
    yaml_put(node, "from", json_new_text(yaml_text_at(r->plan.items[s->from].entry, "same_as")));
    yaml_put(node, "to", json_new_text(yaml_text_at(r->plan.items[s->to].entry, "same_as")));
    yaml_put(node, "factors", factors_of(r, w, s));
    yaml_put(node, "before", figure_of(&s->before));
    yaml_put(node, "after", figure_of(&s->after));
    yaml_put(node, "effect", effect);
    yaml_put(node, "goes", json_new_text(w->time ? direction_of(s) : NULL));
    yaml_put(node, "epochs_ratio",
             json_new_number(shortening ? s->after.epochs / s->before.epochs : (double)NAN));
    yaml_put(node, "noise", json_new_count(noise_of(r, w, s)));
    yaml_put(node, "note", json_new_text(yaml_text_at(s->after.entry, "note")));
    TRY(put_here(r, node, s, err));
    rc = load_of(r, w, s, &load, err);
    yaml_put(node, "load", load);
out:
    return rc;
}

// The step that made the whole faster or slower; null for a single step, and for accuracies.
static yaml_node *cause_of(const published_walk *w) {
    static const char *const directions[] = {"slower", "open", "faster"};
    if (!w->time || w->count < 2) return json_new_text(NULL);
    const published_cause cause = published_find_cause(w);
    yaml_node *node = yaml_new(YAML_MAPPING);
    yaml_put(node, "direction", json_new_text(directions[cause.direction - PUBLISHED_SLOWER]));
    yaml_put(node, "step",
             json_new_count(cause.direction == PUBLISHED_OPEN ? -1 : (int64_t)cause.step));
    yaml_put(node, "share", json_new_number(cause.share));
    return node;
}

static status walk_node(const results *r, const published_walk *w, yaml_node **made, error *err) {
    yaml_node *node = *made = yaml_new(YAML_MAPPING), *steps = yaml_new(YAML_SEQUENCE), *step;
    const published_step whole = published_whole(w);
    status rc = STATUS_OK;
    yaml_put(node, "source", json_new_text(w->source));
    yaml_put(node, "quantity", json_new_text(w->key));
    yaml_put(node, "cause", cause_of(w));
    yaml_put(node, "steps", steps);
    for (size_t i = 0; rc == STATUS_OK && i < w->count; i++) {
        rc = step_node(r, w, &w->steps[i], &step, err);
        yaml_append(steps, step);
    }
    step = json_new_text(NULL);
    if (rc == STATUS_OK && w->count > 1) {
        yaml_free(step);
        rc = step_node(r, w, &whole, &step, err);
    }
    yaml_put(node, "whole", step);
    return rc;
}

status facts_put_walks(yaml_node *node, const results *r, error *err) {
    const published_walks *walks = &r->plan.published;
    yaml_node *list = yaml_new(YAML_SEQUENCE), *walk;
    bool together = false;
    status rc = STATUS_OK;
    yaml_put(node, "walks", list);
    for (size_t i = 0; rc == STATUS_OK && i < walks->count; i++) {
        const published_walk *w = &walks->items[i];
        for (size_t k = 0; k < w->count; k++) together |= w->steps[k].factor_count > 1;
        rc = walk_node(r, w, &walk, err);
        yaml_append(list, walk);
    }
    yaml_put(node, "together", yaml_new_boolean(together));
    return rc;
}
