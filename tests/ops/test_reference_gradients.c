// SPDX-License-Identifier: MIT
// The reference operations against finite differences, in double.
//
// For a random vector r, L = Σ r · f(x, weight, bias) is differentiated along every coordinate by
// (L(+h) - L(-h)) / 2h and compared with the backward function's result.
#include "ops.h"

#include <stdio.h>

#include "base/yaml_tree.h"
#include "engine_cases.h"
#include "nn/model.h"
#include "reference.h"

// h² f''' and the rounding error / h are both about 1e-10 here.
static const double STEP = 1e-5;
static const double TOLERANCE = 1e-7;

typedef struct op_case {
    const char *name;
    layer l; // without `out` if it follows from the rest
    int outputs, samples;
} op_case;

typedef struct problem {
    reference_task task;
    size_t nx, nsecond, ny, nw, nb;
    double *x, *weight, *bias, *r;
    double *second, *y, *kept, *dx, *dsecond, *dw, *db;
} problem;

static double objective(const problem *p) {
    double sum = 0;
    reference_forward(&p->task);
    for (size_t i = 0; i < p->ny; i++) sum += p->r[i] * p->y[i];
    return sum;
}

// ---- The check ----

// Distinct values, at least 0.05 from each other and from whole numbers, in a random order: no step
// of a finite difference crosses a kink of an activation or of max pooling.
static void fill_apart(double *x, size_t n) {
    const random_stream stream = {.seed = 1, .purpose = RANDOM_SYNTHETIC};
    uint32_t *order = calloc(n, sizeof *order);
    assert_non_null(order);
    random_permutation(&stream, order, (uint32_t)n);
    for (size_t i = 0; i < n; i++) x[i] = 0.1 * ((double)order[i] + 0.5 - (double)(n / 2));
    free(order);
}

static void problem_init(problem *p, const layer *l, int samples) {
    static const uint32_t ids[] = {3, 1, 4, 15, 9};
    *p = (problem){.nw = layer_weights(l), .nb = layer_biases(l)};
    p->nx = (size_t)samples * shape_size(l->in);
    p->nsecond = (size_t)samples * shape_size(layer_second_shape(l));
    p->ny = (size_t)samples * shape_size(l->out);
    p->x = ops_random(p->nx, 1);
    p->weight = ops_random(p->nw, 2);
    p->bias = ops_random(p->nb, 3);
    p->r = ops_random(p->ny, 4);
    p->dx = ops_random(p->nx, 5);
    p->second = ops_random(p->nx, 6);
    p->dsecond = ops_zeros(p->nx);
    p->y = ops_zeros(p->ny);
    p->kept = ops_zeros(reference_kept(l, samples));
    p->dw = ops_zeros(p->nw);
    p->db = ops_zeros(p->nb);
    if (l->kind == LAYER_MAX_POOL || layer_traits_of(l)->activation != ACTIVATION_NONE)
        fill_apart(p->x, p->nx);
    p->task = (reference_task){.l = l,
                               .samples = samples,
                               .x = p->x,
                               .second = p->second,
                               .channels = l->in.channels,
                               .channel = l->channel,
                               .weight = p->weight,
                               .bias = p->nb ? p->bias : NULL,
                               .y = p->y,
                               .kept = p->kept,
                               .ids = ids,
                               .leaders = ids,
                               .dy = p->r,
                               .dx = p->dx,
                               .dsecond = p->dsecond,
                               .dweight = p->dw,
                               .dbias = p->nb ? p->db : NULL};
}

static void problem_release(problem *p) {
    free(p->x), free(p->weight), free(p->bias), free(p->r), free(p->second), free(p->dsecond);
    free(p->y), free(p->kept), free(p->dx), free(p->dw), free(p->db);
}

static void check_argument(const problem *p, const char *what, double *argument, size_t n,
                           const double *analytic) {
    double *numeric = ops_zeros(n);
    for (size_t i = 0; i < n; i++) {
        double kept = argument[i];
        argument[i] = kept + STEP;
        double above = objective(p);
        argument[i] = kept - STEP;
        double below = objective(p);
        argument[i] = kept;
        numeric[i] = (above - below) / (2 * STEP);
    }
    ops_near(what, analytic, numeric, n, TOLERANCE);
    free(numeric);
}

static void test_layer(void **state) {
    const op_case *c = *state;
    layer l = c->l;
    if (l.kernel_h)
        ops_finish_window(&l, c->outputs ? c->outputs : l.in.channels);
    else if (l.out.channels == 0) // else an example
        l.out = c->outputs ? (shape){c->outputs, 1, 1} : l.in;
    problem p;
    problem_init(&p, &l, c->samples);
    reference_forward(&p.task);
    reference_backward(&p.task);
    check_argument(&p, "input gradient", p.x, p.nx, p.dx);
    check_argument(&p, "weight gradient", p.weight, p.nw, p.dw);
    check_argument(&p, "bias gradient", p.bias, p.nb, p.db);
    if (layer_has_second(&l)) check_argument(&p, "second gradient", p.second, p.nsecond, p.dsecond);

    // Gradients of parameters are accumulated: a second call doubles them. The input's gradient is
    // overwritten.
    double *once = ops_zeros(p.nw), *first = ops_zeros(p.nx);
    memcpy(once, p.dw, p.nw * sizeof *once);
    memcpy(first, p.dx, p.nx * sizeof *first);
    reference_forward(&p.task);
    reference_backward(&p.task);
    for (size_t i = 0; i < p.nw; i++) once[i] *= 2;
    ops_near("weight gradient of two calls", p.dw, once, p.nw, 1e-14);
    assert_memory_equal(p.dx, first, p.nx * sizeof *first);
    free(once), free(first);
    problem_release(&p);
}

#define CONV .kind = LAYER_CONV, .has_bias = true
#define KERNEL(kh, kw, sh, sw, ph, pw)                                                     \
    .kernel_h = (kh), .kernel_w = (kw), .stride_h = (sh), .stride_w = (sw), .pad_h = (ph), \
    .pad_w = (pw)

static const op_case cases[] = {
    {"conv 1x1", {CONV, .in = {3, 4, 5}, KERNEL(1, 1, 1, 1, 0, 0)}, 4, 2},
    {"conv 1x1, stride 2", {CONV, .in = {3, 5, 6}, KERNEL(1, 1, 2, 2, 0, 0)}, 2, 2},
    {"conv 3x3", {CONV, .in = {2, 6, 7}, KERNEL(3, 3, 1, 1, 0, 0)}, 3, 2},
    {"conv 3x3, padding 1", {CONV, .in = {2, 5, 6}, KERNEL(3, 3, 1, 1, 1, 1)}, 3, 2},
    {"conv 3x3, stride 2, padding 1", {CONV, .in = {2, 7, 6}, KERNEL(3, 3, 2, 2, 1, 1)}, 3, 2},
    {"conv 5x5, padding 2", {CONV, .in = {1, 6, 6}, KERNEL(5, 5, 1, 1, 2, 2)}, 2, 3},
    {"conv 5x5, stride 3, padding 2", {CONV, .in = {2, 9, 8}, KERNEL(5, 5, 3, 3, 2, 2)}, 2, 1},
    {"conv 3x5, stride 2x1, padding 1x2", {CONV, .in = {2, 6, 7}, KERNEL(3, 5, 2, 1, 1, 2)}, 3, 2},
    {"conv 1x4, stride 1x3", {CONV, .in = {2, 3, 11}, KERNEL(1, 4, 1, 3, 0, 0)}, 2, 2},
    {"conv 4x2, padding 0x1", {CONV, .in = {3, 6, 3}, KERNEL(4, 2, 1, 1, 0, 1)}, 2, 2},
    {"conv as large as its input", {CONV, .in = {2, 4, 3}, KERNEL(4, 3, 1, 1, 0, 0)}, 5, 3},
    {"conv without bias", {.kind = LAYER_CONV, .in = {2, 5, 5}, KERNEL(3, 3, 1, 1, 1, 1)}, 3, 2},
    {"conv of two groups", {CONV, .in = {4, 5, 4}, .groups = 2, KERNEL(3, 3, 1, 1, 1, 1)}, 6, 2},
    {"conv, depthwise", {CONV, .in = {3, 6, 5}, .groups = 3, KERNEL(3, 3, 2, 2, 1, 1)}, 6, 2},
    {"linear", {.kind = LAYER_LINEAR, .in = {7, 1, 1}, .has_bias = true}, 5, 3},
    {"linear without bias", {.kind = LAYER_LINEAR, .in = {4, 1, 1}}, 3, 2},
    {"linear, one output", {.kind = LAYER_LINEAR, .in = {9, 1, 1}, .has_bias = true}, 1, 1},
    {"batch norm of planes", {.kind = LAYER_BATCH_NORM, .in = {3, 4, 5}, .eps = 1e-5}, 0, 4},
    {"batch norm of features", {.kind = LAYER_BATCH_NORM, .in = {6, 1, 1}, .eps = 1e-5}, 0, 5},
    {"batch norm, large eps", {.kind = LAYER_BATCH_NORM, .in = {2, 3, 3}, .eps = 0.5}, 0, 2},
    {"batch norm, one sample", {.kind = LAYER_BATCH_NORM, .in = {2, 3, 4}, .eps = 1e-5}, 0, 1},
    {"batch norm, one value", {.kind = LAYER_BATCH_NORM, .in = {5, 1, 1}, .eps = 1e-2}, 0, 1},
    {"group norm", {.kind = LAYER_GROUP_NORM, .in = {6, 3, 4}, .groups = 2, .eps = 1e-5}, 0, 3},
    {"group norm, one group",
     {.kind = LAYER_GROUP_NORM, .in = {3, 4, 3}, .groups = 1, .eps = 0.1},
     0,
     2},
    {"group norm of features",
     {.kind = LAYER_GROUP_NORM, .in = {8, 1, 1}, .groups = 2, .eps = 1e-5},
     0,
     2},
    {"concat, an input of it", {.kind = LAYER_CONCAT, .in = {4, 1, 1}, .channel = 2}, 7, 3},
    {"slice", {.kind = LAYER_SLICE, .in = {6, 1, 1}, .channel = 1}, 3, 2},
    {"shuffle", {.kind = LAYER_SHUFFLE, .in = {6, 3, 2}, .groups = 3}, 0, 2},
    {"scale", {.kind = LAYER_SCALE, .in = {3, 4, 5}, .factor = -0.3}, 0, 3},
    {"log softmax, a part of the loss", {.kind = LAYER_LOG_SOFTMAX, .in = {5, 1, 1}}, 0, 3},
    {"product", {.kind = LAYER_MULTIPLY, .in = {3, 4, 5}}, 0, 3},
    {"product with a gate", {.kind = LAYER_MULTIPLY, .in = {3, 4, 5}, .gated = true}, 0, 3},
    {"flatten", {.kind = LAYER_FLATTEN, .in = {3, 4, 5}}, 60, 3},
    {"dropout", {.kind = LAYER_DROPOUT, .in = {3, 4, 5}, .rate = 0.4}, 0, 3},
    {"max pool 2x2", {.kind = LAYER_MAX_POOL, .in = {2, 6, 8}, KERNEL(2, 2, 2, 2, 0, 0)}, 0, 2},
    {"max pool 2x2 of an odd size",
     {.kind = LAYER_MAX_POOL, .in = {2, 5, 7}, KERNEL(2, 2, 2, 2, 0, 0)},
     0,
     2},
    {"max pool 3x3, stride 2, padding 1",
     {.kind = LAYER_MAX_POOL, .in = {2, 7, 6}, KERNEL(3, 3, 2, 2, 1, 1)},
     0,
     2},
    {"max pool 3x2, stride 1x2 (windows overlap)",
     {.kind = LAYER_MAX_POOL, .in = {1, 6, 7}, KERNEL(3, 2, 1, 2, 0, 0)},
     0,
     2},
    {"avg pool 2x2", {.kind = LAYER_AVG_POOL, .in = {2, 6, 8}, KERNEL(2, 2, 2, 2, 0, 0)}, 0, 2},
    {"avg pool 3x3, stride 2, padding 1",
     {.kind = LAYER_AVG_POOL, .in = {2, 7, 6}, KERNEL(3, 3, 2, 2, 1, 1)},
     0,
     2},
    {"avg pool 3x2, stride 1x2",
     {.kind = LAYER_AVG_POOL, .in = {1, 6, 7}, KERNEL(3, 2, 1, 2, 0, 0)},
     0,
     2},
};

// Of a kind without one: its example.
static op_case examples[LAYER_KINDS];

static op_case example_of(layer_kind kind) {
    char text[EXAMPLE_BYTES];
    error err;
    yaml_node *root = NULL;
    model m;
    write_example(kind, text);
    status rc = yaml_read_text(text, strlen(text), "example", &root, &err);
    if (rc == STATUS_OK) rc = model_from_yaml(&m, root, &err);
    yaml_free(root);
    if (rc != STATUS_OK) {
        fprintf(stderr, "%s\n", err.message);
        exit(1);
    }
    const op_case found = {
        .name = layer_kind_traits[kind].word, .l = m.program.layers[1], .samples = 3};
    model_release(&m);
    return found;
}

static bool has_case(layer_kind kind) {
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (cases[i].l.kind == kind) return true;
    return false;
}

// ---- Loss ----

static void check_cross_entropy(double smoothing) {
    enum { CLASSES = 7, SAMPLES = 5 };
    const sample_target targets[SAMPLES] = {
        {.label = 0}, {6, 2, 0.3f}, {3, 3, 0.5f}, {.label = 3}, {1, 0, 1}};
    double *logits = ops_random(CLASSES * SAMPLES, 1), analytic[CLASSES * SAMPLES];
    double numeric[CLASSES * SAMPLES];
    for (int i = 0; i < CLASSES * SAMPLES; i++) logits[i] *= 4;
    (void)reference_cross_entropy(CLASSES, SAMPLES, logits, targets, smoothing, analytic);
    for (int i = 0; i < CLASSES * SAMPLES; i++) {
        double kept = logits[i];
        logits[i] = kept + STEP;
        double above = reference_cross_entropy(CLASSES, SAMPLES, logits, targets, smoothing, NULL);
        logits[i] = kept - STEP;
        double below = reference_cross_entropy(CLASSES, SAMPLES, logits, targets, smoothing, NULL);
        logits[i] = kept;
        numeric[i] = (above - below) / (2 * STEP);
    }
    ops_near("gradient of the logits", analytic, numeric, CLASSES * SAMPLES, TOLERANCE);
    free(logits);
}

static void test_cross_entropy(void **state) {
    (void)state;
    check_cross_entropy(0);
    check_cross_entropy(0.2);
}

// PyTorch 1.13: torch.nn.functional.cross_entropy(torch.tensor([[1, -2, 0.5], [0, 3, 1]],
// dtype=torch.float64), torch.tensor([0, 2]), reduction="sum", label_smoothing=0.3); and the same
// for torch.tensor([[0.75, 0, 0.25], [0, 0.5, 0.5]], dtype=torch.float64).
static void test_smoothed_cross_entropy(void **state) {
    (void)state;
    const double logits[6] = {1, -2, 0.5, 0, 3, 1};
    const sample_target labels[2] = {{.label = 0}, {.label = 2}};
    double loss = reference_cross_entropy(3, 2, logits, labels, 0.3, NULL);
    if (!(fabs(loss - 2.924442921898569) < 1e-12)) fail_msg("%.15g", loss);
    const sample_target mixed[2] = {{0, 2, 0.25f}, {2, 1, 0.5f}};
    loss = reference_cross_entropy(3, 2, logits, mixed, 0.3, NULL);
    if (!(fabs(loss - 2.3119429218985688) < 1e-12)) fail_msg("%.15g", loss);
}

static void test_cross_entropy_far_out(void **state) {
    (void)state;
    const double logits[4] = {1e4, -1e4, 700, -700};
    const sample_target labels[2] = {{.label = 1}, {.label = 0}};
    double gradient[4];
    double loss = reference_cross_entropy(2, 2, logits, labels, 0, gradient);
    assert_true(fabs(loss - 2e4) < 1e-9);
    assert_true(gradient[0] == 1 && gradient[1] == -1 && fabs(gradient[2]) < 1e-300);
}

// ---- A whole network ----

// Four layers with parameters and one of every other kind, on two input channels of 7 × 6.
enum { NET_LAYERS = 11, NET_SAMPLES = 7 };

static void add_parameters(program *p, layer *l) {
    if (!layer_weights(l)) return;
    l->weight = p->parameters;
    l->bias = l->weight + (layer_weights(l) + 15) / 16 * 16;
    p->parameters = l->bias + (size_t)(l->out.channels + 15) / 16 * 16;
    if (!layer_statistics(l)) return;
    l->mean = p->buffers;
    l->variance = l->mean + (size_t)(l->out.channels + 15) / 16 * 16;
    p->buffers = l->variance + (size_t)(l->out.channels + 15) / 16 * 16;
}

static program small_network(layer layers[NET_LAYERS]) {
    const layer made[NET_LAYERS] = {
        {.kind = LAYER_CONV, .out = {3, 0, 0}, .has_bias = true, KERNEL(3, 3, 1, 1, 1, 1)},
        {.kind = LAYER_BATCH_NORM, .eps = 1e-5, .momentum = 0.1},
        {.kind = LAYER_RELU},
        {.kind = LAYER_MAX_POOL, KERNEL(2, 2, 2, 2, 0, 0)},
        {.kind = LAYER_CONV, .out = {4, 0, 0}, KERNEL(2, 2, 1, 1, 1, 1)},
        {.kind = LAYER_RELU},
        {.kind = LAYER_AVG_POOL, KERNEL(2, 2, 1, 1, 0, 0)},
        {.kind = LAYER_FLATTEN},
        {.kind = LAYER_DROPOUT, .rate = 0.4},
        {.kind = LAYER_BATCH_NORM, .eps = 1e-5, .momentum = 0.1},
        {.kind = LAYER_LINEAR, .out = {5, 1, 1}, .has_bias = true},
    };
    memcpy(layers, made, sizeof made);
    program p = {.layers = layers, .count = NET_LAYERS, .input = {2, 7, 6}, .classes = 5};
    shape at = p.input;
    for (int i = 0; i < p.count; i++) {
        layer *l = &layers[i];
        l->number = i;
        l->key = (uint64_t)i;
        l->in = at;
        if (l->kernel_h)
            ops_finish_window(l, l->kind == LAYER_CONV ? l->out.channels : at.channels);
        else if (l->kind == LAYER_FLATTEN)
            l->out = (shape){(int)shape_size(at), 1, 1};
        else if (l->kind != LAYER_LINEAR)
            l->out = at;
        add_parameters(&p, l);
        at = l->out;
    }
    return p;
}

static double network_loss(const program *p, const double *parameters, const reference_batch *b,
                           double *gradients) {
    error err;
    assert_int_equal(reference_step(p, parameters, b, gradients, NULL, &err), STATUS_OK);
    return gradients[p->parameters + p->buffers + TAIL_LOSS];
}

static void check_network(int shards, const int *count, bool sync) {
    layer layers[NET_LAYERS];
    const program p = small_network(layers);
    const sample_target targets[NET_SAMPLES] = {{.label = 0}, {.label = 1}, {2, 4, 0.25f},
                                                {.label = 3}, {.label = 4}, {.label = 0},
                                                {.label = 2}};
    const uint32_t ids[NET_SAMPLES] = {5, 9, 11, 0, 7, 2, 1};
    const size_t floats = gradient_floats(&p);
    double *inputs = ops_random(NET_SAMPLES * shape_size(p.input), 6);
    double *parameters = ops_random(p.parameters, 7), *numeric = ops_zeros(p.parameters);
    double *gradients = ops_zeros(floats), *scratch = ops_zeros(floats);
    const reference_batch b = {.shards = shards,
                               .count = count,
                               .inputs = inputs,
                               .targets = targets,
                               .ids = ids,
                               .epoch = 3,
                               .seed = 12,
                               .sync_batch_norm = sync};
    (void)network_loss(&p, parameters, &b, gradients);
    for (size_t i = 0; i < p.parameters; i++) {
        double kept = parameters[i];
        parameters[i] = kept + STEP;
        double above = network_loss(&p, parameters, &b, scratch);
        parameters[i] = kept - STEP;
        double below = network_loss(&p, parameters, &b, scratch);
        parameters[i] = kept;
        numeric[i] = (above - below) / (2 * STEP);
    }
    ops_near("gradient of the parameters", gradients, numeric, p.parameters, 1e-6);
    free(inputs), free(parameters), free(numeric), free(gradients), free(scratch);
}

static void test_network_one_shard(void **state) {
    (void)state;
    check_network(1, (int[]){7}, false);
}

static void test_network_three_shards(void **state) {
    (void)state;
    check_network(3, (int[]){4, 2, 1}, false);
}

static void test_network_empty_shard(void **state) {
    (void)state;
    check_network(3, (int[]){4, 3, 0}, false);
}

static void test_network_sync_batch_norm(void **state) {
    (void)state;
    check_network(3, (int[]){4, 2, 1}, true);
}

enum { LAYER_CASES = sizeof cases / sizeof cases[0], OTHER_CASES = 7 };

static struct CMUnitTest test_of(const op_case *c) {
    return (struct CMUnitTest){
        .name = c->name, .test_func = test_layer, .initial_state = (void *)(uintptr_t)c};
}

int main(void) {
    struct CMUnitTest tests[LAYER_CASES + LAYER_KINDS + OTHER_CASES] = {
        cmocka_unit_test(test_cross_entropy),
        cmocka_unit_test(test_smoothed_cross_entropy),
        cmocka_unit_test(test_cross_entropy_far_out),
        cmocka_unit_test(test_network_one_shard),
        cmocka_unit_test(test_network_three_shards),
        cmocka_unit_test(test_network_empty_shard),
        cmocka_unit_test(test_network_sync_batch_norm),
    };
    size_t count = OTHER_CASES;
    for (int i = 0; i < LAYER_CASES; i++) tests[count++] = test_of(&cases[i]);
    for (int k = 0; k < LAYER_KINDS; k++) {
        if (has_case((layer_kind)k)) continue;
        examples[k] = example_of((layer_kind)k);
        tests[count++] = test_of(&examples[k]);
    }
    return _cmocka_run_group_tests("finite differences", tests, count, NULL, NULL);
}
