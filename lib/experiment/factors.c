// SPDX-License-Identifier: MIT
#include "experiment/factors.h"

#include <stdio.h>
#include <string.h>

// ---- Patterns ----

// The resolved list has items {PATTERN: {...}}; it is absent if there are none.
static const yaml_node *list_of(const experiment *e) {
    return yaml_find(e->resolved, "tensors");
}

static size_t length(const yaml_node *list) {
    return list ? list->count : 0;
}

static const char *pattern_at(const yaml_node *list, size_t i) {
    return list->items[i]->keys[0];
}

static const yaml_node *settings_at(const yaml_node *list, size_t i) {
    return list->items[i]->items[0];
}

// Returns the index of a pattern in a list; its length if it is not there.
static size_t find(const yaml_node *list, const char *pattern) {
    size_t i = 0;
    while (i < length(list) && strcmp(pattern_at(list, i), pattern) != 0) i++;
    return i;
}

bool patterns_merge(const experiment *from, const experiment *to,
                    pattern_pair pairs[PATTERN_PAIRS_MAX], size_t *count) {
    const yaml_node *a = list_of(from), *b = list_of(to);
    size_t next = 0; // of a
    *count = 0;
    for (size_t i = 0; i <= length(b); i++) {
        const size_t at = i < length(b) ? find(a, pattern_at(b, i)) : length(a);
        const bool both = i < length(b) && at < length(a);
        if (both && at < next) return false;
        for (; (both || i == length(b)) && next < at; next++) {
            // One that b has, too, but later, is not in order.
            if (find(b, pattern_at(a, next)) < length(b)) return false;
            pairs[(*count)++] = (pattern_pair){pattern_at(a, next), settings_at(a, next), NULL};
        }
        if (i < length(b))
            pairs[(*count)++] = (pattern_pair){pattern_at(b, i), both ? settings_at(a, at) : NULL,
                                               settings_at(b, i)};
        if (both) next++;
    }
    return true;
}

// Are its settings different in the two?
static bool patterns_differ(const pattern_pair *pair) {
    return !pair->from || !pair->to || !yaml_equal(pair->from, pair->to);
}

static void append(yaml_node *list, const char *pattern, const yaml_node *settings) {
    yaml_node *item = yaml_new(YAML_MAPPING);
    yaml_append(list, item);
    yaml_put(item, pattern, yaml_copy(settings));
}

yaml_node *patterns_mix(const pattern_pair *pairs, size_t count, uint64_t kept) {
    size_t k = 0;
    yaml_node *list = yaml_new(YAML_SEQUENCE);
    for (size_t i = 0; i < count; i++) {
        const bool differs = patterns_differ(&pairs[i]), stays = differs && kept >> k & 1u;
        const yaml_node *settings = stays ? pairs[i].from : pairs[i].to;
        k += differs;
        if (settings) append(list, pairs[i].pattern, settings);
    }
    if (list->count > 0) return list;
    yaml_free(list);
    return NULL;
}

// ---- Factors ----

#define COUNT(array) (sizeof(array) / sizeof *(array))

static const char *const factor_names[FACTORS] = {
    "loader-workers",    "world-size",    "virtual-shards",
    "global-batch",      "learning-rate", "epochs",
    "label-smoothing",   "mixup",         "averaged-weights",
    "gradient-clipping", "drop-last",     "validation",
    "test-views",        "rest"};

// The keys of every factor but the last, which has all others. Stages belong to the world.
static const struct {
    const char *key;
    factor factor;
} factor_keys[] = {
    {"loader_workers", FACTOR_LOADER_WORKERS},
    {"strategy", FACTOR_WORLD},
    {"world_size", FACTOR_WORLD},
    {"stages", FACTOR_WORLD},
    {"virtual_shards", FACTOR_SHARDS},
    {"sync_batch_norm", FACTOR_SHARDS},
    {"global_batch", FACTOR_BATCH},
    {"optimizer.lr", FACTOR_RATE},
    {"lr_scaling", FACTOR_RATE},
    {"schedule", FACTOR_RATE},
    {"epochs", FACTOR_EPOCHS},
    {"label_smoothing", FACTOR_SMOOTHING},
    {"mixup", FACTOR_MIXUP},
    {"average", FACTOR_AVERAGE},
    {"optimizer.clip_norm", FACTOR_CLIPPING},
    {"drop_last", FACTOR_DROP_LAST},
    {"validation", FACTOR_VALIDATION},
    {"keep", FACTOR_VALIDATION},
    {"early_stopping", FACTOR_VALIDATION},
    {"stop_at", FACTOR_VALIDATION},
    {"tta", FACTOR_VIEWS},
};

int factor_at(const difference_list *list, int place) {
    const int patterns = list->factors - FACTORS;
    if (place <= FACTOR_EPOCHS) return place;
    place -= FACTOR_EPOCHS + 1;
    return place < patterns ? FACTORS + place : FACTOR_EPOCHS + 1 + place - patterns;
}

const char *factor_name(const difference_list *list, int f) {
    if (f < FACTORS) return factor_names[f];
    size_t i = 0;
    while (list->items[i].factor != f) i++;
    return list->items[i].name;
}

bool factors_is_label(const char *key) {
    static const char *const labels[] = {"schema",          "name",     "title", "model", "repeats",
                                         "target_accuracy", "published"};
    for (size_t i = 0; i < COUNT(labels); i++)
        if (strcmp(key, labels[i]) == 0) return true;
    return false;
}

// ---- Differences between runs ----

static bool has_factor(const char *key) {
    for (size_t i = 0; i < COUNT(factor_keys); i++)
        if (strcmp(key, factor_keys[i].key) == 0) return true;
    return false;
}

// Keys of the optimizer that are factors of their own.
static bool covers_but_factors(const yaml_node *a, const yaml_node *b) {
    for (size_t i = 0; i < a->count; i++) {
        const yaml_node *other = yaml_find(b, a->keys[i]);
        if (strcmp(a->keys[i], "lr") == 0 || strcmp(a->keys[i], "clip_norm") == 0) continue;
        if (!other || !yaml_equal(a->items[i], other)) return false;
    }
    return true;
}

static bool differ_in_factors_alone(const yaml_node *a, const yaml_node *b) {
    return covers_but_factors(a, b) && covers_but_factors(b, a);
}

static void add_difference(difference_list *list, const experiment *a, const experiment *b,
                           const char *key, factor f) {
    const yaml_node *from = yaml_get(a->resolved, key), *to = yaml_get(b->resolved, key);
    bool same = from && to ? yaml_equal(from, to) : from == to;
    // Files of one name may be different ones.
    if (same && from && strcmp(key, "initial_weights") == 0)
        same = strcmp(a->weights_path, b->weights_path) == 0;
    if (same || list->count == DIFFERENCES_MAX) return;
    difference *d = &list->items[list->count++];
    *d = (difference){.key = key, .factor = (int)f, .from = from, .to = to};
    snprintf(d->name, sizeof d->name, "%s", strcmp(key, "architecture") == 0 ? "model" : key);
}

// Adds a factor for each pattern that differs. If there is no common order in which they could
// change one by one, the key changes as a whole.
static void add_patterns(difference_list *list, const experiment *a, const experiment *b) {
    pattern_pair pairs[PATTERN_PAIRS_MAX];
    size_t count;
    if (!patterns_merge(a, b, pairs, &count)) {
        add_difference(list, a, b, "tensors", FACTOR_REST);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        if (!patterns_differ(&pairs[i]) || list->count == DIFFERENCES_MAX) continue;
        difference *d = &list->items[list->count++];
        *d = (difference){.key = "tensors",
                          .pattern = pairs[i].pattern,
                          .factor = list->factors++,
                          .from = pairs[i].from,
                          .to = pairs[i].to};
        snprintf(d->name, sizeof d->name, "tensors.%s", pairs[i].pattern);
    }
}

// Adds the keys of `of` that belong to no other factor, except those in `done`.
static void add_rest(difference_list *list, const experiment *a, const experiment *b,
                     const yaml_node *of, const yaml_node *done) {
    bool factors_alone = differ_in_factors_alone(yaml_find(a->resolved, "optimizer"),
                                                 yaml_find(b->resolved, "optimizer"));
    for (size_t i = 0; i < of->count; i++) {
        const char *key = of->keys[i];
        if (factors_is_label(key) || has_factor(key) || (done && yaml_find(done, key))) continue;
        if (factors_alone && strcmp(key, "optimizer") == 0) continue;
        if (strcmp(key, "tensors") == 0) continue;
        add_difference(list, a, b, key, FACTOR_REST);
    }
}

// A learning rate has no meaning for another kind of optimizer: then it changes with the optimizer,
// and so does the rest of the group.
void factors_find(const experiment *from, const experiment *to, difference_list *list) {
    bool same_kind = from->optimizer.kind == to->optimizer.kind;
    list->count = 0;
    list->factors = FACTORS;
    for (size_t i = 0; i < COUNT(factor_keys); i++)
        if (same_kind || strncmp(factor_keys[i].key, "optimizer.", 10) != 0)
            add_difference(list, from, to, factor_keys[i].key, factor_keys[i].factor);
    add_rest(list, from, to, from->resolved, NULL);
    add_rest(list, from, to, to->resolved, from->resolved);
    add_patterns(list, from, to);
}

// ---- Differences for published figures ----

// Samples that a batch norm layer normalises over in a full step; 0 for a model without.
static int batch_norm_group(const experiment *e) {
    if (e->model.program.buffers == 0) return 0;
    return e->sync_batch_norm ? e->global_batch : e->global_batch / e->virtual_shards;
}

static bool is_published(const difference *d, const experiment *a, const experiment *b) {
    bool pipeline = a->strategy == STRATEGY_MP || b->strategy == STRATEGY_MP;
    bool single = a->strategy == STRATEGY_SINGLE && b->strategy == STRATEGY_SINGLE;
    if (strcmp(d->key, "seed") == 0 || strcmp(d->key, "shard_seed") == 0) return false;
    if (strcmp(d->key, "stages") == 0) return pipeline;
    if (strcmp(d->key, "world_size") == 0) return !single;
    if (d->factor == FACTOR_SHARDS) return pipeline || batch_norm_group(a) != batch_norm_group(b);
    return true;
}

void factors_find_published(const experiment *from, const experiment *to, difference_list *list) {
    size_t kept = 0;
    factors_find(from, to, list);
    for (size_t i = 0; i < list->count; i++)
        if (is_published(&list->items[i], from, to)) list->items[kept++] = list->items[i];
    list->count = kept;
}

bool factors_are_published(const experiment *e, const experiment *file, bool any_epochs) {
    difference_list list;
    factors_find_published(e, file, &list);
    return !list.count || (any_epochs && list.count == 1 && list.items[0].factor == FACTOR_EPOCHS);
}
