// SPDX-License-Identifier: MIT
// Layer normalisation over the channels of each position: nothing is added across positions and
// samples but the gradients of weight and bias.
#include "compute/layer_sums.h"
#include "pieces.h"

// ---- Statistics ----

typedef struct statistics {
    vec mean[PIECE_VECS], inv_std[PIECE_VECS];
} statistics;

static void clear(vec *v, int vecs) {
    for (int i = 0; i < vecs; i++) v[i] = vset(0.0f);
}

// Adds a part to the total, and begins the next one.
INLINE void end_part(vec *part, vec *total, int vecs) {
    for (int i = 0; i < vecs; i++) total[i] += part[i];
    clear(part, vecs);
}

static bool ends_part(const layer_task *t, int c) {
    return (c + 1) % LONG_SUM_CHANNELS_PART == 0 || c + 1 == t->x.channels;
}

// The sum over the channels: of the values, or of the squares of their distances from the mean.
INLINE void sum_channels(const layer_task *t, const piece *p, const vec *mean, vec *total,
                         const bool SQUARES) {
    vec part[PIECE_VECS];
    clear(part, p->vecs);
    clear(total, p->vecs);
    for (int c = 0; c < t->x.channels; c++) {
        const float *x = piece_of(&t->x, c, p);
        for (int i = 0; i < p->vecs; i++) {
            const vec v = SQUARES ? vload(x + i * VL) - mean[i] : vload(x + i * VL);
            part[i] = SQUARES ? vfma(v, v, part[i]) : part[i] + v;
        }
        if (ends_part(t, c)) end_part(part, total, p->vecs);
    }
}

static void find_statistics(const layer_task *t, const piece *p, statistics *s) {
    const vec count = vset((float)t->x.channels), eps = vset((float)t->l->eps);
    vec squares[PIECE_VECS];
    sum_channels(t, p, NULL, s->mean, false);
    for (int i = 0; i < p->vecs; i++) s->mean[i] /= count;
    sum_channels(t, p, s->mean, squares, true);
    for (int i = 0; i < p->vecs; i++) s->inv_std[i] = vset(1.0f) / vsqrt(squares[i] / count + eps);
}

// ---- Forward ----

void KERNEL(layer_norm)(const layer_task *t) {
    for (piece p = {0}; next_piece(t, &p);) {
        statistics s;
        find_statistics(t, &p, &s);
        for (int c = 0; c < t->x.channels; c++) {
            const float *x = piece_of(&t->x, c, &p);
            float *y = piece_of(&t->y, c, &p);
            const vec weight = vset(t->weight[c]), bias = vset(t->bias[c]);
            for (int i = 0; i < p.vecs; i++)
                vstore(y + i * VL,
                       vfma(vload(x + i * VL) - s.mean[i], s.inv_std[i] * weight, bias));
        }
    }
}

// ---- Backward ----

// What the gradients need of each position: [height][width][lanes] in the scratch memory.
typedef struct kept {
    float *mean, *inv_std, *offset, *slope;
} kept;

static kept kept_of(const layer_task *t) {
    const size_t plane = (size_t)t->x.height * row_floats(t);
    return (kept){t->scratch, t->scratch + plane, t->scratch + 2 * plane, t->scratch + 3 * plane};
}

// With d = weight · dy: dx = (d - mean(d) - x̂ · mean(d · x̂)) / std. The offset is the mean of d,
// the slope that of d · x̂, both divided by the deviation.
static void keep_piece(const layer_task *t, const piece *p, kept k) {
    const vec count = vset((float)t->x.channels);
    const size_t at = piece_in_plane(t, p);
    vec part[PIECE_VECS], part_xhat[PIECE_VECS], sum[PIECE_VECS], sum_xhat[PIECE_VECS];
    statistics s;
    find_statistics(t, p, &s);
    clear(part, p->vecs), clear(part_xhat, p->vecs);
    clear(sum, p->vecs), clear(sum_xhat, p->vecs);
    for (int c = 0; c < t->x.channels; c++) {
        const float *x = piece_of(&t->x, c, p), *dy = t->dy + piece_dense(t, c, p);
        const vec weight = vset(t->weight[c]);
        for (int i = 0; i < p->vecs; i++) {
            const vec d = vload(dy + i * VL) * weight;
            part[i] += d;
            part_xhat[i] = vfma(d, (vload(x + i * VL) - s.mean[i]) * s.inv_std[i], part_xhat[i]);
        }
        if (!ends_part(t, c)) continue;
        end_part(part, sum, p->vecs);
        end_part(part_xhat, sum_xhat, p->vecs);
    }
    for (int i = 0; i < p->vecs; i++) {
        vstore(k.mean + at + i * VL, s.mean[i]);
        vstore(k.inv_std + at + i * VL, s.inv_std[i]);
        vstore(k.offset + at + i * VL, s.inv_std[i] * (sum[i] / count));
        vstore(k.slope + at + i * VL, s.inv_std[i] * (sum_xhat[i] / count));
    }
}

typedef struct sums { // of dy and of dy·x̂
    vec dy, xhat;
} sums;

// Of one channel and one vector of its samples; writes dx on the way.
INLINE sums channel_backward(const layer_task *t, kept k, int c, int slice, const bool DX) {
    const vec weight = vset(t->weight[c]);
    sums s = {vset(0.0f), vset(0.0f)};
    for (int y = 0; y < t->x.height; y++) {
        const piece p = {.y = y, .first = (size_t)slice};
        const float *x = piece_of(&t->x, c, &p), *dy = t->dy + piece_dense(t, c, &p);
        const size_t at = piece_in_plane(t, &p);
        sums row = {vset(0.0f), vset(0.0f)};
        for (size_t i = 0; i < row_floats(t); i += LANES) {
            const vec inv_std = vload(k.inv_std + at + i), d = vload(dy + i);
            const vec xhat = (vload(x + i) - vload(k.mean + at + i)) * inv_std;
            row.dy += d;
            row.xhat = vfma(d, xhat, row.xhat);
            if (!DX) continue;
            const vec rest = vfma(xhat, vload(k.slope + at + i), vload(k.offset + at + i));
            vstore(t->dx + piece_dense(t, c, &p) + i, vfma(inv_std * weight, d, -rest));
        }
        s.dy += row.dy;
        s.xhat += row.xhat;
    }
    return s;
}

static void put(const layer_task *t, float *to, const float *lanes) {
    const float sum = sum_by_halves(lanes);
    *to = t->accumulate ? *to + sum : sum;
}

void KERNEL(layer_norm_backward)(const layer_task *t) {
    const kept k = kept_of(t);
    for (piece p = {0}; next_piece(t, &p);) keep_piece(t, &p, k);
    for (int c = 0; c < t->x.channels; c++) {
        float dy[LANES] __attribute__((aligned(64))), xhat[LANES] __attribute__((aligned(64)));
        for (int slice = 0; slice < LANES; slice += VL) {
            const sums s = t->dx ? channel_backward(t, k, c, slice, true)
                                 : channel_backward(t, k, c, slice, false);
            vstore(dy + slice, s.dy);
            vstore(xhat + slice, s.xhat);
        }
        put(t, t->dweight + c, xhat);
        put(t, t->dbias + c, dy);
    }
}
