// SPDX-License-Identifier: MIT
// Group normalisation: each lane is a sample with statistics of its own, so nothing is added across
// lanes but the gradients of weight and bias.
#include "simd.h"

// The channels [first, end) of one group, in the lanes of one vector, which begins at `slice`.
typedef struct part {
    int first, end, slice;
    vec count, mean, inv_std;
} part;

static const float *row_of(const view *v, int c, int y) {
    return v->data + (size_t)c * v->plane + (size_t)y * v->row;
}

// Rows, then channels, then their sum: three levels keep the rounding error small.
INLINE vec part_sum(const view *x, const part *p, const bool SQUARES) {
    vec total = vset(0.0f);
    for (int c = p->first; c < p->end; c++) {
        vec channel = vset(0.0f);
        for (int y = 0; y < x->height; y++) {
            const float *row = row_of(x, c, y) + p->slice;
            channel +=
                SQUARES ? row_centred(row, x->width, p->mean).squares : row_sum(row, x->width);
        }
        total += channel;
    }
    return total;
}

// x may have some of the groups alone.
static int channels_of_group(const layer_task *t) {
    return t->l->in.channels / t->l->groups;
}

static part part_of(const layer_task *t, int group, int slice) {
    const int channels = channels_of_group(t);
    part p = {.first = group * channels, .end = (group + 1) * channels, .slice = slice};
    p.count = vset((float)(channels * t->x.height * t->x.width));
    p.mean = vset(0.0f);
    p.mean = part_sum(&t->x, &p, false) / p.count;
    p.inv_std = vset(1.0f) / vsqrt(part_sum(&t->x, &p, true) / p.count + (float)t->l->eps);
    return p;
}

static void part_forward(const layer_task *t, const part *p) {
    for (int c = p->first; c < p->end; c++) {
        const vec scale = p->inv_std * t->weight[c], shift = vset(t->bias[c]);
        for (int y = 0; y < t->y.height; y++) {
            const float *x = row_of(&t->x, c, y) + p->slice;
            float *to = t->y.data + (size_t)c * t->y.plane + (size_t)y * t->y.row + p->slice;
            for (int i = 0; i < t->y.width; i++)
                vstore(to + i * LANES, vfma(vload(x + i * LANES) - p->mean, scale, shift));
        }
    }
}

void KERNEL(group_norm)(const layer_task *t) {
    for (int g = 0; g < t->x.channels / channels_of_group(t); g++)
        for (int slice = 0; slice < LANES; slice += VL) {
            const part p = part_of(t, g, slice);
            part_forward(t, &p);
        }
}

// ---- Backward ----

// x̂, the normalised value.
INLINE vec normalised(const part *p, const float *x) {
    return (vload(x) - p->mean) * p->inv_std;
}

static size_t dense_row(const layer_task *t, int c, int y) {
    return ((size_t)c * (size_t)t->x.height + (size_t)y) * (size_t)t->x.width * LANES;
}

typedef struct sums { // of dy and of dy·x̂
    vec dy, xhat;
} sums;

// Of one channel.
static sums channel_sums(const layer_task *t, const part *p, int c) {
    sums s = {vset(0.0f), vset(0.0f)};
    for (int y = 0; y < t->x.height; y++) {
        const float *x = row_of(&t->x, c, y) + p->slice,
                    *dy = t->dy + dense_row(t, c, y) + p->slice;
        sums row = {vset(0.0f), vset(0.0f)};
        for (int i = 0; i < t->x.width; i++) {
            const vec d = vload(dy + i * LANES);
            row.dy += d;
            row.xhat = vfma(d, normalised(p, x + i * LANES), row.xhat);
        }
        s.dy += row.dy;
        s.xhat += row.xhat;
    }
    return s;
}

// With d = weight · dy: dx = (d - mean(d) - x̂ · mean(d · x̂)) / std. `s` has the sums of d and d·x̂.
static void part_backward(const layer_task *t, const part *p, sums s) {
    const vec mean = p->inv_std * (s.dy / p->count), slope = p->inv_std * (s.xhat / p->count);
    for (int c = p->first; c < p->end; c++) {
        const vec scale = p->inv_std * t->weight[c];
        for (int y = 0; y < t->x.height; y++) {
            const float *x = row_of(&t->x, c, y) + p->slice;
            const size_t dense = dense_row(t, c, y) + (size_t)p->slice;
            for (int i = 0; i < t->x.width; i++) {
                const vec xhat = normalised(p, x + i * LANES);
                vstore(t->dx + dense + i * LANES,
                       vfma(scale, vload(t->dy + dense + i * LANES), -vfma(xhat, slope, mean)));
            }
        }
    }
}

static void put(const layer_task *t, float *to, const float *lanes) {
    const float sum = sum_by_halves(lanes);
    *to = t->accumulate ? *to + sum : sum;
}

void KERNEL(group_norm_backward)(const layer_task *t) {
    for (int g = 0; g < t->x.channels / channels_of_group(t); g++) {
        part p[LANE_SLICES];
        sums all[LANE_SLICES];
        for (int k = 0; k < LANE_SLICES; k++) {
            p[k] = part_of(t, g, k * VL);
            all[k] = (sums){vset(0.0f), vset(0.0f)};
        }
        for (int c = p[0].first; c < p[0].end; c++) {
            float dy[LANES] __attribute__((aligned(64))), xhat[LANES] __attribute__((aligned(64)));
            for (int k = 0; k < LANE_SLICES; k++) {
                const sums s = channel_sums(t, &p[k], c);
                vstore(dy + k * VL, s.dy);
                vstore(xhat + k * VL, s.xhat);
                all[k].dy = vfma(s.dy, vset(t->weight[c]), all[k].dy);
                all[k].xhat = vfma(s.xhat, vset(t->weight[c]), all[k].xhat);
            }
            put(t, t->dweight + c, xhat);
            put(t, t->dbias + c, dy);
        }
        for (int k = 0; t->dx && k < LANE_SLICES; k++) part_backward(t, &p[k], all[k]);
    }
}
