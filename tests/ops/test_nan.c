// SPDX-License-Identifier: MIT
// A NaN passes forward through ReLU and pooling, and its gradient back, as in PyTorch: in the
// reference, and in the kernels of every instruction set with both numbers of lanes.
#include "ops.h"

#include <stdio.h>

#include "compute/cpu/kernels.h"
#include "reference.h"

enum { WINDOW = 4 };

// The values of a window's elements: every combination of four is tested.
static const float values[] = {-2.0f, -0.0f, 0.0f, 1.5f, INFINITY, -INFINITY, NAN};
enum { VALUES = sizeof values / sizeof *values, WINDOWS = VALUES * VALUES * VALUES * VALUES };

static float value_of(int window, int element) {
    for (int i = 0; i < element; i++) window /= VALUES;
    return values[window % VALUES];
}

// PyTorch's result for a window: ReLU of each element, then the first maximum; a NaN wins over all.
static float expected(int window, bool relu) {
    float best = value_of(window, 0);
    for (int k = 0; k < WINDOW; k++) {
        const float v = value_of(window, k);
        if (v > best || isnan(v)) best = v;
    }
    return relu && best <= 0 ? 0 : best;
}

static bool any_nan(int window) {
    for (int k = 0; k < WINDOW; k++)
        if (isnan(value_of(window, k))) return true;
    return false;
}

static void same(float got, float wanted, int window, const char *what) {
    if (isnan(wanted) ? isnan(got) : memcmp(&got, &wanted, sizeof got) == 0) return;
    fail_msg("%s of %g, %g, %g, %g is %g, not %g", what, (double)value_of(window, 0),
             (double)value_of(window, 1), (double)value_of(window, 2), (double)value_of(window, 3),
             (double)got, (double)wanted);
}

// ---- Kernels ----

typedef struct kernel_case {
    const char *isa;
    int lanes;
} kernel_case;

// One row of windows per lane: [2][2 · width][lanes].
typedef struct arrays {
    int lanes, width; // windows
    float *z, *y, *dy;
    uint8_t *argmax;
} arrays;

static void *new_array(size_t n) {
    void *p = aligned_alloc(64, (n + 63) / 64 * 64);
    assert_non_null(p);
    memset(p, 0, (n + 63) / 64 * 64);
    return p;
}

static arrays arrays_new(int lanes) {
    const int width = (WINDOWS + lanes - 1) / lanes;
    const size_t n = (size_t)width * (size_t)lanes;
    arrays a = {.lanes = lanes, .width = width};
    a.z = new_array(WINDOW * n * sizeof(float));
    a.y = new_array(WINDOW * n * sizeof(float));
    a.dy = new_array(WINDOW * n * sizeof(float));
    a.argmax = new_array(n);
    return a;
}

static void arrays_free(arrays *a) {
    free(a->z), free(a->y), free(a->dy), free(a->argmax);
}

// The index of element k of a window.
static size_t element_at(const arrays *a, int window, int k) {
    const int x = 2 * (window / a->lanes) + k % 2, y = k / 2;
    return ((size_t)(y * 2 * a->width + x)) * (size_t)a->lanes + (size_t)(window % a->lanes);
}

static void fill(arrays *a) {
    for (int w = 0; w < WINDOWS; w++)
        for (int k = 0; k < WINDOW; k++) a->z[element_at(a, w, k)] = value_of(w, k);
}

static view view_of(float *data, int height, int width, int lanes) {
    const size_t row = (size_t)width * (size_t)lanes;
    return (view){data, 1, height, width, row, (size_t)height * row};
}

static epilogue_task epilogue_of(arrays *a, bool pool, bool relu) {
    return (epilogue_task){.z = view_of(a->z, 2, 2 * a->width, a->lanes),
                           .y = pool ? view_of(a->y, 1, a->width, a->lanes)
                                     : view_of(a->y, 2, 2 * a->width, a->lanes),
                           .argmax = a->argmax,
                           .activation = relu ? ACTIVATION_RELU : ACTIVATION_NONE,
                           .pool = pool,
                           .samples = a->lanes,
                           .dy = a->dy};
}

static void test_relu(void **state) {
    const kernel_case *c = *state;
    const kernels *k = kernels_find(c->isa, c->lanes);
    if (!k) skip();
    arrays a = arrays_new(c->lanes);
    const epilogue_task t = epilogue_of(&a, false, true);
    fill(&a);
    k->epilogue_forward(&t);
    for (int w = 0; w < WINDOWS; w++)
        for (int i = 0; i < WINDOW; i++) {
            const float v = value_of(w, i), wanted = v <= 0 ? 0 : v;
            same(a.y[element_at(&a, w, i)], wanted, w, "ReLU");
            a.dy[element_at(&a, w, i)] = 3;
        }
    k->epilogue_backward(&t);
    for (int w = 0; w < WINDOWS; w++)
        for (int i = 0; i < WINDOW; i++)
            same(a.z[element_at(&a, w, i)], value_of(w, i) <= 0 ? 0 : 3, w, "gradient of ReLU");
    arrays_free(&a);
}

static void check_pool(const kernels *k, bool relu) {
    arrays a = arrays_new(k->lanes);
    const epilogue_task t = epilogue_of(&a, true, relu);
    fill(&a);
    k->epilogue_forward(&t);
    for (int w = 0; w < WINDOWS; w++) {
        const float got = a.y[w], wanted = expected(w, relu);
        const int argmax = a.argmax[w];
        same(got, wanted, w, relu ? "ReLU and pool" : "pool");
        assert_true(argmax <= WINDOW);
        if (argmax == WINDOW) assert_true(relu && wanted == 0);
        if (argmax < WINDOW && !any_nan(w)) same(value_of(w, argmax), wanted, w, "argmax");
        a.dy[w] = 3;
    }
    // In a window with a NaN, some element gets the gradient.
    k->epilogue_backward(&t);
    for (int w = 0; w < WINDOWS; w++) {
        float sum = 0;
        for (int i = 0; i < WINDOW; i++) sum += a.z[element_at(&a, w, i)];
        same(sum, relu && expected(w, relu) <= 0 ? 0 : 3, w, "gradient of ReLU and pool");
    }
    arrays_free(&a);
}

static void test_pool_after_a_layer(void **state) {
    const kernel_case *c = *state;
    const kernels *k = kernels_find(c->isa, c->lanes);
    if (!k) skip();
    check_pool(k, false);
    check_pool(k, true);
}

static void test_pool_alone(void **state) {
    const kernel_case *c = *state;
    const kernels *k = kernels_find(c->isa, c->lanes);
    if (!k) skip();
    arrays a = arrays_new(c->lanes);
    const layer l = {.kind = LAYER_MAX_POOL,
                     .in = {1, 2, 2 * a.width},
                     .out = {1, 1, a.width},
                     .kernel_h = 2,
                     .kernel_w = 2,
                     .stride_h = 2,
                     .stride_w = 2};
    const layer_task t = {.l = &l,
                          .x = view_of(a.z, 2, 2 * a.width, a.lanes),
                          .y = view_of(a.y, 1, a.width, a.lanes),
                          .choices = a.argmax};
    fill(&a);
    k->layers[LAYER_MAX_POOL].forward(&t);
    for (int w = 0; w < WINDOWS; w++) {
        same(a.y[w], expected(w, false), w, "pool alone");
        same(value_of(w, a.argmax[w]), expected(w, false), w, "argmax");
    }
    arrays_free(&a);
}

// ---- The reference ----

static void test_reference(void **state) {
    (void)state;
    const layer relu = {.kind = LAYER_RELU, .in = {1, 2, 2}, .out = {1, 2, 2}};
    const layer pool = {.kind = LAYER_MAX_POOL,
                        .in = {1, 2, 2},
                        .out = {1, 1, 1},
                        .kernel_h = 2,
                        .kernel_w = 2,
                        .stride_h = 2,
                        .stride_w = 2};
    for (int w = 0; w < WINDOWS; w++) {
        double x[WINDOW], y[WINDOW], dx[WINDOW], sum = 0;
        const double dy[WINDOW] = {3, 3, 3, 3};
        reference_task t = {.l = &relu, .samples = 1, .x = x, .y = y, .dy = dy, .dx = dx};
        for (int k = 0; k < WINDOW; k++) x[k] = (double)value_of(w, k);
        reference_forward(&t);
        reference_backward(&t);
        for (int k = 0; k < WINDOW; k++) {
            const float v = value_of(w, k);
            same((float)y[k], v <= 0 ? 0 : v, w, "the reference's ReLU");
            assert_true(dx[k] == (v <= 0 ? 0 : 3));
        }
        t.l = &pool;
        reference_forward(&t);
        same((float)y[0], expected(w, false), w, "the reference's pool");
        reference_backward(&t);
        for (int k = 0; k < WINDOW; k++) {
            sum += dx[k];
            if (dx[k] > 0) same((float)x[k], expected(w, false), w, "the reference's argmax");
        }
        assert_true(sum == 3);
    }
}

static const kernel_case cases[] = {{"baseline", 16}, {"baseline", 4}, {"v3", 16},
                                    {"v3", 4},        {"v4", 16},      {"v4", 4}};
enum { CASES = sizeof cases / sizeof *cases };

int main(void) {
    static const struct {
        const char *name;
        CMUnitTestFunction function;
    } functions[] = {{"ReLU", test_relu},
                     {"2×2 max pooling", test_pool_after_a_layer},
                     {"max pooling alone", test_pool_alone}};
    static char names[3 * CASES][64];
    static struct CMUnitTest tests[3 * CASES + 1];
    size_t n = 0;
    for (size_t f = 0; f < 3; f++)
        for (size_t c = 0; c < CASES; c++, n++) {
            snprintf(names[n], sizeof names[n], "%s: %s, %d lanes", functions[f].name, cases[c].isa,
                     cases[c].lanes);
            tests[n] = (struct CMUnitTest){.name = names[n],
                                           .test_func = functions[f].function,
                                           .initial_state = (void *)(uintptr_t)&cases[c]};
        }
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(test_reference);
    return _cmocka_run_group_tests("NaN", tests, n, NULL, NULL);
}
