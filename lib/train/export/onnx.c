// SPDX-License-Identifier: MIT
#include "train/export/onnx.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/output.h"
#include "base/protobuf.h"
#include "compute/backend.h"
#include "compute/pool_windows.h"

// Fields and constants of onnx.proto.
enum { MODEL_IR_VERSION = 1, MODEL_PRODUCER = 2, MODEL_GRAPH = 7, MODEL_OPSET = 8 };
enum { MODEL_METADATA = 14, PAIR_KEY = 1, PAIR_VALUE = 2 };
enum { OPSET_VERSION = 2 };
enum { GRAPH_NODE = 1, GRAPH_NAME = 2, GRAPH_INITIALIZER = 5, GRAPH_INPUT = 11, GRAPH_OUTPUT = 12 };
enum { NODE_INPUT = 1, NODE_OUTPUT = 2, NODE_NAME = 3, NODE_TYPE = 4, NODE_ATTRIBUTE = 5 };
enum { ATTRIBUTE_NAME = 1, ATTRIBUTE_FLOAT = 2, ATTRIBUTE_INT = 3, ATTRIBUTE_STRING = 4 };
enum { ATTRIBUTE_INTS = 8, ATTRIBUTE_TYPE = 20 };
enum { IS_FLOAT = 1, IS_INT = 2, IS_STRING = 3, IS_INTS = 7 };
enum { TENSOR_DIMS = 1, TENSOR_TYPE = 2, TENSOR_NAME = 8, TENSOR_RAW = 9 };
enum { VALUE_NAME = 1, VALUE_TYPE = 2, TYPE_TENSOR = 1, TYPE_ELEMENT = 1, TYPE_SHAPE = 2 };
enum { SHAPE_DIMENSION = 1, DIMENSION_SIZE = 1, DIMENSION_NAME = 2 };
enum { ELEMENT_FLOAT = 1, ELEMENT_UINT8 = 2, ELEMENT_INT64 = 7 };
enum { IR_VERSION = 7, OPSET = 13 }; // those of ONNX 1.8

static const char INPUT[] = "pixels", OUTPUT[] = "logits";
// Unique: layer names have no '/', tensor names a '.'.
static const char SCALE[] = "input/scale", SHIFT[] = "input/shift";
static const char ROOT_HALF[] = "gelu/root", HALF[] = "gelu/half", ONE[] = "gelu/one";
static const char FLOATS[] = "input/floats", SCALED[] = "input/scaled", INPUTS[] = "input/out";
enum { NAME_BYTES = LAYER_NAME_BYTES + 16 };

// ---- Values ----

// `batch` is the name of the first dimension; `dims` are the others.
static void put_value(text *t, uint32_t field, const char *name, int element, const int *dims,
                      int count) {
    const size_t value = protobuf_begin(t, field);
    protobuf_string(t, VALUE_NAME, name);
    const size_t type = protobuf_begin(t, VALUE_TYPE), of = protobuf_begin(t, TYPE_TENSOR);
    protobuf_integer(t, TYPE_ELEMENT, element);
    const size_t all = protobuf_begin(t, TYPE_SHAPE);
    size_t one = protobuf_begin(t, SHAPE_DIMENSION);
    protobuf_string(t, DIMENSION_NAME, "batch");
    protobuf_end(t, one);
    for (int i = 0; i < count; i++) {
        one = protobuf_begin(t, SHAPE_DIMENSION);
        protobuf_integer(t, DIMENSION_SIZE, dims[i]);
        protobuf_end(t, one);
    }
    protobuf_end(t, all);
    protobuf_end(t, of);
    protobuf_end(t, type);
    protobuf_end(t, value);
}

static void put_elements(text *t, const char *name, const int64_t *dims, int rank, int element,
                         const void *values, size_t bytes) {
    const size_t begun = protobuf_begin(t, GRAPH_INITIALIZER);
    for (int i = 0; i < rank; i++) protobuf_integer(t, TENSOR_DIMS, dims[i]);
    protobuf_integer(t, TENSOR_TYPE, element);
    protobuf_string(t, TENSOR_NAME, name);
    protobuf_bytes(t, TENSOR_RAW, values, bytes);
    protobuf_end(t, begun);
}

static void put_tensor(text *t, const char *name, const int64_t *dims, int rank,
                       const float *values) {
    size_t count = 1;
    for (int i = 0; i < rank; i++) count *= (size_t)dims[i];
    put_elements(t, name, dims, rank, ELEMENT_FLOAT, values, count * sizeof *values);
}

static void put_weights(text *t, const trained_model *m) {
    for (int i = 0; i < m->model.tensor_count; i++) {
        const model_tensor *w = &m->model.tensors[i];
        put_tensor(t, w->name, w->shape, w->rank,
                   (w->is_buffer ? m->buffers : m->parameters) + w->offset);
    }
}

// ---- Nodes ----

// A node being written.
typedef struct node {
    text *t;
    size_t begun;
} node;

static node begin_node(text *t, const char *type, const char *name, const char *in,
                       const char *out) {
    node n = {t, protobuf_begin(t, GRAPH_NODE)};
    protobuf_string(t, NODE_INPUT, in);
    protobuf_string(t, NODE_OUTPUT, out);
    protobuf_string(t, NODE_NAME, name);
    protobuf_string(t, NODE_TYPE, type);
    return n;
}

// Adds an input: the layer's tensor with that suffix.
static void put_input(const node *n, const layer *l, const char *suffix) {
    char name[NAME_BYTES];
    snprintf(name, sizeof name, "%s.%s", l->name, suffix);
    protobuf_string(n->t, NODE_INPUT, name);
}

static void put_int(const node *n, const char *name, int64_t value) {
    const size_t attribute = protobuf_begin(n->t, NODE_ATTRIBUTE);
    protobuf_string(n->t, ATTRIBUTE_NAME, name);
    protobuf_integer(n->t, ATTRIBUTE_INT, value);
    protobuf_integer(n->t, ATTRIBUTE_TYPE, IS_INT);
    protobuf_end(n->t, attribute);
}

static void put_float(const node *n, const char *name, float value) {
    const size_t attribute = protobuf_begin(n->t, NODE_ATTRIBUTE);
    protobuf_string(n->t, ATTRIBUTE_NAME, name);
    protobuf_float(n->t, ATTRIBUTE_FLOAT, value);
    protobuf_integer(n->t, ATTRIBUTE_TYPE, IS_FLOAT);
    protobuf_end(n->t, attribute);
}

static void put_string(const node *n, const char *name, const char *value) {
    const size_t attribute = protobuf_begin(n->t, NODE_ATTRIBUTE);
    protobuf_string(n->t, ATTRIBUTE_NAME, name);
    protobuf_string(n->t, ATTRIBUTE_STRING, value);
    protobuf_integer(n->t, ATTRIBUTE_TYPE, IS_STRING);
    protobuf_end(n->t, attribute);
}

static void put_ints(const node *n, const char *name, const int *values, int count) {
    const size_t attribute = protobuf_begin(n->t, NODE_ATTRIBUTE);
    protobuf_string(n->t, ATTRIBUTE_NAME, name);
    for (int i = 0; i < count; i++) protobuf_integer(n->t, ATTRIBUTE_INTS, values[i]);
    protobuf_integer(n->t, ATTRIBUTE_TYPE, IS_INTS);
    protobuf_end(n->t, attribute);
}

static void end_node(const node *n) {
    protobuf_end(n->t, n->begun);
}

// Returns the positions of the last window beyond the padding, which ceil_mode adds.
static int beyond(pool_axis a) {
    const int positions = (a.out - 1) * a.stride + a.kernel - a.in - 2 * a.pad;
    return positions > 0 ? positions : 0;
}

static void put_window(const node *n, const layer *l) {
    const int kernel[] = {l->kernel_h, l->kernel_w}, strides[] = {l->stride_h, l->stride_w};
    const int pads[] = {l->pad_h, l->pad_w, // begins, then ends
                        l->pad_h + beyond(pool_rows(l)), l->pad_w + beyond(pool_columns(l))};
    put_ints(n, "kernel_shape", kernel, 2);
    put_ints(n, "strides", strides, 2);
    put_ints(n, "pads", pads, 4);
}

static void put_simple(text *t, const char *type, const char *name, const char *in,
                       const char *second, const char *out) {
    const node n = begin_node(t, type, name, in, out);
    if (second) protobuf_string(t, NODE_INPUT, second);
    end_node(&n);
}

// x·(1 + erf(x·√½))·½: the operator Gelu is newer than OPSET.
static void put_gelu(text *t, const layer *l, const char *in, const char *out) {
    char step[4][NAME_BYTES];
    for (int k = 0; k < 4; k++) snprintf(step[k], NAME_BYTES, "%s/step%d", l->name, k);
    put_simple(t, "Mul", step[0], in, ROOT_HALF, step[0]);
    put_simple(t, "Erf", step[1], step[0], NULL, step[1]);
    put_simple(t, "Add", step[2], step[1], ONE, step[2]);
    put_simple(t, "Mul", step[3], in, step[2], step[3]);
    put_simple(t, "Mul", l->name, step[3], HALF, out);
}

static void finish_alpha(const node *n, const layer *l) {
    put_float(n, "alpha", (float)l->factor);
}

static void finish_hard_sigmoid(const node *n, const layer *l) {
    (void)l;
    put_float(n, "alpha", 1.0f / 6);
    put_float(n, "beta", 0.5f);
}

static void put_silu(text *t, const layer *l, const char *in, const char *out) {
    char sigmoid[NAME_BYTES];
    snprintf(sigmoid, NAME_BYTES, "%s/sigmoid", l->name);
    put_simple(t, "Sigmoid", sigmoid, in, NULL, sigmoid);
    put_simple(t, "Mul", l->name, in, sigmoid, out);
}

static void put_scalar(text *t, const char *name, double value) {
    const float single = (float)value;
    put_tensor(t, name, NULL, 0, &single);
}

// The operator HardSwish is newer than OPSET.
static void put_hard_swish(text *t, const layer *l, const char *in, const char *out) {
    char gate[NAME_BYTES];
    snprintf(gate, NAME_BYTES, "%s/gate", l->name);
    const node n = begin_node(t, "HardSigmoid", gate, in, gate);
    finish_hard_sigmoid(&n, l);
    end_node(&n);
    put_simple(t, "Mul", l->name, in, gate, out);
}

// The operator Mish is newer than OPSET.
static void put_mish(text *t, const layer *l, const char *in, const char *out) {
    char step[2][NAME_BYTES];
    for (int k = 0; k < 2; k++) snprintf(step[k], NAME_BYTES, "%s/step%d", l->name, k);
    put_simple(t, "Softplus", step[0], in, NULL, step[0]);
    put_simple(t, "Tanh", step[1], step[0], NULL, step[1]);
    put_simple(t, "Mul", l->name, in, step[1], out);
}

static void put_relu6(text *t, const layer *l, const char *in, const char *out) {
    char low[NAME_BYTES], high[NAME_BYTES];
    snprintf(low, NAME_BYTES, "%s/low", l->name);
    snprintf(high, NAME_BYTES, "%s/high", l->name);
    put_scalar(t, low, 0);
    put_scalar(t, high, 6);
    const node n = begin_node(t, "Clip", l->name, in, out);
    protobuf_string(t, NODE_INPUT, low);
    protobuf_string(t, NODE_INPUT, high);
    end_node(&n);
}

// ONNX's operator has neither beta nor threshold.
static void put_softplus(text *t, const layer *l, const char *in, const char *out) {
    char step[4][NAME_BYTES], beta[NAME_BYTES], threshold[NAME_BYTES];
    for (int k = 0; k < 4; k++) snprintf(step[k], NAME_BYTES, "%s/step%d", l->name, k);
    snprintf(beta, NAME_BYTES, "%s/beta", l->name);
    snprintf(threshold, NAME_BYTES, "%s/threshold", l->name);
    put_scalar(t, beta, l->factor);
    put_scalar(t, threshold, l->threshold);
    put_simple(t, "Mul", step[0], in, beta, step[0]);
    put_simple(t, "Softplus", step[1], step[0], NULL, step[1]);
    put_simple(t, "Div", step[2], step[1], beta, step[2]);
    put_simple(t, "Greater", step[3], step[0], threshold, step[3]);
    const node n = begin_node(t, "Where", l->name, step[3], out);
    protobuf_string(t, NODE_INPUT, in);
    protobuf_string(t, NODE_INPUT, step[2]);
    end_node(&n);
}

static void put_scale(text *t, const layer *l, const char *in, const char *out) {
    char name[NAME_BYTES];
    snprintf(name, sizeof name, "%s/factor", l->name);
    put_scalar(t, name, l->factor);
    put_simple(t, "Mul", l->name, in, name, out);
}

// A list of numbers as an input.
static void put_list(text *t, const char *name, const int64_t *values, int count) {
    const int64_t dims[] = {count};
    put_elements(t, name, dims, 1, ELEMENT_INT64, values, (size_t)count * sizeof *values);
}

static void put_slice(text *t, const layer *l, const char *in, const char *out) {
    static const char *const names[] = {"first", "end", "axis"};
    const int64_t values[] = {l->channel, l->channel + l->out.channels, 1};
    char name[3][NAME_BYTES];
    for (int k = 0; k < 3; k++) {
        snprintf(name[k], NAME_BYTES, "%s/%s", l->name, names[k]);
        put_list(t, name[k], &values[k], 1);
    }
    const node n = begin_node(t, "Slice", l->name, in, out);
    for (int k = 0; k < 3; k++) protobuf_string(t, NODE_INPUT, name[k]);
    end_node(&n);
}

// Adds a node that gives `in` the shape `dims`; 0 keeps a dimension.
static void put_reshape(text *t, const char *name, const char *in, const int64_t *dims, int rank) {
    char shape_name[NAME_BYTES + 8];
    snprintf(shape_name, sizeof shape_name, "%s/shape", name);
    put_list(t, shape_name, dims, rank);
    put_simple(t, "Reshape", name, in, shape_name, name);
}

static void put_unflatten(text *t, const layer *l, const char *in, const char *out) {
    const int64_t dims[] = {0, l->out.channels, l->out.height, l->out.width};
    char step[NAME_BYTES];
    snprintf(step, sizeof step, "%s/step", l->name);
    put_reshape(t, step, in, dims, 4);
    put_simple(t, "Identity", l->name, step, NULL, out);
}

// The groups become a dimension of their own, which changes places with that of their channels.
static void put_shuffle(text *t, const layer *l, const char *in, const char *out) {
    static const int order[] = {0, 2, 1, 3, 4};
    const int64_t each = l->in.channels / l->groups;
    const int64_t apart[] = {0, l->groups, each, l->in.height, l->in.width};
    const int64_t whole[] = {0, l->in.channels, l->in.height, l->in.width};
    char step[3][NAME_BYTES];
    for (int k = 0; k < 3; k++) snprintf(step[k], NAME_BYTES, "%s/step%d", l->name, k);
    put_reshape(t, step[0], in, apart, 5);
    const node n = begin_node(t, "Transpose", step[1], step[0], step[1]);
    put_ints(&n, "perm", order, 5);
    end_node(&n);
    put_reshape(t, step[2], step[1], whole, 4);
    put_simple(t, "Identity", l->name, step[2], NULL, out);
}

// `count` times the same value.
static void put_equal(text *t, const char *name, float value, int64_t count) {
    const size_t begun = protobuf_begin(t, GRAPH_INITIALIZER);
    protobuf_integer(t, TENSOR_DIMS, count);
    protobuf_integer(t, TENSOR_TYPE, ELEMENT_FLOAT);
    protobuf_string(t, TENSOR_NAME, name);
    const size_t raw = protobuf_begin(t, TENSOR_RAW);
    char bytes[sizeof value];
    memcpy(bytes, &value, sizeof value);
    for (int64_t i = 0; i < count; i++) text_bytes(t, bytes, sizeof bytes);
    protobuf_end(t, raw);
    protobuf_end(t, begun);
}

// Weight and bias of each channel.
static void put_channels(text *t, const layer *l, const char *in, const char *out) {
    const int64_t dims[] = {l->in.channels, 1, 1};
    const int rank = l->flat ? 1 : 3;
    char name[NAME_BYTES], weight[NAME_BYTES], bias[NAME_BYTES], scaled[NAME_BYTES];
    snprintf(weight, sizeof weight, "%s/weight", l->name);
    snprintf(bias, sizeof bias, "%s/bias", l->name);
    snprintf(scaled, sizeof scaled, "%s/scaled", l->name);
    snprintf(name, sizeof name, "%s.weight", l->name);
    put_reshape(t, weight, name, dims, rank);
    snprintf(name, sizeof name, "%s.bias", l->name);
    put_reshape(t, bias, name, dims, rank);
    put_simple(t, "Mul", scaled, in, weight, scaled);
    put_simple(t, "Add", l->name, scaled, bias, out);
}

// The operator GroupNormalization is newer than OPSET: groups become the channels of an instance
// norm, and weight and bias follow.
static void put_group_norm(text *t, const layer *l, const char *in, const char *out) {
    const int64_t apart[] = {0, l->groups, -1}, rank = l->flat ? 1 : 3;
    const int64_t whole[] = {0, l->in.channels, l->in.height, l->in.width};
    char step[3][NAME_BYTES], one[NAME_BYTES], zero[NAME_BYTES];
    for (int k = 0; k < 3; k++) snprintf(step[k], NAME_BYTES, "%s/step%d", l->name, k);
    snprintf(one, sizeof one, "%s/one", l->name);
    snprintf(zero, sizeof zero, "%s/zero", l->name);
    put_equal(t, one, 1, l->groups);
    put_equal(t, zero, 0, l->groups);
    put_reshape(t, step[0], in, apart, 3);
    const node n = begin_node(t, "InstanceNormalization", step[1], step[0], step[1]);
    protobuf_string(t, NODE_INPUT, one);
    protobuf_string(t, NODE_INPUT, zero);
    put_float(&n, "epsilon", (float)l->eps);
    end_node(&n);
    put_reshape(t, step[2], step[1], whole, (int)rank + 1);
    put_channels(t, l, step[2], out);
}

static void put_mean_of_channels(text *t, const char *name, const char *in) {
    const int axes[] = {1};
    const node n = begin_node(t, "ReduceMean", name, in, name);
    put_ints(&n, "axes", axes, 1);
    end_node(&n);
}

// Adds a node that combines `in` with a constant.
static void put_with(text *t, const char *type, const char *name, const char *in, double value) {
    const float number = (float)value;
    char constant[NAME_BYTES + 8];
    snprintf(constant, sizeof constant, "%s/number", name);
    put_tensor(t, constant, NULL, 0, &number);
    put_simple(t, type, name, in, constant, name);
}

// The operator LayerNormalization is newer than OPSET, and normalises the last dimensions.
static void put_layer_norm(text *t, const layer *l, const char *in, const char *out) {
    char step[7][NAME_BYTES];
    for (int k = 0; k < 7; k++) snprintf(step[k], NAME_BYTES, "%s/step%d", l->name, k);
    put_mean_of_channels(t, step[0], in);
    put_simple(t, "Sub", step[1], in, step[0], step[1]);
    put_simple(t, "Mul", step[2], step[1], step[1], step[2]);
    put_mean_of_channels(t, step[3], step[2]);
    put_with(t, "Add", step[4], step[3], l->eps);
    put_simple(t, "Sqrt", step[5], step[4], NULL, step[5]);
    put_simple(t, "Div", step[6], step[1], step[5], step[6]);
    put_channels(t, l, step[6], out);
}

// The operator LRN has another window if the size is even. So the mean of the squares is an average
// pool, over channels as rows.
static void put_local_response_norm(text *t, const layer *l, const char *in, const char *out) {
    const int64_t rows[] = {0, 1, l->in.channels, -1};
    const int64_t whole[] = {0, l->in.channels, l->in.height, l->in.width};
    const int kernel[] = {l->window, 1}, strides[] = {1, 1};
    const int pads[] = {l->window / 2, 0, (l->window - 1) / 2, 0};
    char step[7][NAME_BYTES];
    for (int k = 0; k < 7; k++) snprintf(step[k], NAME_BYTES, "%s/step%d", l->name, k);
    put_simple(t, "Mul", step[0], in, in, step[0]);
    put_reshape(t, step[1], step[0], rows, 4);
    const node n = begin_node(t, "AveragePool", step[2], step[1], step[2]);
    put_ints(&n, "kernel_shape", kernel, 2);
    put_ints(&n, "strides", strides, 2);
    put_ints(&n, "pads", pads, 4);
    put_int(&n, "count_include_pad", 1);
    end_node(&n);
    put_reshape(t, step[3], step[2], whole, 4);
    put_with(t, "Mul", step[4], step[3], l->alpha);
    put_with(t, "Add", step[5], step[4], l->k);
    put_with(t, "Pow", step[6], step[5], l->beta);
    put_simple(t, "Div", l->name, in, step[6], out);
}

// The share of each position in the mean of each window, [windows][positions] or transposed.
static void put_shares(text *t, const char *name, pool_axis a, bool transpose) {
    const int64_t dims[] = {transpose ? a.in : a.out, transpose ? a.out : a.in};
    float *shares = memory_new((size_t)a.in * (size_t)a.out, sizeof *shares);
    for (int i = 0; i < a.out; i++)
        for (int at = pool_first(a, i); at < pool_end(a, i); at++)
            shares[transpose ? at * a.out + i : i * a.in + at] = 1 / (float)pool_counted(a, i);
    put_tensor(t, name, dims, 2, shares);
    free(shares);
}

// Operators differ in what a window counts that reaches beyond the padding, and all windows of one
// have the same size: else means are taken of columns, and of rows, by products.
static void put_avg_pool(text *t, const layer *l, const char *in, const char *out) {
    const pool_axis rows = pool_rows(l), columns = pool_columns(l);
    char left[NAME_BYTES], right[NAME_BYTES], half[NAME_BYTES];
    if (rows.kernel && !beyond(rows) && !beyond(columns)) {
        const node n = begin_node(t, layer_traits_of(l)->onnx, l->name, in, out);
        put_int(&n, "count_include_pad", !l->leaves_out_pad);
        put_window(&n, l);
        end_node(&n);
        return;
    }
    snprintf(left, sizeof left, "%s/rows", l->name);
    snprintf(right, sizeof right, "%s/columns", l->name);
    snprintf(half, sizeof half, "%s/half", l->name);
    put_shares(t, left, rows, false);
    put_shares(t, right, columns, true);
    put_simple(t, "MatMul", half, left, in, half);
    put_simple(t, "MatMul", l->name, half, right, out);
}

// An ordinary pool, if all windows have the same size.
static void put_adaptive_pool(text *t, const layer *l, const char *in, const char *out) {
    layer pool = *l;
    if (l->in.height % l->out.height == 0 && l->in.width % l->out.width == 0) {
        pool.kernel_h = pool.stride_h = l->in.height / l->out.height;
        pool.kernel_w = pool.stride_w = l->in.width / l->out.width;
    }
    put_avg_pool(t, &pool, in, out);
}

// Zeros of each dimension, in front, then behind.
static void put_zero_pad(text *t, const layer *l, const char *in, const char *out) {
    const shape a = l->in, b = l->out;
    const int64_t dims[] = {8};
    const int64_t pads[] = {0,
                            l->pad_c,
                            l->pad_h,
                            l->pad_w,
                            0,
                            b.channels - a.channels - l->pad_c,
                            b.height - a.height - l->pad_h,
                            b.width - a.width - l->pad_w};
    char name[NAME_BYTES];
    snprintf(name, sizeof name, "%s/pads", l->name);
    put_elements(t, name, dims, 1, ELEMENT_INT64, pads, sizeof pads);
    put_simple(t, "Pad", l->name, in, name, out);
}

static void put_upsample(text *t, const layer *l, const char *in, const char *out) {
    const int64_t dims[] = {4};
    const float scales[] = {1, 1, (float)l->stride_h, (float)l->stride_w};
    char name[NAME_BYTES];
    snprintf(name, sizeof name, "%s/scales", l->name);
    put_tensor(t, name, dims, 1, scales);
    const node n = begin_node(t, "Resize", l->name, in, out);
    protobuf_string(t, NODE_INPUT, ""); // no region
    protobuf_string(t, NODE_INPUT, name);
    put_string(&n, "coordinate_transformation_mode", "asymmetric");
    put_string(&n, "mode", "nearest");
    put_string(&n, "nearest_mode", "floor");
    end_node(&n);
}

static void put_parameters(const node *n, const layer *l) {
    put_input(n, l, "weight");
    if (layer_biases(l)) put_input(n, l, "bias");
}

static void finish_concat(const node *n, const layer *l) {
    (void)l;
    put_int(n, "axis", 1);
}

static void finish_conv(const node *n, const layer *l) {
    put_parameters(n, l);
    put_window(n, l);
    if (l->groups > 1) put_int(n, "group", l->groups);
}

static void finish_linear(const node *n, const layer *l) {
    put_parameters(n, l);
    put_int(n, "transB", 1); // weights are [out, in]
}

static void finish_batch_norm(const node *n, const layer *l) {
    put_parameters(n, l);
    put_input(n, l, "running_mean");
    put_input(n, l, "running_var");
    put_float(n, "epsilon", (float)l->eps);
}

// A kind of layer is one node, of an operator of layer_kinds.h, with more inputs and attributes or
// without; or several.
typedef struct kind_nodes {
    void (*finish)(const node *n, const layer *l);
    void (*several)(text *t, const layer *l, const char *in, const char *out);
} kind_nodes;

static const kind_nodes kinds[LAYER_KINDS] = {
    [LAYER_CONV] = {.finish = finish_conv},
    [LAYER_LINEAR] = {.finish = finish_linear},
    [LAYER_BATCH_NORM] = {.finish = finish_batch_norm},
    [LAYER_MAX_POOL] = {.finish = put_window},
    [LAYER_AVG_POOL] = {.several = put_avg_pool},
    [LAYER_ADAPTIVE_AVG_POOL] = {.several = put_adaptive_pool},
    [LAYER_ZERO_PAD] = {.several = put_zero_pad},
    [LAYER_UPSAMPLE] = {.several = put_upsample},
    [LAYER_GELU] = {.several = put_gelu},
    [LAYER_SILU] = {.several = put_silu},
    [LAYER_MISH] = {.several = put_mish},
    [LAYER_LEAKY_RELU] = {.finish = finish_alpha},
    [LAYER_ELU] = {.finish = finish_alpha},
    [LAYER_CELU] = {.finish = finish_alpha},
    [LAYER_SOFTPLUS] = {.several = put_softplus},
    [LAYER_RELU6] = {.several = put_relu6},
    [LAYER_HARD_SIGMOID] = {.finish = finish_hard_sigmoid},
    [LAYER_HARD_SWISH] = {.several = put_hard_swish},
    [LAYER_SCALE] = {.several = put_scale},
    [LAYER_GROUP_NORM] = {.several = put_group_norm},
    [LAYER_LAYER_NORM] = {.several = put_layer_norm},
    [LAYER_LOCAL_RESPONSE_NORM] = {.several = put_local_response_norm},
    [LAYER_UNFLATTEN] = {.several = put_unflatten},
    [LAYER_CONCAT] = {.finish = finish_concat},
    [LAYER_SLICE] = {.several = put_slice},
    [LAYER_SHUFFLE] = {.several = put_shuffle},
};

// A layer that drops does nothing here, and has no nodes.
static bool has_nodes(const layer *l) {
    return layer_traits_of(l)->drops == DROPS_NOTHING;
}

// The layer whose nodes give layer i's output; -1: the network's input.
static int with_nodes(const program *p, int i) {
    while (i >= 0 && !has_nodes(&p->layers[i])) i = layer_source(p, i);
    return i;
}

// Writes the name of layer i's output; -1: of the network's input.
static void name_value(const program *p, int i, char name[NAME_BYTES]) {
    i = with_nodes(p, i);
    if (i < 0)
        snprintf(name, NAME_BYTES, "%s", INPUTS);
    else if (i == with_nodes(p, p->count - 1))
        snprintf(name, NAME_BYTES, "%s", OUTPUT);
    else
        snprintf(name, NAME_BYTES, "%s/out", p->layers[i].name);
}

// Writes the name of layer i's second input. A vector of features becomes an image if it is a gate.
static void name_second(text *t, const program *p, int i, char name[NAME_BYTES]) {
    const layer *l = &p->layers[i];
    const int source = layer_second_source(p, i);
    const int64_t dims[] = {0, l->in.channels, 1, 1};
    char gate[NAME_BYTES];
    name_value(p, source, name);
    if (!l->gated || l->flat || source < 0 || !p->layers[source].flat) return;
    snprintf(gate, sizeof gate, "%s/gate", l->name);
    put_reshape(t, gate, name, dims, 4);
    snprintf(name, NAME_BYTES, "%s", gate);
}

static void put_layer(text *t, const program *p, int i) {
    const layer *l = &p->layers[i];
    const kind_nodes *kind = &kinds[l->kind];
    char in[NAME_BYTES], out[NAME_BYTES];
    if (!has_nodes(l)) return;
    name_value(p, layer_source(p, i), in);
    name_value(p, i, out);
    if (kind->several) {
        kind->several(t, l, in, out);
        return;
    }
    char second[NAME_BYTES];
    if (layer_has_second(l)) name_second(t, p, i, second);
    const node n = begin_node(t, layer_traits_of(l)->onnx, l->name, in, out);
    if (layer_has_second(l)) protobuf_string(t, NODE_INPUT, second);
    for (int k = 0; k < l->others; k++) {
        name_value(p, layer_input_source(p, i, k + 1), in);
        protobuf_string(t, NODE_INPUT, in);
    }
    if (kind->finish) kind->finish(&n, l);
    end_node(&n);
}

static void put_gelu_constants(text *t, const program *p) {
    const float root = 0x1.6a09e6p-1f, half = 0.5f, one = 1.0f;
    bool needed = false;
    for (int i = 0; i < p->count; i++) needed |= kinds[p->layers[i].kind].several == put_gelu;
    if (!needed) return;
    put_tensor(t, ROOT_HALF, NULL, 0, &root);
    put_tensor(t, HALF, NULL, 0, &half);
    put_tensor(t, ONE, NULL, 0, &one);
}

// From the bytes to the inputs of the first layer.
static void put_normalization(text *t, const trained_model *m) {
    const int64_t dims[] = {m->normalization.channels, 1, 1};
    float scale[ENGINE_MAX_CHANNELS], shift[ENGINE_MAX_CHANNELS];
    engine_options numbers = {0};
    memcpy(numbers.mean, m->normalization.mean, sizeof numbers.mean);
    memcpy(numbers.std, m->normalization.std, sizeof numbers.std);
    for (int c = 0; c < m->normalization.channels; c++)
        scale[c] = engine_input_scale(&numbers, c, &shift[c]);
    put_tensor(t, SCALE, dims, 3, scale);
    put_tensor(t, SHIFT, dims, 3, shift);
    const node n = begin_node(t, "Cast", "input/cast", INPUT, FLOATS);
    put_int(&n, "to", ELEMENT_FLOAT);
    end_node(&n);
    put_simple(t, "Mul", "input/mul", FLOATS, SCALE, SCALED);
    put_simple(t, "Add", "input/add", SCALED, SHIFT, INPUTS);
}

// ---- The graph ----

static void put_graph(text *t, const trained_model *m) {
    const program *p = &m->model.program;
    const int input[] = {p->input.channels, p->input.height, p->input.width};
    const size_t graph = protobuf_begin(t, MODEL_GRAPH);
    protobuf_string(t, GRAPH_NAME, m->model.name);
    put_normalization(t, m);
    for (int i = 0; i < p->count; i++) put_layer(t, p, i);
    put_gelu_constants(t, p);
    put_weights(t, m);
    put_value(t, GRAPH_INPUT, INPUT, ELEMENT_UINT8, input, 3);
    put_value(t, GRAPH_OUTPUT, OUTPUT, ELEMENT_FLOAT, &p->classes, 1);
    protobuf_end(t, graph);
}

// ---- The file ----

static void put_pair(text *t, const char *key, const char *value) {
    if (!value) return;
    const size_t pair = protobuf_begin(t, MODEL_METADATA);
    protobuf_string(t, PAIR_KEY, key);
    protobuf_string(t, PAIR_VALUE, value);
    protobuf_end(t, pair);
}

static void put_metadata(text *t, const trained_model *m) {
    char *normalize = model_file_normalization_text(&m->normalization);
    char *classes = trained_model_class_list(m);
    put_pair(t, "classes", classes);
    put_pair(t, "model", m->model.canonical);
    put_pair(t, "normalize", normalize);
    put_pair(t, "source", m->checkpoint.content);
    free(normalize);
    free(classes);
}

static status refuse_size(const char *path, error *err) {
    return error_set(err, STATUS_INPUT,
                     "cannot export model: '%s': as ONNX it is more than 2 GiB, the largest "
                     "message of Protocol Buffers",
                     path);
}

status onnx_write(const trained_model *m, const char *path, const char *to, error *err) {
    const program *p = &m->model.program;
    status rc;
    text t = {0};
    if (p->parameters + p->buffers > PROTOBUF_MAX / sizeof(float)) return refuse_size(path, err);
    protobuf_integer(&t, MODEL_IR_VERSION, IR_VERSION);
    protobuf_string(&t, MODEL_PRODUCER, "lockstep");
    put_graph(&t, m);
    const size_t opset = protobuf_begin(&t, MODEL_OPSET);
    protobuf_integer(&t, OPSET_VERSION, OPSET);
    protobuf_end(&t, opset);
    put_metadata(&t, m);
    if (t.length > PROTOBUF_MAX)
        rc = refuse_size(path, err);
    else
        rc = output_write_file(to, t.data, t.length, err);
    text_release(&t);
    return rc;
}
