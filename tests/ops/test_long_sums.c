// SPDX-License-Identifier: MIT
// Sums over the positions of large images, and over all of their pixels: their distance from sums
// in double, and one result for all instruction sets. All terms are positive, as in a channel that
// is never zero: then every addition of a small term to a large sum loses digits. The test prints
// the largest relative error of each sum.
#include "../few.h"
#include "images.h"

#include <stdio.h>

#include "compute/backend.h"
#include "reference.h"

// A float sum of 64×64 terms and more, one after another, is off by 1e-5; to round once costs 6e-8.
static const double ALLOWED = 6e-7, ALLOWED_WINOGRAD = 2e-6;

enum { SIDE = 224, CHANNELS = 3, OUTPUTS = 5 };

static const char *const isas[] = {"baseline", "v3", "v4"};
enum { ISAS = sizeof isas / sizeof *isas };

// Values in [0, 1), exact in float.
static double *positive(size_t n, uint32_t salt) {
    double *x = ops_random(n, salt);
    for (size_t i = 0; i < n; i++) x[i] = (double)(float)fabs(x[i]);
    return x;
}

// The largest relative error of `got`, printed.
static double error_of(const char *what, const char *isa, int lanes, const float *got,
                       const double *wanted, size_t n) {
    double worst = 0;
    for (size_t i = 0; i < n; i++)
        worst = fmax(worst, fabs((double)got[i] - wanted[i]) / fabs(wanted[i]));
    print_message("%s, %s, %d lanes: relative error %.1e\n", what, isa, lanes, worst);
    return worst;
}

// Keeps the first result, and compares the others with it.
static void same_bits(float *first, bool *have, const float *got, size_t n) {
    if (*have) assert_memory_equal(got, first, n * sizeof *got);
    memcpy(first, got, n * sizeof *got);
    *have = true;
}

// ---- Weight gradients ----

typedef struct weight_case {
    const char *name;
    int kernel, stride, pad;
    bool winograd;
} weight_case;

static const weight_case cases[] = {
    {"weight gradient 3x3", 3, 1, 1, false},
    {"weight gradient 7x7, stride 2", 7, 2, 3, false},
    {"weight gradient 4x4, padding 2", 4, 1, 2, false},
    {"weight gradient 3x3, Winograd", 3, 1, 1, true},
};

static layer layer_of(const weight_case *c) {
    layer l = {.kind = LAYER_CONV,
               .in = {CHANNELS, SIDE, SIDE},
               .kernel_h = c->kernel,
               .kernel_w = c->kernel,
               .stride_h = c->stride,
               .stride_w = c->stride,
               .pad_h = c->pad,
               .pad_w = c->pad};
    ops_finish_window(&l, OUTPUTS);
    return l;
}

typedef struct gradients {
    float dw[OUTPUTS * CHANNELS * 7 * 7], db[OUTPUTS];
} gradients;

static void weigh(const kernels *k, const layer *l, bool winograd, const image *x, const image *dz,
                  gradients *g) {
    const size_t direct = CONV_SCRATCH_OUTPUTS * layer_weights(l) / OUTPUTS * GROUP;
    float *scratch = image_floats(winograd ? k->winograd_scratch(l) : direct);
    const conv_weight_task t = {.in = x->v,
                                .dout = dz->v,
                                .dw = g->dw,
                                .db = g->db,
                                .scratch = scratch,
                                .kernel_h = l->kernel_h,
                                .kernel_w = l->kernel_w,
                                .stride_y = l->stride_h,
                                .stride_x = l->stride_w,
                                .pad_y = l->pad_h,
                                .pad_x = l->pad_w};
    (winograd ? k->winograd_weight : k->conv_weight)(&t);
    free(scratch);
}

static void check_weights(const weight_case *c, int lanes) {
    const layer l = layer_of(c);
    const size_t weights = layer_weights(&l), xs = (size_t)lanes * shape_size(l.in),
                 zs = (size_t)lanes * shape_size(l.out);
    double *x = positive(xs, 1), *dz = positive(zs, 2), *w = ops_zeros(weights);
    double *dw = ops_zeros(weights), *db = ops_zeros(OUTPUTS);
    image x_image = image_new(l.in, lanes, c->pad, x), dz_image = image_new(l.out, lanes, 0, dz);
    gradients first;
    bool have = false;
    reference_backward(&(reference_task){
        .l = &l, .samples = lanes, .x = x, .weight = w, .dy = dz, .dweight = dw, .dbias = db});
    for (int i = 0; i < ISAS; i++) {
        const kernels *k = kernels_find(isas[i], lanes);
        gradients got = {0};
        if (!k) continue;
        weigh(k, &l, c->winograd, &x_image, &dz_image, &got);
        assert_true(error_of(c->name, isas[i], lanes, got.dw, dw, weights) <=
                    (c->winograd ? ALLOWED_WINOGRAD : ALLOWED));
        assert_true(error_of("bias gradient", isas[i], lanes, got.db, db, OUTPUTS) <= ALLOWED);
        same_bits((float *)&first, &have, (float *)&got, sizeof got / sizeof(float));
    }
    free(x), free(dz), free(w), free(dw), free(db);
    free(x_image.memory), free(dz_image.memory);
}

static void test_weight_gradients(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t column = 0;
        for (int lanes = 4; lanes <= GROUP; lanes *= 2)
            if (!is_left_out(i, column++)) check_weights(&cases[i], lanes);
    }
}

// ---- Average pools ----

static void check_pool(int lanes) {
    layer l = {.kind = LAYER_AVG_POOL,
               .in = {CHANNELS, SIDE, SIDE},
               .kernel_h = SIDE,
               .kernel_w = SIDE,
               .stride_h = 1,
               .stride_w = 1};
    ops_finish_window(&l, CHANNELS);
    double *x = positive((size_t)lanes * shape_size(l.in), 3);
    double *wanted = ops_zeros((size_t)(lanes * CHANNELS));
    image x_image = image_new(l.in, lanes, 0, x), y_image = image_new(l.out, lanes, 0, NULL);
    float first[CHANNELS * GROUP], got[CHANNELS * GROUP];
    bool have = false;
    reference_forward(&(reference_task){.l = &l, .samples = lanes, .x = x, .y = wanted});
    for (int i = 0; i < ISAS; i++) {
        const kernels *k = kernels_find(isas[i], lanes);
        if (!k) continue;
        const layer_task t = {.l = &l, .x = x_image.v, .y = y_image.v};
        k->layers[LAYER_AVG_POOL].forward(&t);
        double *values = image_values(&y_image, lanes);
        for (int n = 0; n < lanes * CHANNELS; n++) got[n] = (float)values[n];
        free(values);
        assert_true(error_of("global average pool", isas[i], lanes, got, wanted,
                             (size_t)(lanes * CHANNELS)) <= ALLOWED);
        same_bits(first, &have, got, (size_t)(lanes * CHANNELS));
    }
    free(x), free(wanted), free(x_image.memory), free(y_image.memory);
}

static void test_average_pool(void **state) {
    (void)state;
    for (int lanes = 4; lanes <= GROUP; lanes *= 2) check_pool(lanes);
}

// ---- Linear layers ----

static void check_linear(int lanes) {
    const layer l = {.kind = LAYER_LINEAR, .in = {CHANNELS, SIDE, SIDE}, .out = {OUTPUTS, 1, 1}};
    const size_t inputs = shape_size(l.in), outputs = (size_t)lanes * OUTPUTS;
    double *x = positive((size_t)lanes * inputs, 7), *w = positive(OUTPUTS * inputs, 8);
    double *values = ops_zeros(outputs), *wanted = ops_zeros(outputs);
    float *weight = floats_of(w, OUTPUTS * inputs), first[OUTPUTS * GROUP];
    image x_image = image_new(l.in, lanes, 0, x), z_image = image_new(l.out, lanes, 0, NULL);
    bool have = false;
    reference_forward(
        &(reference_task){.l = &l, .samples = lanes, .x = x, .weight = w, .y = values});
    for (int n = 0; n < lanes; n++)
        for (int o = 0; o < OUTPUTS; o++) wanted[o * lanes + n] = values[n * OUTPUTS + o];
    for (int i = 0; i < ISAS; i++) {
        const kernels *k = kernels_find(isas[i], lanes);
        const linear_task t = {.inputs = (int)inputs,
                               .outputs = OUTPUTS,
                               .weight = weight,
                               .x = x_image.v.data,
                               .z = z_image.v.data};
        if (!k) continue;
        k->linear(&t);
        assert_true(error_of("linear layer", isas[i], lanes, t.z, wanted, outputs) <= ALLOWED);
        same_bits(first, &have, t.z, outputs);
    }
    free(x), free(w), free(values), free(wanted), free(weight);
    free(x_image.memory), free(z_image.memory);
}

static void test_linear(void **state) {
    (void)state;
    for (int lanes = 4; lanes <= GROUP; lanes *= 2) check_linear(lanes);
}

// ---- Batch norm ----

// Of a channel with mean ½ and variance 1/12.
static void check_moments(int lanes) {
    const shape s = {CHANNELS, SIDE, SIDE};
    double *x = positive((size_t)lanes * shape_size(s), 4), wanted[2 * CHANNELS];
    image z = image_new(s, lanes, 0, x);
    float first[2 * CHANNELS], got[2 * CHANNELS];
    bool have = false;
    reference_moments(s, lanes, x, wanted, wanted + CHANNELS);
    for (int i = 0; i < ISAS; i++) {
        const kernels *k = kernels_find(isas[i], lanes);
        double mean[CHANNELS], m2[CHANNELS];
        if (!k) continue;
        k->moments(&z.v, lanes, mean, m2);
        for (int c = 0; c < CHANNELS; c++) {
            got[c] = (float)mean[c];
            got[CHANNELS + c] = (float)(m2[c] / ((double)lanes * SIDE * SIDE));
        }
        assert_true(error_of("mean and variance", isas[i], lanes, got, wanted, 2 * CHANNELS) <=
                    ALLOWED);
        same_bits(first, &have, got, 2 * CHANNELS);
    }
    free(x), free(z.memory);
}

static void check_norm_backward(int lanes) {
    const shape s = {CHANNELS, SIDE, SIDE};
    const size_t n = (size_t)lanes * shape_size(s);
    double *x = positive(n, 5), *dy = positive(n, 6), wanted[2 * CHANNELS] = {0};
    image z = image_new(s, lanes, 0, x), y = image_new(s, lanes, 0, NULL),
          d = image_new(s, lanes, 0, dy);
    float one[CHANNELS], zero[CHANNELS] = {0}, first[2 * CHANNELS], got[2 * CHANNELS];
    bool have = false;
    for (int c = 0; c < CHANNELS; c++) one[c] = 1;
    for (size_t i = 0; i < n; i++) {
        const size_t c = i / (SIDE * SIDE) % CHANNELS;
        wanted[c] += dy[i];
        wanted[CHANNELS + c] += dy[i] * x[i];
    }
    const epilogue_task t = {.z = z.v,
                             .y = y.v,
                             .scale = one,
                             .shift = zero,
                             .activation = ACTIVATION_RELU,
                             .samples = lanes,
                             .dy = d.v.data,
                             .mean = zero,
                             .mean_rest = zero,
                             .inv_std = one,
                             .sum_dy = got,
                             .sum_dy_xhat = got + CHANNELS};
    for (int i = 0; i < ISAS; i++) {
        const kernels *k = kernels_find(isas[i], lanes);
        if (!k) continue;
        k->epilogue_backward_sums(&t);
        assert_true(error_of("gradients of a batch norm", isas[i], lanes, got, wanted,
                             2 * CHANNELS) <= ALLOWED);
        same_bits(first, &have, got, 2 * CHANNELS);
    }
    free(x), free(dy), free(z.memory), free(y.memory), free(d.memory);
}

static void test_batch_norm(void **state) {
    (void)state;
    for (int lanes = 4; lanes <= GROUP; lanes *= 2) check_moments(lanes);
    for (int lanes = 4; lanes <= GROUP; lanes *= 2) check_norm_backward(lanes);
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_weight_gradients),
        cmocka_unit_test(test_average_pool),
        cmocka_unit_test(test_linear),
        cmocka_unit_test(test_batch_norm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
