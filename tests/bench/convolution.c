// SPDX-License-Identifier: MIT
// convolution.c - times the kernels of one convolution within training steps, on one thread.
//
//     convolution MODEL.yaml LAYER PASS SAMPLES STEPS
//
// LAYER: a convolution with a bias, which must have the step's only kernels of its size and
// channels. PASS: forward, weights (their gradient) or input (its gradient). Prints the seconds per
// sample in these kernels: the median of the steps, without a first one that warms up.
//
// The engine calls the kernels through a table. Here it is a copy whose convolutions read the clock
// before and after, so that the caches are those of a real step. What happens once a step, packing
// and transforming the weights, is not counted.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "compute/cpu/cpu_engine.h"
#include "nn/initial_values.h"
#include "nn/model.h"

enum { LEAST_STEPS = 1, MOST_STEPS = 1000, MOST_SAMPLES = 4096 };

typedef enum pass { FORWARD, WEIGHTS, INPUT, PASSES } pass;
static const char *const pass_names[PASSES] = {"forward", "weights", "input"};

// ---- The clock around the kernels ----

static const kernels *plain; // the engine's own table
static layer part;           // the layer, or a group of its channels
static uint64_t spent[PASSES];

static bool is_measured(const conv_task *t, int inputs) {
    return t->in.channels == inputs && t->kernel_h == part.kernel_h && t->stride_y == part.stride_h;
}

static void conv(const conv_task *t, int block) {
    const uint64_t begin = clock_now();
    plain->conv(t, block);
    if (is_measured(t, part.in.channels)) spent[FORWARD] += clock_now() - begin;
}

static void conv_input(const conv_task *t, int block) {
    const uint64_t begin = clock_now();
    plain->conv_input(t, block);
    if (is_measured(t, part.out.channels)) spent[INPUT] += clock_now() - begin;
}

static bool is_measured_weight(const conv_weight_task *t) {
    return t->in.channels == part.in.channels && t->kernel_h == part.kernel_h &&
           t->stride_y == part.stride_h;
}

static void conv_weight(const conv_weight_task *t) {
    const uint64_t begin = clock_now();
    plain->conv_weight(t);
    if (is_measured_weight(t)) spent[WEIGHTS] += clock_now() - begin;
}

// An input gradient has no bias.
static void winograd(const conv_task *tasks, int count, int first, int end) {
    const uint64_t begin = clock_now();
    plain->winograd(tasks, count, first, end);
    spent[tasks->bias ? FORWARD : INPUT] += clock_now() - begin;
}

static void winograd_weight(const conv_weight_task *t) {
    const uint64_t begin = clock_now();
    plain->winograd_weight(t);
    spent[WEIGHTS] += clock_now() - begin;
}

// ---- The steps ----

typedef struct work {
    model m;
    int samples, steps;
    uint8_t *bytes;
    const uint8_t **pixels;
    sample_target *targets;
    uint32_t *ids;
    float *parameters, *buffers, *state;
    double *seconds; // of each step, per sample
} work;

static void release(work *w) {
    free(w->bytes), free(w->pixels), free(w->targets), free(w->ids);
    free(w->parameters), free(w->buffers), free(w->state), free(w->seconds);
    model_release(&w->m);
}

static status prepare(work *w, const char *path, const char *name, error *err) {
    const size_t samples = (size_t)w->samples;
    status rc;
    TRY(model_read(&w->m, path, err));
    const program *p = &w->m.program;
    const size_t size = shape_size(p->input);
    const layer *found = NULL;
    for (int i = 0; i < p->count; i++)
        if (strcmp(p->layers[i].name, name) == 0) found = &p->layers[i];
    if (!found || found->kind != LAYER_CONV || !found->has_bias)
        return error_set(err, STATUS_USAGE, "'%s': not a convolution with a bias", name);
    part = layer_part(found);
    w->bytes = memory_new(samples, size);
    w->pixels = memory_new(samples, sizeof *w->pixels);
    w->targets = memory_new(samples, sizeof *w->targets);
    w->ids = memory_new(samples, sizeof *w->ids);
    w->parameters = memory_new(p->parameters, sizeof(float));
    w->buffers = memory_new(p->buffers, sizeof(float));
    w->state = memory_new(p->parameters, sizeof(float));
    w->seconds = memory_new((size_t)w->steps, sizeof *w->seconds);
    uint32_t bits = 1;
    for (size_t i = 0; i < samples * size; i++) {
        bits = bits * 1664525u + 1013904223u;
        w->bytes[i] = (uint8_t)(bits >> 24);
    }
    for (size_t i = 0; i < samples; i++) {
        w->pixels[i] = w->bytes + i * size;
        w->targets[i].label = (uint32_t)(i % (size_t)p->classes);
        w->ids[i] = (uint32_t)i;
    }
    model_init_parameters(&w->m, 1, w->parameters, w->buffers);
out:
    return rc;
}

static status run_steps(const backend *be, engine *e, work *w, pass measured, error *err) {
    const batch b = {.shards = 1,
                     .count = &w->samples,
                     .end_shard = 1,
                     .pixels = w->pixels,
                     .targets = w->targets,
                     .ids = w->ids};
    update_rule rule = {.kind = OPTIMIZER_SGD, .lr = 0.001f};
    update_result result;
    status rc = STATUS_OK;
    for (int i = -1; i < w->steps; i++) {
        memset(spent, 0, sizeof spent);
        TRY(be->run(e, &b, NULL, err));
        TRY(be->update(e, &rule, &result, err));
        if (spent[measured] == 0)
            return error_set(err, STATUS_USAGE, "the step has no such pass of the layer");
        if (i >= 0) w->seconds[i] = (double)spent[measured] * 1e-9 / w->samples;
    }
out:
    return rc;
}

static int ascending(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static status measure(work *w, pass measured, error *err) {
    const backend *be = backend_find("cpu");
    engine_options o = {.threads = 1,
                        .isa = getenv("LOCKSTEP_ISA"),
                        .shards = 1,
                        .local_shards = 1,
                        .shard_samples = w->samples,
                        .seed = 1};
    for (int c = 0; c < ENGINE_MAX_CHANNELS; c++) o.mean[c] = o.std[c] = 0.5f;
    engine *e = NULL;
    status rc;
    TRY(be->open(&w->m.program, &o, OPTIMIZER_SGD, &e, err));
    be->write(e, w->parameters, w->buffers, w->state);
    plain = e->execution.kernels;
    kernels timed = *plain;
    timed.conv = conv;
    timed.conv_input = conv_input;
    timed.conv_weight = conv_weight;
    timed.winograd = winograd;
    timed.winograd_weight = winograd_weight;
    e->execution.kernels = &timed;
    rc = run_steps(be, e, w, measured, err);
    e->execution.kernels = plain;
    if (rc != STATUS_OK) goto out;
    qsort(w->seconds, (size_t)w->steps, sizeof *w->seconds, ascending);
    printf("%.6g\n", w->seconds[w->steps / 2]);
out:
    if (e) be->close(e);
    return rc;
}

// Returns PASSES for another word.
static pass pass_named(const char *word) {
    int p = 0;
    while (p < PASSES && strcmp(pass_names[p], word) != 0) p++;
    return (pass)p;
}

int main(int argc, char **argv) {
    work w = {.samples = argc == 6 ? atoi(argv[4]) : 0, .steps = argc == 6 ? atoi(argv[5]) : 0};
    const pass measured = argc == 6 ? pass_named(argv[3]) : PASSES;
    error err = {0};
    status rc;
    if (measured == PASSES || w.samples < 1 || w.samples > MOST_SAMPLES || w.steps < LEAST_STEPS ||
        w.steps > MOST_STEPS) {
        fprintf(stderr,
                "usage: convolution MODEL.yaml LAYER forward|weights|input SAMPLES STEPS\n");
        return STATUS_USAGE;
    }
    TRY(prepare(&w, argv[1], argv[2], &err));
    TRY(measure(&w, measured, &err));
out:
    if (rc != STATUS_OK) fprintf(stderr, "convolution: %s\n", err.message);
    release(&w);
    return (int)rc;
}
