// SPDX-License-Identifier: MIT
// Layers that only move channels.
#include <string.h>

#include "../reference.h"

static size_t plane(const reference_task *t) {
    return (size_t)t->l->in.height * (size_t)t->l->in.width;
}

// Returns the values of a sample in `channels` channels.
static size_t values(const reference_task *t, int channels) {
    return (size_t)channels * plane(t);
}

// ---- Concat ----

static void concat(const reference_task *t) {
    const size_t own = values(t, t->channels), all = values(t, t->l->out.channels);
    for (size_t n = 0; n < (size_t)t->samples; n++)
        memcpy(t->y + n * all + values(t, t->channel), t->x + n * own, own * sizeof *t->y);
}

static void concat_backward(const reference_task *t) {
    const size_t own = values(t, t->channels), all = values(t, t->l->out.channels);
    for (size_t n = 0; n < (size_t)t->samples; n++)
        memcpy(t->dx + n * own, t->dy + n * all + values(t, t->channel), own * sizeof *t->dx);
}

// ---- Slice ----

static void slice(const reference_task *t) {
    const size_t own = values(t, t->l->out.channels), all = values(t, t->l->in.channels);
    for (size_t n = 0; n < (size_t)t->samples; n++)
        memcpy(t->y + n * own, t->x + n * all + values(t, t->channel), own * sizeof *t->y);
}

static void slice_backward(const reference_task *t) {
    const size_t own = values(t, t->l->out.channels), all = values(t, t->l->in.channels);
    memset(t->dx, 0, (size_t)t->samples * all * sizeof *t->dx);
    for (size_t n = 0; n < (size_t)t->samples; n++)
        memcpy(t->dx + n * all + values(t, t->channel), t->dy + n * own, own * sizeof *t->dx);
}

// ---- Shuffle ----

static size_t source(const reference_task *t, int c) {
    return values(t, shuffled_channel(t->l->in.channels, t->l->groups, c));
}

static void shuffle(const reference_task *t) {
    const size_t all = values(t, t->l->in.channels);
    for (size_t n = 0; n < (size_t)t->samples; n++)
        for (int c = 0; c < t->l->in.channels; c++)
            memcpy(t->y + n * all + values(t, c), t->x + n * all + source(t, c),
                   plane(t) * sizeof *t->y);
}

static void shuffle_backward(const reference_task *t) {
    const size_t all = values(t, t->l->in.channels);
    for (size_t n = 0; n < (size_t)t->samples; n++)
        for (int c = 0; c < t->l->in.channels; c++)
            memcpy(t->dx + n * all + source(t, c), t->dy + n * all + values(t, c),
                   plane(t) * sizeof *t->dx);
}

const reference_layer reference_concat = {.forward = concat, .backward = concat_backward};
const reference_layer reference_slice = {.forward = slice, .backward = slice_backward};
const reference_layer reference_shuffle = {.forward = shuffle, .backward = shuffle_backward};
