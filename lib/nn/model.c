// SPDX-License-Identifier: MIT
// Builds a model from a model file: its layers, their names, and the complete description.
#include "nn/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hint.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/sha256.h"
#include "base/spelling.h"
#include "compute/backend.h"
#include "nn/layer_types.h"

// ---- The list ----

static const char RESIDUAL[] = "residual";

static status find_type(builder *b, const yaml_node *node, const char *word,
                        const layer_type **type) {
    const char *words[LAYER_TYPES + 1];
    char hint[HINT_BYTES];
    for (int k = 0; k < LAYER_TYPES; k++) {
        words[k] = layer_types[k].word;
        if (strcmp(word, words[k])) continue;
        *type = &layer_types[k];
        return STATUS_OK;
    }
    words[LAYER_TYPES] = RESIDUAL;
    hint_about(word, words, LAYER_TYPES + 1, HINT_FUNCTIONS, hint);
    hint_list("the layers are", words, LAYER_TYPES + 1, hint);
    return yaml_error(node, b->err, "unknown layer '%.60s'%s", word, hint);
}

// ---- Names ----

static bool valid_name(const char *name, size_t room) {
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.";
    size_t length = strspn(name, letters);
    return length && length < room && !name[length] && name[0] != '.' && name[0] != '-' &&
           name[length - 1] != '.';
}

static status check_name(builder *b, const yaml_node *node, const char *name) {
    const program *p = &b->m->program;
    if (!strcmp(name, INPUT_NAME))
        return yaml_error(node, b->err,
                          "no layer can be named '%s', which is the input of the network; choose "
                          "another name",
                          name);
    for (int i = 0; i < p->count - 1; i++)
        if (!strcmp(p->layers[i].name, name))
            return yaml_error(node, b->err, "two layers are named '%s'", name);
    return STATUS_OK;
}

// The first 64 bits of the name's SHA-256: names of one model have different keys (of a thousand
// names two are equal with a probability of 3e-14).
static void key_of_name(const char *name, uint64_t *key) {
    char text[SHA256_TEXT_BYTES];
    sha256_buffer(name, strlen(name), text);
    text[16] = '\0';
    *key = strtoull(text, NULL, 16);
}

// Sets the given name or, by default, the kind's prefix and the number of layers with that prefix
// so far.
static status name_layer(builder *b, reading *r) {
    layer *l = r->l;
    const char *prefix = layer_kind_prefix(l->kind);
    const yaml_node *node = layer_option(r, "name");
    const char *name;
    int number = 0;
    b->counted[l->kind]++;
    for (int k = 0; k < LAYER_KINDS; k++)
        if (!strcmp(layer_kind_prefix((layer_kind)k), prefix)) number += b->counted[k];
    snprintf(l->name, sizeof l->name, "%s%d", prefix, number);
    if (node) {
        status rc = yaml_string(node, "name", &name, b->err);
        if (rc != STATUS_OK) return rc;
        if (!valid_name(name, sizeof l->name))
            return yaml_error(node, b->err,
                              "'name': expected 1 to %zu letters, digits, '_', '-' (not first) or "
                              "'.' (not first or last), got '%.60s'",
                              sizeof l->name - 1, name);
        snprintf(l->name, sizeof l->name, "%s", name);
    }
    status rc = check_name(b, node ? node : r->place, l->name);
    if (rc == STATUS_OK) key_of_name(l->name, &l->key);
    if (rc != STATUS_OK) return rc;
    yaml_put(r->written, "name", yaml_new_string(l->name));
    return STATUS_OK;
}

// `relu`, `relu:` and `relu: {}` are equivalent. *options is NULL if there is no mapping.
static status split_item(builder *b, const yaml_node *item, const char **word,
                         const yaml_node **options) {
    *options = NULL;
    if (item->kind == YAML_SCALAR) return yaml_string(item, "layer", word, b->err);
    if (item->kind != YAML_MAPPING || item->count != 1)
        return yaml_error(item, b->err,
                          "a layer is one word, or one word with options: conv: {out: 6, ...}");
    *word = item->keys[0];
    const yaml_node *value = item->items[0];
    if (value->kind == YAML_MAPPING)
        *options = value;
    else if (value->kind != YAML_SCALAR || yaml_scalar_type(value) != YAML_NULL)
        return yaml_error(value, b->err, "'%.60s': expected options as {key: value}", *word);
    return STATUS_OK;
}

// Options of PyTorch's modules that have no counterpart here.
static const struct {
    layer_kind kind;
    const char *key, *answer;
} other_options[] = {
    {LAYER_BATCH_NORM, "track_running_stats",
     "batch norm always keeps running statistics, since the result of a test image would otherwise "
     "depend on its batch; leave it out: training computes the same without it"},
    {LAYER_LAYER_NORM, "normalized_shape",
     "layer_norm is over the channels of each position, or after flatten over all features; leave "
     "it out. Over all values of an image it is flatten, layer_norm, unflatten: {size: [channels, "
     "height, width]}"},
};

static status refuse_other_options(builder *b, const layer_type *type, const yaml_node *options) {
    for (size_t i = 0; i < sizeof other_options / sizeof *other_options; i++) {
        const char *key = other_options[i].key;
        const yaml_node *node = yaml_find(options, key);
        if (node && type->kind == other_options[i].kind)
            return yaml_error(node, b->err, "'%s': %s", key, other_options[i].answer);
    }
    return STATUS_OK;
}

static status check_options(builder *b, const layer_type *type, const yaml_node *options) {
    const layer_number *numbers = layer_kind_traits[type->kind].numbers;
    const char *keys[LAYER_OPTIONS + LAYER_NUMBERS + 2] = {"name", "from"};
    size_t count = 2;
    if (!options) return STATUS_OK;
    const status rc = refuse_other_options(b, type, options);
    if (rc != STATUS_OK) return rc;
    for (int i = 0; i < LAYER_OPTIONS && type->options[i]; i++) keys[count++] = type->options[i];
    for (int i = 0; i < LAYER_NUMBERS && numbers[i].key; i++) keys[count++] = numbers[i].key;
    return yaml_check_keys(options, keys, count, b->err);
}

// Sets the layer's input: the output of the layer that `from` names, else of b->source. Described
// only if it is not that of the layer before.
static status find_input(builder *b, reading *r) {
    const yaml_node *node = layer_option(r, "from");
    layer *l = r->l;
    int source = b->source;
    NEED(node ? layer_find(b, node, "from", &source) : STATUS_OK);
    l->skip = l->number - 1 - source;
    l->in = l->out = layer_shape(b, source);
    l->flat = source != INPUT_LAYER && b->m->program.layers[source].flat;
    if (!l->skip) return STATUS_OK;
    yaml_put(r->written, "from", yaml_new_string(layer_name(b, source)));
    return STATUS_OK;
}

// Appends {word: written} to the description. Takes ownership of `written`.
static void describe_layer(builder *b, const char *word, yaml_node *written) {
    yaml_node *item = yaml_new(YAML_MAPPING);
    yaml_put(item, word, written);
    item->flow = true;
    yaml_append(b->written, item);
}

static status read_layer(builder *b, const layer_type *type, const yaml_node *item,
                         const yaml_node *options) {
    program *p = &b->m->program;
    reading r = {.place = item, .options = options};
    status rc = STATUS_OK;
    if (p->count && p->layers[p->count - 1].kind == LAYER_LOG_SOFTMAX)
        return yaml_error(item, b->err, "no layer can follow '%s', which is part of the loss",
                          p->layers[p->count - 1].name);
    if (p->count == MAX_LAYERS)
        return yaml_error(item, b->err, "a model may have at most %d layers", MAX_LAYERS);
    p->layers = memory_grow(p->layers, &b->layer_capacity, (size_t)p->count + 1, sizeof(layer));
    TRY(check_options(b, type, options));
    r.written = yaml_new(YAML_MAPPING);
    r.written->flow = true;
    r.l = &p->layers[p->count];
    *r.l = (layer){.kind = type->kind, .number = p->count};
    p->count++;
    TRY(name_layer(b, &r));
    TRY(find_input(b, &r));
    TRY(type->read(b, &r));
    TRY(layer_read_numbers(b, &r));
    TRY(layer_add_tensors(b, &r));
    if (shape_size(r.l->out) > MAX_FEATURES) TRY(layer_refuse_size(b, &r));
    b->source = r.l->number;
    describe_layer(b, layer_types[type->kind].word, r.written);
    return STATUS_OK;
out:
    yaml_free(r.written);
    return rc;
}

static status read_list(builder *b, const yaml_node *list, const char *key);

// Adds the output of layer `with`: the end of a residual block.
static status read_sum(builder *b, const yaml_node *item, const yaml_node *name, int with) {
    yaml_node *options = yaml_new(YAML_MAPPING);
    status rc = STATUS_OK;
    if (name) yaml_put(options, "name", yaml_copy(name));
    yaml_put(options, "with", yaml_new_string(layer_name(b, with)));
    rc = read_layer(b, &layer_types[LAYER_ADD], item, options);
    yaml_free(options);
    return rc;
}

// residual: {body: [...], shortcut: [...], name: ...} stands for the layers of the body, those of
// the shortcut from the same input, and an add layer.
static status read_residual(builder *b, const yaml_node *item, const yaml_node *options) {
    static const char *const keys[] = {"body", "shortcut", "name"};
    const int input = b->source;
    const yaml_node *body = options ? yaml_find(options, "body") : NULL;
    const yaml_node *shortcut = options ? yaml_find(options, "shortcut") : NULL;
    if (options) NEED(yaml_check_keys(options, keys, 3, b->err));
    NEED(body ? STATUS_OK
              : yaml_error(item, b->err, "'residual' needs a 'body': a list of layers"));
    NEED(read_list(b, body, "body"));
    const int end = b->source;
    if (shortcut) {
        b->source = input;
        NEED(read_list(b, shortcut, "shortcut"));
    }
    return read_sum(b, item, yaml_find(options, "name"), shortcut ? end : input);
}

static status read_item(builder *b, const yaml_node *item) {
    const char *word;
    const yaml_node *options;
    const layer_type *type = NULL;
    NEED(split_item(b, item, &word, &options));
    if (!strcmp(word, RESIDUAL)) return read_residual(b, item, options);
    NEED(find_type(b, item, word, &type));
    return read_layer(b, type, item, options);
}

static status read_list(builder *b, const yaml_node *list, const char *key) {
    if (list->kind != YAML_SEQUENCE || !list->count)
        return yaml_error(list, b->err, "'%s': expected a list of layers", key);
    for (size_t i = 0; i < list->count; i++) {
        const status rc = read_item(b, list->items[i]);
        if (rc != STATUS_OK) return rc;
    }
    return STATUS_OK;
}

// Only the last layer may have an output that nobody reads.
static status check_readers(const builder *b, const yaml_node *list) {
    const program *p = &b->m->program;
    bool *has_reader = memory_new((size_t)p->count + 1, sizeof *has_reader);
    status rc = STATUS_OK;
    for (int i = 0; i < p->count; i++) {
        for (int k = 0; k < layer_inputs(&p->layers[i]); k++)
            has_reader[layer_input_source(p, i, k) + 1] = true;
    }
    for (int v = 0; v < p->count && rc == STATUS_OK; v++)
        if (!has_reader[v])
            rc =
                yaml_error(list, b->err, "no layer reads the output of '%s'", layer_name(b, v - 1));
    free(has_reader);
    return rc;
}

// The features of the last layer are the logits of the classes.
static status check_end(const builder *b, const yaml_node *end) {
    const program *p = &b->m->program;
    const layer *last = &p->layers[p->count - 1];
    if (!last->flat)
        return yaml_error(end, b->err,
                          "the network must end in a vector, with a value for each class, but '%s' "
                          "gives [%d, %d, %d]: put flatten after it",
                          last->name, last->out.channels, last->out.height, last->out.width);
    if (last->out.channels < 2)
        return yaml_error(end, b->err,
                          "the network has one output: the loss is cross entropy, which needs an "
                          "output for each class, of two classes two: linear: {out: 2}, and no "
                          "sigmoid after it");
    if (p->parameters == 0)
        return yaml_error(end, b->err, "there is nothing to train: no layer has parameters");
    return STATUS_OK;
}

static status read_layers(builder *b, const yaml_node *list) {
    NEED(read_list(b, list, "layers"));
    NEED(check_end(b, list->items[list->count - 1]));
    return check_readers(b, list);
}

// ---- The file ----

static status read_input(const yaml_node *node, shape *input, error *err) {
    int64_t dims[3], size = 1;
    if (node->kind != YAML_SEQUENCE || node->count != 3)
        return yaml_error(node, err, "'input': expected [channels, height, width]");
    for (int i = 0; i < 3; i++) {
        NEED(yaml_integer(node->items[i], "input", 1, MAX_WINDOW, &dims[i], err));
        size *= dims[i];
    }
    if (dims[0] > ENGINE_MAX_CHANNELS)
        return yaml_error(node->items[0], err, "'input': expected at most %d channels, got %d",
                          (int)ENGINE_MAX_CHANNELS, (int)dims[0]);
    if (size > MAX_FEATURES)
        return yaml_error(node, err, "'input': more than %d values", MAX_FEATURES);
    *input = (shape){(int)dims[0], (int)dims[1], (int)dims[2]};
    return STATUS_OK;
}

static status read_header(const yaml_node *root, model *m, const yaml_node **layers, error *err) {
    static const char *const keys[] = {"schema", "name", "input", "layers"};
    const yaml_node *node[4];
    const char *text;
    if (root->kind == YAML_MAPPING && !yaml_find(root, "schema"))
        return yaml_error(root, err, "'schema' is missing: expected 'lockstep.model/1'");
    NEED(yaml_check_keys(root, keys, 4, err));
    for (int i = 0; i < 4; i++) {
        node[i] = yaml_find(root, keys[i]);
        if (!node[i]) return yaml_error(root, err, "'%s' is missing", keys[i]);
    }
    NEED(yaml_string(node[0], "schema", &text, err));
    if (strcmp(text, "lockstep.model/1") != 0)
        return yaml_error(node[0], err, "'schema': expected 'lockstep.model/1', got '%.60s'", text);
    NEED(yaml_string(node[1], "name", &text, err));
    if (!*text || strlen(text) >= sizeof m->name)
        return yaml_error(node[1], err, "'name': expected 1 to %zu characters", sizeof m->name - 1);
    snprintf(m->name, sizeof m->name, "%s", text);
    NEED(read_input(node[2], &m->program.input, err));
    *layers = node[3];
    return STATUS_OK;
}

static yaml_node *describe_input(shape input) {
    yaml_node *list = yaml_new(YAML_SEQUENCE);
    list->flow = true;
    const int dims[] = {input.channels, input.height, input.width};
    for (int i = 0; i < 3; i++) {
        yaml_append(list, yaml_new_integer(dims[i]));
    }
    return list;
}

// Takes ownership of `layers`.
static void describe(model *m, yaml_node *layers) {
    yaml_node *d = m->description = yaml_new(YAML_MAPPING);
    yaml_put(d, "schema", yaml_new_string("lockstep.model/1"));
    yaml_put(d, "name", yaml_new_string(m->name));
    yaml_put(d, "input", describe_input(m->program.input));
    yaml_put(d, "layers", layers);
    m->canonical = json_from_yaml(d);
}

status model_from_yaml(model *m, const yaml_node *root, error *err) {
    *m = (model){0};
    builder b = {.m = m, .err = err};
    const yaml_node *layers = NULL;
    status rc = read_header(root, m, &layers, err);
    if (rc != STATUS_OK) goto out;
    b.source = INPUT_LAYER;
    b.written = yaml_new(YAML_SEQUENCE);
    TRY(read_layers(&b, layers));
    m->program.classes = layer_shape(&b, b.source).channels;
    describe(m, b.written);
    b.written = NULL;
out:
    yaml_free(b.written);
    if (rc != STATUS_OK) model_release(m);
    return rc;
}

status model_read(model *m, const char *path, error *err) {
    *m = (model){0};
    yaml_node *root;
    status rc = yaml_read_file(path, &root, err);
    if (rc != STATUS_OK) return rc;
    rc = model_from_yaml(m, root, err);
    yaml_free(root);
    return rc;
}

void model_release(model *m) {
    for (int i = 0; i < m->program.count; i++) free((int *)m->program.layers[i].other_skips);
    free(m->program.layers);
    free(m->tensors);
    yaml_free(m->description);
    free(m->canonical);
    *m = (model){0};
}

const model_tensor *model_find(const model *m, const char *name) {
    for (int i = 0; i < m->tensor_count; i++)
        if (!strcmp(m->tensors[i].name, name)) return &m->tensors[i];
    return NULL;
}

layer_cost model_cost(const model *m, int number) {
    const layer *l = &m->program.layers[number];
    if (layer_traits_of(l)->tensors != TENSORS_PRODUCT) return (layer_cost){0};
    double positions = (double)l->out.height * (double)l->out.width;
    double each = positions * (double)layer_weights(l);
    bool first = true;
    for (int i = 0; i < number && layer_source(&m->program, number) != INPUT_LAYER; i++)
        if (layer_weights(&m->program.layers[i])) first = false;
    return (layer_cost){
        .forward = each, .input_gradient = first ? 0 : each, .weight_gradient = each};
}
