// SPDX-License-Identifier: MIT
// Linear layers: forward, input gradient, weight gradient.
#include "compute/layer_sums.h"
#include "simd.h"

enum { ROWS = REGISTERS == 32 ? 12 : 6, COLUMN_BLOCK = REGISTERS == 32 ? 16 : 8 };

// ROWS outputs at once, for inputs [first, end): z(j) = bias(j) + Σ over i, in order, of weight(j,
// i) · x(i). The bias is in the first part of the sum; the later parts are added to z.
INLINE void linear_part(const linear_task *t, int j, size_t first, size_t end, const int COUNT) {
    const size_t inputs = (size_t)t->inputs;
    for (int slice = 0; slice < LANE_SLICES; slice++) {
        vec sum[ROWS];
        UNROLL for (int k = 0; k < COUNT; k++) sum[k] =
            vset(t->bias && first == 0 ? t->bias[j + k] : 0.0f);
        const float *w = t->weight + (size_t)j * inputs, *x = t->x + slice * VL;
        for (size_t i = first; i < end; i++) {
            vec v = vload(x + i * LANES);
            UNROLL for (int k = 0; k < COUNT; k++) sum[k] =
                vfma(vset(w[(size_t)k * inputs + i]), v, sum[k]);
        }
        UNROLL for (int k = 0; k < COUNT; k++) {
            float *z = t->z + (size_t)(j + k) * LANES + slice * VL;
            vstore(z, first > 0 ? vload(z) + sum[k] : sum[k]);
        }
    }
}

INLINE void linear_rows(const linear_task *t, int j, const int COUNT) {
    const size_t inputs = (size_t)t->inputs, part = (size_t)long_sum_features(t->inputs);
    for (size_t i = 0; i < inputs; i += part)
        linear_part(t, j, i, i + part < inputs ? i + part : inputs, COUNT);
}

void KERNEL(linear)(const linear_task *t) {
    int j = 0;
    for (; j + ROWS <= t->outputs; j += ROWS) linear_rows(t, j, ROWS);
    for (; j + 4 <= t->outputs; j += 4) linear_rows(t, j, 4);
    for (; j < t->outputs; j++) linear_rows(t, j, 1);
}

// COUNT inputs at once: dx(i) = Σ over j, in order, of weight(j, i) · dz(j).
INLINE void transposed_columns(const linear_task *t, int i, const int COUNT) {
    for (int slice = 0; slice < LANE_SLICES; slice++) {
        vec sum[COLUMN_BLOCK];
        UNROLL for (int k = 0; k < COUNT; k++) sum[k] = vset(0.0f);
        const float *w = t->weight + i, *d = t->x + slice * VL;
        for (int j = 0; j < t->outputs; j++, w += t->row, d += LANES) {
            vec v = vload(d);
            UNROLL for (int k = 0; k < COUNT; k++) sum[k] = vfma(vset(w[k]), v, sum[k]);
        }
        UNROLL for (int k = 0; k < COUNT; k++)
            vstore(t->z + (size_t)(i + k) * LANES + slice * VL, sum[k]);
    }
}

void KERNEL(linear_transposed)(const linear_task *t) {
    int i = 0;
    for (; i + COLUMN_BLOCK <= t->inputs; i += COLUMN_BLOCK) transposed_columns(t, i, COLUMN_BLOCK);
    for (; i + 4 <= t->inputs; i += 4) transposed_columns(t, i, 4);
    for (; i < t->inputs; i++) transposed_columns(t, i, 1);
}

// ---- Weight gradient ----
//
// dw(j, i) = Σ over samples, in order, of dz(j) · x(i). With x transposed the lanes are inputs, and
// no sum runs across lanes.

enum { WEIGHT_ROWS = 4, WEIGHT_VECTORS = REGISTERS == 32 ? 5 : 2 };

static void turn_inputs(const linear_weight_task *t, size_t row) {
    for (size_t i = 0; i < row; i += VL)
        for (size_t slice = 0; slice < LANES; slice += VL) {
            vec lanes[VL];
            UNROLL for (size_t k = 0; k < VL; k++) lanes[k] =
                i + k < (size_t)t->inputs ? vload(t->x + (i + k) * LANES + slice) : vset(0.0f);
            transpose(lanes);
            UNROLL for (size_t k = 0; k < VL; k++)
                vstore(t->scratch + (slice + k) * row + i, lanes[k]);
        }
}

// `live` of the VL inputs of the last vector exist; a full block has live = VL.
INLINE void weight_tile(const linear_weight_task *t, size_t row, int j, int i, const int JB,
                        const int IB, int live) {
    vec sum[WEIGHT_ROWS][WEIGHT_VECTORS];
    UNROLL for (int k = 0; k < JB; k++) UNROLL for (int l = 0; l < IB; l++) sum[k][l] = vset(0.0f);
    const float *d = t->dz + (size_t)j * LANES, *x = t->scratch + i;
    for (int n = 0; n < LANES; n++, x += row) {
        vec v[WEIGHT_VECTORS];
        UNROLL for (int l = 0; l < IB; l++) v[l] = vload(x + l * VL);
        UNROLL for (int k = 0; k < JB; k++) {
            vec e = vset(d[k * LANES + n]);
            UNROLL for (int l = 0; l < IB; l++) sum[k][l] = vfma(e, v[l], sum[k][l]);
        }
    }
    UNROLL for (int k = 0; k < JB; k++) {
        float *dw = t->dw + (size_t)(j + k) * t->row + i;
        if (live < VL) {
            float part[VL];
            vstore_unaligned(part, sum[k][0]);
            for (int l = 0; l < live; l++) dw[l] = t->accumulate ? dw[l] + part[l] : part[l];
            continue;
        }
        UNROLL for (int l = 0; l < IB; l++) {
            vec old = t->accumulate ? vload_unaligned(dw + l * VL) : vset(0.0f);
            vstore_unaligned(dw + l * VL, t->accumulate ? old + sum[k][l] : sum[k][l]);
        }
    }
}

INLINE void weight_rows(const linear_weight_task *t, size_t row, int j, const int JB) {
    int i = 0;
    for (; i + WEIGHT_VECTORS * VL <= t->inputs; i += WEIGHT_VECTORS * VL)
        weight_tile(t, row, j, i, JB, WEIGHT_VECTORS, VL);
    for (; i + VL <= t->inputs; i += VL) weight_tile(t, row, j, i, JB, 1, VL);
    if (i < t->inputs) weight_tile(t, row, j, i, JB, 1, t->inputs - i);
}

void KERNEL(linear_weight)(const linear_weight_task *t) {
    const size_t row = ((size_t)t->inputs + LANES - 1) / LANES * LANES;
    turn_inputs(t, row);
    int j = 0;
    for (; j + WEIGHT_ROWS <= t->outputs; j += WEIGHT_ROWS) weight_rows(t, row, j, WEIGHT_ROWS);
    for (; j < t->outputs; j++) weight_rows(t, row, j, 1);
    if (!t->db) return;
    for (j = 0; j < t->outputs; j++) {
        // Lanes past the last sample may be -0, as 0 times a negative value is. A zero sum is 0.
        float sum = 0.0f + sum_by_halves(t->dz + (size_t)j * LANES);
        t->db[j] = t->accumulate ? t->db[j] + sum : sum;
    }
}
