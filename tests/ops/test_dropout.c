// SPDX-License-Identifier: MIT
// Dropout in the CPU engine: the masks against base/random.h number by number, networks against the
// reference, and bits across instruction sets, threads and engines. (test_reference_gradients.c
// checks the reference itself against finite differences, under a fixed mask.)
#include "ops.h"

#include <stdio.h>

#include "base/yaml_tree.h"
#include "compute/backend.h"
#include "compute/cpu/kernels.h"
#include "nn/initial_values.h"
#include "nn/model.h"
#include "reference.h"

static const char *const isas[] = {"baseline", "v3", "v4"};
enum { ISAS = sizeof isas / sizeof *isas };

// ---- The kernel ----

typedef struct mask_case {
    int channels, height, width, samples;
    int border; // columns after each row of the output
    double rate;
    uint64_t seed, key; // key: of the layer
    uint32_t epoch;
} mask_case;

static const mask_case masks[] = {
    {1, 1, 1, 1, 0, 0.5, 1, 0, 0},
    {512, 1, 1, 16, 0, 0.5, 42, 9, 3},
    {37, 1, 1, 5, 0, 0.25, 0xfedcba9876543210u, 3, 0xffffffffu},
    {3, 5, 7, 16, 2, 0.1, 7, 0xffffff, 1},
    {2, 4, 3, 13, 1, 0.9, 7, 2, 1},
    {6, 2, 1, 16, 0, 0, 5, 1, 0},
    {6, 2, 1, 16, 0, 1 - 1e-12, 5, 1, 0}, // 1 as a float: nothing is kept
    {64, 1, 1, 16, 0, 0x1p-24, 5, 1, 0},
};

static uint32_t id_of(int n) {
    return n == 2 ? 0xffffffffu : 1000003u * (uint32_t)n;
}

static layer layer_of(const mask_case *c) {
    return (layer){.kind = LAYER_DROPOUT, .key = c->key, .rate = c->rate};
}

static bool kept(const mask_case *c, int sample, size_t feature) {
    const layer l = layer_of(c);
    const random_stream s = {layer_seed(&l, c->seed), RANDOM_DROPOUT, 0, c->epoch, id_of(sample)};
    return random_uniform(&s, feature) >= (float)c->rate;
}

static void fill(float *x, size_t n, uint32_t salt) {
    double *r = ops_random(n, salt);
    for (size_t i = 0; i < n; i++) x[i] = (float)r[i];
    free(r);
}

static float *floats(size_t n) {
    float *x = aligned_alloc(64, (n * sizeof *x + 63) / 64 * 64);
    assert_non_null(x);
    memset(x, 0, n * sizeof *x);
    return x;
}

// Lanes of absent samples may hold anything finite.
static void compare_lanes(const mask_case *c, size_t feature, const float *x, const float *y,
                          float scale) {
    for (int n = 0; n < GROUP; n++) {
        const float expected = kept(c, n, feature) ? scale * x[n] : 0.0f;
        if (n < c->samples ? y[n] != expected : !isfinite(y[n]))
            fail_msg("feature %zu of sample %d: %.9g, not %.9g", feature, n, (double)y[n],
                     (double)expected);
    }
}

static void check_mask(const kernels *k, const mask_case *c) {
    const size_t features = (size_t)c->channels * (size_t)c->height * (size_t)c->width;
    const size_t row = (size_t)(c->width + c->border) * GROUP, plane = row * (size_t)c->height;
    float *x = floats(features * GROUP), *y = floats(plane * (size_t)c->channels);
    float *dy = floats(features * GROUP), *dx = floats(features * GROUP);
    uint8_t *mask = calloc(features, GROUP);
    uint32_t ids[GROUP];
    assert_non_null(mask);
    fill(x, features * GROUP, 1);
    fill(dy, features * GROUP, 2);
    for (int n = 0; n < GROUP; n++) ids[n] = id_of(n);
    const size_t dense = (size_t)c->width * GROUP;
    const layer l = layer_of(c);
    const float factor = (float)(1 / (1 - c->rate));
    const layer_task t = {
        .l = &l,
        .x = {x, c->channels, c->height, c->width, dense, dense * (size_t)c->height},
        .y = {y, c->channels, c->height, c->width, row, plane},
        .choices = mask,
        .ids = ids,
        .epoch = c->epoch,
        .seed = c->seed,
        .samples = c->samples,
        .dy = dy,
        .dx = dx};
    k->layers[LAYER_DROPOUT].forward(&t);
    k->layers[LAYER_DROPOUT].backward(&t);
    for (size_t i = 0; i < features; i++) {
        const size_t line = i / (size_t)c->width, column = i % (size_t)c->width;
        compare_lanes(c, i, x + i * GROUP, y + line * row + column * GROUP, factor);
        compare_lanes(c, i, dy + i * GROUP, dx + i * GROUP, factor);
    }
    free(x), free(y), free(dy), free(dx), free(mask);
}

static void test_masks(void **state) {
    (void)state;
    for (int i = 0; i < ISAS; i++) {
        const kernels *k = kernels_find(isas[i], GROUP);
        for (size_t c = 0; k && c < sizeof masks / sizeof *masks; c++) check_mask(k, &masks[c]);
    }
}

// ---- Networks ----

typedef struct network {
    const char *name, *input, *layers;
} network;

// Dropout in every position that the plan distinguishes: on the input, before a padded convolution,
// a pool, flatten, batch norm, another dropout.
static const network networks[] = {
    {"mlp", "[1, 4, 5]",
     "[flatten, linear: {out: 37}, relu, dropout: {p: 0.5}, linear: {out: 19}, relu, dropout: {p: "
     "0.2}, linear: {out: 10}]"},
    {"of the input", "[2, 5, 4]", "[dropout: {p: 0.3}, flatten, linear: {out: 10}]"},
    {"padded convolutions", "[3, 7, 6]",
     "[conv: {out: 5, kernel: 3, padding: 1}, relu, dropout: {p: 0.25}, conv: {out: 4, kernel: 3, "
     "padding: 2}, dropout: {p: 0.4}, relu, max_pool: {size: 2}, dropout, flatten, linear: {out: "
     "10}]"},
    {"pools", "[2, 9, 8]",
     "[conv: {out: 4, kernel: 3}, dropout: {p: 0.1}, max_pool: {size: 2}, dropout, avg_pool: "
     "{size: 2, stride: 1}, flatten, dropout, linear: {out: 10}]"},
    {"batch norm", "[3, 6, 6]",
     "[conv: {out: 4, kernel: 3, padding: 1}, batch_norm, relu, dropout: {p: 0.3}, batch_norm, "
     "flatten, linear: {out: 21}, dropout: {p: 0.5}, batch_norm, relu, dropout: {p: 0}, dropout, "
     "linear: {out: 10}]"},
    {"channels and samples", "[3, 7, 6]",
     "[dropout2d: {p: 0.3}, conv: {out: 7, kernel: 3, padding: 1}, relu, dropout2d, conv: {out: 4, "
     "kernel: 3, padding: 2}, stochastic_depth: {p: 0.4}, residual: {body: [conv: {out: 4, kernel: "
     "1}, batch_norm, stochastic_depth: {p: 0.5, mode: batch}]}, flatten, stochastic_depth: {p: "
     "0.2}, linear: {out: 10}]"},
};
enum { NETWORKS = sizeof networks / sizeof *networks };

enum { SHARDS = 2, SAMPLES = 33, EPOCH = 5, SEED = 11 };
static const int counts[SHARDS] = {17, 16};

typedef struct problem {
    model m;
    float *parameters, *buffers;
    double *parameters64, *buffers64, *inputs;
    uint8_t *bytes;
    sample_target targets[SAMPLES];
    const uint8_t *pixels[SAMPLES];
    uint32_t ids[SAMPLES];
} problem;

static void load_model(model *m, const char *input, const char *layers) {
    char text[1000];
    error err = {0};
    yaml_node *root = NULL;
    snprintf(text, sizeof text, "schema: lockstep.model/1\nname: test\ninput: %s\nlayers: %s\n",
             input, layers);
    if (yaml_read_text(text, strlen(text), "test", &root, &err) != STATUS_OK ||
        model_from_yaml(m, root, &err) != STATUS_OK)
        fail_msg("%s", err.message);
    yaml_free(root);
}

static void problem_init(problem *p, const network *n) {
    *p = (problem){0};
    load_model(&p->m, n->input, n->layers);
    const program *prog = &p->m.program;
    const size_t size = shape_size(prog->input);
    p->parameters = floats(prog->parameters);
    p->buffers = floats(prog->buffers + 1);
    p->parameters64 = ops_zeros(prog->parameters);
    p->buffers64 = ops_zeros(prog->buffers);
    p->inputs = ops_zeros(SAMPLES * size);
    p->bytes = calloc(SAMPLES, size);
    assert_non_null(p->bytes);
    model_init_parameters(&p->m, 7, p->parameters, p->buffers);
    for (size_t i = 0; i < prog->parameters; i++) p->parameters64[i] = (double)p->parameters[i];
    for (size_t i = 0; i < prog->buffers; i++) p->buffers64[i] = (double)p->buffers[i];
    const random_stream stream = {.seed = 3, .purpose = RANDOM_SYNTHETIC};
    for (size_t i = 0; i < SAMPLES * size; i++) {
        p->bytes[i] = (uint8_t)random_below(&stream, i, 256);
        p->inputs[i] = (p->bytes[i] / 255.0 - 0.5) / 0.25;
    }
    for (size_t i = 0; i < SAMPLES; i++) {
        p->pixels[i] = p->bytes + i * size;
        p->targets[i] = (sample_target){.label = (uint32_t)(i * 7 % 10)};
        p->ids[i] = (uint32_t)(50000 - 11 * i);
    }
}

static void problem_release(problem *p) {
    free(p->parameters), free(p->buffers), free(p->parameters64), free(p->buffers64);
    free(p->inputs), free(p->bytes);
    model_release(&p->m);
}

static engine *open_engine(const problem *p, const char *isa, int threads, int shards) {
    engine_options o = {.threads = threads,
                        .isa = isa,
                        .shards = SHARDS,
                        .local_shards = shards,
                        .shard_samples = counts[0],
                        .seed = SEED};
    engine *e = NULL;
    error err = {0};
    for (int c = 0; c < ENGINE_MAX_CHANNELS; c++) o.mean[c] = 0.5f, o.std[c] = 0.25f;
    if (backend_find("cpu")->open(&p->m.program, &o, OPTIMIZER_SGD, &e, &err) != STATUS_OK)
        fail_msg("%s", err.message);
    backend_find("cpu")->write(e, p->parameters, p->buffers, NULL);
    return e;
}

// Returns the gradient buffer of shards [first, end), which are one node of the tree; the caller
// frees it.
static float *step(const problem *p, engine *e, int first, int end, uint32_t epoch) {
    const backend *be = backend_find("cpu");
    const size_t n = gradient_floats(&p->m.program), skip = first ? (size_t)counts[0] : 0;
    const batch b = {.shards = SHARDS,
                     .count = counts,
                     .first_shard = first,
                     .end_shard = end,
                     .pixels = p->pixels + skip,
                     .targets = p->targets + skip,
                     .ids = p->ids + skip,
                     .epoch = epoch};
    error err = {0};
    int count;
    float *copy = floats(n);
    if (be->run(e, &b, NULL, &err) != STATUS_OK) fail_msg("%s", err.message);
    float *const *gradients = be->gradients(e, &count);
    assert_int_equal(count, 1);
    memcpy(copy, gradients[0], n * sizeof *copy);
    return copy;
}

static float *step_once(const problem *p, const char *isa, int threads, uint32_t epoch) {
    engine *e = open_engine(p, isa, threads, SHARDS);
    float *gradients = step(p, e, 0, SHARDS, epoch);
    backend_find("cpu")->close(e);
    return gradients;
}

// Compares tensor by tensor; one that is nearly zero is measured against the whole.
static void compare_with_reference(const problem *p, const float *gradients) {
    const program *prog = &p->m.program;
    const size_t n = prog->parameters, tail = n + prog->buffers;
    const reference_batch b = {.shards = SHARDS,
                               .count = counts,
                               .inputs = p->inputs,
                               .targets = p->targets,
                               .ids = p->ids,
                               .epoch = EPOCH,
                               .seed = SEED};
    double *expected = ops_zeros(gradient_floats(prog)), *got = ops_zeros(n), *zero = ops_zeros(n);
    error err;
    assert_int_equal(reference_step(prog, p->parameters64, &b, expected, NULL, &err), STATUS_OK);
    for (size_t i = 0; i < n; i++) got[i] = (double)gradients[i];
    const double whole = ops_distance(expected, zero, n);
    for (int i = 0; i < p->m.tensor_count; i++) {
        const model_tensor *t = &p->m.tensors[i];
        if (t->is_buffer) continue;
        const double norm = ops_distance(expected + t->offset, zero, t->count);
        double distance = ops_distance(got + t->offset, expected + t->offset, t->count);
        if (norm > 0) distance *= norm;
        if (!(distance <= 1e-5 * (norm + 0.1 * whole)))
            fail_msg("gradient of %s: off by %.3g of %.3g", t->name, distance, norm);
    }
    const double loss = (double)gradients[tail + TAIL_LOSS];
    ops_near("loss", &loss, &expected[tail + TAIL_LOSS], 1, 1e-5);
    free(expected), free(got), free(zero);
}

static void test_network(void **state) {
    problem p;
    problem_init(&p, *state);
    const size_t bytes = gradient_floats(&p.m.program) * sizeof(float);
    float *first = step_once(&p, "baseline", 1, EPOCH);
    compare_with_reference(&p, first);
    for (int i = 0; i < ISAS; i++)
        for (int threads = 1; kernels_find(isas[i], GROUP) && threads <= 3; threads++) {
            float *other = step_once(&p, isas[i], threads, EPOCH);
            assert_memory_equal(other, first, bytes);
            free(other);
        }
    // Each shard on a separate engine. An engine used in another epoch gives the same bits.
    engine *e[SHARDS];
    float *gradients[SHARDS];
    for (int v = 0; v < SHARDS; v++) {
        e[v] = open_engine(&p, NULL, 1, 1);
        float *before = step(&p, e[v], v, v + 1, EPOCH + 1);
        gradients[v] = step(&p, e[v], v, v + 1, EPOCH);
        free(before);
        backend_find("cpu")->close(e[v]);
    }
    for (size_t i = 0; i < bytes / sizeof(float); i++) gradients[0][i] += gradients[1][i];
    assert_memory_equal(gradients[0], first, bytes);
    free(gradients[0]), free(gradients[1]);

    float *later = step_once(&p, NULL, 1, EPOCH + 1);
    assert_memory_not_equal(later, first, bytes);
    free(later), free(first);
    problem_release(&p);
}

// Inference drops nothing: the logits are those of the reference with dropout as the identity.
static void test_inference(void **state) {
    problem p;
    problem_init(&p, *state);
    const size_t n = SAMPLES * (size_t)p.m.program.classes;
    float *logits = floats(n);
    double *expected = ops_zeros(n), *got = ops_zeros(n);
    error err = {0};
    engine *e = open_engine(&p, NULL, 2, SHARDS);
    assert_int_equal(backend_find("cpu")->infer(e, p.pixels, SAMPLES, logits, &err), STATUS_OK);
    assert_int_equal(reference_infer(&p.m.program, p.parameters64, p.buffers64, SAMPLES, p.inputs,
                                     expected, &err),
                     STATUS_OK);
    for (size_t i = 0; i < n; i++) got[i] = (double)logits[i];
    ops_near("logits", got, expected, n, 1e-5);
    backend_find("cpu")->close(e);
    free(logits), free(expected), free(got);
    problem_release(&p);
}

int main(void) {
    static char names[NETWORKS][2][80];
    struct CMUnitTest tests[1 + 2 * NETWORKS] = {cmocka_unit_test(test_masks)};
    for (size_t i = 0; i < NETWORKS; i++) {
        snprintf(names[i][0], sizeof names[i][0], "dropout: %s", networks[i].name);
        snprintf(names[i][1], sizeof names[i][1], "dropout, inference: %s", networks[i].name);
        for (size_t k = 0; k < 2; k++)
            tests[1 + 2 * i + k] =
                (struct CMUnitTest){.name = names[i][k],
                                    .test_func = k ? test_inference : test_network,
                                    .initial_state = (void *)&networks[i]};
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
