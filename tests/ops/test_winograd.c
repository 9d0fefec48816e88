// SPDX-License-Identifier: MIT
// The distance of Winograd's convolutions from exact ones: relative errors against the reference,
// in double, next to those of the direct kernels on the same numbers. The test prints the figures
// that docs/performance.md cites, and fails if they are worse than a few times those.
#include "../few.h"
#include "images.h"

#include <stdio.h>

#include "compute/backend.h"
#include "compute/layer_sums.h"
#include "reference.h"

enum { SAMPLES = GROUP };

// A relative error in the Euclidean norm. Rounding to float alone gives 3e-8 on average.
static const double INPUT_AND_FORWARD = 3e-6, WEIGHT = 6e-6;

static layer layer_of(int in, int out, int size) {
    layer l = {.kind = LAYER_CONV,
               .in = {in, size, size},
               .kernel_h = 3,
               .kernel_w = 3,
               .stride_h = 1,
               .stride_w = 1,
               .pad_h = 1,
               .pad_w = 1};
    ops_finish_window(&l, out);
    return l;
}

// Values that are exact in float, like a ReLU's output: half of them zero.
static double *activations(size_t n, uint32_t salt, bool relu) {
    double *x = ops_random(n, salt);
    for (size_t i = 0; i < n; i++) x[i] = (double)(float)(relu && x[i] < 0 ? 0 : x[i]);
    return x;
}

// out = the convolution of `in`, or of the gradient, by Winograd or directly.
static double *correlate(const kernels *k, const layer *l, const float *weight, const image *in,
                         shape out, bool transpose, bool winograd) {
    image z = image_new(out, GROUP, 1, NULL);
    const int block = k->conv_block_size(out.channels, out.width);
    float *packed = image_floats(winograd ? winograd_packed_floats(l, transpose)
                                          : conv_packed_floats(l, block, transpose));
    float *scratch = image_floats(k->winograd_scratch(l));
    const conv_task t = {.in = in->v,
                         .out = z.v,
                         .packed = packed,
                         .scratch = scratch,
                         .kernel_h = 3,
                         .kernel_w = 3,
                         .stride_y = 1,
                         .stride_x = 1,
                         .pad_y = 1,
                         .pad_x = 1};
    if (winograd) {
        k->winograd_pack(l, weight, transpose, 0, winograd_packed_blocks(l, transpose), packed);
        k->winograd(&t, 1, 0, k->winograd_blocks(&t, 1));
    } else {
        conv_pack(l, weight, block, transpose, packed);
        k->conv(&t, block);
    }
    double *values = image_values(&z, GROUP);
    free(packed), free(scratch), free(z.memory);
    return values;
}

static double *weight_gradient(const kernels *k, const layer *l, const image *x, const image *dz,
                               bool winograd) {
    const size_t n = layer_weights(l);
    const size_t direct = CONV_SCRATCH_OUTPUTS * n / (size_t)l->out.channels * GROUP;
    const size_t room = k->winograd_scratch(l) > direct ? k->winograd_scratch(l) : direct;
    float *dw = image_floats(n), *scratch = image_floats(room);
    const conv_weight_task t = {.in = x->v,
                                .dout = dz->v,
                                .dw = dw,
                                .scratch = scratch,
                                .kernel_h = 3,
                                .kernel_w = 3,
                                .stride_y = 1,
                                .stride_x = 1,
                                .pad_y = 1,
                                .pad_x = 1};
    (winograd ? k->winograd_weight : k->conv_weight)(&t);
    double *values = ops_zeros(n);
    for (size_t i = 0; i < n; i++) values[i] = (double)dw[i];
    free(dw), free(scratch);
    return values;
}

typedef struct problem {
    layer l;
    double *x, *w, *dz;  // exact in float
    double *z, *dx, *dw; // the right results
    image x_image, dz_image;
    float *weight;
} problem;

static void problem_init(problem *p, int in, int out, int size) {
    p->l = layer_of(in, out, size);
    const size_t weights = layer_weights(&p->l);
    const size_t xs = SAMPLES * shape_size(p->l.in), zs = SAMPLES * shape_size(p->l.out);
    p->x = activations(xs, 1, true);
    p->w = activations(weights, 2, false);
    p->dz = activations(zs, 3, false);
    p->z = ops_zeros(zs);
    p->dx = ops_zeros(xs);
    p->dw = ops_zeros(weights);
    p->weight = floats_of(p->w, weights);
    p->x_image = image_new(p->l.in, GROUP, 1, p->x);
    p->dz_image = image_new(p->l.out, GROUP, 1, p->dz);
    const reference_task t = {.l = &p->l,
                              .samples = SAMPLES,
                              .x = p->x,
                              .weight = p->w,
                              .y = p->z,
                              .dy = p->dz,
                              .dx = p->dx,
                              .dweight = p->dw};
    reference_forward(&t);
    reference_backward(&t);
}

static void problem_release(problem *p) {
    free(p->x), free(p->w), free(p->dz), free(p->z), free(p->dx), free(p->dw), free(p->weight);
    free(p->x_image.memory), free(p->dz_image.memory);
}

static double error_of(double *got, const double *expected, size_t n) {
    const double distance = ops_distance(got, expected, n);
    free(got);
    return distance;
}

static void check(const char *isa, int in, int out, int size) {
    const kernels *k = kernels_find(isa, GROUP);
    if (!k) skip();
    problem p;
    problem_init(&p, in, out, size);
    const size_t zs = SAMPLES * shape_size(p.l.out), xs = SAMPLES * shape_size(p.l.in);
    double errors[2][3];
    for (int w = 0; w < 2; w++) {
        errors[w][0] =
            error_of(correlate(k, &p.l, p.weight, &p.x_image, p.l.out, false, w), p.z, zs);
        errors[w][1] =
            error_of(correlate(k, &p.l, p.weight, &p.dz_image, p.l.in, true, w), p.dx, xs);
        errors[w][2] = error_of(weight_gradient(k, &p.l, &p.x_image, &p.dz_image, w), p.dw,
                                layer_weights(&p.l));
    }
    printf("# %d to %d channels, %d x %d, %s: relative error, forward / input / weight: "
           "Winograd %.1e / %.1e / %.1e, direct %.1e / %.1e / %.1e\n",
           in, out, size, size, k->isa, errors[1][0], errors[1][1], errors[1][2], errors[0][0],
           errors[0][1], errors[0][2]);
    assert_true(errors[1][0] <= INPUT_AND_FORWARD && errors[1][1] <= INPUT_AND_FORWARD &&
                errors[1][2] <= WEIGHT);
    problem_release(&p);
}

// The reference takes most of the time: with few cases, images have a quarter of the positions.
static int side(int whole) {
    return few_cases() ? whole / 2 : whole;
}

static void test_few_channels(void **state) {
    (void)state;
    check(NULL, 16, 16, 16);
}
static void test_64_channels(void **state) {
    (void)state;
    check(NULL, 64, 64, side(32));
}
static void test_128_channels(void **state) {
    (void)state;
    check(NULL, 128, 128, side(16));
}
static void test_avx2(void **state) {
    (void)state;
    check("v3", 64, 128, side(16));
}

// The kernels take vectors of channels by fours, twos and ones.
static void test_vectors_of_channels(void **state) {
    (void)state;
    for (int channels = 32; channels <= 112; channels += 16) check(NULL, channels, 20, 12);
}

// Tiles at the edges with one to three rows and columns, in blocks that have more of them or fewer,
// also in the middle.
static void check_short_tiles(const char *isa) {
    for (int size = 3; size <= 23; size++) {
        const layer l = layer_of(16, 20, size);
        if (winograd_pays(&l)) check(isa, 16, 20, size);
    }
}
static void test_short_tiles(void **state) {
    (void)state;
    check_short_tiles(NULL);
}
static void test_short_tiles_avx2(void **state) {
    (void)state;
    check_short_tiles("v3");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_few_channels),        cmocka_unit_test(test_64_channels),
        cmocka_unit_test(test_128_channels),        cmocka_unit_test(test_avx2),
        cmocka_unit_test(test_vectors_of_channels), cmocka_unit_test(test_short_tiles),
        cmocka_unit_test(test_short_tiles_avx2),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
