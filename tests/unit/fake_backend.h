// SPDX-License-Identifier: MIT
// fake_backend.h - a backend for tests of the code around it: a linear layer on raw pixels, one
// sample after another, on one thread. It can be made to fail at a step.
#ifndef LOCKSTEP_TESTS_FAKE_BACKEND_H
#define LOCKSTEP_TESTS_FAKE_BACKEND_H

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "compute/backend.h"

// Steps (from 0, counted over all engines); -1: never.
typedef struct fake_faults {
    int64_t steps, nan_at, fail_at, signal_at;
    bool defers; // results are pending, if that is allowed
} fake_faults;

static fake_faults fake = {0, -1, -1, -1, false};

struct engine {
    const program *p;
    const layer *linear;
    size_t features, gradient_floats;
    float *parameters, *velocity, *sum;
    reduction_tree tree;
    int *first_leaf;
    int shards, samples;
    bool deferred;
    update_result results[ENGINE_PENDING];
    int pending;
};

static status fake_open(const program *p, const engine_options *o, optimizer_kind kind, engine **e,
                        error *err) {
    if (kind != OPTIMIZER_SGD) return error_set(err, STATUS_USAGE, "cannot fake that optimizer");
    *e = calloc(1, sizeof **e);
    (*e)->p = p;
    (*e)->linear = &p->layers[p->count - 1];
    (*e)->features = shape_size(p->input);
    (*e)->gradient_floats = gradient_floats(p);
    (*e)->parameters = calloc(p->parameters, sizeof(float));
    (*e)->velocity = calloc(p->parameters, sizeof(float));
    (*e)->sum = calloc((*e)->gradient_floats, sizeof(float));
    (*e)->first_leaf = calloc((size_t)o->shards + 1, sizeof(int));
    (*e)->shards = o->shards;
    (*e)->deferred = o->deferred && fake.defers;
    return STATUS_OK;
}

static void fake_close(engine *e) {
    if (!e) return;
    reduction_tree_release(&e->tree);
    free(e->parameters);
    free(e->velocity);
    free(e->sum);
    free(e->first_leaf);
    free(e);
}

static void fake_write(engine *e, const float *parameters, const float *buffers,
                       const float *state) {
    (void)buffers;
    if (parameters) memcpy(e->parameters, parameters, e->p->parameters * sizeof(float));
    if (state) memcpy(e->velocity, state, e->p->parameters * sizeof(float));
}

static status fake_read(engine *e, float *parameters, float *buffers, float *state, error *err) {
    (void)err;
    (void)buffers;
    if (parameters) memcpy(parameters, e->parameters, e->p->parameters * sizeof(float));
    if (state) memcpy(state, e->velocity, e->p->parameters * sizeof(float));
    return STATUS_OK;
}

static void fake_logits(const engine *e, const uint8_t *pixels, float *logits) {
    const layer *l = e->linear;
    for (int k = 0; k < e->p->classes; k++) {
        float sum = e->parameters[l->bias + (size_t)k];
        for (size_t i = 0; i < e->features; i++)
            sum += e->parameters[l->weight + (size_t)k * e->features + i] * (float)pixels[i] / 255;
        logits[k] = sum;
    }
}

static void fake_sample(engine *e, const uint8_t *pixels, int label) {
    const layer *l = e->linear;
    float logits[16], total = 0;
    fake_logits(e, pixels, logits);
    for (int k = 0; k < e->p->classes; k++) total += expf(logits[k]);
    e->sum[e->gradient_floats - GRADIENT_TAIL + TAIL_LOSS] += logf(total) - logits[label];
    for (int k = 0; k < e->p->classes; k++) {
        float d = expf(logits[k]) / total - (k == label ? 1.0f : 0.0f);
        e->sum[l->bias + (size_t)k] += d;
        for (size_t i = 0; i < e->features; i++)
            e->sum[l->weight + (size_t)k * e->features + i] += d * (float)pixels[i] / 255;
    }
}

static status fake_run(engine *e, const batch *b, const run_part *part, error *err) {
    (void)part;
    int64_t step = fake.steps++;
    if (step == fake.fail_at)
        return error_set(err, STATUS_FAILED, "cannot compute: 'fake': asked to");
    if (step == fake.signal_at) raise(SIGTERM);
    int groups[64] = {0};
    memset(e->sum, 0, e->gradient_floats * sizeof(float));
    e->samples = 0;
    for (int v = 0; v < b->shards; v++) {
        groups[v] = b->count[v] > 0;
        e->first_leaf[v + 1] = e->first_leaf[v] + groups[v];
        for (int i = 0; i < b->count[v]; i++, e->samples++)
            fake_sample(e, b->pixels[e->samples], (int)b->targets[e->samples].label);
    }
    if (step == fake.nan_at) e->sum[e->gradient_floats - GRADIENT_TAIL + TAIL_LOSS] = NAN;
    reduction_tree_release(&e->tree);
    return reduction_tree_init(&e->tree, groups, b->shards, err);
}

static engine_tree fake_tree(const engine *e) {
    return (engine_tree){&e->tree, e->first_leaf};
}

static float *const *fake_gradients(engine *e, int *count) {
    *count = 1;
    return (float *const *)&e->sum;
}

static float *fake_reduced(engine *e) {
    return e->sum;
}

static status fake_update(engine *e, const update_rule *rule, update_result *result, error *err) {
    if (e->pending == ENGINE_PENDING)
        return error_set(err, STATUS_FAILED, "cannot update: nobody collects");
    result->digest = 0;
    for (size_t i = 0; i < e->p->parameters; i++) {
        uint32_t bits;
        e->velocity[i] =
            rule->hyper[HYPER_MOMENTUM] * e->velocity[i] + e->sum[i] / (float)e->samples;
        e->parameters[i] -= rule->lr * e->velocity[i];
        memcpy(&bits, &e->parameters[i], sizeof bits);
        result->digest = result->digest * 31 + bits;
    }
    result->loss = e->sum[e->gradient_floats - GRADIENT_TAIL + TAIL_LOSS] / (float)e->samples;
    if (!e->deferred) return STATUS_OK;
    e->results[e->pending++] = *result;
    *result = (update_result){.pending = true};
    return STATUS_OK;
}

static status fake_collect(engine *e, update_result *results, int count, error *err) {
    if (count != e->pending)
        return error_set(err, STATUS_FAILED, "cannot collect %d of %d", count, e->pending);
    memcpy(results, e->results, (size_t)count * sizeof *results);
    e->pending = 0;
    return STATUS_OK;
}

static status fake_infer(engine *e, const uint8_t *const *pixels, size_t samples, float *logits,
                         error *err) {
    (void)err;
    for (size_t i = 0; i < samples; i++)
        fake_logits(e, pixels[i], logits + i * (size_t)e->p->classes);
    return STATUS_OK;
}

static phase_times fake_times(engine *e) {
    (void)e;
    return (phase_times){.ns = {[PHASE_FORWARD] = 1000}};
}

static engine_description fake_describe(const engine *e) {
    return (engine_description){.isa = "fake", .memory = e->gradient_floats * sizeof(float)};
}

static const backend fake_backend = {
    .name = "fake",
    .open = fake_open,
    .close = fake_close,
    .write = fake_write,
    .read = fake_read,
    .run = fake_run,
    .tree = fake_tree,
    .gradients = fake_gradients,
    .reduced = fake_reduced,
    .update = fake_update,
    .collect = fake_collect,
    .infer = fake_infer,
    .times = fake_times,
    .describe = fake_describe,
};

#endif
