// SPDX-License-Identifier: MIT
// winograd_transforms.h - the transforms of Winograd's F(4×4, 3×3), for the kernels of CPUs and for
// those of GPUs that give the same bits. Included only by cpu/kernels/winograd.h and
// cuda/kernels/exact/exact_winograd.cuh, which define
//
//     INLINE             begins a function
//     vec                a value, or a vector of values that are treated alike; has + and -
//     vset(float)        all values are this one
//     vfma(a, b, c)      a · b + c, rounded once
//
// A 3×3 correlation reads a patch of 6×6 inputs for a tile of 4×4 outputs. Winograd's algorithm
// transforms patch and filter into 6×6 values each, multiplies these element by element, sums over
// channels, and transforms the 36 sums into the 16 outputs: 36 multiplications instead of 144.
// (Winograd 1980; Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks", 2016.)
//
// It evaluates polynomials at six points: 0, ±5/8, ±3/2, ∞, which are exact in binary and closer to
// 1 than the usual 0, ±1, ±2, ∞, so rounding loses less. The rounding error is still larger than
// that of the direct sum; tests/ops holds both to one tolerance.
//
// All transforms are one-dimensional. A patch is transformed along its columns, then along its
// rows; a filter and a gradient of the output along rows, then columns; sums along columns, then
// rows.
#ifndef LOCKSTEP_COMPUTE_WINOGRAD_TRANSFORMS_H
#define LOCKSTEP_COMPUTE_WINOGRAD_TRANSFORMS_H

enum {
    TILE = 4,         // outputs of a tile, each way
    PATCH = TILE + 2, // inputs of a tile, each way
    POINTS = PATCH * PATCH
};

// The points ±WINOGRAD_A, ±WINOGRAD_B, and their squares.
#define WINOGRAD_A 0.625f
#define WINOGRAD_B 1.5f
#define SQUARE_A   (WINOGRAD_A * WINOGRAD_A)
#define SQUARE_B   (WINOGRAD_B * WINOGRAD_B)
// Lagrange factors of the filter's transform.
#define FACTOR_0 (1 / (SQUARE_A * SQUARE_B))
#define FACTOR_A (1 / (2 * SQUARE_A * (SQUARE_A - SQUARE_B)))
#define FACTOR_B (1 / (2 * SQUARE_B * (SQUARE_B - SQUARE_A)))

INLINE vec vscale(float factor, vec v) {
    return vset(factor) * v;
}
INLINE vec vadd_scaled(float factor, vec v, vec to) {
    return vfma(vset(factor), v, to);
}

// Six inputs to six values.
INLINE void transform_input(const vec d[PATCH], vec r[PATCH]) {
    const vec even_a = vadd_scaled(-SQUARE_B, d[2], d[4]);
    const vec odd_a = vscale(WINOGRAD_A, vadd_scaled(-SQUARE_B, d[1], d[3]));
    const vec even_b = vadd_scaled(-SQUARE_A, d[2], d[4]);
    const vec odd_b = vscale(WINOGRAD_B, vadd_scaled(-SQUARE_A, d[1], d[3]));
    r[0] = vadd_scaled(SQUARE_A * SQUARE_B, d[0], vadd_scaled(-(SQUARE_A + SQUARE_B), d[2], d[4]));
    r[1] = even_a + odd_a;
    r[2] = even_a - odd_a;
    r[3] = even_b + odd_b;
    r[4] = even_b - odd_b;
    r[5] = vadd_scaled(SQUARE_A * SQUARE_B, d[1], vadd_scaled(-(SQUARE_A + SQUARE_B), d[3], d[5]));
}

// Six sums of products to four outputs.
INLINE void transform_output(const vec s[PATCH], vec r[TILE]) {
    const vec sum_a = s[1] + s[2], difference_a = s[1] - s[2];
    const vec sum_b = s[3] + s[4], difference_b = s[3] - s[4];
    r[0] = s[0] + sum_a + sum_b;
    r[1] = vadd_scaled(WINOGRAD_B, difference_b, vscale(WINOGRAD_A, difference_a));
    r[2] = vadd_scaled(SQUARE_B, sum_b, vscale(SQUARE_A, sum_a));
    r[3] = vadd_scaled(SQUARE_B * WINOGRAD_B, difference_b,
                       vadd_scaled(SQUARE_A * WINOGRAD_A, difference_a, s[5]));
}

// Three filter weights to six values.
INLINE void transform_filter(const vec g[3], vec r[PATCH]) {
    const vec even_a = vadd_scaled(FACTOR_A * SQUARE_A, g[2], vscale(FACTOR_A, g[0]));
    const vec odd_a = vscale(FACTOR_A * WINOGRAD_A, g[1]);
    const vec even_b = vadd_scaled(FACTOR_B * SQUARE_B, g[2], vscale(FACTOR_B, g[0]));
    const vec odd_b = vscale(FACTOR_B * WINOGRAD_B, g[1]);
    r[0] = vscale(FACTOR_0, g[0]);
    r[1] = even_a + odd_a;
    r[2] = even_a - odd_a;
    r[3] = even_b + odd_b;
    r[4] = even_b - odd_b;
    r[5] = g[2];
}

// Four output gradients to six values: the transpose of transform_output.
INLINE void transform_output_gradient(const vec d[TILE], vec r[PATCH]) {
    const vec even_a = vadd_scaled(SQUARE_A, d[2], d[0]);
    const vec odd_a = vscale(WINOGRAD_A, vadd_scaled(SQUARE_A, d[3], d[1]));
    const vec even_b = vadd_scaled(SQUARE_B, d[2], d[0]);
    const vec odd_b = vscale(WINOGRAD_B, vadd_scaled(SQUARE_B, d[3], d[1]));
    r[0] = d[0];
    r[1] = even_a + odd_a;
    r[2] = even_a - odd_a;
    r[3] = even_b + odd_b;
    r[4] = even_b - odd_b;
    r[5] = d[3];
}

// Six sums of products to three weight gradients: the transpose of transform_filter.
INLINE void transform_filter_gradient(const vec s[PATCH], vec r[3]) {
    const vec sum_a = s[1] + s[2], difference_a = s[1] - s[2];
    const vec sum_b = s[3] + s[4], difference_b = s[3] - s[4];
    r[0] = vadd_scaled(FACTOR_0, s[0], vadd_scaled(FACTOR_A, sum_a, vscale(FACTOR_B, sum_b)));
    r[1] = vadd_scaled(FACTOR_A * WINOGRAD_A, difference_a,
                       vscale(FACTOR_B * WINOGRAD_B, difference_b));
    r[2] = vadd_scaled(FACTOR_A * SQUARE_A, sum_a, vadd_scaled(FACTOR_B * SQUARE_B, sum_b, s[5]));
}

#endif
