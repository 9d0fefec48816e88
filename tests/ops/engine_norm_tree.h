// SPDX-License-Identifier: MIT
// engine_norm_tree.h - the order in which a batch norm merges the statistics of groups and shards:
// steps in which the order shows, and the expected results along the reduction tree.
//
// Means are merged in double, and the rounding of double hardly ever shows in the final float. Here
// it does: each channel has two large means of opposite signs, and the order of merging determines
// how much of the other means survives.
#ifndef LOCKSTEP_TESTS_ENGINE_NORM_TREE_H
#define LOCKSTEP_TESTS_ENGINE_NORM_TREE_H

#include "engine_problem.h"

static const split norm_trees[] = {
    {.shards = 1, .count = {80}},
    {.shards = 1, .count = {96}},
    {.shards = 1, .count = {112}},
    {.shards = 5, .count = {16, 16, 16, 16, 16}, .sync = true},
    {.shards = 6, .count = {16, 16, 16, 16, 16, 16}, .sync = true},
    {.shards = 7, .count = {16, 16, 16, 16, 16, 16, 16}, .sync = true},
    {.shards = 6, .count = {32, 32, 32, 32, 32, 32}, .sync = true},
};

enum { NORM_GROUPS = 12, NORM_CHANNELS = 40 };

static const model_case norm_model = {
    .name = "tree of a batch norm",
    .input = "[1, 1, 12]",
    .layers = "[flatten, linear: {out: 40, bias: false}, batch_norm, linear: {out: 2}]"};

// Group g has 255 in its g-th pixel and 0 in all others: its mean in a channel is that pixel's
// weight.
static void choose_groups(problem *p) {
    const model_tensor *weight = &p->m.tensors[0];
    int group = 0;
    size_t sample = 0;
    for (int v = 0; v < p->s->shards; v++)
        for (int i = 0; i < p->s->count[v]; i++, sample++) {
            uint8_t *pixels = p->bytes + sample * NORM_GROUPS;
            memset(pixels, 0, NORM_GROUPS);
            if (sample > 0 && i % GROUP == 0) group++;
            pixels[group] = 255;
        }
    p->mean[0] = 0;
    p->std[0] = 1;
    double *r = ops_random(weight->count, 400);
    for (size_t k = 0; k < weight->count; k++) p->parameters[k] = (float)r[k];
    for (int c = 0; c < NORM_CHANNELS; c++) {
        float *of = p->parameters + weight->offset + (size_t)c * NORM_GROUPS;
        const int one = c % (group + 1), other = (one + 1 + c / (group + 1)) % (group + 1);
        of[one] = (float)ldexp(1.5 + r[c] / 4, 36);
        if (other != one) of[other] = -of[one];
    }
    free(r);
}

typedef struct norm_moments {
    double count, mean, m2;
} norm_moments;

// The moments of the groups below a node; z: a channel's value in each group.
static norm_moments moments_below(const reduction_tree *t, int node, const float *z) {
    const tree_node *n = &t->nodes[node];
    if (n->left < 0) return (norm_moments){GROUP, (double)z[n->first], 0};
    const norm_moments a = moments_below(t, n->left, z), b = moments_below(t, n->right, z);
    const double count = a.count + b.count, delta = b.mean - a.mean;
    return (norm_moments){count, a.mean + delta * (b.count / count),
                          a.m2 + b.m2 + delta * delta * (a.count * b.count / count)};
}

// Sums along the tree the terms that each shard's first group adds to the gradient buffer.
static float sum_below(const reduction_tree *t, int node, const float *of_group) {
    const tree_node *n = &t->nodes[node];
    if (n->left < 0) return of_group[n->first];
    return sum_below(t, n->left, of_group) + sum_below(t, n->right, of_group);
}

static void check_channel(const problem *p, const reduction_tree *t, int c, const outcome *o) {
    const program *prog = &p->m.program;
    const model_tensor *weight = &p->m.tensors[0];
    const layer *norm = &prog->layers[2];
    engine_options options = {.std = {1}};
    float z[NORM_GROUPS], mean[NORM_GROUPS] = {0}, shift;
    const float one = fmaf(255, engine_input_scale(&options, 0, &shift), 0);
    for (int g = 0; g < NORM_GROUPS; g++)
        z[g] = p->parameters[weight->offset + (size_t)(c * NORM_GROUPS + g)] * one;
    const norm_moments m = moments_below(t, t->count - 1, z);
    for (int v = 0, group = 0; v < p->s->shards; group += p->s->count[v++] / GROUP)
        mean[group] = (float)(m.mean * p->s->count[v]);
    const float expected = sum_below(t, t->count - 1, mean);
    const float got = o->gradients[prog->parameters + norm->mean + (size_t)c];
    if (memcmp(&expected, &got, sizeof got) != 0)
        fail_msg("channel %d: the sum of the means is %.9g, not %.9g", c, (double)got,
                 (double)expected);
}

#endif
