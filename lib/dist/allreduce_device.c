// SPDX-License-Identifier: MIT
#include "dist/allreduce_device.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "dist/device_group.h"

struct device_vector {
    const backend *backend;
    comm *comm;
    layer layer; // one input, two outputs
    program program;
    engine *engine;
    comm_way way;
    int *count;      // [ranks]: samples per shard; each rank has one shard
    int *first_leaf; // [ranks + 1]
    float *parameters;
};

enum { CLASSES = 2, BIAS = ARENA_ALIGNMENT };

// The weights take the first ARENA_ALIGNMENT floats, the bias the next; the rest stays zero.
static void make_program(device_vector *v, size_t n) {
    v->layer = (layer){.kind = LAYER_LINEAR,
                       .name = "linear1",
                       .in = {1, 1, 1},
                       .out = {CLASSES, 1, 1},
                       .has_bias = true,
                       .weight = 0,
                       .bias = BIAS};
    v->program = (program){.layers = &v->layer,
                           .count = 1,
                           .input = v->layer.in,
                           .classes = CLASSES,
                           .parameters = n - GRADIENT_TAIL};
}

// ---- The group ----

static status join(device_vector *v, error *err) {
    const engine_comm ranks = device_group(v->comm);
    error why = {0};
    if (!v->backend->comm_join)
        return error_set(err, STATUS_FAILED, "cannot measure: a %s reduces through the host",
                         v->backend->name);
    NEED(v->backend->comm_join(v->engine, &ranks, &v->way, &why, err));
    if (!v->way.transport)
        return error_set(
            err, STATUS_FAILED,
            "cannot measure: these ranks reduce through the host, not on devices: %.900s",
            why.message);
    return STATUS_OK;
}

// ---- Lifetime ----

// Runs a step with one black image per rank, all of class 0.
static status step(device_vector *v, error *err) {
    const uint8_t image = 0, *const pixels[] = {&image};
    const sample_target to = {.label = 0};
    const uint32_t id = 0;
    const batch b = {.shards = v->comm->size,
                     .count = v->count,
                     .first_shard = v->comm->rank,
                     .end_shard = v->comm->rank + 1,
                     .pixels = pixels,
                     .targets = &to,
                     .ids = &id};
    return v->backend->run(v->engine, &b, NULL, err);
}

static status open_parts(device_vector *v, int device, error *err) {
    const int size = v->comm->size;
    const engine_options options = {.threads = 1,
                                    .device = device,
                                    .shards = size,
                                    .local_shards = 1,
                                    .shard_samples = 1,
                                    .std = {1}};
    status rc = STATUS_FAILED;
    v->count = memory_new((size_t)size, sizeof *v->count);
    v->first_leaf = memory_new((size_t)size + 1, sizeof *v->first_leaf);
    v->parameters = memory_try_new(v->program.parameters, sizeof *v->parameters, err);
    if (!v->parameters) goto out;
    for (int r = 0; r < size; r++) v->count[r] = 1;
    TRY(v->backend->open(&v->program, &options, OPTIMIZER_SGD, &v->engine, err));
    TRY(join(v, err));
out:
    return rc;
}

status device_vector_open(const backend *b, int device, comm *c, size_t n, device_vector **out,
                          error *err) {
    *out = NULL;
    if (n % DEVICE_VECTOR_STEP != 0 || n < DEVICE_VECTOR_LEAST)
        return error_set(err, STATUS_USAGE, "cannot measure: a vector of %zu floats", n);
    device_vector *v = memory_new(1, sizeof *v);
    v->backend = b;
    v->comm = c;
    make_program(v, n);
    status rc = open_parts(v, device, err);
    if (rc == STATUS_OK)
        *out = v;
    else
        device_vector_close(v);
    return rc;
}

status device_vector_leave(device_vector *v, error *err) {
    return v->backend->comm_leave(v->engine, err);
}

void device_vector_close(device_vector *v) {
    if (!v) return;
    v->backend->close(v->engine);
    free(v->count);
    free(v->first_leaf);
    free(v->parameters);
    free(v);
}

const char *device_vector_transport(const device_vector *v) {
    return v->way.transport;
}

// ---- Reducing ----

status device_vector_reduce(device_vector *v, bool fast, error *err) {
    const float request = 0;
    comm_traffic traffic;
    return v->backend->comm_reduce(v->engine, v->first_leaf, !fast, &request, 1, &traffic, err);
}

static status check_value(size_t at, float value, float expected, error *err) {
    if (value == expected) return STATUS_OK;
    return error_set(err, STATUS_FAILED, "the all-reduce is wrong: element %zu is %g, not %g", at,
                     (double)value, (double)expected);
}

// With zero parameters every class has probability 1/2, on every rank: an update by the mean
// gradient sets the bias to 1/2 and -1/2, and leaves everything else at zero.
static status check_parameters(device_vector *v, error *err) {
    NEED(v->backend->read(v->engine, v->parameters, NULL, NULL, err));
    for (size_t i = 0; i < v->program.parameters; i++) {
        const float expected = i == BIAS ? 0.5f : i == BIAS + 1 ? -0.5f : 0;
        NEED(check_value(i, v->parameters[i], expected, err));
    }
    return STATUS_OK;
}

status device_vector_check(device_vector *v, bool fast, error *err) {
    const int size = v->comm->size;
    const update_rule rule = {.kind = OPTIMIZER_SGD, .lr = 1};
    const float all = (float)size * (float)(size + 1) / 2;
    float request = (float)(v->comm->rank + 1);
    comm_traffic traffic;
    update_result result;
    memset(v->parameters, 0, v->program.parameters * sizeof *v->parameters);
    v->backend->write(v->engine, v->parameters, NULL, NULL);
    NEED(step(v, err));
    const int *leaves = v->backend->tree(v->engine).shard_leaves;
    memcpy(v->first_leaf, leaves, ((size_t)size + 1) * sizeof *leaves);
    NEED(v->backend->comm_reduce(v->engine, v->first_leaf, !fast, &request, 1, &traffic, err));
    NEED(v->backend->update(v->engine, &rule, &result, err));
    NEED(v->backend->comm_result(v->engine, &request, 1, err));
    NEED(check_value(v->program.parameters + GRADIENT_TAIL - 1, request, all, err));
    return check_parameters(v, err);
}
