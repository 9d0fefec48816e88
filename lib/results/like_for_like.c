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
    const char *label;
    place place;
    const char *path;
    int questions;
    const char *key;   // of the experiment, which a plan may vary; NULL: no plan may
    const char *shown; // shown in place of a value that is too long; may be NULL
} condition;

enum { MODEL }; // its index in the table

static const condition conditions[] = {
    [MODEL] = {WORD("Model"), MANIFEST, "parameters.architecture", COMPARED, "model",
               "parameters.model"},
    {WORD("Global batch"), MANIFEST, "parameters.global_batch", COMPARED, "global_batch", NULL},
    {WORD("Epochs"), MANIFEST, "parameters.epochs", COMPARED, "epochs", NULL},
    {WORD("Augmentation"), MANIFEST, "parameters.augment", COMPARED, "augment", NULL},
    {WORD("Validation"), MANIFEST, "parameters.validation", COMPARED, "validation", NULL},
    {WORD("Optimizer"), MANIFEST, "parameters.optimizer.kind", COMPARED, "optimizer", NULL},
    {WORD("Averaged weights"), MANIFEST, "parameters.average", COMPARED, "average", NULL},
    {WORD("Precision"), MANIFEST, "parameters.precision", COMPARED, "precision", NULL},
    {WORD("Host"), MANIFEST, "run.host", COMPARED | MADE, NULL, NULL},
    {WORD("CPU"), MANIFEST, "run.cpu", COMPARED | MADE, NULL, NULL},
    {WORD("Build"), MANIFEST, "version", COMPARED | MADE, NULL, NULL},
    {WORD("Sources"), MANIFEST, "run.sources", COMPARED | MADE, NULL, NULL},
    {WORD("Compiler"), MANIFEST, "run.compiler", COMPARED | MADE, NULL, NULL},
    {WORD("Compiler flags"), MANIFEST, "run.flags", COMPARED | MADE, NULL, NULL},
    {WORD("Instruction set"), SEGMENT, "isa", ONE_DEVICE | EXECUTED, NULL, NULL},
    {WORD("Math"), SEGMENT, "math", ONE_DEVICE | EXECUTED, NULL, NULL},
    {WORD("Loader workers"), SEGMENT, "loader_workers", COMPARED | EXECUTED, "loader_workers",
     NULL},
    {WORD("Threads per rank"), SEGMENT, "threads", ONE_WORLD | EXECUTED, NULL, NULL},
    {WORD("Tool"), SEGMENT, "tool", EXECUTED, NULL, NULL},
    {WORD("Device"), SEGMENT, "devices", EXECUTED, NULL, NULL},
    {WORD("Ranks"), SEGMENT, "world_size", EXECUTED, NULL, NULL},
    {WORD("Reduction"), SEGMENT, "reduce", EXECUTED, NULL, NULL},
    {WORD("Transport"), SEGMENT, "transport", EXECUTED, NULL, NULL},
    {WORD("Hosts"), SEGMENT, "hosts", EXECUTED, NULL, NULL},
};

enum { CONDITIONS = sizeof conditions / sizeof *conditions, SHOWN_MAX = 48 };

static const yaml_node *value_of(const run *r, const condition *c) {
    int segments;
    const yaml_node *root = c->place == SEGMENT ? run_last_segment(r, &segments) : r->train;
    return root ? yaml_get(root, c->path) : NULL;
}

static bool agree(const run *a, const run *b, const condition *c) {
    return yaml_equal(value_of(a, c), value_of(b, c));
}

static bool agree_on(const run *a, const run *b, int questions) {
    for (size_t i = 0; i < CONDITIONS; i++)
        if ((conditions[i].questions & questions) && !agree(a, b, &conditions[i])) return false;
    return true;
}

// ---- Text ----

// Labels begin with a capital, as they head columns; inside a sentence they must not. "V" and "CPU"
// stay.
static void append_label(text *out, const char *label) {
    bool word = label[0] >= 'A' && label[0] <= 'Z' && label[1] >= 'a' && label[1] <= 'z';
    const char first = (char)(word ? label[0] - 'A' + 'a' : label[0]);
    text_bytes(out, &first, 1);
    text_append(out, label + 1);
}

// `format` takes a label and two values; "" is "?".
static void append_reason(text *out, const char *format, const char *label, const char *a,
                          const char *b) {
    text name = {0};
    append_label(&name, label);
    if (out->length) text_append(out, "; ");
    text_format(out, format, text_string(&name), *a ? a : "?", *b ? b : "?");
    text_release(&name);
}

// The text shown for a value: none if it is long, or not a scalar.
static const char *shown_of(const run *r, const condition *c) {
    const yaml_node *node = value_of(r, c);
    const bool fits = !node || (node->kind == YAML_SCALAR && strlen(node->text) <= SHOWN_MAX);
    return fits ? node ? node->text : "" : c->shown ? run_text(r->train, c->shown) : "";
}

static void append_difference(const run *a, const run *b, const condition *c, language l,
                              text *out) {
    // For a GPU, the instruction set is its name.
    const char *label = a->gpus > 0 && strcmp(c->path, "isa") == 0 ? WORD("GPU") : c->label;
    const char *first = shown_of(a, c), *second = shown_of(b, c);
    append_reason(out, words_in(l, strcmp(first, second) != 0 ? "%s %s vs %s" : "%s differs"),
                  words_in(l, label), first, second);
}

static void append_text(const char *label, const char *a, const char *b, language l, text *out) {
    if (strcmp(a, b) != 0) append_reason(out, words_in(l, "%s %s vs %s"), words_in(l, label), a, b);
}

static void append_count(const char *label, int64_t a, int64_t b, language l, text *out) {
    char left[24], right[24];
    snprintf(left, sizeof left, "%lld", (long long)a);
    snprintf(right, sizeof right, "%lld", (long long)b);
    append_text(label, left, right, l, out);
}

// Moves the appended text to `*taken`; NULL if nothing was appended.
static status take(text *out, char **taken) {
    status rc = STATUS_OK;
    *taken = NULL;
    if (rc == STATUS_OK && out->length && !(*taken = text_take(out))) rc = STATUS_FAILED;
    text_release(out);
    return rc;
}

// ---- May times be compared? ----

const char *like_no_time(const run *r) {
    if (!r->train) return WORD("%s has no training run");
    if (run_has_time(r)) return WORD("%s has no times");
    return r->restarted ? WORD("%s was restarted after a process died: its times come from several "
                               "executions")
                        : WORD("%s was resumed: its times come from several executions");
}

static void append_no_time(const run *r, language l, text *out) {
    if (run_has_time(r) && r->timed) return;
    if (out->length) text_append(out, "; ");
    text_format(out, words_in(l, like_no_time(r)), r->name);
}

static bool same_data(const run *a, const run *b) {
    const char *data = origin_train_data(a);
    return *data && strcmp(data, origin_train_data(b)) == 0;
}

static void append_data(const run *a, const run *b, language l, text *out) {
    const bool known = *origin_train_data(a);
    if (!same_data(a, b))
        append_reason(out, words_in(l, known ? "%s differs" : "%s unknown"), words_in(l, "Data"),
                      "", "");
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

status like_for_like(const run *a, const run *b, const varied_keys *varied, bool together,
                     language l, char **reasons) {
    const bool one_device = strcmp(a->device, b->device) == 0;
    const int questions =
        COMPARED | (a->world_size == b->world_size ? ONE_WORLD : 0) | (one_device ? ONE_DEVICE : 0);
    text out = {0};
    if (!together) append_no_time(a, l, &out);
    if (!together) append_no_time(b, l, &out);
    if (!a->train || !b->train) return take(&out, reasons);
    append_data(a, b, l, &out);
    for (size_t i = 0; i < CONDITIONS; i++) {
        const condition *c = &conditions[i];
        if (!(c->questions & questions) || is_met(c, together)) continue;
        if (is_varied(varied, c->key) || agree(a, b, c)) continue;
        append_difference(a, b, c, l, &out);
    }
    append_text(WORD("Device"), a->device, b->device, l, &out);
    return take(&out, reasons);
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

void like_append_setting(const run *a, const run *b, const char *key, language l, text *out) {
    text setting = {0};
    for (size_t i = 0; i < CONDITIONS; i++)
        if (conditions[i].key && strcmp(conditions[i].key, key) == 0)
            append_difference(a, b, &conditions[i], l, &setting);
    text_append(out, text_string(&setting));
    text_release(&setting);
}

// ---- Do executions count together? ----

bool like_made(const run *a, const run *b) {
    return agree_on(a, b, MADE);
}

// An arm is described before its first step, when the transport is not known yet.
bool like_timed(const run *r, const yaml_node *execution) {
    for (size_t i = 0; i < CONDITIONS; i++) {
        const condition *c = &conditions[i];
        const yaml_node *own = execution ? yaml_get(execution, c->path) : NULL;
        if (!(c->questions & EXECUTED)) continue;
        if (!own && strcmp(c->path, "transport") == 0) continue;
        if (!yaml_equal(value_of(r, c), own)) return false;
    }
    return true;
}

bool like_repeated(const run *a, const run *b) {
    return agree_on(a, b, MADE | EXECUTED);
}

bool like_executed(const run *a, const run *b) {
    return run_has_time(a) == run_has_time(b) && like_repeated(a, b);
}

void like_append_executed(const run *a, const run *b, language l, text *out) {
    text reasons = {0};
    if (!run_has_time(a)) text_format(&reasons, words_in(l, like_no_time(a)), a->folder);
    if (a->apart) text_append(&reasons, words_in(l, "it is not of a round with the other runs"));
    for (size_t i = 0; i < CONDITIONS; i++) {
        const condition *c = &conditions[i];
        if (!(c->questions & (MADE | EXECUTED)) || agree(a, b, c)) continue;
        append_difference(a, b, c, l, &reasons);
    }
    text_append(out, text_string(&reasons));
    text_release(&reasons);
}

// ---- Arithmetic ----

// The number of samples that a batch norm layer normalises over in a full step; 0 without one.
static int64_t batch_norm_group(const run *r) {
    const yaml_node *layers = yaml_get(r->train, "parameters.architecture.layers");
    bool found = false;
    for (size_t i = 0; layers && i < layers->count; i++) {
        const yaml_node *layer = layers->items[i];
        if (layer->kind == YAML_SCALAR) found |= strcmp(layer->text, "batch_norm") == 0;
        if (layer->kind == YAML_MAPPING)
            found |= yaml_find(layer, "batch_norm") != NULL ||
                     strcmp(run_text(layer, "kind"), "batch_norm") == 0;
    }
    if (!found || r->virtual_shards < 1) return 0;
    bool whole = strcmp(run_text(r->train, "parameters.sync_batch_norm"), "true") == 0;
    return whole ? r->global_batch : r->global_batch / r->virtual_shards;
}

status like_arithmetic(const run *a, const run *b, language l, char **difference) {
    const int64_t group_a = batch_norm_group(a), group_b = batch_norm_group(b);
    text out = {0};
    if (!agree(a, b, &conditions[MODEL])) append_difference(a, b, &conditions[MODEL], l, &out);
    append_count(WORD("Global batch"), a->global_batch, b->global_batch, l, &out);
    append_count(WORD("V"), a->virtual_shards, b->virtual_shards, l, &out);
    if (group_a && group_b) append_count(WORD("Batch norm group"), group_a, group_b, l, &out);
    append_text(WORD("Reduction"), a->reduce, b->reduce, l, &out);
    return take(&out, difference);
}

// ---- Published figures ----

void like_append_published(const run *r, double epochs, const char *dataset, language l,
                           text *out) {
    text reasons = {0};
    if (epochs > 0 && r->planned_epochs > 0 && epochs != r->planned_epochs)
        text_format(&reasons, words_in(l, "%.9g of %.9g epochs"), r->planned_epochs, epochs);
    if (*dataset) append_text(WORD("Data"), r->dataset, dataset, l, &reasons);
    text_append(out, text_string(&reasons));
    text_release(&reasons);
}
