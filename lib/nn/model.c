// SPDX-License-Identifier: MIT
// Builds a model from a model file: its layers, their names, and the complete description.
#include "nn/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/memory.h"
#include "compute/backend.h"
#include "nn/layer_types.h"
#include "nn/layer_words.h"

// ---- The list ----

static status find_type(builder *b, const yaml_node *node, const char *word, layer_kind *kind) {
    char answer[400];
    for (int k = 0; k < LAYER_KINDS; k++) {
        if (strcmp(word, layer_types[k].word)) continue;
        *kind = (layer_kind)k;
        return STATUS_OK;
    }
    layer_words_explain(word, answer, sizeof answer);
    return yaml_error(node, b->err, "unknown layer '%.60s': %s", word, answer);
}

static bool valid_name(const char *name, size_t room) {
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.";
    size_t length = strspn(name, letters);
    return length && length < room && !name[length] && name[0] != '.' && name[length - 1] != '.';
}

static status check_name(builder *b, const yaml_node *node, const char *name) {
    const program *p = &b->m->program;
    for (int i = 0; i < p->count - 1; i++)
        if (!strcmp(p->layers[i].name, name))
            return yaml_error(node, b->err, "two layers are named '%s'", name);
    return STATUS_OK;
}

// Sets the given name or, by default, the kind's prefix and the number of layers with that prefix
// so far.
static status name_layer(builder *b, reading *r) {
    layer *l = r->l;
    const char *prefix = layer_types[l->kind].prefix;
    const yaml_node *node = layer_option(r, "name");
    const char *name;
    int number = 0;
    b->counted[l->kind]++;
    for (int k = 0; k < LAYER_KINDS; k++)
        if (!strcmp(layer_types[k].prefix, prefix)) number += b->counted[k];
    snprintf(l->name, sizeof l->name, "%s%d", prefix, number);
    if (node) {
        status rc = yaml_string(node, "name", &name, b->err);
        if (rc != STATUS_OK) return rc;
        if (!valid_name(name, sizeof l->name))
            return yaml_error(node, b->err,
                              "'name': expected 1 to %zu letters, digits, '_' or '.' (not first or "
                              "last), got '%.60s'",
                              sizeof l->name - 1, name);
        snprintf(l->name, sizeof l->name, "%s", name);
    }
    status rc = check_name(b, node ? node : r->place, l->name);
    if (rc != STATUS_OK) return rc;
    return yaml_put(r->written, "name", yaml_new_string(l->name, b->err), b->err);
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

static size_t count_words(const char *const *words, size_t room) {
    size_t n = 0;
    while (n < room && words[n]) n++;
    return n;
}

// Appends {word: written} to the description. Takes ownership of `written`.
static status describe_layer(builder *b, const char *word, yaml_node *written) {
    yaml_node *item = yaml_new(YAML_MAPPING, b->err);
    status rc = yaml_put(item, word, written, b->err);
    if (rc == STATUS_OK) {
        item->flow = true;
        return yaml_append(b->written, item, b->err);
    }
    yaml_free(item);
    return rc;
}

static status read_layer(builder *b, const yaml_node *item) {
    program *p = &b->m->program;
    const char *word;
    layer_kind kind = LAYER_RELU;
    reading r = {.place = item};
    status rc = STATUS_FAILED;
    if (p->count == MAX_LAYERS)
        return yaml_error(item, b->err, "a model may have at most %d layers", MAX_LAYERS);
    void *layers = p->layers;
    TRY(memory_grow(&layers, &b->layer_capacity, (size_t)p->count + 1, sizeof(layer), b->err));
    p->layers = layers;
    TRY(split_item(b, item, &word, &r.options));
    TRY(find_type(b, item, word, &kind));
    const layer_type *type = &layer_types[kind];
    if (r.options)
        TRY(yaml_check_keys(r.options, type->options,
                            count_words(type->options, sizeof type->options / sizeof(char *)),
                            b->err));
    rc = STATUS_FAILED;
    r.written = yaml_new(YAML_MAPPING, b->err);
    if (!r.written) goto out;
    r.written->flow = true;
    r.l = &p->layers[p->count];
    *r.l = (layer){.kind = kind, .number = p->count, .in = b->at, .out = b->at};
    p->count++;
    TRY(name_layer(b, &r));
    TRY(type->read(b, &r));
    if (shape_size(r.l->out) > MAX_FEATURES) {
        rc = yaml_error(item, b->err, "the output of layer '%s' has more than %d values", r.l->name,
                        MAX_FEATURES);
        goto out;
    }
    b->at = r.l->out;
    return describe_layer(b, type->word, r.written);
out:
    yaml_free(r.written);
    return rc;
}

static status read_layers(builder *b, const yaml_node *list) {
    if (list->kind != YAML_SEQUENCE || !list->count)
        return yaml_error(list, b->err, "'layers': expected a list of layers");
    for (size_t i = 0; i < list->count; i++) {
        status rc = read_layer(b, list->items[i]);
        if (rc != STATUS_OK) return rc;
    }
    const program *p = &b->m->program;
    const layer *last = &p->layers[p->count - 1];
    if (last->kind != LAYER_LINEAR)
        return yaml_error(list->items[list->count - 1], b->err,
                          "the last layer must be linear: its outputs are the classes");
    return STATUS_OK;
}

// ---- The file ----

static status read_input(const yaml_node *node, shape *input, error *err) {
    int64_t dims[3], size = 1;
    if (node->kind != YAML_SEQUENCE || node->count != 3)
        return yaml_error(node, err, "'input': expected [channels, height, width]");
    for (int i = 0; i < 3; i++) {
        status rc = yaml_integer(node->items[i], "input", 1, MAX_WINDOW, &dims[i], err);
        if (rc != STATUS_OK) return rc;
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
    status rc = STATUS_OK;
    if (root->kind == YAML_MAPPING && !yaml_find(root, "schema"))
        return yaml_error(root, err, "'schema' is missing: expected 'lockstep.model/1'");
    TRY(yaml_check_keys(root, keys, 4, err));
    for (int i = 0; i < 4; i++) {
        node[i] = yaml_find(root, keys[i]);
        if (!node[i]) return yaml_error(root, err, "'%s' is missing", keys[i]);
    }
    TRY(yaml_string(node[0], "schema", &text, err));
    if (strcmp(text, "lockstep.model/1") != 0)
        return yaml_error(node[0], err, "'schema': expected 'lockstep.model/1', got '%.60s'", text);
    TRY(yaml_string(node[1], "name", &text, err));
    if (!*text || strlen(text) >= sizeof m->name)
        return yaml_error(node[1], err, "'name': expected 1 to %zu characters", sizeof m->name - 1);
    snprintf(m->name, sizeof m->name, "%s", text);
    TRY(read_input(node[2], &m->program.input, err));
    *layers = node[3];
out:
    return rc;
}

static yaml_node *describe_input(shape input, error *err) {
    yaml_node *list = yaml_new(YAML_SEQUENCE, err);
    if (!list) return NULL;
    list->flow = true;
    const int dims[] = {input.channels, input.height, input.width};
    for (int i = 0; i < 3; i++) {
        if (yaml_append(list, yaml_new_integer(dims[i], err), err) == STATUS_OK) continue;
        yaml_free(list);
        return NULL;
    }
    return list;
}

// Takes ownership of `layers`.
static status describe(model *m, yaml_node *layers, error *err) {
    status rc = STATUS_FAILED;
    yaml_node *d = m->description = yaml_new(YAML_MAPPING, err);
    if (!d) goto out;
    TRY(yaml_put(d, "schema", yaml_new_string("lockstep.model/1", err), err));
    TRY(yaml_put(d, "name", yaml_new_string(m->name, err), err));
    TRY(yaml_put(d, "input", describe_input(m->program.input, err), err));
    rc = yaml_put(d, "layers", layers, err);
    layers = NULL;
    if (rc == STATUS_OK) rc = json_from_yaml(d, &m->canonical, err);
out:
    yaml_free(layers);
    return rc;
}

status model_from_yaml(model *m, const yaml_node *root, error *err) {
    *m = (model){0};
    builder b = {.m = m, .err = err};
    const yaml_node *layers = NULL;
    status rc = read_header(root, m, &layers, err);
    if (rc != STATUS_OK) goto out;
    b.at = m->program.input;
    rc = STATUS_FAILED;
    b.written = yaml_new(YAML_SEQUENCE, err);
    if (!b.written) goto out;
    TRY(read_layers(&b, layers));
    m->program.classes = b.at.channels;
    rc = describe(m, b.written, err);
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
    if (l->kind != LAYER_CONV && l->kind != LAYER_LINEAR) return (layer_cost){0};
    double positions = (double)l->out.height * (double)l->out.width;
    double each = positions * (double)layer_weights(l);
    bool first = true;
    for (int i = 0; i < number; i++)
        if (layer_weights(&m->program.layers[i])) first = false;
    return (layer_cost){
        .forward = each, .input_gradient = first ? 0 : each, .weight_gradient = each};
}
