// SPDX-License-Identifier: MIT
// The distance of activations and their derivatives from the reference, in double, over all
// magnitudes of their argument, for every instruction set. The test prints the largest error: of
// values in units of 2^-23 of the argument, or of the value itself, of derivatives in units of
// 2^-23.
#include "ops.h"

#include <stdio.h>

#include "../few.h"
#include "compute/cpu/kernels.h"
#include "reference.h"

// A sanitizer, for which the values do not matter, gets fewest.
#define VALUES ((fewest_cases() ? 1 << 10 : few_cases() ? 1 << 14 : 1 << 16) * GROUP)

typedef struct function_case {
    layer_kind kind;
    double value_error, gradient_error; // allowed
    bool of_value;                      // it is not 0 at 0
    double factor, threshold;           // not the defaults, if one of them is not 0
} function_case;

static const function_case functions[] = {
    {.kind = LAYER_GELU, .value_error = 0.8, .gradient_error = 0.9},
    {.kind = LAYER_SILU, .value_error = 1.0, .gradient_error = 0.9},
    {.kind = LAYER_MISH, .value_error = 1.2, .gradient_error = 1.5},
    {.kind = LAYER_LEAKY_RELU, .value_error = 0.1, .gradient_error = 0.1},
    {.kind = LAYER_LEAKY_RELU, .value_error = 1.1, .gradient_error = 0, .factor = -1.75},
    {.kind = LAYER_ELU, .value_error = 0.8, .gradient_error = 0.4},
    {.kind = LAYER_ELU, .value_error = 0.4, .gradient_error = 0.3, .factor = 0.25},
    {.kind = LAYER_CELU, .value_error = 1.5, .gradient_error = 0.6, .factor = 2.5},
    // In its tail it depends on the rounding of factor·x.
    {.kind = LAYER_SOFTPLUS, .value_error = 1.8, .gradient_error = 0.8, .of_value = true},
    {.kind = LAYER_SOFTPLUS,
     .value_error = 5.7,
     .gradient_error = 0.8,
     .of_value = true,
     .factor = 0.75,
     .threshold = 3},
    {.kind = LAYER_SIGMOID, .value_error = 1.5, .gradient_error = 0.4, .of_value = true},
    {.kind = LAYER_TANH, .value_error = 1.7, .gradient_error = 1.6},
    {.kind = LAYER_RELU6, .value_error = 0, .gradient_error = 0},
    {.kind = LAYER_HARD_SIGMOID, .value_error = 0.8, .gradient_error = 0.1, .of_value = true},
    {.kind = LAYER_HARD_SWISH, .value_error = 1.0, .gradient_error = 0.7},
};

typedef struct numbers {
    float *x, *ones, *y, *dx;
    double *x64, *ones64, *y64, *dx64;
} numbers;

static float *floats_new(void) {
    float *f = aligned_alloc(64, (size_t)VALUES * sizeof *f);
    assert_non_null(f);
    return f;
}

// From -20 to 20, dense around 0.
static numbers numbers_new(void) {
    numbers n = {floats_new(),      floats_new(),      floats_new(),      floats_new(),
                 ops_zeros(VALUES), ops_zeros(VALUES), ops_zeros(VALUES), ops_zeros(VALUES)};
    double *r = ops_random(VALUES, 1);
    for (size_t i = 0; i < VALUES; i++) {
        n.x[i] = (float)(20 * r[i] * r[i] * r[i]);
        n.x64[i] = (double)n.x[i];
        n.ones[i] = 1;
        n.ones64[i] = 1;
    }
    free(r);
    return n;
}

static void numbers_free(numbers *n) {
    free(n->x), free(n->ones), free(n->y), free(n->dx);
    free(n->x64), free(n->ones64), free(n->y64), free(n->dx64);
}

// NaN if one of the numbers is.
static double error_of(const float *got, const double *wanted, const double *unit) {
    double worst = 0;
    for (size_t i = 0; i < VALUES; i++) {
        const double distance = fabs((double)got[i] - wanted[i]);
        const double off = distance == 0 ? 0 : distance / (unit ? fabs(unit[i]) : 1) / 0x1p-23;
        if (isnan(off) || off > worst) worst = off;
    }
    return worst;
}

static layer layer_of(const function_case *f) {
    layer l = {.kind = f->kind, .in = {1, 1, VALUES}, .out = {1, 1, VALUES}};
    ops_default_numbers(&l);
    if (f->factor != 0 || f->threshold != 0) {
        l.factor = f->factor;
        l.threshold = f->threshold;
    }
    return l;
}

static void check(const function_case *f, numbers *n, const char *isa, int lanes) {
    const kernels *k = kernels_find(isa, lanes);
    if (!k) return;
    const int width = VALUES / lanes;
    const view x = {n->x, 1, 1, width, (size_t)VALUES, (size_t)VALUES},
               y = {n->y, 1, 1, width, (size_t)VALUES, (size_t)VALUES};
    const layer l = layer_of(f);
    const layer_task t = {.l = &l, .x = x, .y = y, .dy = n->ones, .dx = n->dx};
    k->layers[f->kind].forward(&t);
    k->layers[f->kind].backward(&t);
    const double value = error_of(n->y, n->y64, f->of_value ? n->y64 : n->x64);
    const double gradient = error_of(n->dx, n->dx64, NULL);
    print_message("%s (%g, %g), %s, %d lanes: value %.2f, derivative %.2f\n",
                  layer_kind_traits[f->kind].word, l.factor, l.threshold, isa, lanes, value,
                  gradient);
    assert_true(value <= f->value_error);
    assert_true(gradient <= f->gradient_error);
}

static void test_errors(void **state) {
    static const char *const isas[] = {"baseline", "v3", "v4"};
    (void)state;
    numbers n = numbers_new();
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        const function_case *f = &functions[i];
        const layer l = layer_of(f);
        const reference_task t = {
            .l = &l, .samples = 1, .x = n.x64, .y = n.y64, .dy = n.ones64, .dx = n.dx64};
        reference_forward(&t);
        reference_backward(&t);
        for (size_t k = 0; k < sizeof isas / sizeof *isas; k++) {
            for (int lanes = 4; lanes <= GROUP; lanes *= 2) check(f, &n, isas[k], lanes);
        }
    }
    numbers_free(&n);
}

// Beyond all limits: no value that is finite in PyTorch, and no derivative, becomes a NaN; a NaN
// stays one.
static void test_far(void **state) {
    (void)state;
    static const float far[] = {1e30f, -1e30f, 3e38f, -3e38f, INFINITY, -INFINITY, NAN, -0.0f};
    const kernels *k = kernels_find(NULL, GROUP);
    float x[GROUP] __attribute__((aligned(64))), y[GROUP] __attribute__((aligned(64)));
    float ones[GROUP] __attribute__((aligned(64))), dx[GROUP] __attribute__((aligned(64)));
    for (int i = 0; i < GROUP; i++) {
        x[i] = far[i % 8];
        ones[i] = 1;
    }
    const view in = {x, 1, 1, 1, GROUP, GROUP}, out = {y, 1, 1, 1, GROUP, GROUP};
    for (size_t f = 0; f < sizeof functions / sizeof *functions; f++) {
        const layer l = layer_of(&functions[f]);
        const layer_task t = {.l = &l, .x = in, .y = out, .dy = ones, .dx = dx};
        k->layers[l.kind].forward(&t);
        k->layers[l.kind].backward(&t);
        for (int i = 0; i < 8; i++) {
            const bool is_nan = isnan(far[i]);
            if (!isnan(y[i]) == is_nan || (!is_nan && isnan(dx[i])))
                fail_msg("%s of %g: %g, %g", layer_kind_traits[l.kind].word, (double)far[i],
                         (double)y[i], (double)dx[i]);
        }
    }
}

// At a kink the derivative is PyTorch's; hard swish's is that of versions since 2025.
static void test_kinks(void **state) {
    (void)state;
    static const struct {
        layer_kind kind;
        float at, derivative;
    } kinks[] = {
        {LAYER_RELU6, 0, 0},        {LAYER_RELU6, 6, 0},       {LAYER_LEAKY_RELU, 0, 0.01f},
        {LAYER_ELU, 0, 1},          {LAYER_CELU, 0, 1},        {LAYER_HARD_SIGMOID, -3, 0},
        {LAYER_HARD_SIGMOID, 3, 0}, {LAYER_HARD_SWISH, -3, 0}, {LAYER_HARD_SWISH, 3, 1}};
    const kernels *k = kernels_find(NULL, GROUP);
    for (size_t i = 0; i < sizeof kinks / sizeof *kinks; i++) {
        const function_case f = {.kind = kinks[i].kind};
        const layer l = layer_of(&f);
        float x[GROUP] __attribute__((aligned(64))), dx[GROUP] __attribute__((aligned(64)));
        float ones[GROUP] __attribute__((aligned(64)));
        for (int n = 0; n < GROUP; n++) {
            x[n] = kinks[i].at;
            ones[n] = 1;
        }
        const view in = {x, 1, 1, 1, GROUP, GROUP};
        const layer_task t = {.l = &l, .x = in, .y = in, .dy = ones, .dx = dx};
        k->layers[l.kind].backward(&t);
        if (dx[0] != kinks[i].derivative) fail_msg("case %zu: %g", i, (double)dx[0]);
    }
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_errors), cmocka_unit_test(test_far), cmocka_unit_test(test_kinks)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
