// SPDX-License-Identifier: MIT
// Local response normalisation: y = x / s^beta, with s = k + alpha / size · the sum of the squares
// in a window of `size` channels.
#include "pieces.h"

// The layer's numbers, read once: the compiler cannot know that a store leaves them as they are.
typedef struct numbers {
    int channels, window, quarters; // beta in quarters
    vec k, alpha, slope;            // alpha / size, and -2 · alpha · beta / size
} numbers;

static numbers numbers_of(const layer_task *t) {
    const layer *l = t->l;
    return (numbers){t->x.channels,
                     l->window,
                     local_response_quarters(l),
                     vset((float)l->k),
                     vset((float)(l->alpha / l->window)),
                     vset((float)(-2 * l->alpha * l->beta / l->window))};
}

// s^beta. Of the multiples of a quarter that beta may be, it is made of square roots, which every
// processor rounds in the same way.
INLINE vec power(const numbers *n, vec s) {
    if (n->quarters == 4) return s;
    const vec root = vsqrt(s);
    if (n->quarters == 2) return root;
    return n->quarters == 3 ? root * vsqrt(root) : vsqrt(root);
}

// s of a vector of channel c. Its window is PyTorch's, which for an even size has one more channel
// before c than after it.
INLINE vec sum_at(const layer_task *t, const numbers *n, int c, const piece *p, int i) {
    const int end = imin(n->channels, c + (n->window + 1) / 2);
    vec sum = vset(0.0f);
    for (int j = imax(0, c - n->window / 2); j < end; j++) {
        const vec x = vload(piece_of(&t->x, j, p) + i * VL);
        sum = vfma(x, x, sum);
    }
    return vfma(sum, n->alpha, n->k);
}

void KERNEL(local_response_norm)(const layer_task *t) {
    const numbers n = numbers_of(t);
    for (piece p = {0}; next_piece(t, &p);)
        for (int c = 0; c < n.channels; c++) {
            const float *x = piece_of(&t->x, c, &p);
            float *y = piece_of(&t->y, c, &p);
            for (int i = 0; i < p.vecs; i++)
                vstore(y + i * VL, vload(x + i * VL) / power(&n, sum_at(t, &n, c, &p, i)));
        }
}

// ---- Backward ----

// Of the channels of a window: 1 / s^beta, and dy · x / s^(beta + 1).
typedef struct ring {
    float factor[LOCAL_RESPONSE_WINDOW][PIECE] __attribute__((aligned(64)));
    float product[LOCAL_RESPONSE_WINDOW][PIECE] __attribute__((aligned(64)));
} ring;

static void enter(const layer_task *t, const numbers *n, const piece *p, int c, ring *r) {
    const float *x = piece_of(&t->x, c, p), *dy = t->dy + piece_dense(t, c, p);
    float *factors = r->factor[c % n->window], *products = r->product[c % n->window];
    for (int i = 0; i < p->vecs; i++) {
        const vec s = sum_at(t, n, c, p, i), factor = vset(1.0f) / power(n, s);
        vstore(factors + i * VL, factor);
        vstore(products + i * VL, vload(dy + i * VL) * vload(x + i * VL) * (factor / s));
    }
}

// dx = dy / s^beta - 2 · alpha · beta / size · x · the sum of dy · x / s^(beta + 1) over the
// channels whose windows have this one.
static void leave(const layer_task *t, const numbers *n, const piece *p, int c, const ring *r) {
    const int end = imin(n->channels, c + n->window / 2 + 1);
    const float *x = piece_of(&t->x, c, p), *factors = r->factor[c % n->window];
    const size_t at = piece_dense(t, c, p);
    for (int i = 0; i < p->vecs; i++) {
        vec sum = vset(0.0f);
        for (int j = imax(0, c - (n->window - 1) / 2); j < end; j++)
            sum += vload(r->product[j % n->window] + i * VL);
        const vec own = vload(t->dy + at + i * VL) * vload(factors + i * VL);
        vstore(t->dx + at + i * VL, vfma(vload(x + i * VL) * n->slope, sum, own));
    }
}

void KERNEL(local_response_norm_backward)(const layer_task *t) {
    const numbers n = numbers_of(t);
    const int behind = n.window / 2;
    ring r;
    for (piece p = {0}; next_piece(t, &p);)
        for (int c = 0; c < n.channels + behind; c++) {
            if (c < n.channels) enter(t, &n, &p, c, &r);
            if (c >= behind) leave(t, &n, &p, c - behind, &r);
        }
}
