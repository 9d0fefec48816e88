// SPDX-License-Identifier: MIT
#include "results/like_for_like.h"

#include <stdio.h>
#include <string.h>

#include "results/origin.h"

// ---- The conditions ----

typedef enum place {
    MANIFEST, // `path` is in the train manifest
    SEGMENT   // `path` is in the last segment of run.execution
} place;

// The questions that a condition belongs to.
enum {
    COMPARED = 1,   // two runs are compared
    ONE_WORLD = 2,  // likewise, if both have the same number of ranks
    ONE_DEVICE = 4, // likewise, if both have the same kind of device
    MADE = 8,       // two executions were made by one program on one machine
    EXECUTED = 16   // two executions of one run count together
};

typedef struct condition {
    const char *of; // what it is called
    place place;
    const char *path;
    int questions;
    const char *key;   // of the experiment, which a plan may vary; NULL: no plan may
    const char *shown; // shown in place of a value that is too long; may be NULL
} condition;

enum { MODEL }; // its index in the table

static const condition conditions[] = {
    [MODEL] = {"model", MANIFEST, "parameters.architecture", COMPARED, "model", "parameters.model"},
    {"global batch", MANIFEST, "parameters.global_batch", COMPARED, "global_batch", NULL},
    {"epochs", MANIFEST, "parameters.epochs", COMPARED, "epochs", NULL},
    {"augmentation", MANIFEST, "parameters.augment", COMPARED, "augment", NULL},
    {"validation", MANIFEST, "parameters.validation", COMPARED, "validation", NULL},
    {"optimizer", MANIFEST, "parameters.optimizer.kind", COMPARED, "optimizer", NULL},
    {"averaged weights", MANIFEST, "parameters.average", COMPARED, "average", NULL},
    {"initial weights", MANIFEST, "parameters.initial_weights", COMPARED, "initial_weights",
     "parameters.initial_weights.file"},
    {"precision", MANIFEST, "parameters.precision", COMPARED, "precision", NULL},
    {"host", MANIFEST, "run.host", COMPARED | MADE, NULL, NULL},
    {"CPU", MANIFEST, "run.cpu", COMPARED | MADE, NULL, NULL},
    {"build", MANIFEST, "version", COMPARED | MADE, NULL, NULL},
    {"sources", MANIFEST, "run.sources", COMPARED | MADE, NULL, NULL},
    {"compiler", MANIFEST, "run.compiler", COMPARED | MADE, NULL, NULL},
    {"compiler flags", MANIFEST, "run.flags", COMPARED | MADE, NULL, NULL},
    {"instruction set", SEGMENT, "isa", ONE_DEVICE | EXECUTED, NULL, NULL},
    {"math", SEGMENT, "math", ONE_DEVICE | EXECUTED, NULL, NULL},
    {"loader workers", SEGMENT, "loader_workers", COMPARED | EXECUTED, "loader_workers", NULL},
    {"threads per rank", SEGMENT, "threads", ONE_WORLD | EXECUTED, NULL, NULL},
    {"tool", SEGMENT, "tool", EXECUTED, NULL, NULL},
    {"device", SEGMENT, "devices", EXECUTED, NULL, NULL},
    {"ranks", SEGMENT, "world_size", EXECUTED, NULL, NULL},
    {"reduction", SEGMENT, "reduce", EXECUTED, NULL, NULL},
    {"transport", SEGMENT, "transport", EXECUTED, NULL, NULL},
    {"hosts", SEGMENT, "hosts", EXECUTED, NULL, NULL},
};

enum { CONDITIONS = sizeof conditions / sizeof *conditions, SHOWN_MAX = 48 };

static const yaml_node *value_of(const run *r, const condition *c) {
    return yaml_get(c->place == SEGMENT ? run_last_segment(r) : r->train, c->path);
}

static bool agree(const run *a, const run *b, const condition *c) {
    return yaml_equal(value_of(a, c), value_of(b, c));
}

static bool agree_on(const run *a, const run *b, int questions) {
    for (size_t i = 0; i < CONDITIONS; i++)
        if ((conditions[i].questions & questions) && !agree(a, b, &conditions[i])) return false;
    return true;
}

// ---- Differences ----

static void add_difference(reason_list *out, const char *of, const char *a, const char *b) {
    if (strcmp(a, b) != 0)
        reasons_add(out, of, *a ? a : "?", *b ? b : "?");
    else
        reasons_add(out, of, NULL, NULL);
}

// The text shown for a value: none if it is long, or not a scalar.
static const char *shown_of(const run *r, const condition *c) {
    const yaml_node *node = value_of(r, c);
    const bool fits = !node || (node->kind == YAML_SCALAR && strlen(node->text) <= SHOWN_MAX);
    return fits ? node ? node->text : "" : c->shown ? yaml_text_at(r->train, c->shown) : "";
}

static void add_condition(reason_list *out, const run *a, const run *b, const condition *c) {
    // For a GPU, the instruction set is its name.
    const bool gpu = a->gpus > 0 && strcmp(c->path, "isa") == 0;
    add_difference(out, gpu ? "GPU" : c->of, shown_of(a, c), shown_of(b, c));
}

static void add_text(reason_list *out, const char *of, const char *a, const char *b) {
    if (strcmp(a, b) != 0) add_difference(out, of, a, b);
}

static void add_count(reason_list *out, const char *of, int64_t a, int64_t b) {
    char left[24], right[24];
    snprintf(left, sizeof left, "%lld", (long long)a);
    snprintf(right, sizeof right, "%lld", (long long)b);
    add_text(out, of, left, right);
}

// ---- May times be compared? ----

// The `of` of a reason.
static const char *no_time_of(const run *r) {
    if (!r->train) return "untrained";
    return run_has_time(r) ? "no times" : run_no_time(r);
}

static void add_no_time(reason_list *out, const run *r) {
    if (!run_has_time(r) || !r->timed) reasons_add(out, no_time_of(r), r->name, NULL);
}

static bool same_data(const run *a, const run *b) {
    const char *data = origin_train_data(a);
    return *data && strcmp(data, origin_train_data(b)) == 0;
}

static void add_data(reason_list *out, const run *a, const run *b) {
    if (!same_data(a, b))
        reasons_add(out, *origin_train_data(a) ? "data" : "unknown data", NULL, NULL);
}

// A plan that varies "optimizer.lr" varies "optimizer".
static bool is_varied(const varied_keys *varied, const char *key) {
    const size_t length = key ? strlen(key) : 0;
    for (size_t i = 0; varied && key && i < varied->count; i++) {
        const char *own = varied->keys[i];
        if (strncmp(own, key, length) == 0 && (!own[length] || own[length] == '.')) return true;
    }
    return false;
}

// Those of arms that took turns do not matter.
static bool is_met(const condition *c, bool together) {
    return together && (c->questions & MADE);
}

void like_for_like(const run *a, const run *b, const varied_keys *varied, bool together,
                   reason_list *unlike) {
    const bool one_device = strcmp(a->device, b->device) == 0;
    const int questions =
        COMPARED | (a->world_size == b->world_size ? ONE_WORLD : 0) | (one_device ? ONE_DEVICE : 0);
    if (!together) add_no_time(unlike, a);
    if (!together) add_no_time(unlike, b);
    if (!a->train || !b->train) return;
    add_data(unlike, a, b);
    for (size_t i = 0; i < CONDITIONS; i++) {
        const condition *c = &conditions[i];
        if (!(c->questions & questions) || is_met(c, together)) continue;
        if (is_varied(varied, c->key) || agree(a, b, c)) continue;
        add_condition(unlike, a, b, c);
    }
    add_text(unlike, "device", a->device, b->device);
}

// ---- Do runs differ in one setting? ----

static bool is_known(const run *r, const condition *c) {
    return c->place == MANIFEST || value_of(r, c); // a manifest leaves out what is not used
}

const char *like_single_setting(const run *a, const run *b, bool together) {
    const char *key = NULL;
    if (!same_data(a, b) || a->virtual_shards != b->virtual_shards ||
        strcmp(a->device, b->device) != 0)
        return NULL;
    for (size_t i = 0; i < CONDITIONS; i++) {
        const condition *c = &conditions[i];
        if (is_met(c, together) || agree(a, b, c)) continue;
        if (key || !c->key || !is_known(a, c) || !is_known(b, c)) return NULL;
        key = c->key;
    }
    return key;
}

void like_setting(const run *a, const run *b, const char *key, reason_list *out) {
    for (size_t i = 0; i < CONDITIONS; i++)
        if (conditions[i].key && strcmp(conditions[i].key, key) == 0)
            add_condition(out, a, b, &conditions[i]);
}

// ---- Do executions count together? ----

// An arm is described before its first step, when the transport is not known yet.
bool like_timed(const run *r, const yaml_node *execution) {
    for (size_t i = 0; i < CONDITIONS; i++) {
        const condition *c = &conditions[i];
        const yaml_node *own = yaml_get(execution, c->path);
        if (!(c->questions & EXECUTED)) continue;
        if (!own && strcmp(c->path, "transport") == 0) continue;
        if (!yaml_equal(value_of(r, c), own)) return false;
    }
    return true;
}

yaml_node *like_execution(const yaml_node *execution) {
    yaml_node *copy = yaml_new(YAML_MAPPING);
    for (size_t i = 0; i < CONDITIONS; i++) {
        const condition *c = &conditions[i];
        const yaml_node *own = c->place == SEGMENT ? yaml_get(execution, c->path) : NULL;
        if (own && (c->questions & EXECUTED)) yaml_put(copy, c->path, yaml_copy(own));
    }
    return copy;
}

bool like_repeated(const run *a, const run *b) {
    return agree_on(a, b, MADE | EXECUTED);
}

bool like_executed(const run *a, const run *b) {
    return run_has_time(a) == run_has_time(b) && like_repeated(a, b);
}

void like_not_executed(const run *a, const run *b, reason_list *out) {
    const run *untimed = run_has_time(a) ? b : a;
    if (run_has_time(a) != run_has_time(b))
        reasons_add(out, run_no_time(untimed), untimed->folder, NULL);
    for (size_t i = 0; i < CONDITIONS; i++) {
        const condition *c = &conditions[i];
        if ((c->questions & (MADE | EXECUTED)) && !agree(a, b, c)) add_condition(out, a, b, c);
    }
}

// ---- Arithmetic ----

// Is it a layer of that kind, or holds one?
static bool has_layer(const yaml_node *layers, const char *kind) {
    if (layers->kind == YAML_SCALAR) return strcmp(layers->text, kind) == 0;
    for (size_t i = 0; i < layers->count; i++) {
        if (layers->kind == YAML_MAPPING && strcmp(layers->keys[i], kind) == 0) return true;
        if (has_layer(layers->items[i], kind)) return true;
    }
    return false;
}

int64_t like_batch_norm_samples(const run *r) {
    const yaml_node *layers = yaml_get(r->train, "parameters.architecture.layers");
    if (!layers || !has_layer(layers, "batch_norm") || r->virtual_shards < 1) return 0;
    const bool whole = strcmp(yaml_text_at(r->train, "parameters.sync_batch_norm"), "true") == 0;
    return whole ? r->global_batch : r->global_batch / r->virtual_shards;
}

void like_arithmetic(const run *a, const run *b, reason_list *out) {
    const int64_t group_a = like_batch_norm_samples(a), group_b = like_batch_norm_samples(b);
    if (!agree(a, b, &conditions[MODEL])) add_condition(out, a, b, &conditions[MODEL]);
    add_count(out, "global batch", a->global_batch, b->global_batch);
    add_count(out, "V", a->virtual_shards, b->virtual_shards);
    if (group_a && group_b) add_count(out, "batch norm group", group_a, group_b);
    add_text(out, "reduction", a->reduce, b->reduce);
}

static bool covers(const yaml_node *a, const yaml_node *b, const char *const *but) {
    for (size_t i = 0; i < a->count; i++) {
        const yaml_node *other = yaml_find(b, a->keys[i]);
        size_t k = 0;
        while (but[k] && strcmp(a->keys[i], but[k]) != 0) k++;
        if (!but[k] && (!other || !yaml_equal(a->items[i], other))) return false;
    }
    return true;
}

bool like_parameters(const run *a, const run *b, const char *const *but) {
    const yaml_node *own = yaml_find(a->train, "parameters");
    const yaml_node *other = yaml_find(b->train, "parameters");
    return own && other && own->kind == YAML_MAPPING && other->kind == YAML_MAPPING &&
           covers(own, other, but) && covers(other, own, but);
}

bool like_but_shards(const run *a, const run *b) {
    static const char *const but[] = {"name",   "title",           "repeats",  "published",
                                      "tta",    "target_accuracy", "strategy", "world_size",
                                      "stages", "virtual_shards",  "model",    "loader_workers",
                                      NULL};
    return a->train && b->train && same_data(a, b) && like_parameters(a, b, but);
}
