// SPDX-License-Identifier: MIT
#include "results/published_walk.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "results/run.h"

// ---- Entries ----

// Keys of an entry that are not figures.
static bool is_label(const char *key) {
    static const char *const labels[] = {"source", "note", "where", "claim", "over"};
    for (size_t i = 0; i < sizeof labels / sizeof *labels; i++)
        if (strcmp(key, labels[i]) == 0) return true;
    return false;
}

static size_t count_figures(const yaml_node *entry) {
    size_t count = 0;
    for (size_t i = 0; i < entry->count; i++) count += !is_label(entry->keys[i]);
    return count;
}

static const yaml_node *entries_of(const yaml_node *rung) {
    const yaml_node *list = yaml_find(rung, "published");
    return list && list->kind == YAML_SEQUENCE ? list : NULL;
}

const yaml_node *published_entry(const yaml_node *rung, const char *source, const char *key) {
    const yaml_node *list = entries_of(rung), *best = NULL;
    for (size_t i = 0; list && i < list->count; i++) {
        const yaml_node *entry = list->items[i];
        if (entry->kind != YAML_MAPPING || strcmp(yaml_text_at(entry, "source"), source) != 0)
            continue;
        if (key && !yaml_find(entry, key)) continue;
        if (!best || count_figures(entry) > count_figures(best)) best = entry;
    }
    return best;
}

static bool is_aside(const yaml_node *rung) {
    return strcmp(yaml_text_at(rung, "role"), "control") == 0;
}

static size_t count_runs(const yaml_node *runs, const char *source, const char *key) {
    size_t count = 0;
    for (size_t i = 0; i < runs->count; i++)
        count += !is_aside(runs->items[i]) && published_entry(runs->items[i], source, key) != NULL;
    return count;
}

static status read_end(const yaml_node *node, const char *key, double *value, error *err) {
    yaml_node number = *node;
    if (node->kind == YAML_SCALAR && !node->quoted && *node->text == '~' && node->text[1])
        number.text++;
    return yaml_number(&number, key, value, err);
}

status published_value(const yaml_node *node, const char *key, interval *value, error *err) {
    const bool range = node->kind == YAML_SEQUENCE && node->count == 2;
    status rc = read_end(range ? node->items[0] : node, key, &value->low, err);
    return rc == STATUS_OK ? read_end(range ? node->items[1] : node, key, &value->high, err) : rc;
}

// A number, or a range of two; above 0.
static status read_figure(const yaml_node *rung, const char *source, const char *key,
                          published_figure *f, error *err) {
    const yaml_node *epochs = yaml_find(rung, "published_epochs");
    f->entry = published_entry(rung, source, key);
    const yaml_node *node = f->node = yaml_find(f->entry, key);
    NEED(published_value(node, key, &f->value, err));
    if (!(f->value.low > 0) || !(f->value.high >= f->value.low))
        return yaml_error(node, err, "'published': '%s': expected a number or [LOW, HIGH] above 0",
                          key);
    if (!epochs) return yaml_error(rung, err, "'published_epochs' is missing");
    NEED(yaml_number(epochs, "published_epochs", &f->epochs, err));
    if (!(f->epochs > 0)) return yaml_error(epochs, err, "'published_epochs' is not above 0");
    return STATUS_OK;
}

// ---- Steps ----

// The divisor that makes a time one per epoch.
static double epochs_in(const published_walk *w, const published_figure *f) {
    return strcmp(w->key, "total_seconds") == 0 ? f->epochs : 1;
}

static interval effect_of(const published_walk *w, const published_figure *before,
                          const published_figure *after) {
    interval a = before->value, b = after->value;
    double scale = epochs_in(w, after) / epochs_in(w, before);
    if (!w->time) return (interval){b.low - a.high, b.high - a.low};
    return (interval){scale * a.low / b.high, scale * a.high / b.low};
}

static void add_factor(published_step *step, const char *name) {
    for (size_t i = 0; i < step->factor_count; i++)
        if (strcmp(step->factors[i], name) == 0) return;
    if (step->factor_count < PUBLISHED_FACTORS_MAX) step->factors[step->factor_count++] = name;
}

static status add_factors(published_step *step, const yaml_node *rung, error *err) {
    const yaml_node *list = yaml_find(rung, "published_factors");
    if (list && list->kind != YAML_SEQUENCE)
        return yaml_error(list, err, "'published_factors': expected a list");
    for (size_t i = 0; list && i < list->count; i++) {
        const char *name;
        NEED(yaml_string(list->items[i], "published_factors", &name, err));
        add_factor(step, name);
    }
    return STATUS_OK;
}

// The number of keys in which the run differs from the experiment whose figures it has.
static size_t count_differences(const yaml_node *rung) {
    const yaml_node *list = yaml_find(rung, "same_but");
    return list ? list->count : 0;
}

// Run `at` is the same experiment to the source as the run before it: the closer of the two stands
// for both.
static void choose(published_walk *w, published_step *next, const yaml_node *runs, size_t at) {
    if (count_differences(runs->items[at]) >= count_differences(runs->items[next->from])) return;
    next->from = at;
    if (w->count) w->steps[w->count - 1].to = at;
}

// Steps from each run that has the figure to the next.
static status walk(published_walk *w, const yaml_node *runs, error *err) {
    published_step step = {0};
    bool begun = false;
    for (size_t i = 0; i < runs->count; i++) {
        const yaml_node *rung = runs->items[i];
        if (is_aside(rung)) continue;
        if (begun) NEED(add_factors(&step, rung, err));
        if (!published_entry(rung, w->source, w->key)) continue;
        if (begun && !step.factor_count) {
            choose(w, &step, runs, i);
            continue;
        }
        NEED(read_figure(rung, w->source, w->key, &step.after, err));
        if (begun) {
            step.to = i;
            step.effect = effect_of(w, &step.before, &step.after);
            w->steps[w->count++] = step;
        }
        step = (published_step){.from = i, .before = step.after};
        begun = true;
    }
    return STATUS_OK;
}

// ---- All walks ----

static status add_walk(published_walks *list, const yaml_node *runs, const char *source,
                       const char *key, bool time, error *err) {
    published_walk w = {.source = source, .key = key, .time = time};
    list->items = memory_grow(list->items, &list->capacity, list->count + 1, sizeof w);
    w.steps = memory_new(runs->count, sizeof *w.steps);
    const status rc = walk(&w, runs, err);
    if (rc == STATUS_OK && w.count)
        list->items[list->count++] = w;
    else
        free(w.steps);
    return rc;
}

static status add_source(published_walks *list, const yaml_node *runs, const char *source,
                         error *err) {
    size_t epochs = count_runs(runs, source, "seconds_per_epoch");
    size_t totals = count_runs(runs, source, "total_seconds");
    const char *key = totals > epochs ? "total_seconds" : "seconds_per_epoch";
    status rc = add_walk(list, runs, source, key, true, err);
    return rc == STATUS_OK ? add_walk(list, runs, source, "accuracy", false, err) : rc;
}

// Does an entry before number `entry` of rung number `rung` name this source?
static bool is_seen(const yaml_node *runs, size_t rung, size_t entry, const char *source) {
    for (size_t i = 0; i <= rung; i++) {
        const yaml_node *list = entries_of(runs->items[i]);
        size_t end = list ? list->count : 0;
        if (i == rung && entry < end) end = entry;
        for (size_t k = 0; k < end; k++)
            if (strcmp(yaml_text_at(list->items[k], "source"), source) == 0) return true;
    }
    return false;
}

status published_walks_make(const yaml_node *runs, published_walks *w, error *err) {
    status rc = STATUS_OK;
    *w = (published_walks){0};
    for (size_t i = 0; i < runs->count; i++) {
        const yaml_node *list = entries_of(runs->items[i]);
        for (size_t k = 0; list && k < list->count; k++) {
            const char *source = yaml_text_at(list->items[k], "source");
            if (*source && !is_seen(runs, i, k, source)) TRY(add_source(w, runs, source, err));
        }
    }
out:
    if (rc != STATUS_OK) published_walks_release(w);
    return rc;
}

void published_walks_release(published_walks *w) {
    for (size_t i = 0; i < w->count; i++) free(w->items[i].steps);
    free(w->items);
    *w = (published_walks){0};
}

// ---- Results ----

published_step published_whole(const published_walk *w) {
    const published_step *last = &w->steps[w->count - 1];
    published_step whole = w->steps[0];
    for (size_t i = 1; i < w->count; i++)
        for (size_t k = 0; k < w->steps[i].factor_count; k++)
            add_factor(&whole, w->steps[i].factors[k]);
    whole.to = last->to;
    whole.after = last->after;
    whole.effect = effect_of(w, &whole.before, &whole.after);
    return whole;
}

// The middle of the range, on the scale where factors add up.
static double log_effect(const published_step *step) {
    return (log(step->effect.low) + log(step->effect.high)) / 2;
}

published_direction published_goes(const published_step *step) {
    return step->effect.low > 1    ? PUBLISHED_FASTER
           : step->effect.high < 1 ? PUBLISHED_SLOWER
                                   : PUBLISHED_OPEN;
}

published_cause published_find_cause(const published_walk *w) {
    const published_step whole = published_whole(w);
    published_cause cause = {published_goes(&whole), 0, NAN};
    const double sign = cause.direction;
    if (cause.direction == PUBLISHED_OPEN) return cause;
    for (size_t i = 1; i < w->count; i++)
        if (sign * log_effect(&w->steps[i]) > sign * log_effect(&w->steps[cause.step]))
            cause.step = i;
    cause.share = log_effect(&w->steps[cause.step]) / log_effect(&whole);
    return cause;
}
