// SPDX-License-Identifier: MIT
// Optimizers, element by element, and sums over whole arenas and activations. The formulas are
// those of torch.optim.
#define SIMD_WIDE
#include "simd.h"

typedef struct element { // VL parameters and their state
    vec p, g, s, s2;
} element;

// Replaces subnormal numbers by zero. Decaying momentum would end in them, and processors handle
// them a hundred times more slowly.
INLINE vec flush(vec v) {
    const vec smallest = vset(0x1p-126f);
    return vmask((v >= smallest) | (v <= -smallest) | (v != v), v);
}

INLINE void sgd(const update_task *t, element *e) {
    const update_numbers *r = &t->numbers;
    vec momentum = vset(r->hyper[HYPER_MOMENTUM]);
    e->g = vfma(vset(r->weight_decay), e->p, e->g);
    e->s = flush(vfma(momentum, e->s, e->g));
    vec step = r->hyper[HYPER_NESTEROV] != 0 ? vfma(momentum, e->s, e->g) : e->s;
    e->p = vfma(vset(-r->lr), step, e->p);
}

INLINE void adam(const update_task *t, element *e, const bool DECOUPLED) {
    const update_numbers *r = &t->numbers;
    if (DECOUPLED)
        e->p = vfma(vset(-r->lr * r->weight_decay), e->p, e->p);
    else
        e->g = vfma(vset(r->weight_decay), e->p, e->g);
    const float beta1 = r->hyper[HYPER_BETA1], beta2 = r->hyper[HYPER_BETA2];
    e->s = flush(vfma(vset(beta1), e->s, vset(1.0f - beta1) * e->g));
    e->s2 = flush(vfma(vset(beta2), e->s2, vset(1.0f - beta2) * (e->g * e->g)));
    vec root = vsqrt(e->s2 * vset(r->correction2)) + vset(r->hyper[HYPER_EPS]);
    e->p = vfma(vset(-r->lr * r->correction1), e->s / root, e->p);
}

INLINE void adadelta(const update_task *t, element *e) {
    const update_numbers *r = &t->numbers;
    const vec rho = vset(r->hyper[HYPER_RHO]), rest = vset(1.0f - r->hyper[HYPER_RHO]);
    const vec eps = vset(r->hyper[HYPER_EPS]);
    e->g = vfma(vset(r->weight_decay), e->p, e->g);
    e->s = flush(vfma(rho, e->s, rest * (e->g * e->g)));
    const vec delta = vsqrt(e->s2 + eps) / vsqrt(e->s + eps) * e->g;
    e->s2 = flush(vfma(rho, e->s2, rest * (delta * delta)));
    e->p = vfma(vset(-r->lr), delta, e->p);
}

INLINE void update_one(const update_task *t, element *e, const optimizer_kind KIND) {
    e->g *= vset(t->numbers.scale);
    switch (KIND) {
    case OPTIMIZER_SGD: sgd(t, e); break;
    case OPTIMIZER_ADAM: adam(t, e, false); break;
    case OPTIMIZER_ADAMW: adam(t, e, true); break;
    case OPTIMIZER_ADADELTA: adadelta(t, e); break;
    }
}

// The last, partial vector goes through a copy.
INLINE void update_rest(const update_task *t, size_t i, size_t n, const optimizer_kind KIND) {
    float p[VL] = {0}, g[VL] = {0}, s[VL] = {0}, s2[VL] = {0};
    memcpy(p, t->parameters + i, n * sizeof *p);
    memcpy(g, t->gradient + i, n * sizeof *g);
    memcpy(s, t->state + i, n * sizeof *s);
    if (optimizer_states(KIND) > 1) memcpy(s2, t->state2 + i, n * sizeof *s2);
    element e = {vload_unaligned(p), vload_unaligned(g), vload_unaligned(s), vload_unaligned(s2)};
    update_one(t, &e, KIND);
    vstore_unaligned(p, e.p);
    vstore_unaligned(s, e.s);
    vstore_unaligned(s2, e.s2);
    memcpy(t->parameters + i, p, n * sizeof *p);
    memcpy(t->state + i, s, n * sizeof *s);
    if (optimizer_states(KIND) > 1) memcpy(t->state2 + i, s2, n * sizeof *s2);
}

INLINE void update_all(const update_task *t, const optimizer_kind KIND) {
    size_t i = t->first, end = t->first + t->count;
    for (; i + VL <= end; i += VL) {
        element e = {vload(t->parameters + i), vload(t->gradient + i), vload(t->state + i),
                     optimizer_states(KIND) > 1 ? vload(t->state2 + i) : vset(0.0f)};
        update_one(t, &e, KIND);
        vstore(t->parameters + i, e.p);
        vstore(t->state + i, e.s);
        if (optimizer_states(KIND) > 1) vstore(t->state2 + i, e.s2);
    }
    if (i < end) update_rest(t, i, end - i, KIND);
}

void KERNEL(update)(const update_task *t) {
    switch (t->kind) {
#define UPDATE_ALL(KIND, ...) \
    case OPTIMIZER_##KIND: update_all(t, OPTIMIZER_##KIND); break;
        OPTIMIZERS(UPDATE_ALL)
#undef UPDATE_ALL
    }
}

uint64_t KERNEL(digest)(const float *parameters, size_t first, size_t count) {
    uint64_t sum = 0;
    for (size_t i = first; i < first + count; i++) {
        uint32_t bits, key = (uint32_t)i * 0x9E3779B1u;
        memcpy(&bits, &parameters[i], sizeof bits);
        key = (key ^ key >> 15) | 1;
        sum += (uint64_t)bits * key;
    }
    return sum;
}

void KERNEL(add)(float *restrict sum, const float *restrict term, size_t n) {
    for (size_t i = 0; i < n; i++) sum[i] += term[i];
}

void KERNEL(sum)(const view *a, const view *b, const view *to) {
    const size_t row = (size_t)(to->width * LANES);
    for (int c = 0; c < to->channels; c++)
        for (int y = 0; y < to->height; y++) {
            const size_t plane = (size_t)c, line = (size_t)y;
            const float *from = a->data + plane * a->plane + line * a->row;
            float *out = to->data + plane * to->plane + line * to->row;
            if (!b) {
                memcpy(out, from, row * sizeof *out);
                continue;
            }
            const float *other = b->data + plane * b->plane + line * b->row;
            for (size_t i = 0; i < row; i++) out[i] = from[i] + other[i];
        }
}
