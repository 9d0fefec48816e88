#include "report/effects.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/sections.h"

// ---- What came of it ----

// The interval of the ratio is what is calibrated on A/A pairs; that of the difference is what is
// shown. Both must agree before a step counts.
effect effect_on_time(const comparison *c) {
    const interval times = c->speedup.range, seconds = c->seconds.range;
    if (c->reasons || isnan(times.low) || isnan(seconds.low)) return EFFECT_OPEN;
    bool covers = (times.low <= 1 && times.high >= 1) || (seconds.low <= 0 && seconds.high >= 0);
    return covers ? EFFECT_NONE : EFFECT_SHOWN;
}

// McNemar's test is about two models. What changed between them may be the factor, or only where a
// training of this kind happens to end: that takes seeds to tell.
effect effect_on_accuracy(const comparison *c) {
    if (c->identical) return EFFECT_IDENTICAL;
    if (isnan(c->accuracy_difference) || isnan(c->p)) return EFFECT_OPEN;
    if (c->p >= 0.05) return EFFECT_NONE;
    return c->test == ACCURACY_PAIRED ? EFFECT_SHOWN : EFFECT_ONE_SEED;
}

void effect_append_time(const report *r, text *out, const comparison *c) {
    double times = c->speedup.value;
    interval range = c->speedup.range;
    bool longer = times < 1;
    switch (effect_on_time(c)) {
    case EFFECT_NONE: text_append(out, say(r, MESSAGE_NO_DIFFERENCE)); return;
    case EFFECT_OPEN:
        if (c->reasons)
            text_format(out, say(r, MESSAGE_NOT_COMPARABLE), c->reasons);
        else
            text_format(out, say(r, MESSAGE_NO_INTERVAL), STATISTICS_RATIO_MIN);
        return;
    default: break;
    }
    text_format(out, say(r, longer ? MESSAGE_TIMES_AS_LONG : MESSAGE_TIMES_AS_FAST),
                longer ? 1 / times : times, longer ? 1 / range.high : range.low,
                longer ? 1 / range.low : range.high);
    if (c->simulated) text_format(out, " %s", say(r, MESSAGE_SIMULATED));
}

void effect_append_points(const report *r, text *out, const comparison *c) {
    interval range = c->accuracy_range;
    text_format(out, say(r, MESSAGE_POINTS), 100 * c->accuracy_difference);
    if (!isnan(range.low) && !c->identical)
        text_format(out, " [%+.2f, %+.2f]", 100 * range.low, 100 * range.high);
}

// ---- What it is about ----

static message factor_message(const char *name) {
    static const struct {
        const char *name;
        message label;
    } factors[] = {
        {"loader-workers", MESSAGE_LOADER_WORKERS}, {"world-size", MESSAGE_FACTOR_WORLD},
        {"virtual-shards", MESSAGE_FACTOR_SHARDS},  {"global-batch", MESSAGE_GLOBAL_BATCH},
        {"learning-rate", MESSAGE_FACTOR_RATE},     {"epochs", MESSAGE_EPOCHS}};
    for (size_t i = 0; i < sizeof factors / sizeof *factors; i++)
        if (strcmp(name, factors[i].name) == 0) return factors[i].label;
    return MESSAGE_FACTOR_REST;
}

static void append_keys(text *out, const char *format, const yaml_node *changes) {
    text keys;
    text_init(&keys, out->err);
    for (size_t i = 0; changes && changes->kind == YAML_MAPPING && i < changes->count; i++)
        text_format(&keys, "%s%s", i ? ", " : "", changes->keys[i]);
    text_format(out, format, text_string(&keys));
    text_release(&keys);
}

void effect_append_factor(const report *r, text *out, const planned *one) {
    const yaml_node *factors = yaml_find(one->entry, "factors");
    if (one->role == PLANNED_START) text_format(out, say(r, MESSAGE_FACTOR_START), r->plan.from);
    if (one->role == PLANNED_CONTROL) text_append(out, say(r, MESSAGE_FACTOR_CONTROL));
    for (size_t i = 0; factors && factors->kind == YAML_SEQUENCE && i < factors->count; i++) {
        const yaml_node *node = factors->items[i];
        message m = factor_message(node->kind == YAML_SCALAR ? node->text : "");
        if (i) text_append(out, " + ");
        if (m == MESSAGE_FACTOR_REST)
            append_keys(out, say(r, m), yaml_find(one->entry, "changes"));
        else
            text_append(out, say(r, m));
    }
}

void effect_append_changes(text *out, const planned *one) {
    const yaml_node *changes = yaml_find(one->entry, "changes");
    for (size_t i = 0; changes && changes->kind == YAML_MAPPING && i < changes->count; i++) {
        if (i) text_append(out, "; ");
        text_format(out, "%s %s → %s", changes->keys[i], run_text(changes->items[i], "0"),
                    run_text(changes->items[i], "1"));
    }
}

// ---- Published figures ----

const char *effect_said_factor(const report *r, const char *name) {
    static const struct {
        const char *name;
        message said;
    } factors[] = {{"loader-workers", MESSAGE_SAID_LOADER_WORKERS},
                   {"world-size", MESSAGE_SAID_WORLD},
                   {"virtual-shards", MESSAGE_SAID_SHARDS},
                   {"global-batch", MESSAGE_SAID_BATCH},
                   {"learning-rate", MESSAGE_SAID_RATE},
                   {"epochs", MESSAGE_SAID_EPOCHS}};
    for (size_t i = 0; i < sizeof factors / sizeof *factors; i++)
        if (strcmp(name, factors[i].name) == 0) return say(r, factors[i].said);
    return name;
}

message effect_published_unit(const char *key) {
    return strcmp(key, "total_seconds") == 0 ? MESSAGE_SO_MANY_SECONDS : MESSAGE_SECONDS_AN_EPOCH;
}

void effect_append_figure(text *out, const yaml_node *node) {
    bool range = node->kind == YAML_SEQUENCE;
    for (size_t i = 0; range && i < node->count; i++)
        text_format(out, "%s%s", i ? "–" : "", node->items[i]->text);
    if (!range) text_append(out, node->text);
}

// One figure of an entry; nothing where it has none.
static void append_published(const report *r, text *out, const yaml_node *entry, const char *key) {
    const yaml_node *node = yaml_find(entry, key);
    text value;
    if (!node) return;
    text_init(&value, out->err);
    effect_append_figure(&value, node);
    if (out->length) text_append(out, ", ");
    if (strcmp(key, "accuracy") == 0)
        text_format(out, "%s %%", text_string(&value));
    else
        text_format(out, say(r, effect_published_unit(key)), text_string(&value));
    text_release(&value);
}

void effect_append_published(const report *r, text *out, const planned *one, bool time) {
    const yaml_node *list = yaml_find(one->entry, "published");
    for (size_t i = 0; list && list->kind == YAML_SEQUENCE && i < list->count; i++) {
        const char *source = run_text(list->items[i], "source");
        // Each source once, with the entry that the walk takes.
        if (published_entry(one->entry, source, NULL) != list->items[i]) continue;
        text figures;
        text_init(&figures, out->err);
        append_published(r, &figures, list->items[i], time ? "seconds_per_epoch" : "accuracy");
        if (time) append_published(r, &figures, list->items[i], "total_seconds");
        if (figures.length)
            text_format(out, "%s%s (%s)", out->length ? "; " : "", text_string(&figures), source);
        text_release(&figures);
    }
}

// ---- Times ----

void effect_append_seconds(const report *r, text *out, const group *g, double seconds) {
    bool simulated = false;
    char value[TIME_TEXT];
    for (size_t i = 0; i < g->count; i++) simulated |= g->runs[i]->simulated;
    snprintf(value, sizeof value, "%.*f", seconds_digits(seconds), seconds);
    text_format(out, say(r, MESSAGE_SO_MANY_SECONDS), value);
    if (simulated) text_format(out, " %s", say(r, MESSAGE_SIMULATED));
}

double effect_total_seconds(const group *g) {
    double sum = 0;
    for (size_t i = 0; i < g->count; i++)
        sum += run_has_time(g->runs[i]) ? g->runs[i]->total_seconds : NAN;
    return sum / (double)g->count;
}
