#include "nn/model.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cli.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/random.h"

// Limits far above what is trained here; they keep every size and product in range.
enum {
    MAX_LAYERS = 1000,
    MAX_FEATURES = 1 << 24, // of one activation
    MAX_WINDOW = 1 << 12,   // kernel, stride, padding
    MAX_PARAMETERS = 1 << 29,
};

typedef struct builder {
    model *m;
    size_t layer_capacity, tensor_capacity;
    shape at;  // what the next layer gets
    bool flat; // after flatten
    int counted[LAYER_KINDS];
    yaml_node *written; // the layers of the description
    error *err;
} builder;

// A layer being read: its YAML options (NULL: none were given) and what becomes of them.
typedef struct reading {
    const yaml_node *place; // for messages
    const yaml_node *options;
    yaml_node *written; // every option, to the description
    layer *l;
} reading;

typedef struct layer_type {
    const char *word;   // in model files
    const char *prefix; // of default names
    const char *options[7];
    status (*read)(builder *b, reading *r);
} layer_type;

// ---- Options ----

static const yaml_node *option(const reading *r, const char *key) {
    return r->options ? yaml_find(r->options, key) : NULL;
}

static status write_pair(yaml_node *written, const char *key, int h, int w, error *err) {
    if (h == w) return yaml_put(written, key, yaml_new_integer(h, err), err);
    yaml_node *pair = yaml_new(YAML_SEQUENCE, err);
    if (!pair) return STATUS_FAILED;
    pair->flow = true;
    status rc = STATUS_OK;
    TRY(yaml_append(pair, yaml_new_integer(h, err), err));
    TRY(yaml_append(pair, yaml_new_integer(w, err), err));
    return yaml_put(written, key, pair, err);
out:
    yaml_free(pair);
    return rc;
}

// An integer for both directions, or [height, width]. *h and *w hold the default; 0: it must be
// given.
static status read_pair(builder *b, const reading *r, const char *key, int min, int *h, int *w) {
    const yaml_node *node = option(r, key), *first = node, *second = node;
    if (!node && *h < min) return yaml_error(r->place, b->err, "'%s' is missing", key);
    if (node && node->kind == YAML_SEQUENCE) {
        if (node->count != 2)
            return yaml_error(node, b->err, "'%s': expected an integer or [height, width]", key);
        first = node->items[0];
        second = node->items[1];
    }
    status rc = STATUS_OK;
    int64_t value;
    if (node) {
        TRY(yaml_integer(first, key, min, MAX_WINDOW, &value, b->err));
        *h = (int)value;
        TRY(yaml_integer(second, key, min, MAX_WINDOW, &value, b->err));
        *w = (int)value;
    }
    TRY(write_pair(r->written, key, *h, *w, b->err));
out:
    return rc;
}

static status read_count(builder *b, const reading *r, const char *key, int *count) {
    const yaml_node *node = option(r, key);
    if (!node) return yaml_error(r->place, b->err, "'%s' is missing", key);
    int64_t value;
    status rc = yaml_integer(node, key, 1, MAX_FEATURES, &value, b->err);
    if (rc != STATUS_OK) return rc;
    *count = (int)value;
    return yaml_put(r->written, key, yaml_new_integer(value, b->err), b->err);
}

static status read_number(builder *b, const reading *r, const char *key, double *value) {
    const yaml_node *node = option(r, key);
    status rc = node ? yaml_number(node, key, value, b->err) : STATUS_OK;
    if (rc != STATUS_OK) return rc;
    return yaml_put(r->written, key, yaml_new_number(*value, b->err), b->err);
}

static status read_bias(builder *b, const reading *r) {
    const yaml_node *node = option(r, "bias");
    r->l->has_bias = true;
    status rc = node ? yaml_boolean(node, "bias", &r->l->has_bias, b->err) : STATUS_OK;
    if (rc != STATUS_OK) return rc;
    return yaml_put(r->written, "bias", yaml_new_boolean(r->l->has_bias, b->err), b->err);
}

// ---- Tensors ----

// Adds a tensor and gives it a place in its arena.
static status add_tensor(builder *b, const reading *r, const char *suffix, bool is_buffer, int rank,
                         const int64_t *dims, size_t *offset) {
    model *m = b->m;
    size_t count = 1, *used = is_buffer ? &m->program.buffers : &m->program.parameters;
    for (int i = 0; i < rank; i++)
        if (__builtin_mul_overflow(count, (size_t)dims[i], &count)) count = SIZE_MAX;
    if (count > MAX_PARAMETERS - *used)
        return yaml_error(r->place, b->err, "the model has more than %d parameters",
                          MAX_PARAMETERS);
    void *tensors = m->tensors;
    status rc = memory_grow(&tensors, &b->tensor_capacity, (size_t)m->tensor_count + 1,
                            sizeof *m->tensors, b->err);
    m->tensors = tensors;
    if (rc != STATUS_OK) return rc;
    model_tensor *t = &m->tensors[m->tensor_count++];
    *t = (model_tensor){.rank = rank,
                        .offset = *used,
                        .count = count,
                        .is_buffer = is_buffer,
                        .layer = r->l->number};
    snprintf(t->name, sizeof t->name, "%s.%s", r->l->name, suffix);
    memcpy(t->shape, dims, (size_t)rank * sizeof *dims);
    *offset = *used;
    *used += (count + ARENA_ALIGNMENT - 1) / ARENA_ALIGNMENT * ARENA_ALIGNMENT;
    return STATUS_OK;
}

// ---- Layers ----

// Sets the layer's output. `channels` come out of a window that slides over the input.
static status slide_window(builder *b, reading *r, int channels) {
    layer *l = r->l;
    int height = l->in.height + 2 * l->pad_h, width = l->in.width + 2 * l->pad_w;
    if (l->kernel_h > height || l->kernel_w > width)
        return yaml_error(r->place, b->err,
                          "the window of layer '%s' is larger than its input: %dx%d on %dx%d",
                          l->name, l->kernel_h, l->kernel_w, height, width);
    l->out = (shape){channels, (height - l->kernel_h) / l->stride_h + 1,
                     (width - l->kernel_w) / l->stride_w + 1};
    return STATUS_OK;
}

static status need_image(builder *b, const reading *r) {
    if (!b->flat) return STATUS_OK;
    return yaml_error(r->place, b->err, "layer '%s' needs an image, but comes after flatten",
                      r->l->name);
}

static status read_conv(builder *b, reading *r) {
    layer *l = r->l;
    int channels;
    status rc = STATUS_OK;
    l->stride_h = l->stride_w = 1;
    TRY(need_image(b, r));
    TRY(read_count(b, r, "out", &channels));
    TRY(read_pair(b, r, "kernel", 1, &l->kernel_h, &l->kernel_w));
    TRY(read_pair(b, r, "stride", 1, &l->stride_h, &l->stride_w));
    TRY(read_pair(b, r, "padding", 0, &l->pad_h, &l->pad_w));
    TRY(read_bias(b, r));
    TRY(slide_window(b, r, channels));
    int64_t dims[] = {channels, l->in.channels, l->kernel_h, l->kernel_w};
    TRY(add_tensor(b, r, "weight", false, 4, dims, &l->weight));
    if (l->has_bias) TRY(add_tensor(b, r, "bias", false, 1, dims, &l->bias));
out:
    return rc;
}

static status read_linear(builder *b, reading *r) {
    layer *l = r->l;
    int features;
    status rc = STATUS_OK;
    if (!b->flat)
        return yaml_error(r->place, b->err,
                          "layer '%s' is linear and needs a vector: put flatten before it",
                          l->name);
    TRY(read_count(b, r, "out", &features));
    TRY(read_bias(b, r));
    l->out = (shape){features, 1, 1};
    int64_t dims[] = {features, l->in.channels};
    TRY(add_tensor(b, r, "weight", false, 2, dims, &l->weight));
    if (l->has_bias) TRY(add_tensor(b, r, "bias", false, 1, dims, &l->bias));
out:
    return rc;
}

static status read_batch_norm(builder *b, reading *r) {
    layer *l = r->l;
    status rc = STATUS_OK;
    l->eps = 1e-5;
    l->momentum = 0.1;
    TRY(read_number(b, r, "eps", &l->eps));
    TRY(read_number(b, r, "momentum", &l->momentum));
    if (l->eps <= 0) return yaml_error(option(r, "eps"), b->err, "'eps' must be above 0");
    if (l->momentum < 0 || l->momentum > 1)
        return yaml_error(option(r, "momentum"), b->err, "'momentum' must be between 0 and 1");
    int64_t dims[] = {l->in.channels};
    TRY(add_tensor(b, r, "weight", false, 1, dims, &l->weight));
    TRY(add_tensor(b, r, "bias", false, 1, dims, &l->bias));
    TRY(add_tensor(b, r, "running_mean", true, 1, dims, &l->mean));
    TRY(add_tensor(b, r, "running_var", true, 1, dims, &l->variance));
out:
    return rc;
}

static status read_pool(builder *b, reading *r) {
    layer *l = r->l;
    status rc = STATUS_OK;
    TRY(need_image(b, r));
    TRY(read_pair(b, r, "size", 1, &l->kernel_h, &l->kernel_w));
    l->stride_h = l->kernel_h;
    l->stride_w = l->kernel_w;
    TRY(read_pair(b, r, "stride", 1, &l->stride_h, &l->stride_w));
    TRY(read_pair(b, r, "padding", 0, &l->pad_h, &l->pad_w));
    // More would make windows that lie in the padding alone.
    if (l->pad_h > l->kernel_h / 2 || l->pad_w > l->kernel_w / 2)
        return yaml_error(option(r, "padding"), b->err,
                          "'padding' of a pool may be at most half its size");
    TRY(slide_window(b, r, l->in.channels));
out:
    return rc;
}

static status read_dropout(builder *b, reading *r) {
    r->l->rate = 0.5;
    status rc = read_number(b, r, "p", &r->l->rate);
    if (rc == STATUS_OK && (r->l->rate < 0 || r->l->rate >= 1))
        return yaml_error(option(r, "p"), b->err, "'p' must be at least 0 and below 1");
    return rc;
}

static status read_flatten(builder *b, reading *r) {
    r->l->out = (shape){(int)shape_size(r->l->in), 1, 1};
    b->flat = true;
    return STATUS_OK;
}

static status read_plain(builder *b, reading *r) {
    (void)b;
    (void)r;
    return STATUS_OK;
}

static const layer_type layer_types[LAYER_KINDS] = {
    [LAYER_CONV] = {"conv",
                    "conv",
                    {"name", "out", "kernel", "stride", "padding", "bias"},
                    read_conv},
    [LAYER_LINEAR] = {"linear", "fc", {"name", "out", "bias"}, read_linear},
    [LAYER_BATCH_NORM] = {"batch_norm", "bn", {"name", "eps", "momentum"}, read_batch_norm},
    [LAYER_RELU] = {"relu", "relu", {"name"}, read_plain},
    [LAYER_MAX_POOL] = {"max_pool", "pool", {"name", "size", "stride", "padding"}, read_pool},
    [LAYER_AVG_POOL] = {"avg_pool", "pool", {"name", "size", "stride", "padding"}, read_pool},
    [LAYER_FLATTEN] = {"flatten", "flatten", {"name"}, read_flatten},
    [LAYER_DROPOUT] = {"dropout", "dropout", {"name", "p"}, read_dropout},
};

// ---- The list ----

static status find_type(builder *b, const yaml_node *node, const char *word, layer_kind *kind) {
    const char *words[LAYER_KINDS];
    for (int k = 0; k < LAYER_KINDS; k++) {
        words[k] = layer_types[k].word;
        if (strcmp(word, words[k])) continue;
        *kind = (layer_kind)k;
        return STATUS_OK;
    }
    const char *near = cli_nearest(word, words, LAYER_KINDS);
    return yaml_error(node, b->err, "unknown layer '%.60s'%s%s%s", word,
                      near ? ": did you mean '" : "", near ? near : "", near ? "'?" : "");
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

// The name given, or the kind's prefix and how many of that prefix there are so far.
static status name_layer(builder *b, reading *r) {
    layer *l = r->l;
    const char *prefix = layer_types[l->kind].prefix;
    const yaml_node *node = option(r, "name");
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
                              "'name': expected 1 to %zu letters, digits, '_' or '.' inside, "
                              "got '%.60s'",
                              sizeof l->name - 1, name);
        snprintf(l->name, sizeof l->name, "%s", name);
    }
    status rc = check_name(b, node ? node : r->place, l->name);
    if (rc != STATUS_OK) return rc;
    return yaml_put(r->written, "name", yaml_new_string(l->name, b->err), b->err);
}

// `relu`, `relu:` and `relu: {}` are the same; *options is NULL without any.
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

// Appends {word: written} to the description. Takes `written` over.
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

// Takes `layers` over.
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

// ---- Initial values and costs ----

static void fill(float *values, size_t count, float value) {
    for (size_t i = 0; i < count; i++) values[i] = value;
}

// Uniform in ±bound. 2u - 1 is exact, so that one rounding remains.
static void fill_uniform(const random_stream *s, float bound, float *values, size_t count) {
    for (size_t i = 0; i < count; i++)
        values[i] = bound * (2.0f * random_uniform(s, (uint64_t)i) - 1.0f);
}

void model_init_parameters(const model *m, uint64_t seed, float *parameters, float *buffers) {
    const program *p = &m->program;
    fill(parameters, p->parameters, 0);
    fill(buffers, p->buffers, 0);
    for (int i = 0; i < p->count; i++) {
        const layer *l = &p->layers[i];
        random_stream s = {.seed = seed, .purpose = RANDOM_INIT, .layer = (uint32_t)l->number};
        size_t channels = (size_t)l->out.channels;
        if (l->kind == LAYER_BATCH_NORM) {
            fill(parameters + l->weight, channels, 1);
            fill(buffers + l->variance, channels, 1);
        } else if (layer_weights(l)) {
            double fan_in = (double)layer_weights(l) / (double)channels;
            float bound = (float)(1 / sqrt(fan_in));
            fill_uniform(&s, bound, parameters + l->weight, layer_weights(l));
            s.sample = 1;
            if (l->has_bias) fill_uniform(&s, bound, parameters + l->bias, channels);
        }
    }
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
