// SPDX-License-Identifier: MIT
// Reading each kind of layer: its options, output shape and tensors.
#include "nn/layer_types.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/spelling.h"

// ---- Names ----

const char *layer_name(const builder *b, int index) {
    return index == INPUT_LAYER ? INPUT_NAME : b->m->program.layers[index].name;
}

shape layer_shape(const builder *b, int index) {
    return index == INPUT_LAYER ? b->m->program.input : b->m->program.layers[index].out;
}

// The last of the layers is the one that asks.
status layer_find(const builder *b, const yaml_node *node, const char *key, int *index) {
    const program *p = &b->m->program;
    const char *name, *names[MAX_LAYERS];
    NEED(yaml_string(node, key, &name, b->err));
    for (*index = INPUT_LAYER; *index < p->count - 1; ++*index) {
        if (!strcmp(layer_name(b, *index), name)) return STATUS_OK;
        names[*index + 1] = layer_name(b, *index);
    }
    const char *near = spelling_nearest(name, names, (size_t)p->count);
    return yaml_error(node, b->err, "'%s': no earlier layer is named '%.60s'%s%s%s", key, name,
                      near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
}

// ---- Options ----

static void write_pair(yaml_node *written, const char *key, int h, int w) {
    if (h == w) {
        yaml_put(written, key, yaml_new_integer(h));
        return;
    }
    yaml_node *pair = yaml_new(YAML_SEQUENCE);
    pair->flow = true;
    yaml_append(pair, yaml_new_integer(h));
    yaml_append(pair, yaml_new_integer(w));
    yaml_put(written, key, pair);
}

// PyTorch's words for a padding.
static status check_word(builder *b, const reading *r, const char *key, const yaml_node *node) {
    const bool same = !strcmp(node->text, "same"), valid = !strcmp(node->text, "valid");
    const int window = r->l->kernel_h;
    if (!window || (!same && !valid)) return STATUS_OK;
    return yaml_error(
        node, b->err,
        "'%s': expected a number, got '%s': for a window of %d at stride 1 that is %d", key,
        node->text, window, same ? window / 2 : 0);
}

// Reads an integer for both directions, or [height, width]. *h and *w hold the default; if it is
// below `min`, the option is mandatory.
static status read_pair(builder *b, const reading *r, const char *key, int min, int *h, int *w) {
    const yaml_node *node = layer_option(r, key), *first = node, *second = node;
    if (!node && *h < min) return yaml_error(r->place, b->err, "'%s' is missing", key);
    if (node && node->kind == YAML_SEQUENCE) {
        if (node->count != 2)
            return yaml_error(node, b->err, "'%s': expected an integer or [height, width]", key);
        first = node->items[0];
        second = node->items[1];
    }
    if (node && node->kind == YAML_SCALAR) NEED(check_word(b, r, key, node));
    int64_t value;
    if (node) {
        NEED(yaml_integer(first, key, min, MAX_WINDOW, &value, b->err));
        *h = (int)value;
        NEED(yaml_integer(second, key, min, MAX_WINDOW, &value, b->err));
        *w = (int)value;
    }
    write_pair(r->written, key, *h, *w);
    return STATUS_OK;
}

static status read_count(builder *b, const reading *r, const char *key, int *count) {
    const yaml_node *node = layer_option(r, key);
    if (!node) return yaml_error(r->place, b->err, "'%s' is missing", key);
    int64_t value;
    NEED(yaml_integer(node, key, 1, MAX_FEATURES, &value, b->err));
    *count = (int)value;
    yaml_put(r->written, key, yaml_new_integer(value));
    return STATUS_OK;
}

static status read_number(builder *b, const reading *r, const char *key, double *value) {
    const yaml_node *node = layer_option(r, key);
    NEED(node ? yaml_number(node, key, value, b->err) : STATUS_OK);
    yaml_put(r->written, key, yaml_new_number(*value));
    return STATUS_OK;
}

// Described only if it is not the default.
static status read_flag(builder *b, const reading *r, const char *key, bool otherwise,
                        bool *value) {
    const yaml_node *node = layer_option(r, key);
    *value = otherwise;
    status rc = node ? yaml_boolean(node, key, value, b->err) : STATUS_OK;
    if (rc == STATUS_OK && *value != otherwise) yaml_put(r->written, key, yaml_new_boolean(*value));
    return rc;
}

static status read_bias(builder *b, const reading *r) {
    const yaml_node *node = layer_option(r, "bias");
    r->l->has_bias = true;
    NEED(node ? yaml_boolean(node, "bias", &r->l->has_bias, b->err) : STATUS_OK);
    yaml_put(r->written, "bias", yaml_new_boolean(r->l->has_bias));
    return STATUS_OK;
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
    m->tensors = memory_grow(m->tensors, &b->tensor_capacity, (size_t)m->tensor_count + 1,
                             sizeof *m->tensors);
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

// Weights of products have dimensions of outputs, inputs and, if there is one, the window.
status layer_add_tensors(builder *b, const reading *r) {
    layer *l = r->l;
    const layer_tensors tensors = layer_traits_of(l)->tensors;
    const int rank = tensors == TENSORS_CHANNELS ? 1 : l->kernel_h ? 4 : 2;
    const int64_t dims[] = {l->out.channels, l->in.channels / layer_groups(l), l->kernel_h,
                            l->kernel_w};
    if (tensors != TENSORS_NONE) NEED(add_tensor(b, r, "weight", false, rank, dims, &l->weight));
    if (layer_biases(l)) NEED(add_tensor(b, r, "bias", false, 1, dims, &l->bias));
    if (layer_statistics(l)) {
        NEED(add_tensor(b, r, "running_mean", true, 1, dims, &l->mean));
        NEED(add_tensor(b, r, "running_var", true, 1, dims, &l->variance));
    }
    return STATUS_OK;
}

// ---- Layers ----

status layer_refuse_size(builder *b, const reading *r) {
    return yaml_error(r->place, b->err, "the output of layer '%s' has more than %d values",
                      r->l->name, MAX_FEATURES);
}

// Returns the windows along one axis; 0: none fits. With `ceil`, the last one may reach beyond the
// padding, but begins in front of that of the other end.
static int count_windows(int in, int kernel, int stride, int pad, bool ceil) {
    const int room = in + 2 * pad - kernel + (ceil ? stride - 1 : 0);
    const int windows = room < 0 ? 0 : room / stride + 1;
    return windows - (ceil && (windows - 1) * stride >= in + pad);
}

// Sets the layer's output shape: `channels` channels from a window that slides over the input.
static status slide_window(builder *b, reading *r, int channels, bool ceil) {
    layer *l = r->l;
    l->out =
        (shape){channels, count_windows(l->in.height, l->kernel_h, l->stride_h, l->pad_h, ceil),
                count_windows(l->in.width, l->kernel_w, l->stride_w, l->pad_w, ceil)};
    if (l->out.height && l->out.width) return STATUS_OK;
    return yaml_error(
        r->place, b->err, "the window of layer '%s' is larger than its input: %dx%d on %dx%d",
        l->name, l->kernel_h, l->kernel_w, l->in.height + 2 * l->pad_h, l->in.width + 2 * l->pad_w);
}

static status need_image(builder *b, reading *r) {
    if (!r->l->flat) return STATUS_OK;
    return yaml_error(r->place, b->err, "layer '%s' needs an image, but comes after flatten",
                      r->l->name);
}

// Described only if there are several.
static status read_groups(builder *b, const reading *r, int channels) {
    const yaml_node *node = layer_option(r, "groups");
    layer *l = r->l;
    int64_t groups = 1;
    NEED(node ? yaml_integer(node, "groups", 1, MAX_FEATURES, &groups, b->err) : STATUS_OK);
    if (l->in.channels % groups || channels % groups)
        return yaml_error(node, b->err,
                          "'groups': layer '%s' has %d channels in and %d out; %d does not divide "
                          "both",
                          l->name, l->in.channels, channels, (int)groups);
    l->groups = (int)groups;
    if (groups == 1) return STATUS_OK;
    yaml_put(r->written, "groups", yaml_new_integer(groups));
    return STATUS_OK;
}

static status read_conv(builder *b, reading *r) {
    layer *l = r->l;
    int channels;
    l->stride_h = l->stride_w = 1;
    NEED(need_image(b, r));
    NEED(read_count(b, r, "out", &channels));
    NEED(read_pair(b, r, "kernel", 1, &l->kernel_h, &l->kernel_w));
    NEED(read_pair(b, r, "stride", 1, &l->stride_h, &l->stride_w));
    NEED(read_pair(b, r, "padding", 0, &l->pad_h, &l->pad_w));
    NEED(read_bias(b, r));
    NEED(read_groups(b, r, channels));
    return slide_window(b, r, channels, false);
}

static status read_linear(builder *b, reading *r) {
    layer *l = r->l;
    int features;
    if (!l->flat)
        return yaml_error(r->place, b->err,
                          "layer '%s' is linear and needs a vector: put flatten before it",
                          l->name);
    NEED(read_count(b, r, "out", &features));
    NEED(read_bias(b, r));
    l->out = (shape){features, 1, 1};
    return STATUS_OK;
}

static status read_eps(builder *b, reading *r) {
    layer *l = r->l;
    l->eps = 1e-5;
    NEED(read_number(b, r, "eps", &l->eps));
    if (l->eps <= 0 || l->eps > (double)FLT_MAX)
        return yaml_error(layer_option(r, "eps"), b->err,
                          "'eps' must be above 0, and in the range of single precision");
    if (1 / sqrt(l->eps) > (double)FLT_MAX)
        return yaml_error(
            layer_option(r, "eps"), b->err,
            "'eps' must be larger: 1 / sqrt(eps) exceeds the range of single precision");
    return STATUS_OK;
}

// A number of groups of equally many channels.
static status read_divisor(builder *b, reading *r) {
    layer *l = r->l;
    const status rc = read_count(b, r, "groups", &l->groups);
    if (rc != STATUS_OK || l->in.channels % l->groups == 0) return rc;
    return yaml_error(layer_option(r, "groups"), b->err,
                      "'groups': %d does not divide the %d channels of layer '%s'", l->groups,
                      l->in.channels, l->name);
}

static status read_group_norm(builder *b, reading *r) {
    NEED(read_divisor(b, r));
    return read_eps(b, r);
}

static status read_local_response_norm(builder *b, reading *r) {
    const yaml_node *node = layer_option(r, "size");
    layer *l = r->l;
    int64_t size;
    NEED(need_image(b, r));
    if (!node) return yaml_error(r->place, b->err, "'size' is missing");
    NEED(yaml_integer(node, "size", 1, LOCAL_RESPONSE_WINDOW, &size, b->err));
    yaml_put(r->written, "size", yaml_new_integer(size));
    l->window = (int)size;
    l->beta = 0.75;
    NEED(read_number(b, r, "beta", &l->beta));
    if (!(l->beta > 0 && l->beta <= 1 && 4 * l->beta == local_response_quarters(l)))
        return yaml_error(layer_option(r, "beta"), b->err,
                          "'beta' must be 0.25, 0.5, 0.75 or 1: powers that square roots make");
    return STATUS_OK;
}

// Group norm of as many groups as channels, and described as that.
static status read_instance_norm(builder *b, reading *r) {
    NEED(need_image(b, r));
    r->l->groups = r->l->in.channels;
    yaml_put(r->written, "groups", yaml_new_integer(r->l->groups));
    return read_eps(b, r);
}

static status read_max_pool(builder *b, reading *r) {
    layer *l = r->l;
    bool ceil;
    NEED(need_image(b, r));
    NEED(read_pair(b, r, "size", 1, &l->kernel_h, &l->kernel_w));
    if (layer_traits_of(l)->has_choices && l->kernel_h * l->kernel_w > POOL_WINDOW_MAX)
        return yaml_error(layer_option(r, "size"), b->err,
                          "'size': expected a window of at most %d values, got %dx%d = %d",
                          (int)POOL_WINDOW_MAX, l->kernel_h, l->kernel_w,
                          l->kernel_h * l->kernel_w);
    l->stride_h = l->kernel_h;
    l->stride_w = l->kernel_w;
    NEED(read_pair(b, r, "stride", 1, &l->stride_h, &l->stride_w));
    NEED(read_pair(b, r, "padding", 0, &l->pad_h, &l->pad_w));
    // Larger padding would make windows that lie entirely in the padding.
    if (l->pad_h > l->kernel_h / 2 || l->pad_w > l->kernel_w / 2)
        return yaml_error(layer_option(r, "padding"), b->err,
                          "'padding' of a pool may be at most half its 'size'");
    NEED(read_flag(b, r, "ceil_mode", false, &ceil));
    return slide_window(b, r, l->in.channels, ceil);
}

static status read_avg_pool(builder *b, reading *r) {
    bool counts = true;
    NEED(read_max_pool(b, r));
    NEED(read_flag(b, r, "count_include_pad", true, &counts));
    r->l->leaves_out_pad = !counts;
    return STATUS_OK;
}

static status read_adaptive_pool(builder *b, reading *r) {
    layer *l = r->l;
    l->out.height = l->out.width = 0;
    NEED(need_image(b, r));
    NEED(read_pair(b, r, "output_size", 1, &l->out.height, &l->out.width));
    if (l->in.height > MAX_WINDOW || l->in.width > MAX_WINDOW)
        NEED(yaml_error(r->place, b->err, "the input of layer '%s' is larger than %dx%d", l->name,
                        (int)MAX_WINDOW, (int)MAX_WINDOW));
    return STATUS_OK;
}

// As F.pad, but not of single directions: zeros on each side [left, right, top, bottom], and
// perhaps [..., front, back] of the channels. An integer: on each side of the image. A negative
// number takes so many rows, columns or channels away.
static status read_zero_pad(builder *b, reading *r) {
    const yaml_node *node = layer_option(r, "padding");
    const bool list = node && node->kind == YAML_SEQUENCE;
    layer *l = r->l;
    int64_t sides[6] = {0};
    NEED(need_image(b, r));
    if (!node) NEED(yaml_error(r->place, b->err, "'padding' is missing"));
    if (list && node->count != 4 && node->count != 6)
        NEED(yaml_error(node, b->err,
                        "'padding': expected an integer, [left, right, top, bottom], or [left, "
                        "right, top, bottom, front, back]"));
    for (size_t i = 0; i < (list ? node->count : 4); i++)
        NEED(yaml_integer(list ? node->items[i] : node, "padding", -MAX_WINDOW, MAX_WINDOW,
                          &sides[i], b->err));
    l->pad_w = (int)sides[0];
    l->pad_h = (int)sides[2];
    l->pad_c = (int)sides[4];
    l->out.width += (int)(sides[0] + sides[1]);
    l->out.height += (int)(sides[2] + sides[3]);
    l->out.channels += (int)(sides[4] + sides[5]);
    if (l->out.width < 1 || l->out.height < 1 || l->out.channels < 1)
        NEED(yaml_error(node, b->err,
                        "'padding' leaves nothing of the %dx%dx%d values of its input",
                        l->in.channels, l->in.height, l->in.width));
    yaml_put(r->written, "padding", yaml_copy(node));
    return STATUS_OK;
}

static status read_upsample(builder *b, reading *r) {
    layer *l = r->l;
    NEED(need_image(b, r));
    NEED(read_pair(b, r, "scale_factor", 1, &l->stride_h, &l->stride_w));
    if ((double)shape_size(l->in) * l->stride_h * l->stride_w > MAX_FEATURES)
        return layer_refuse_size(b, r);
    l->out.height *= l->stride_h;
    l->out.width *= l->stride_w;
    return STATUS_OK;
}

static status read_stochastic_depth(builder *b, reading *r) {
    const yaml_node *node = layer_option(r, "mode");
    const char *mode = "row";
    if (!layer_option(r, "p")) NEED(yaml_error(r->place, b->err, "'p' is missing"));
    if (node) NEED(yaml_string(node, "mode", &mode, b->err));
    r->l->by_shard = strcmp(mode, "batch") == 0;
    if (!r->l->by_shard && strcmp(mode, "row") != 0)
        NEED(yaml_error(node, b->err, "'mode': expected 'row' or 'batch', got '%.60s'", mode));
    yaml_put(r->written, "mode", yaml_new_string(mode));
    return STATUS_OK;
}

static status read_scale(builder *b, reading *r) {
    const yaml_node *node = layer_option(r, "factor");
    if (!node) return yaml_error(r->place, b->err, "'factor' is missing");
    status rc = read_number(b, r, "factor", &r->l->factor);
    if (rc == STATUS_OK && ((float)r->l->factor == 0 || !isfinite((float)r->l->factor)))
        return yaml_error(node, b->err, "'factor' must not be 0 or infinite in single precision");
    return rc;
}

// An average over the whole image: a pool of that size, and described as one.
static status read_global_pool(builder *b, reading *r) {
    layer *l = r->l;
    l->kernel_h = l->stride_h = l->in.height;
    l->kernel_w = l->stride_w = l->in.width;
    NEED(need_image(b, r));
    write_pair(r->written, "size", l->kernel_h, l->kernel_w);
    write_pair(r->written, "stride", l->stride_h, l->stride_w);
    write_pair(r->written, "padding", 0, 0);
    return slide_window(b, r, l->in.channels, false);
}

static status read_flatten(builder *b, reading *r) {
    (void)b;
    r->l->out = (shape){(int)shape_size(r->l->in), 1, 1};
    r->l->flat = true;
    return STATUS_OK;
}

static status read_unflatten(builder *b, reading *r) {
    const yaml_node *node = layer_option(r, "size");
    layer *l = r->l;
    int64_t dims[3];
    if (!l->flat)
        return yaml_error(r->place, b->err,
                          "layer '%s' makes an image of a vector: put flatten before it", l->name);
    if (!node) return yaml_error(r->place, b->err, "'size' is missing: [channels, height, width]");
    if (node->kind != YAML_SEQUENCE || node->count != 3)
        return yaml_error(node, b->err, "'size': expected [channels, height, width]");
    for (int i = 0; i < 3; i++) {
        const int64_t high = i == 0 ? MAX_FEATURES : MAX_WINDOW;
        const status rc = yaml_integer(node->items[i], "size", 1, high, &dims[i], b->err);
        if (rc != STATUS_OK) return rc;
    }
    l->out = (shape){(int)dims[0], (int)dims[1], (int)dims[2]};
    l->flat = false;
    yaml_put(r->written, "size", yaml_copy(node));
    if (shape_size(l->out) == shape_size(l->in)) return STATUS_OK;
    return yaml_error(node, b->err, "'size': the input of layer '%s' has %d features, not %zu",
                      l->name, l->in.channels, shape_size(l->out));
}

// Only at the end, where the loss includes it: model.c checks what is before and after it.
static status read_log_softmax(builder *b, reading *r) {
    if (r->l->flat && !r->l->skip) return STATUS_OK;
    return yaml_error(r->place, b->err,
                      "layer '%s' must follow the logits, a vector: cross entropy includes it, and "
                      "there is no other here",
                      r->l->name);
}

static bool has_one_position(shape gate, shape of) {
    return gate.height == 1 && gate.width == 1 && gate.channels == of.channels;
}

// A gate may be either input; here it is the second.
static bool read_gate(builder *b, reading *r, int with) {
    layer *l = r->l;
    const shape other = layer_shape(b, with);
    if (!layer_traits_of(l)->takes_gate) return false;
    l->gated = true;
    if (has_one_position(other, l->in)) return true;
    if (!has_one_position(l->in, other)) return false;
    l->with_skip = l->skip;
    l->skip = l->number - 1 - with;
    l->in = l->out = other;
    l->flat = with != INPUT_LAYER && b->m->program.layers[with].flat;
    return true;
}

// The second input has the shape of the first.
static status read_second(builder *b, reading *r) {
    const yaml_node *node = layer_option(r, "with");
    layer *l = r->l;
    const char *verb = layer_traits_of(l)->word;
    int with;
    if (!node) return yaml_error(r->place, b->err, "'with' is missing: the layer to %s", verb);
    NEED(layer_find(b, node, "with", &with));
    const shape a = l->in, other = layer_shape(b, with);
    const bool same =
        a.channels == other.channels && a.height == other.height && a.width == other.width;
    l->with_skip = l->number - 1 - with;
    if (!same && !read_gate(b, r, with))
        return yaml_error(r->place, b->err,
                          "layer '%s' cannot %s [%d, %d, %d] of '%s' and [%d, %d, %d] of '%s': "
                          "their shapes differ",
                          l->name, verb, a.channels, a.height, a.width,
                          layer_name(b, layer_source(&b->m->program, l->number)), other.channels,
                          other.height, other.width, layer_name(b, with));
    yaml_put(r->written, "with", yaml_new_string(layer_name(b, with)));
    return STATUS_OK;
}

// ---- Ranges of channels ----

static bool fits_beside(const reading *r, shape other, bool flat) {
    const layer *l = r->l;
    return l->in.height == other.height && l->in.width == other.width && l->flat == flat;
}

// Adds the value that `node` names to the inputs. `skips` has room for it.
static status read_beside(builder *b, reading *r, const yaml_node *node, int *skips) {
    layer *l = r->l;
    int at;
    NEED(layer_find(b, node, "with", &at));
    const shape other = layer_shape(b, at);
    const bool flat = at != INPUT_LAYER && b->m->program.layers[at].flat;
    if (!fits_beside(r, other, flat))
        return yaml_error(
            node, b->err,
            "layer '%s' cannot join [%d, %d, %d] of '%s'%s to [%d, %d, %d] of '%s'%s: "
            "only the channels may differ",
            l->name, other.channels, other.height, other.width, layer_name(b, at),
            flat ? ", after flatten," : "", l->in.channels, l->in.height, l->in.width,
            layer_name(b, layer_source(&b->m->program, l->number)),
            l->flat ? ", after flatten" : "");
    if (other.channels > MAX_FEATURES - l->out.channels)
        return yaml_error(node, b->err, "the output of layer '%s' has more than %d values", l->name,
                          MAX_FEATURES);
    l->out.channels += other.channels;
    skips[l->others++] = l->number - 1 - at;
    return STATUS_OK;
}

// One name, or a list of them.
static status read_concat(builder *b, reading *r) {
    const yaml_node *with = layer_option(r, "with");
    const bool list = with && with->kind == YAML_SEQUENCE;
    const size_t count = !with ? 0 : list ? with->count : 1;
    yaml_node *names;
    if (count == 0)
        return yaml_error(with ? with : r->place, b->err,
                          "'with' is missing: the layers whose channels follow, as a list");
    b->joined += (int)(count <= MAX_JOINED ? count : MAX_JOINED + 1);
    if (b->joined > MAX_JOINED)
        return yaml_error(with, b->err, "the 'concat' layers of a model may have at most %d inputs",
                          MAX_JOINED);
    int *skips = memory_new(count, sizeof *skips);
    r->l->other_skips = skips;
    names = yaml_new(YAML_SEQUENCE);
    names->flow = true;
    yaml_put(r->written, "with", names);
    for (size_t i = 0; i < count; i++) {
        NEED(read_beside(b, r, list ? with->items[i] : with, skips));
        yaml_append(names, yaml_new_string(layer_name(
                               b, layer_input_source(&b->m->program, r->l->number, (int)i + 1))));
    }
    return STATUS_OK;
}

static status read_slice(builder *b, reading *r) {
    const yaml_node *node = layer_option(r, "channels");
    layer *l = r->l;
    int64_t ends[2];
    if (!node) return yaml_error(r->place, b->err, "'channels' is missing: [first, end]");
    if (node->kind != YAML_SEQUENCE || node->count != 2)
        return yaml_error(node, b->err, "'channels': expected [first, end], as in x[:, first:end]");
    yaml_node *written = yaml_new(YAML_SEQUENCE);
    written->flow = true;
    yaml_put(r->written, "channels", written);
    for (int i = 0; i < 2; i++) {
        const int64_t low = i == 0 ? 0 : ends[0] + 1, high = l->in.channels - 1 + i;
        const status rc = yaml_integer(node->items[i], "channels", low, high, &ends[i], b->err);
        if (rc != STATUS_OK) return rc;
        yaml_append(written, yaml_new_integer(ends[i]));
    }
    l->channel = (int)ends[0];
    l->out.channels = (int)(ends[1] - ends[0]);
    return STATUS_OK;
}

static status read_shuffle(builder *b, reading *r) {
    NEED(need_image(b, r));
    return read_divisor(b, r);
}

static status read_plain(builder *b, reading *r) {
    (void)b;
    (void)r;
    return STATUS_OK;
}

// ---- Numbers ----

static bool is_inside(const layer_number *n, double value) {
    return (n->above ? value > n->low : value >= n->low) &&
           (n->below ? value < n->high : value <= n->high);
}

static status refuse_number(builder *b, const reading *r, const layer_number *n, const char *when) {
    const yaml_node *node = layer_option(r, n->key);
    if (!n->above && !n->below)
        return yaml_error(node, b->err, "'%s' must be between %g and %g%s", n->key, n->low, n->high,
                          when);
    return yaml_error(node, b->err, "'%s' must be %s %g and %s %g%s", n->key,
                      n->above ? "above" : "at least", n->low, n->below ? "below" : "at most",
                      n->high, when);
}

status layer_read_numbers(builder *b, reading *r) {
    const layer_number *numbers = layer_traits_of(r->l)->numbers;
    for (int i = 0; i < LAYER_NUMBERS && numbers[i].key; i++) {
        const layer_number *n = &numbers[i];
        double *value = (double *)(void *)((char *)r->l + n->at);
        *value = n->otherwise;
        NEED(read_number(b, r, n->key, value));
        if (!is_inside(n, *value)) NEED(refuse_number(b, r, n, ""));
        if (!is_inside(n, (double)(float)*value))
            NEED(refuse_number(b, r, n, " in single precision"));
    }
    return STATUS_OK;
}

// ---- The words ----

// The names of options in layer_kinds.h: their keys, and what reads them.
#define OPTIONS_plain               {0}, read_plain
#define OPTIONS_image               {0}, need_image
#define OPTIONS_flatten             {0}, read_flatten
#define OPTIONS_unflatten           {"size"}, read_unflatten
#define OPTIONS_conv                {"out", "kernel", "stride", "padding", "bias", "groups"}, read_conv
#define OPTIONS_linear              {"out", "bias"}, read_linear
#define OPTIONS_batch_norm          {"eps"}, read_eps
#define OPTIONS_group_norm          {"groups", "eps"}, read_group_norm
#define OPTIONS_local_response_norm {"size", "beta"}, read_local_response_norm
#define OPTIONS_log_softmax         {0}, read_log_softmax
#define OPTIONS_max_pool            {"size", "stride", "padding", "ceil_mode"}, read_max_pool
#define OPTIONS_avg_pool \
    {"size", "stride", "padding", "ceil_mode", "count_include_pad"}, read_avg_pool
#define OPTIONS_adaptive_pool    {"output_size"}, read_adaptive_pool
#define OPTIONS_zero_pad         {"padding"}, read_zero_pad
#define OPTIONS_upsample         {"scale_factor"}, read_upsample
#define OPTIONS_stochastic_depth {"mode"}, read_stochastic_depth
#define OPTIONS_scale            {"factor"}, read_scale
#define OPTIONS_second           {"with"}, read_second
#define OPTIONS_concat           {"with"}, read_concat
#define OPTIONS_slice            {"channels"}, read_slice
#define OPTIONS_shuffle          {"groups"}, read_shuffle

#define TYPE(to, KIND, word, options, ...) \
    [LAYER_##KIND] = {#word, LAYER_##KIND, OPTIONS_##options},
const layer_type layer_types[LAYER_TYPES] = {
    [LAYER_KINDS] = {"global_avg_pool", LAYER_AVG_POOL, {0}, read_global_pool},
    {"instance_norm", LAYER_GROUP_NORM, {"eps"}, read_instance_norm},
    LAYERS(TYPE, ) //
};
