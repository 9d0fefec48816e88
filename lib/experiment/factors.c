// SPDX-License-Identifier: MIT
#include "experiment/factors.h"

#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

static const char *const factor_names[FACTORS] = {
    "loader-workers", "world-size", "virtual-shards", "global-batch", "learning-rate",
    "epochs",         "rest"};

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
};

const char *factor_name(factor f) {
    return factor_names[f];
}

bool factors_is_label(const char *key) {
    static const char *const labels[] = {"schema",          "name",     "title", "model", "repeats",
                                         "target_accuracy", "published"};
    for (size_t i = 0; i < COUNT(labels); i++)
        if (strcmp(key, labels[i]) == 0) return true;
    return false;
}

const char *factors_key_name(const char *key) {
    return strcmp(key, "architecture") == 0 ? "model" : key;
}

// ---- Differences between runs ----

static bool has_factor(const char *key) {
    for (size_t i = 0; i < COUNT(factor_keys); i++)
        if (strcmp(key, factor_keys[i].key) == 0) return true;
    return false;
}

static bool covers_but_rate(const yaml_node *a, const yaml_node *b) {
    for (size_t i = 0; i < a->count; i++) {
        const yaml_node *other = yaml_find(b, a->keys[i]);
        if (strcmp(a->keys[i], "lr") == 0) continue;
        if (!other || !yaml_equal(a->items[i], other)) return false;
    }
    return true;
}

static bool differ_in_rate_alone(const yaml_node *a, const yaml_node *b) {
    return covers_but_rate(a, b) && covers_but_rate(b, a);
}

static void add_difference(difference_list *list, const experiment *a, const experiment *b,
                           const char *key, factor f) {
    const yaml_node *from = yaml_get(a->resolved, key), *to = yaml_get(b->resolved, key);
    bool same = from && to ? yaml_equal(from, to) : from == to;
    if (same || list->count == DIFFERENCES_MAX) return;
    list->items[list->count++] = (difference){key, f, from, to};
}

// Adds the keys of `of` that belong to no other factor, except those in `done`.
static void add_rest(difference_list *list, const experiment *a, const experiment *b,
                     const yaml_node *of, const yaml_node *done) {
    bool rate_alone = differ_in_rate_alone(yaml_find(a->resolved, "optimizer"),
                                           yaml_find(b->resolved, "optimizer"));
    for (size_t i = 0; i < of->count; i++) {
        const char *key = of->keys[i];
        if (factors_is_label(key) || has_factor(key) || (done && yaml_find(done, key))) continue;
        if (rate_alone && strcmp(key, "optimizer") == 0) continue;
        add_difference(list, a, b, key, FACTOR_REST);
    }
}

// A learning rate has no meaning for another kind of optimizer: then it changes with the optimizer.
void factors_find(const experiment *from, const experiment *to, difference_list *list) {
    bool same_kind = from->optimizer.kind == to->optimizer.kind;
    list->count = 0;
    for (size_t i = 0; i < COUNT(factor_keys); i++)
        if (same_kind || strcmp(factor_keys[i].key, "optimizer.lr") != 0)
            add_difference(list, from, to, factor_keys[i].key, factor_keys[i].factor);
    add_rest(list, from, to, from->resolved, NULL);
    add_rest(list, from, to, to->resolved, from->resolved);
}

// ---- Differences for published figures ----

// Samples that a batch norm layer normalises over in a full step; 0 for a model without.
static int batch_norm_group(const experiment *e) {
    bool found = false;
    for (int i = 0; i < e->model.program.count; i++)
        found |= e->model.program.layers[i].kind == LAYER_BATCH_NORM;
    if (!found) return 0;
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
