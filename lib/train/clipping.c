// SPDX-License-Identifier: MIT
#include "train/clipping.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"

enum { SUMS = 16 };

void clipping_init(clipping *c, const model *m, const uint8_t *groups) {
    *c = (clipping){.model = m, .parameter_groups = groups};
    c->squares = memory_new((size_t)m->tensor_count, sizeof *c->squares);
}

void clipping_release(clipping *c) {
    free(c->squares);
    *c = (clipping){.squares = NULL};
}

// The square of a float is exact in double.
static double square_sum(const float *gradient, size_t n) {
    double sums[SUMS] = {0};
    size_t i = 0;
    for (; i + SUMS <= n; i += SUMS)
        for (size_t k = 0; k < SUMS; k++)
            sums[k] += (double)gradient[i + k] * (double)gradient[i + k];
    for (size_t k = 0; i + k < n; k++) sums[k] += (double)gradient[i + k] * (double)gradient[i + k];
    for (size_t half = SUMS / 2; half > 0; half /= 2)
        for (size_t k = 0; k < half; k++) sums[k] += sums[k + half];
    return sums[0];
}

void clipping_add(clipping *c, int first, int end, const float *gradients) {
    for (int i = 0; i < c->model->tensor_count; i++) {
        const model_tensor *t = &c->model->tensors[i];
        if (t->is_buffer || t->layer < first || t->layer >= end) continue;
        c->squares[i] = square_sum(gradients + t->offset, t->count);
    }
}

static bool is_trained(const clipping *c, const model_tensor *t, const update_rule *rule) {
    const int group =
        c->parameter_groups && !t->is_buffer ? c->parameter_groups[t->offset / ARENA_ALIGNMENT] : 0;
    return !t->is_buffer && (group == 0 || !rule->groups[group - 1].frozen);
}

void clipping_finish(const clipping *c, const batch *b, update_rule *rule) {
    double sum = 0, samples = 0;
    for (int v = 0; v < b->shards; v++) samples += b->count[v];
    for (int i = 0; i < c->model->tensor_count; i++)
        if (is_trained(c, &c->model->tensors[i], rule)) sum += c->squares[i];
    const double factor = rule->clip_norm / (sqrt(sum) / samples + 1e-6);
    rule->factor = factor > 1 ? 1 : factor;
}

void clipping_apply(clipping *c, const float *gradients, const batch *b, update_rule *rule) {
    if (rule->clip_norm <= 0) return;
    clipping_add(c, 0, c->model->program.count, gradients);
    clipping_finish(c, b, rule);
}
