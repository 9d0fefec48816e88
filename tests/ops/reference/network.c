// SPDX-License-Identifier: MIT
// A whole program: forward, loss, backward, inference.
#include <stdlib.h>
#include <string.h>

#include "../reference.h"
#include "base/memory.h"

#define ROW(to, KIND, word, ...) [LAYER_##KIND] = &reference_##word,
const reference_layer *const reference_layers[LAYER_KINDS] = {LAYERS(ROW, )};

size_t reference_kept(const layer *l, int samples) {
    const reference_layer *r = reference_layers[l->kind];
    return r->kept_of_channel * (size_t)l->in.channels +
           r->kept_of_input * (size_t)samples * shape_size(l->in);
}

typedef struct pass {
    const program *p;
    const double *parameters;
    const reference_batch *b; // training; NULL in inference
    const double *buffers;    // inference: running statistics
    int samples;
    double **value;    // [p->count + 1]: value[i + 1] is the output of layer i, value[0] the input
    double **gradient; // of them; NULL: not needed
    double **kept;     // [p->count]: training: of every set, one after another
    uint32_t *leaders; // [samples]: training: the id of the first sample of each one's shard
} pass;

// ---- Sets: the samples that batch norm normalises together ----

typedef struct sample_set {
    int first, samples;
} sample_set;

static int set_count(const pass *s) {
    return s->b && !s->b->sync_batch_norm ? s->b->shards : 1;
}

static sample_set set_at(const pass *s, int v) {
    if (!s->b || s->b->sync_batch_norm) return (sample_set){0, s->samples};
    sample_set set = {.samples = s->b->count[v]};
    for (int u = 0; u < v; u++) set.first += s->b->count[u];
    return set;
}

// ---- Memory ----

static void pass_release(pass *s) {
    for (int i = 0; s->value && i <= s->p->count; i++) free(s->value[i]);
    for (int i = 0; s->gradient && i <= s->p->count; i++) free(s->gradient[i]);
    for (int i = 0; s->kept && i < s->p->count; i++) free(s->kept[i]);
    free(s->value);
    free(s->gradient);
    free(s->kept);
    free(s->leaders);
}

static size_t kept_size(const pass *s, const layer *l) {
    size_t size = 0;
    for (int v = 0; s->b && v < set_count(s); v++) size += reference_kept(l, set_at(s, v).samples);
    return size;
}

static size_t value_size(const pass *s, int v) {
    return (size_t)s->samples * shape_size(v ? s->p->layers[v - 1].out : s->p->input);
}

static double **new_values(const pass *s, error *err) {
    double **values = memory_new((size_t)s->p->count + 1, sizeof *values);
    for (int v = 0; v <= s->p->count; v++) {
        values[v] = memory_try_new(value_size(s, v), sizeof(double), err);
        if (values[v]) continue;
        while (v > 0) free(values[--v]);
        free(values);
        return NULL;
    }
    return values;
}

static uint32_t *new_leaders(const reference_batch *b, int samples) {
    uint32_t *leaders = memory_new((size_t)samples, sizeof *leaders);
    for (int v = 0, first = 0; b->ids && v < b->shards; first += b->count[v++])
        for (int n = 0; n < b->count[v]; n++) leaders[first + n] = b->ids[first];
    return leaders;
}

static status pass_init(pass *s, error *err) {
    const program *p = s->p;
    s->value = new_values(s, err);
    s->gradient = s->b ? new_values(s, err) : NULL;
    s->kept = memory_new((size_t)p->count, sizeof *s->kept);
    s->leaders = s->b ? new_leaders(s->b, s->samples) : NULL;
    if (!s->value || !s->kept || (s->b && !s->gradient)) return STATUS_FAILED;
    for (int i = 0; i < p->count; i++) {
        s->kept[i] = memory_try_new(kept_size(s, &p->layers[i]), sizeof(double), err);
        if (!s->kept[i]) return STATUS_FAILED;
    }
    return STATUS_OK;
}

// ---- Layers ----

// Values of the second input of so many samples.
static size_t second_size(const layer *l, int samples) {
    return (size_t)samples * shape_size(layer_second_shape(l));
}

// Of a concat, the inputs are taken one at a time; of any other layer, once.
static int input_count(const layer *l) {
    return 1 + l->others;
}

static shape input_shape(const pass *s, int i, int input) {
    const layer *l = &s->p->layers[i];
    return l->others ? program_value(s->p, layer_input_source(s->p, i, input)) : l->in;
}

static int first_channel(const pass *s, int i, int input) {
    int channel = s->p->layers[i].channel;
    for (int k = 0; k < input; k++) channel += input_shape(s, i, k).channels;
    return channel;
}

// Layer i on set v.
static reference_task task_of(const pass *s, int i, int input, int v) {
    const layer *l = &s->p->layers[i];
    const sample_set set = set_at(s, v);
    const shape of_input = input_shape(s, i, input);
    const size_t in = (size_t)set.first * shape_size(of_input);
    const size_t out = (size_t)set.first * shape_size(l->out);
    reference_task t = {.l = l,
                        .samples = set.samples,
                        .x = s->value[layer_input_source(s->p, i, input) + 1] + in,
                        .channels = of_input.channels,
                        .channel = first_channel(s, i, input),
                        .weight = s->parameters + l->weight,
                        .bias = layer_biases(l) ? s->parameters + l->bias : NULL,
                        .y = s->value[i + 1] + out};
    if (layer_has_second(l))
        t.second = s->value[layer_second_source(s->p, i) + 1] + second_size(l, set.first);
    if (!s->b && layer_statistics(l)) {
        t.mean = s->buffers + l->mean;
        t.variance = s->buffers + l->variance;
    }
    if (!s->b) return t;
    t.kept = s->kept[i];
    for (int u = 0; u < v; u++) t.kept += reference_kept(l, set_at(s, u).samples);
    t.ids = s->b->ids ? s->b->ids + set.first : NULL;
    t.leaders = s->leaders + set.first;
    t.epoch = s->b->epoch;
    t.seed = s->b->seed;
    t.dy = s->gradient[i + 1] + out;
    return t;
}

static void pass_forward(const pass *s) {
    for (int i = 0; i < s->p->count; i++)
        for (int k = 0; k < input_count(&s->p->layers[i]); k++)
            for (int v = 0; v < set_count(s); v++) {
                const reference_task t = task_of(s, i, k, v);
                reference_forward(&t);
            }
}

// A set's part of the statistics: kept are its means and variances.
static void add_statistics(const reference_task *t, double *statistics) {
    const layer *l = t->l;
    const double count = (double)t->samples * l->in.height * l->in.width;
    const double *mean = t->kept, *variance = t->kept + l->in.channels;
    for (int c = 0; c < l->in.channels; c++) {
        statistics[l->mean + (size_t)c] += count * mean[c];
        if (count >= 2)
            statistics[l->variance + (size_t)c] += count * variance[c] * count / (count - 1);
    }
}

// Writes the gradients of layer i's input and second one to dx and dsecond, and adds to the
// gradient buffer.
static void layer_backward(const pass *s, int i, int input, double *dx, double *dsecond,
                           double *gradients) {
    const layer *l = &s->p->layers[i];
    for (int v = 0; v < set_count(s); v++) {
        reference_task t = task_of(s, i, input, v);
        if (t.samples == 0) continue;
        const size_t first = (size_t)set_at(s, v).first * shape_size(input_shape(s, i, input));
        t.dx = dx + first;
        t.dsecond = dsecond + second_size(l, set_at(s, v).first);
        t.dweight = gradients + l->weight;
        t.dbias = layer_biases(l) ? gradients + l->bias : NULL;
        reference_backward(&t);
        if (layer_statistics(l)) add_statistics(&t, gradients + s->p->parameters);
    }
}

// ---- Networks ----

static void add_gradient(double *sum, const double *dx, size_t count) {
    for (size_t i = 0; i < count; i++) sum[i] += dx[i];
}

// gradient[p->count] is that of the logits, the others are zero; `dx` and `dsecond` have room for
// the largest.
static void pass_backward(const pass *s, double *dx, double *dsecond, double *gradients) {
    for (int i = s->p->count - 1; i >= 0; i--)
        for (int k = input_count(&s->p->layers[i]) - 1; k >= 0; k--) {
            const size_t size = (size_t)s->samples * shape_size(input_shape(s, i, k));
            layer_backward(s, i, k, dx, dsecond, gradients);
            add_gradient(s->gradient[layer_input_source(s->p, i, k) + 1], dx, size);
            if (layer_has_second(&s->p->layers[i]))
                add_gradient(s->gradient[layer_second_source(s->p, i) + 1], dsecond,
                             second_size(&s->p->layers[i], s->samples));
        }
}

static size_t largest_value(const pass *s) {
    size_t largest = 1;
    for (int v = 0; v <= s->p->count; v++)
        if (value_size(s, v) > largest) largest = value_size(s, v);
    return largest;
}

status reference_step(const program *p, const double *parameters, const reference_batch *b,
                      double *gradients, double *logits, error *err) {
    status rc = STATUS_OK;
    pass s = {.p = p, .parameters = parameters, .b = b};
    double *dx = NULL, *dsecond = NULL;
    for (int v = 0; v < b->shards; v++) s.samples += b->count[v];
    memset(gradients, 0, gradient_floats(p) * sizeof *gradients);
    TRY(pass_init(&s, err));
    rc = STATUS_FAILED;
    dx = memory_try_new(largest_value(&s), sizeof *dx, err);
    dsecond = memory_try_new(largest_value(&s), sizeof *dsecond, err);
    if (!dx || !dsecond) goto out;
    rc = STATUS_OK;

    memcpy(s.value[0], b->inputs, (size_t)s.samples * shape_size(p->input) * sizeof(double));
    pass_forward(&s);
    gradients[p->parameters + p->buffers + TAIL_LOSS] =
        reference_cross_entropy(p->classes, s.samples, s.value[p->count], b->targets,
                                b->label_smoothing, s.gradient[p->count]);
    if (logits)
        memcpy(logits, s.value[p->count], (size_t)s.samples * (size_t)p->classes * sizeof *logits);
    pass_backward(&s, dx, dsecond, gradients);
out:
    free(dx);
    free(dsecond);
    pass_release(&s);
    return rc;
}

status reference_infer(const program *p, const double *parameters, const double *buffers,
                       int samples, const double *inputs, double *logits, error *err) {
    pass s = {.p = p, .parameters = parameters, .buffers = buffers, .samples = samples};
    status rc = pass_init(&s, err);
    if (rc == STATUS_OK) {
        memcpy(s.value[0], inputs, (size_t)samples * shape_size(p->input) * sizeof(double));
        pass_forward(&s);
        memcpy(logits, s.value[p->count], (size_t)samples * (size_t)p->classes * sizeof *logits);
    }
    pass_release(&s);
    return rc;
}
