// SPDX-License-Identifier: MIT
// The reference operations against PyTorch's results in tests/golden/operations.safetensors.
//
// There is one test per case of the file; tests/golden/make_golden.py describes the cases. Both
// sides compute in double, so they agree up to rounding.
#include "golden_update.h"

#include "data/tensor/tensor_file.h"
#include "nn/layer_types.h"
#include "nn/optimizer.h"
#include "reference.h"

static const char PATH[] = "tests/golden/operations.safetensors";
// Most agree to 1e-15. Batch norm of two values per channel cancels nearly everything: 1e-11.
static const double TOLERANCE = 1e-10;

// A case: its name and its description, as "KIND KEY=VALUE ...".
typedef struct golden {
    const tensor_file *file;
    const char *name, *description;
} golden;

// ---- Reading a case ----

static const tensor *find(const golden *g, const char *key) {
    char name[128];
    snprintf(name, sizeof name, "%s.%s", g->name, key);
    return tensor_file_find(g->file, name);
}

// Returns the values of a tensor of the case, or NULL if it has none of that name.
static const double *values(const golden *g, const char *key) {
    const tensor *t = find(g, key);
    if (!t) return NULL;
    assert_int_equal(t->type, TENSOR_F64);
    return t->data;
}

static size_t count(const golden *g, const char *key) {
    const tensor *t = find(g, key);
    return t ? (size_t)tensor_elements(t) : 0;
}

// Compares `got` with a tensor of the case, which must exist.
static void same(const golden *g, const char *key, const double *got) {
    const double *expected = values(g, key);
    if (!expected) fail_msg("%s.%s is missing in %s", g->name, key, PATH);
    ops_near(key, got, expected, count(g, key), TOLERANCE);
}

// Reads up to three numbers after KEY= in the description; returns their number.
static int numbers(const golden *g, const char *key, double v[3]) {
    char wanted[32];
    snprintf(wanted, sizeof wanted, " %s=", key);
    const char *at = strstr(g->description, wanted);
    return at ? sscanf(at + strlen(wanted), "%lf,%lf,%lf", &v[0], &v[1], &v[2]) : 0;
}

static double number(const golden *g, const char *key) {
    double v[3];
    if (numbers(g, key, v) < 1) fail_msg("%s: no %s in '%s'", g->name, key, g->description);
    return v[0];
}

static bool is_kind(const golden *g, const char *kind) {
    size_t length = strlen(kind);
    return strncmp(g->description, kind, length) == 0 && g->description[length] == ' ';
}

static shape shape_of(const golden *g, const char *key) {
    double v[3];
    assert_int_equal(numbers(g, key, v), 3);
    return (shape){(int)v[0], (int)v[1], (int)v[2]};
}

static void pair_of(const golden *g, const char *key, int *h, int *w) {
    double v[3];
    assert_int_equal(numbers(g, key, v), 2);
    *h = (int)v[0];
    *w = (int)v[1];
}

static layer layer_of(const golden *g, layer_kind kind) {
    layer l = {.kind = kind, .in = shape_of(g, "in"), .out = shape_of(g, "out")};
    pair_of(g, "kernel", &l.kernel_h, &l.kernel_w);
    pair_of(g, "stride", &l.stride_h, &l.stride_w);
    pair_of(g, "pad", &l.pad_h, &l.pad_w);
    l.has_bias = number(g, "bias") != 0;
    if (kind == LAYER_BATCH_NORM) {
        l.eps = number(g, "eps");
        l.momentum = number(g, "momentum");
    }
    return l;
}

// ---- Layers ----

// Compares what the golden file has of the layer's results.
static void check_layer(const golden *g, layer_kind kind) {
    const layer l = layer_of(g, kind);
    const int n = (int)number(g, "samples");
    const double *weight = values(g, "weight"), *bias = values(g, "bias");
    double *kept = ops_zeros(reference_kept(&l, n));
    double *y = ops_zeros(count(g, "y")), *dx = ops_zeros(count(g, "x"));
    double *dw = weight ? ops_zeros(count(g, "weight")) : NULL;
    double *db = bias ? ops_zeros(count(g, "bias")) : NULL;
    reference_task t = {.l = &l,
                        .samples = n,
                        .x = values(g, "x"),
                        .weight = weight,
                        .bias = bias,
                        .y = y,
                        .dy = values(g, "dy"),
                        .dx = dx,
                        .dweight = dw,
                        .dbias = db};
    if (layer_statistics(&l)) {
        t.mean = values(g, "mean");
        t.variance = values(g, "variance");
        reference_forward(&t);
        same(g, "inference", y);
    }
    t.kept = kept;
    reference_forward(&t);
    reference_backward(&t);
    same(g, "y", y);
    same(g, "dx", dx);
    if (dw) same(g, "dweight", dw);
    if (db) same(g, "dbias", db);
    free(kept), free(y), free(dx), free(dw), free(db);
}

// The running statistics after one step of a program with this one layer.
static void check_running_statistics(const golden *g) {
    layer l = layer_of(g, LAYER_BATCH_NORM);
    const size_t channels = (size_t)l.in.channels;
    const int n = (int)number(g, "samples");
    l.variance = channels;
    const program p = {.layers = &l, .count = 1, .input = l.in, .buffers = 2 * channels};
    const reference_batch b = {.shards = 1, .count = &n};
    const double positions = (double)n * l.in.height * l.in.width;
    double *gradients = ops_zeros(gradient_floats(&p)), *buffers = ops_zeros(2 * channels);
    memcpy(buffers, values(g, "mean"), channels * sizeof *buffers);
    memcpy(buffers + channels, values(g, "variance"), channels * sizeof *buffers);
    reference_moments(l.in, n, values(g, "x"), gradients, gradients + channels);
    for (size_t c = 0; c < channels; c++) {
        gradients[c] *= positions;
        gradients[channels + c] *= positions * positions / (positions - 1);
    }
    reference_update_buffers(&p, &b, gradients, buffers);
    same(g, "mean_after", buffers);
    same(g, "variance_after", buffers + channels);
    free(gradients), free(buffers);
}

// ---- Loss, updates, schedules ----

static void check_loss(const golden *g) {
    const tensor *labels = find(g, "labels");
    assert_non_null(labels);
    double *dx = ops_zeros(count(g, "x"));
    sample_target *targets = calloc((size_t)tensor_elements(labels), sizeof *targets);
    assert_non_null(targets);
    for (int64_t i = 0; i < tensor_elements(labels); i++)
        targets[i].label = ((const uint8_t *)labels->data)[i];
    double loss = reference_cross_entropy((int)number(g, "classes"), (int)number(g, "samples"),
                                          values(g, "x"), targets, 0, dx);
    free(targets);
    same(g, "y", &loss);
    same(g, "dx", dx);
    free(dx);
}

static void check_update(const golden *g) {
    update_rule rule = golden_rule(g->description);
    const size_t n = count(g, "x"), steps = (size_t)number(g, "steps");
    double *parameters = ops_zeros(n), *after = ops_zeros(steps * n), *gradient = ops_zeros(n);
    double *state = ops_zeros(OPTIMIZER_STATES * n);
    memcpy(parameters, values(g, "x"), n * sizeof *parameters);
    for (; rule.step < steps; rule.step++) {
        // A sum over four samples, and the factor that makes it their mean.
        for (size_t i = 0; i < n; i++) gradient[i] = 4 * values(g, "dy")[rule.step * n + i];
        reference_update(&rule, NULL, 0.25, n, gradient, parameters, state);
        memcpy(after + rule.step * n, parameters, n * sizeof *parameters);
    }
    same(g, "y", after);
    free(parameters), free(after), free(gradient), free(state);
}

static void check_schedule(const golden *g) {
    double milestones[3] = {0};
    schedule s = {.kind = SCHEDULE_CONSTANT,
                  .gamma = number(g, "gamma"),
                  .warmup_epochs = (int)number(g, "warmup_epochs")};
    if (strstr(g->description, "kind=multistep")) s.kind = SCHEDULE_MULTISTEP;
    if (strstr(g->description, "kind=cosine")) s.kind = SCHEDULE_COSINE;
    // "3,1,2,5": the number of milestones, then the milestones.
    const char *list = strstr(g->description, "milestones=");
    assert_non_null(list);
    (void)sscanf(list, "milestones=%d,%lf,%lf,%lf", &s.milestone_count, &milestones[0],
                 &milestones[1], &milestones[2]);
    for (int i = 0; i < s.milestone_count; i++) s.milestones[i] = (int)milestones[i];

    const optimizer o = {.kind = OPTIMIZER_SGD, .lr = number(g, "lr")};
    const lr_scaling none = {.kind = LR_SCALING_NONE};
    const int epochs = (int)number(g, "epochs");
    const size_t steps = (size_t)number(g, "steps"), n = count(g, "y");
    double *rates = ops_zeros(n);
    for (size_t i = 0; i < n; i++)
        rates[i] = learning_rate(&o, &s, &none, 64, i, steps, steps * (uint64_t)epochs, NULL);
    same(g, "y", rates);
    for (size_t i = 0; i < n; i++) assert_true(fabs(rates[i] - values(g, "y")[i]) <= 1e-12 * o.lr);
    free(rates);
}

// ---- All cases ----

static void test_case(void **state) {
    const golden *g = *state;
    for (int k = 0; k < LAYER_KINDS; k++) {
        if (!is_kind(g, layer_types[k].word)) continue;
        check_layer(g, (layer_kind)k);
        if (k == LAYER_BATCH_NORM) check_running_statistics(g);
        return;
    }
    if (is_kind(g, "loss")) {
        check_loss(g);
    } else if (is_kind(g, "update")) {
        check_update(g);
    } else if (is_kind(g, "schedule")) {
        check_schedule(g);
    } else {
        fail_msg("unknown kind: '%s'", g->description);
    }
}

enum { MAX_CASES = 1000 };

int main(void) {
    static struct CMUnitTest tests[MAX_CASES];
    static golden cases[MAX_CASES];
    tensor_file file = {0};
    error err;
    if (tensor_file_read(PATH, TENSOR_FILE_DEFAULT_MAX, &file, &err) != STATUS_OK) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    size_t n = 0;
    for (size_t i = 0; i < file.metadata_count && n < MAX_CASES; i++) {
        const tensor_pair *pair = &file.metadata[i];
        if (strncmp(pair->key, "case.", 5) != 0) continue;
        cases[n] = (golden){&file, pair->key + 5, pair->value};
        tests[n] = (struct CMUnitTest){
            .name = cases[n].name, .test_func = test_case, .initial_state = &cases[n]};
        n++;
    }
    // cmocka_run_group_tests needs an array of a size known at compile time.
    int failed = n ? _cmocka_run_group_tests("golden files", tests, n, NULL, NULL) : 1;
    tensor_file_release(&file);
    return failed;
}
