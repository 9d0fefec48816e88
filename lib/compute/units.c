// SPDX-License-Identifier: MIT
#include "compute/units.h"

#include <stdlib.h>

#include "base/memory.h"

static bool is_tail_pool(const layer *l) {
    return l->kind == LAYER_MAX_POOL && l->kernel_h == 2 && l->kernel_w == 2 && l->stride_h == 2 &&
           l->stride_w == 2 && l->pad_h == 0 && l->pad_w == 0;
}

static void take_tail(unit_layers *u, const program *p, int *at) {
    // Pooling before ReLU gives the same as ReLU before pooling: both orders are one tail.
    for (; *at < p->count; ++*at) {
        const layer *l = &p->layers[*at];
        if (l->kind == LAYER_BATCH_NORM && !u->norm && !u->relu && !u->pool)
            u->norm = l;
        else if (l->kind == LAYER_RELU && !u->relu)
            u->relu = true;
        else if (is_tail_pool(l) && !u->pool)
            u->pool = true;
        else
            return;
    }
}

static status take_unit(unit_layers *u, const program *p, int *at, error *err) {
    const layer *l = &p->layers[*at];
    u->x = l->in;
    switch (l->kind) {
    case LAYER_CONV:
    case LAYER_LINEAR:
        u->core = l;
        ++*at;
        take_tail(u, p, at);
        return STATUS_OK;
    case LAYER_BATCH_NORM:
    case LAYER_RELU: take_tail(u, p, at); return STATUS_OK;
    case LAYER_MAX_POOL:
    case LAYER_AVG_POOL:
        if (l->kernel_h * l->kernel_w > POOL_WINDOW_MAX)
            return error_set(err, STATUS_USAGE,
                             "cannot run layer '%s': its window has more than %d elements", l->name,
                             (int)POOL_WINDOW_MAX);
        u->alone = l;
        ++*at;
        return STATUS_OK;
    case LAYER_DROPOUT:
        u->alone = l;
        ++*at;
        return STATUS_OK;
    default:
        return error_set(err, STATUS_USAGE, "cannot run layer '%s': no kernel for its kind yet",
                         l->name);
    }
}

static void find_shapes(unit_layers *u) {
    u->z = u->alone ? u->alone->out : u->core ? u->core->out : u->x;
    u->y = u->pool ? (shape){u->z.channels, u->z.height / 2, u->z.width / 2} : u->z;
}

static void number_norm(unit_list *l, unit_layers *u) {
    if (!u->norm) return;
    u->norm_index = l->norms++;
    u->norm_channel = l->norm_channels;
    l->norm_channels += (size_t)u->norm->out.channels;
}

static status check_ends(const unit_list *l, bool sends, error *err) {
    if (l->count == 0)
        return error_set(err, STATUS_USAGE, "cannot run this model: it has no layers");
    const unit_layers *last = &l->units[l->count - 1];
    if (!sends && (!last->core || last->norm || last->relu || last->pool))
        return error_set(err, STATUS_USAGE,
                         "cannot run this model: its last layer is not a linear layer");
    return STATUS_OK;
}

status units_init(unit_list *l, const program *p, bool receives, bool sends, error *err) {
    status rc;
    *l = (unit_list){.units = memory_new((size_t)p->count + 1, sizeof *l->units, err)};
    if (!l->units) return STATUS_FAILED;
    for (int at = 0; at < p->count;) {
        if (p->layers[at].kind == LAYER_FLATTEN) {
            at++;
            continue;
        }
        unit_layers *u = &l->units[l->count++];
        TRY(take_unit(u, p, &at, err));
        find_shapes(u);
        number_norm(l, u);
    }
    TRY(check_ends(l, sends, err));
    l->units[0].first = !receives;
    l->units[l->count - 1].last = !sends;
out:
    if (rc != STATUS_OK) units_release(l);
    return rc;
}

void units_release(unit_list *l) {
    free(l->units);
    *l = (unit_list){0};
}

void units_own_part(const program *p, size_t *first, size_t *end) {
    *first = p->parameters;
    *end = 0;
    for (int i = 0; i < p->count; i++) {
        const layer *l = &p->layers[i];
        size_t behind = l->weight + layer_weights(l);
        if (layer_weights(l) == 0) continue;
        if (l->weight < *first) *first = l->weight;
        if (l->has_bias || l->kind == LAYER_BATCH_NORM) behind = l->bias + (size_t)l->out.channels;
        if (behind > *end) *end = behind;
    }
    if (*end < *first) *end = *first;
}
