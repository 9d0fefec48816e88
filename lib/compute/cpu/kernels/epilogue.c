// SPDX-License-Identifier: MIT
// The layers after a convolution or a linear layer, in one pass over its output: batch norm's scale
// and shift, a sum, activation, 2×2 max pooling, forward and backward. Also a group's batch norm
// statistics.
#include "activation.h"

static const float *element(const view *v, int c, int y) {
    return v->data + (size_t)c * v->plane + (size_t)y * v->row;
}

static float *element_mut(const view *v, int c, int y) {
    return v->data + (size_t)c * v->plane + (size_t)y * v->row;
}

// ---- Statistics ----

// Channels whose lanes are summed together.
enum { CHANNEL_BLOCK = 16 };

typedef struct lane_sums {
    float lanes[CHANNEL_BLOCK][LANES] __attribute__((aligned(64)));
} lane_sums;

// Rows are summed separately, then added: the second level keeps the rounding error of large planes
// small.
static void channel_sum(const view *z, int c, float *lanes) {
    for (int slice = 0; slice < LANES; slice += VL) {
        vec total = vset(0.0f);
        for (int y = 0; y < z->height; y++) total += row_sum(element(z, c, y) + slice, z->width);
        vstore(lanes + slice, total);
    }
}

static void channel_centred(const view *z, int c, float centre, float *lanes, float *squares) {
    for (int slice = 0; slice < LANES; slice += VL) {
        vec total = vset(0.0f), total_squares = vset(0.0f);
        for (int y = 0; y < z->height; y++) {
            const centred_sums row = row_centred(element(z, c, y) + slice, z->width, vset(centre));
            total += row.differences;
            total_squares += row.squares;
        }
        vstore(lanes + slice, total);
        vstore(squares + slice, total_squares);
    }
}

// The corrected two-pass algorithm (T. Chan, G. Golub, R. LeVeque, "Algorithms for computing the
// sample variance: analysis and recommendations", The American Statistician 37, 1983). The first
// pass finds the mean to a few roundings of the values; the second one, what is left of it, to a
// few roundings of the deviations, which may be much smaller.
static void moments_of(const view *z, int samples, int first, int channels, double *mean,
                       double *m2) {
    const double count = (double)samples * z->height * z->width;
    lane_sums s, q;
    float sum[CHANNEL_BLOCK], squares[CHANNEL_BLOCK], centre[CHANNEL_BLOCK];
    for (int i = 0; i < channels; i++) {
        channel_sum(z, first + i, s.lanes[i]);
        clear_lanes(s.lanes[i], samples);
    }
    sums_by_halves(s.lanes[0], channels, sum);
    for (int i = 0; i < channels; i++) {
        centre[i] = (float)((double)sum[i] / count);
        channel_centred(z, first + i, centre[i], s.lanes[i], q.lanes[i]);
        clear_lanes(s.lanes[i], samples);
        clear_lanes(q.lanes[i], samples);
    }
    sums_by_halves(s.lanes[0], channels, sum);
    sums_by_halves(q.lanes[0], channels, squares);
    for (int i = 0; i < channels; i++) {
        const double rest = (double)sum[i] / count;
        const double of_squares = (double)squares[i] - (double)sum[i] * rest;
        mean[first + i] = (double)centre[i] + rest;
        m2[first + i] = of_squares < 0 ? 0 : of_squares; // a NaN stays one
    }
}

void KERNEL(moments)(const view *z, int samples, double *mean, double *m2) {
    for (int c = 0; c < z->channels; c += CHANNEL_BLOCK) {
        const int left = z->channels - c;
        moments_of(z, samples, c, left < CHANNEL_BLOCK ? left : CHANNEL_BLOCK, mean, m2);
    }
}

// ---- Forward ----

typedef struct affine {
    vec scale, mean, shift;
} affine;

INLINE affine channel_affine(const epilogue_task *t, int c) {
    if (!t->scale) return (affine){vset(1.0f), vset(0.0f), vset(0.0f)};
    return (affine){vset(t->scale[c]), vset(t->mean ? t->mean[c] : 0.0f), vset(t->shift[c])};
}

INLINE vec normalise(affine a, vec v, const bool NORM) {
    return NORM ? vfma(a.scale, v - a.mean, a.shift) : v;
}

// Mask of the lanes that the ReLU passes, forward and backward: also NaNs, as in PyTorch, so that
// they reach the loss.
INLINE ivec passes(vec v) {
    return ~(v <= vset(0.0f));
}

typedef struct choice {
    vec value;
    ivec which;
} choice;

// The larger of two choices; the first of equals.
INLINE choice larger(choice r, vec v, int which) {
    const ivec better = v > r.value;
    return (choice){vlarger(v, r.value), (better & which) | (r.which & ~better)};
}

// The largest value of a 2×2 window; a NaN if there is one. `which` is 4 if the ReLU zeroes it.
INLINE choice pick(vec a, vec b, vec c, vec d, const bool RELU) {
    choice r = {a, (ivec){0}};
    r = larger(r, b, 1);
    r = larger(r, c, 2);
    r = larger(r, d, 3);
    // All bits set is a NaN. Testing in pairs costs less than testing each value.
    r.value = (vec)((ivec)r.value | vunordered(a, b) | vunordered(c, d));
    if (RELU) {
        const ivec on = passes(r.value);
        r.value = vmask(on, r.value);
        r.which = (r.which & on) | (~on & 4);
    }
    return r;
}

// Calls function(t, A) with the task's activation, as a constant for the most frequent ones. The
// others share their code: what tells them apart costs little next to the memory reads, and a copy
// for each would double the size of the kernels. SCALE is never in an epilogue.
#define WITH_ACTIVATION(function, t)             \
    if ((t)->activation == ACTIVATION_RELU)      \
        function(t, ACTIVATION_RELU);            \
    else if ((t)->activation == ACTIVATION_GELU) \
        function(t, ACTIVATION_GELU);            \
    else if ((t)->activation == ACTIVATION_SILU) \
        function(t, ACTIVATION_SILU);            \
    else if (is_smooth((t)->activation))         \
        function(t, (t)->activation);            \
    else                                         \
        function(t, ACTIVATION_NONE);

INLINE vec activated(const epilogue_task *t, vec v, const activation_kind A) {
    if (is_smooth(A)) return activate(v, t->numbers, A, false).value;
    return A == ACTIVATION_RELU ? vmask(passes(v), v) : v;
}

// Where a row of y begins in dy and argmax.
static size_t dense_row(const epilogue_task *t, int c, int y) {
    const size_t row = (size_t)t->y.width * LANES;
    return (size_t)c * (t->plane ? t->plane : (size_t)t->y.height * row) + (size_t)y * row;
}

INLINE void forward_row(const epilogue_task *t, int c, int y, const bool NORM,
                        const activation_kind A) {
    const affine a = channel_affine(t, c);
    const float *z = element(&t->z, c, y);
    float *out = element_mut(&t->y, c, y);
    for (size_t i = 0; i < (size_t)t->z.width * LANES; i += VL)
        vstore(out + i, activated(t, normalise(a, vload(z + i), NORM), A));
}

INLINE void forward_sum_row(const epilogue_task *t, int c, int y, const bool NORM,
                            const activation_kind A) {
    const affine a = channel_affine(t, c);
    const float *z = element(&t->z, c, y), *second = element(&t->second, c, y);
    float *out = element_mut(&t->y, c, y);
    for (size_t i = 0; i < (size_t)t->z.width * LANES; i += VL)
        vstore(out + i, activated(t, normalise(a, vload(z + i), NORM) + vload(second + i), A));
}

INLINE void forward_pool_row(const epilogue_task *t, int c, int y, const bool NORM,
                             const bool RELU) {
    const affine a = channel_affine(t, c);
    const float *z0 = element(&t->z, c, 2 * y), *z1 = element(&t->z, c, 2 * y + 1);
    float *out = element_mut(&t->y, c, y);
    uint8_t *argmax = t->argmax + dense_row(t, c, y);
    for (int x = 0; x < t->y.width; x++) {
        ivec which[LANE_SLICES];
        UNROLL for (int slice = 0; slice < LANE_SLICES; slice++) {
            size_t i = (size_t)x * LANES + (size_t)(slice * VL),
                   k = (size_t)(2 * x) * LANES + (size_t)(slice * VL);
            choice r = pick(
                normalise(a, vload(z0 + k), NORM), normalise(a, vload(z0 + k + LANES), NORM),
                normalise(a, vload(z1 + k), NORM), normalise(a, vload(z1 + k + LANES), NORM), RELU);
            vstore(out + i, r.value);
            which[slice] = r.which;
        }
        store_bytes(argmax + (size_t)x * LANES, which);
    }
}

INLINE void forward(const epilogue_task *t, const bool NORM, const activation_kind A) {
    for (int c = 0; c < t->y.channels; c++)
        for (int y = 0; y < t->y.height; y++) {
            if (!is_smooth(A) && t->pool)
                forward_pool_row(t, c, y, NORM, A == ACTIVATION_RELU);
            else if (!is_smooth(A) && t->adds)
                forward_sum_row(t, c, y, NORM, A);
            else
                forward_row(t, c, y, NORM, A);
        }
}

INLINE void forward_any(const epilogue_task *t, const activation_kind A) {
    if (t->scale)
        forward(t, true, A);
    else
        forward(t, false, A);
}

void KERNEL(epilogue_forward)(const epilogue_task *t){WITH_ACTIVATION(forward_any, t)}

// ---- Backward ----

// The gradient of batch norm's output at one position without pooling.
INLINE vec through_activation(const epilogue_task *t, affine a, vec z, vec dy, const bool NORM,
                              const activation_kind A) {
    const vec v = normalise(a, z, NORM);
    if (is_smooth(A)) return dy * activate(v, t->numbers, A, true).derivative;
    return A == ACTIVATION_RELU ? vmask(passes(v), dy) : dy;
}

typedef struct pooled_row { // of one channel
    float *dy;
    const uint8_t *argmax;
} pooled_row;

INLINE pooled_row pooled(const epilogue_task *t, int c, int y) {
    const size_t i = dense_row(t, c, y);
    return (pooled_row){t->dy + i, t->pool ? t->argmax + i : NULL};
}

// Sums over a channel of dy' and dy'·(z - mean), where dy' is the gradient of batch norm's output.
INLINE void channel_sums(const epilogue_task *t, int c, float *dy_sum, float *centred_sum,
                         const activation_kind A) {
    const affine a = channel_affine(t, c);
    for (int slice = 0; slice < LANE_SLICES; slice++) {
        vec s = vset(0.0f), q = vset(0.0f);
        for (int y = 0; y < t->y.height; y++) {
            const pooled_row p = pooled(t, c, y);
            const float *z = element(&t->z, c, t->pool ? 2 * y : y) + slice * VL;
            vec s_row = vset(0.0f), q_row = vset(0.0f);
            for (int x = 0; x < t->y.width; x++) {
                size_t i = (size_t)x * LANES + (size_t)(slice * VL);
                vec dy = vload(p.dy + i), value;
                if (!is_smooth(A) && t->pool) {
                    ivec which = load_bytes(p.argmax + i);
                    const float *window = z + (size_t)(2 * x) * LANES;
                    value = vload(window);
                    value = vselect(which == 1, vload(window + LANES), value);
                    value = vselect(which == 2, vload(window + t->z.row), value);
                    value = vselect(which == 3, vload(window + t->z.row + LANES), value);
                    dy = vmask(which != 4, dy);
                } else {
                    value = vload(z + (size_t)x * LANES);
                    dy = through_activation(t, a, value, dy, true, A);
                    if (is_smooth(A)) vstore(p.dy + i, dy);
                }
                s_row += dy;
                q_row = vfma(dy, value - a.mean, q_row);
            }
            s += s_row;
            q += q_row;
        }
        vstore(dy_sum + slice * VL, s);
        vstore(centred_sum + slice * VL, q);
    }
}

INLINE void backward_sums(const epilogue_task *t, const activation_kind A) {
    for (int c = 0; c < t->z.channels; c += CHANNEL_BLOCK) {
        const int left = t->z.channels - c, channels = left < CHANNEL_BLOCK ? left : CHANNEL_BLOCK;
        lane_sums dy, centred;
        for (int i = 0; i < channels; i++) channel_sums(t, c + i, dy.lanes[i], centred.lanes[i], A);
        sums_by_halves(dy.lanes[0], channels, t->sum_dy + c);
        sums_by_halves(centred.lanes[0], channels, t->sum_dy_xhat + c);
        for (int i = c; i < c + channels; i++)
            t->sum_dy_xhat[i] =
                (t->sum_dy_xhat[i] - t->mean_rest[i] * t->sum_dy[i]) * t->inv_std[i];
    }
}

void KERNEL(epilogue_backward_sums)(const epilogue_task *t) {
    WITH_ACTIVATION(backward_sums, t)
}

typedef struct gradient_factors {
    vec dy, z, mean, one;
} gradient_factors;

INLINE gradient_factors channel_factors(const epilogue_task *t, int c, const bool NORM) {
    if (!NORM) return (gradient_factors){vset(1.0f), vset(0.0f), vset(0.0f), vset(0.0f)};
    return (gradient_factors){vset(t->from_dy[c]), vset(t->from_z[c]), vset(t->mean[c]),
                              vset(t->from_one[c])};
}

INLINE vec to_dz(gradient_factors f, vec dy, vec z, const bool NORM) {
    return NORM ? vfma(f.dy, dy, vfma(f.z, z - f.mean, f.one)) : dy;
}

// Where dz of a row goes, if there is no pooling.
INLINE float *gradient_row(const epilogue_task *t, int c, int y) {
    return t->dz_replaces_dy ? pooled(t, c, y).dy : element_mut(&t->z, c, y);
}

INLINE void backward_row(const epilogue_task *t, int c, int y, const bool NORM,
                         const activation_kind A) {
    const affine a = channel_affine(t, c);
    const gradient_factors f = channel_factors(t, c, NORM);
    const float *dy = pooled(t, c, y).dy, *z = element(&t->z, c, y);
    float *dz = gradient_row(t, c, y);
    for (size_t i = 0; i < (size_t)t->z.width * LANES; i += VL) {
        vec v = vload(z + i);
        vstore(dz + i, to_dz(f, through_activation(t, a, v, vload(dy + i), NORM, A), v, NORM));
    }
}

INLINE void backward_pool_row(const epilogue_task *t, int c, int y, const bool NORM) {
    const gradient_factors f = channel_factors(t, c, NORM);
    const pooled_row p = pooled(t, c, y);
    float *z0 = element_mut(&t->z, c, 2 * y), *z1 = element_mut(&t->z, c, 2 * y + 1);
    for (int x = 0; x < t->y.width; x++)
        for (int slice = 0; slice < LANE_SLICES; slice++) {
            size_t i = (size_t)x * LANES + (size_t)(slice * VL),
                   k = (size_t)(2 * x) * LANES + (size_t)(slice * VL);
            vec dy = vload(p.dy + i);
            ivec which = load_bytes(p.argmax + i);
            float *at[4] = {z0 + k, z0 + k + LANES, z1 + k, z1 + k + LANES};
            UNROLL for (int j = 0; j < 4; j++) {
                vec v = NORM ? vload(at[j]) : vset(0.0f);
                vstore(at[j], to_dz(f, vmask(which == j, dy), v, NORM));
            }
        }
}

// Positions that no window covers (odd heights and widths): their dy is zero.
static void backward_uncovered(const epilogue_task *t, int c, const bool norm) {
    const gradient_factors f = channel_factors(t, c, norm);
    for (int y = 0; y < t->z.height; y++) {
        int x = y < 2 * t->y.height ? 2 * t->y.width : 0;
        float *z = element_mut(&t->z, c, y);
        for (size_t i = (size_t)x * LANES; i < (size_t)t->z.width * LANES; i += VL)
            vstore(z + i, to_dz(f, vset(0.0f), vload(z + i), norm));
    }
}

INLINE void backward(const epilogue_task *t, const bool NORM, const activation_kind A) {
    for (int c = 0; c < t->z.channels; c++) {
        for (int y = 0; y < t->y.height; y++) {
            if (!is_smooth(A) && t->pool)
                backward_pool_row(t, c, y, NORM);
            else
                backward_row(t, c, y, NORM, A);
        }
        if (t->pool) backward_uncovered(t, c, NORM);
    }
}

void KERNEL(relu_backward)(const view *y, float *dy) {
    const size_t row = (size_t)(y->width * LANES);
    for (int c = 0; c < y->channels; c++)
        for (int line = 0; line < y->height; line++, dy += row) {
            const float *out = element(y, c, line);
            for (size_t i = 0; i < row; i += VL)
                vstore(dy + i, vmask(passes(vload(out + i)), vload(dy + i)));
        }
}

// Batch norm gives every lane a gradient; absent samples must have none.
static void clear_absent(const epilogue_task *t) {
    for (int c = 0; c < t->z.channels; c++)
        for (int y = 0; y < t->z.height; y++) {
            float *dz = gradient_row(t, c, y);
            for (int x = 0; x < t->z.width; x++)
                for (int n = t->samples; n < LANES; n++) dz[x * LANES + n] = 0.0f;
        }
}

INLINE void backward_alone(const epilogue_task *t, const activation_kind A) {
    backward(t, false, A);
}

void KERNEL(epilogue_backward)(const epilogue_task *t) {
    // After a batch norm, epilogue_backward_sums has led dy through a smooth activation.
    if (t->scale && t->activation == ACTIVATION_RELU)
        backward(t, true, ACTIVATION_RELU);
    else if (t->scale)
        backward(t, true, ACTIVATION_NONE);
    else
        WITH_ACTIVATION(backward_alone, t)
    if (t->scale && t->samples < LANES) clear_absent(t);
}
