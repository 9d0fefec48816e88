// SPDX-License-Identifier: MIT
#include "report/effects.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/sections.h"

// ---- Factors and changes ----

// NULL for other names.
static const char *factor_message(const char *name) {
    static const struct {
        const char *name;
        const char *label;
    } factors[] = {{"loader-workers", WORD("Loader workers")},
                   {"world-size", WORD("World size, strategy")},
                   {"virtual-shards", WORD("V, batch norm group")},
                   {"global-batch", WORD("Global batch")},
                   {"learning-rate", WORD("Learning-rate rule")},
                   {"epochs", WORD("Epochs")},
                   {"label-smoothing", WORD("Label smoothing")},
                   {"mixup", WORD("Mixup")},
                   {"averaged-weights", WORD("Averaged weights")},
                   {"gradient-clipping", WORD("Gradient clipping")},
                   {"drop-last", WORD("Full batches only")},
                   {"validation", WORD("Validation")},
                   {"test-views", WORD("Views of the test images")}};
    for (size_t i = 0; i < sizeof factors / sizeof *factors; i++)
        if (strcmp(name, factors[i].name) == 0) return factors[i].label;
    return NULL;
}

static void append_keys(text *out, const char *format, const yaml_node *changes) {
    text keys = {0};
    for (size_t i = 0; changes && changes->kind == YAML_MAPPING && i < changes->count; i++)
        text_format(&keys, "%s%s", i ? ", " : "", changes->keys[i]);
    text_format(out, format, text_string(&keys));
    text_release(&keys);
}

void effect_append_factor(const results *r, text *out, const planned *one) {
    const yaml_node *factors = yaml_find(one->entry, "factors");
    bool rest = false; // written once, with all keys
    if (one->role == PLANNED_START) text_format(out, say(r, "Start: %s"), r->plan.from);
    if (one->role == PLANNED_CONTROL) text_append(out, say(r, "Control: scaled rate"));
    for (size_t i = 0; factors && factors->kind == YAML_SEQUENCE && i < factors->count; i++) {
        const yaml_node *node = factors->items[i];
        const char *m = factor_message(node->kind == YAML_SCALAR ? node->text : "");
        if (!m && rest) continue;
        if (i) text_append(out, " + ");
        if (m)
            text_append(out, say(r, m));
        else
            append_keys(out, say(r, "Rest: %s"), yaml_find(one->entry, "changes"));
        rest |= !m;
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

const char *effect_factor_phrase(const results *r, const char *name) {
    static const struct {
        const char *name;
        const char *phrase;
    } factors[] = {{"loader-workers", WORD("loader workers")},
                   {"world-size", WORD("world size and strategy")},
                   {"virtual-shards", WORD("the batch norm group")},
                   {"global-batch", WORD("the global batch")},
                   {"learning-rate", WORD("the learning-rate rule")},
                   {"epochs", WORD("the number of epochs")},
                   {"label-smoothing", WORD("label smoothing")},
                   {"mixup", WORD("mixup")},
                   {"averaged-weights", WORD("averaged weights")},
                   {"gradient-clipping", WORD("gradient clipping")},
                   {"drop-last", WORD("full batches only")},
                   {"validation", WORD("the validation")},
                   {"test-views", WORD("the views of the test images")}};
    for (size_t i = 0; i < sizeof factors / sizeof *factors; i++)
        if (strcmp(name, factors[i].name) == 0) return say(r, factors[i].phrase);
    return name;
}

const char *effect_published_unit(const char *key) {
    return strcmp(key, "total_seconds") == 0 ? WORD("%s s") : WORD("%s s per epoch");
}

// Rounds numbers with more digits than are useful.
static void append_number(text *out, const char *number) {
    enum { DIGITS_SHOWN = 8 };
    if (!number) return; // no figure: the input was never checked
    if (strlen(number) > DIGITS_SHOWN)
        text_format(out, "%.5g", strtod(number, NULL));
    else
        text_append(out, number);
}

void effect_append_figure(text *out, const yaml_node *node) {
    bool range = node->kind == YAML_SEQUENCE;
    for (size_t i = 0; range && i < node->count; i++) {
        if (i) text_append(out, "–");
        append_number(out, node->items[i]->text);
    }
    if (!range) append_number(out, node->text);
}

// Appends one figure of an entry; nothing if it has none.
static void append_published(const results *r, text *out, const yaml_node *entry, const char *key) {
    const yaml_node *node = yaml_find(entry, key);
    text value = {0};
    if (!node) return;
    effect_append_figure(&value, node);
    if (out->length) text_append(out, ", ");
    if (strcmp(key, "accuracy") == 0)
        text_format(out, "%s %%", text_string(&value));
    else
        text_format(out, say(r, effect_published_unit(key)), text_string(&value));
    text_release(&value);
}

// Appends ", 45 epochs" if the published run had another number of them than the run here.
static void append_published_epochs(const results *r, text *out, const planned *one) {
    const yaml_node *node = yaml_find(one->entry, "published_epochs");
    const double here = one->runs.runs[0]->planned_epochs;
    char epochs[32];
    if (!node || strtod(node->text, NULL) == here) return;
    snprintf(epochs, sizeof epochs, "%g", strtod(node->text, NULL));
    text_append(out, ", ");
    text_format(out, say(r, "%s epochs"), epochs);
}

void effect_append_published(const results *r, text *out, const planned *one, bool time) {
    const yaml_node *list = yaml_find(one->entry, "published");
    for (size_t i = 0; list && list->kind == YAML_SEQUENCE && i < list->count; i++) {
        const char *source = run_text(list->items[i], "source");
        // Each source once, with the entry that the walk uses.
        if (published_entry(one->entry, source, NULL) != list->items[i]) continue;
        text figures = {0};
        append_published(r, &figures, list->items[i], time ? "seconds_per_epoch" : "accuracy");
        if (time) append_published(r, &figures, list->items[i], "total_seconds");
        if (figures.length) append_published_epochs(r, &figures, one);
        if (figures.length)
            text_format(out, "%s%s (%s)", out->length ? "; " : "", text_string(&figures), source);
        text_release(&figures);
    }
}

// ---- Times ----

void effect_append_seconds(const results *r, text *out, const seed_group *g, double seconds) {
    char value[TIME_TEXT];
    snprintf(value, sizeof value, "%.*f", seconds_digits(seconds), seconds);
    text_format(out, say(r, "%s s"), value);
    if (seed_group_is_simulated(g)) text_append(out, SIMULATED_MARK);
}
