// SPDX-License-Identifier: MIT
// A whole program: forward, loss, backward, inference.
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "compute/reference.h"

typedef struct pass {
    const program *p;
    const double *parameters;
    const reference_batch *b; // training; NULL in inference
    const double *buffers;    // inference: running statistics
    int samples;
    double **value;    // [p->count + 1]: value[i + 1] is the output of layer i, value[0] the input
    double **gradient; // of them; NULL: not needed
    // [p->count]: values that the forward pass of training keeps for the backward pass. Batch norm:
    // [sets][2][channels], mean and variance. Dropout: the mask [samples][features].
    double **kept;
} pass;

static double *input_of(const pass *s, int i) {
    return s->value[layer_source(s->p, i) + 1];
}

// ---- Sets: the samples that batch norm normalises together ----

typedef struct norm_set {
    int samples;
    size_t first; // offset of its values in an activation
    double *mean, *variance;
} norm_set;

static int norm_sets(const pass *s) {
    if (!s->b) return 0;
    return s->b->sync_batch_norm ? 1 : s->b->shards;
}

static norm_set norm_set_at(const pass *s, int i, int v) {
    const layer *l = &s->p->layers[i];
    norm_set g = {.samples = s->samples};
    if (!s->b->sync_batch_norm) {
        g.samples = s->b->count[v];
        for (int u = 0; u < v; u++) g.first += (size_t)s->b->count[u] * shape_size(l->in);
    }
    g.mean = s->kept[i] + 2 * (size_t)v * (size_t)l->in.channels;
    g.variance = g.mean + l->in.channels;
    return g;
}

// ---- Memory ----

static void pass_release(pass *s) {
    for (int i = 0; s->value && i <= s->p->count; i++) free(s->value[i]);
    for (int i = 0; s->gradient && i <= s->p->count; i++) free(s->gradient[i]);
    for (int i = 0; s->kept && i < s->p->count; i++) free(s->kept[i]);
    free(s->value);
    free(s->gradient);
    free(s->kept);
}

static size_t kept_size(const pass *s, const layer *l) {
    if (l->kind == LAYER_BATCH_NORM) return 2 * (size_t)norm_sets(s) * (size_t)l->in.channels;
    if (l->kind == LAYER_DROPOUT && s->b) return (size_t)s->samples * shape_size(l->in);
    return 0;
}

static size_t value_size(const pass *s, int v) {
    return (size_t)s->samples * shape_size(v ? s->p->layers[v - 1].out : s->p->input);
}

static double **new_values(const pass *s, error *err) {
    double **values = memory_new((size_t)s->p->count + 1, sizeof *values, err);
    for (int v = 0; values && v <= s->p->count; v++) {
        values[v] = memory_new(value_size(s, v), sizeof(double), err);
        if (values[v]) continue;
        while (v > 0) free(values[--v]);
        free(values);
        return NULL;
    }
    return values;
}

static status pass_init(pass *s, error *err) {
    const program *p = s->p;
    s->value = new_values(s, err);
    s->gradient = s->b ? new_values(s, err) : NULL;
    s->kept = memory_new((size_t)p->count, sizeof *s->kept, err);
    if (!s->value || !s->kept || (s->b && !s->gradient)) return STATUS_FAILED;
    for (int i = 0; i < p->count; i++) {
        s->kept[i] = memory_new(kept_size(s, &p->layers[i]), sizeof(double), err);
        if (!s->kept[i]) return STATUS_FAILED;
    }
    return STATUS_OK;
}

// ---- Forward ----

static void batch_norm_forward(const pass *s, int i) {
    const layer *l = &s->p->layers[i];
    const double *weight = s->parameters + l->weight, *bias = s->parameters + l->bias;
    if (!s->b)
        reference_batch_norm(l, s->samples, input_of(s, i), s->buffers + l->mean,
                             s->buffers + l->variance, weight, bias, s->value[i + 1]);
    for (int v = 0; v < norm_sets(s); v++) {
        norm_set g = norm_set_at(s, i, v);
        reference_moments(l->in, g.samples, input_of(s, i) + g.first, g.mean, g.variance);
        reference_batch_norm(l, g.samples, input_of(s, i) + g.first, g.mean, g.variance, weight,
                             bias, s->value[i + 1] + g.first);
    }
}

static void dropout_forward(const pass *s, int i) {
    const layer *l = &s->p->layers[i];
    const size_t size = shape_size(l->in);
    for (int n = 0; n < s->samples; n++) {
        const double *x = input_of(s, i) + (size_t)n * size;
        double *y = s->value[i + 1] + (size_t)n * size;
        double *mask = s->kept[i] + (size_t)n * size;
        if (s->b) reference_dropout_mask(l, s->b->seed, s->b->epoch, s->b->ids[n], mask);
        for (size_t k = 0; k < size; k++) y[k] = s->b ? x[k] * mask[k] : x[k];
    }
}

static void layer_forward(const pass *s, int i) {
    const layer *l = &s->p->layers[i];
    const size_t size = (size_t)s->samples * shape_size(l->in);
    const double *weight = s->parameters + l->weight;
    const double *bias = layer_biases(l) ? s->parameters + l->bias : NULL;
    const double *x = input_of(s, i);
    double *y = s->value[i + 1];
    switch (l->kind) {
    case LAYER_CONV: reference_conv(l, s->samples, x, weight, bias, y); break;
    case LAYER_LINEAR: reference_linear(l, s->samples, x, weight, bias, y); break;
    case LAYER_BATCH_NORM: batch_norm_forward(s, i); break;
    case LAYER_RELU: reference_relu(size, x, y); break;
    case LAYER_MAX_POOL: reference_max_pool(l, s->samples, x, y); break;
    case LAYER_AVG_POOL: reference_avg_pool(l, s->samples, x, y); break;
    case LAYER_DROPOUT: dropout_forward(s, i); break;
    case LAYER_ADD: reference_add(size, x, s->value[layer_second_source(s->p, i) + 1], y); break;
    case LAYER_GELU: reference_gelu(size, x, y); break;
    case LAYER_SILU: reference_silu(size, x, y); break;
    case LAYER_SCALE: reference_scale(l, size, x, y); break;
    case LAYER_GROUP_NORM: reference_group_norm(l, s->samples, x, weight, bias, y); break;
    case LAYER_FLATTEN:
    case LAYER_KINDS: memcpy(y, x, size * sizeof *y); break;
    }
}

// ---- Backward ----

static void batch_norm_backward(const pass *s, int i, const double *dy, double *dx,
                                double *record) {
    const layer *l = &s->p->layers[i];
    double *statistics = record + s->p->parameters;
    for (int v = 0; v < norm_sets(s); v++) {
        norm_set g = norm_set_at(s, i, v);
        if (g.samples == 0) continue;
        reference_batch_norm_backward(l, g.samples, input_of(s, i) + g.first, g.mean, g.variance,
                                      s->parameters + l->weight, dy + g.first, dx + g.first,
                                      record + l->weight, record + l->bias);
        const double count = (double)g.samples * l->in.height * l->in.width;
        for (int c = 0; c < l->in.channels; c++) {
            statistics[l->mean + (size_t)c] += count * g.mean[c];
            if (count >= 2)
                statistics[l->variance + (size_t)c] += count * g.variance[c] * count / (count - 1);
        }
    }
}

// dy is the gradient of layer i's output. Writes the gradient of its input to dx and adds to the
// record.
static void layer_backward(const pass *s, int i, const double *dy, double *dx, double *record) {
    const layer *l = &s->p->layers[i];
    const size_t size = (size_t)s->samples * shape_size(l->in);
    const double *x = input_of(s, i), *weight = s->parameters + l->weight;
    double *dweight = record + l->weight, *dbias = layer_biases(l) ? record + l->bias : NULL;
    switch (l->kind) {
    case LAYER_CONV:
        reference_conv_backward(l, s->samples, x, weight, dy, dx, dweight, dbias);
        break;
    case LAYER_LINEAR:
        reference_linear_backward(l, s->samples, x, weight, dy, dx, dweight, dbias);
        break;
    case LAYER_BATCH_NORM: batch_norm_backward(s, i, dy, dx, record); break;
    case LAYER_RELU: reference_relu_backward(size, x, dy, dx); break;
    case LAYER_MAX_POOL: reference_max_pool_backward(l, s->samples, x, dy, dx); break;
    case LAYER_AVG_POOL: reference_avg_pool_backward(l, s->samples, dy, dx); break;
    case LAYER_DROPOUT:
        for (size_t k = 0; k < size; k++) dx[k] = dy[k] * s->kept[i][k];
        break;
    case LAYER_GELU: reference_gelu_backward(size, x, dy, dx); break;
    case LAYER_SILU: reference_silu_backward(size, x, dy, dx); break;
    case LAYER_SCALE: reference_scale(l, size, dy, dx); break;
    case LAYER_GROUP_NORM:
        reference_group_norm_backward(l, s->samples, x, weight, dy, dx, dweight, dbias);
        break;
    case LAYER_ADD: // of both inputs
    case LAYER_FLATTEN:
    case LAYER_KINDS: memcpy(dx, dy, size * sizeof *dx); break;
    }
}

// gradient[p->count] is that of the logits, the others are zero; `dx` has room for the largest.
static void pass_backward(const pass *s, double *dx, double *record) {
    for (int i = s->p->count - 1; i >= 0; i--) {
        const size_t size = (size_t)s->samples * shape_size(s->p->layers[i].in);
        double *sum = s->gradient[layer_source(s->p, i) + 1];
        layer_backward(s, i, s->gradient[i + 1], dx, record);
        reference_add(size, sum, dx, sum);
        if (!layer_has_second(&s->p->layers[i])) continue;
        sum = s->gradient[layer_second_source(s->p, i) + 1];
        reference_add(size, sum, dx, sum);
    }
}

static size_t largest_value(const pass *s) {
    size_t largest = 1;
    for (int v = 0; v <= s->p->count; v++)
        if (value_size(s, v) > largest) largest = value_size(s, v);
    return largest;
}

status reference_step(const program *p, const double *parameters, const reference_batch *b,
                      double *record, double *logits, error *err) {
    status rc = STATUS_OK;
    pass s = {.p = p, .parameters = parameters, .b = b};
    double *dx = NULL;
    for (int v = 0; v < b->shards; v++) s.samples += b->count[v];
    memset(record, 0, record_floats(p) * sizeof *record);
    TRY(pass_init(&s, err));
    rc = STATUS_FAILED;
    dx = memory_new(largest_value(&s), sizeof *dx, err);
    if (!dx) goto out;
    rc = STATUS_OK;

    memcpy(s.value[0], b->inputs, (size_t)s.samples * shape_size(p->input) * sizeof(double));
    for (int i = 0; i < p->count; i++) layer_forward(&s, i);
    record[p->parameters + p->buffers + RECORD_LOSS] =
        reference_cross_entropy(p->classes, s.samples, s.value[p->count], b->targets,
                                b->label_smoothing, s.gradient[p->count]);
    if (logits)
        memcpy(logits, s.value[p->count], (size_t)s.samples * (size_t)p->classes * sizeof *logits);
    pass_backward(&s, dx, record);
out:
    free(dx);
    pass_release(&s);
    return rc;
}

status reference_infer(const program *p, const double *parameters, const double *buffers,
                       int samples, const double *inputs, double *logits, error *err) {
    pass s = {.p = p, .parameters = parameters, .buffers = buffers, .samples = samples};
    status rc = pass_init(&s, err);
    if (rc == STATUS_OK) {
        memcpy(s.value[0], inputs, (size_t)samples * shape_size(p->input) * sizeof(double));
        for (int i = 0; i < p->count; i++) layer_forward(&s, i);
        memcpy(logits, s.value[p->count], (size_t)samples * (size_t)p->classes * sizeof *logits);
    }
    pass_release(&s);
    return rc;
}
