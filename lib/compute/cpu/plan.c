#include "compute/cpu/plan.h"

#include <stdlib.h>

#include "base/memory.h"

static bool is_tail_pool(const layer *l) {
    return l->kind == LAYER_MAX_POOL && l->kernel_h == 2 && l->kernel_w == 2 && l->stride_h == 2 &&
           l->stride_w == 2 && l->pad_h == 0 && l->pad_w == 0;
}

// ---- From layers to units ----

static void take_tail(unit *u, const program *p, int *at) {
    // pool before ReLU gives the same as ReLU before pool: both are one tail.
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

static status take_unit(unit *u, const program *p, int *at, error *err) {
    const layer *l = &p->layers[*at];
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
        if (l->kernel_h * l->kernel_w > 255)
            return error_set(
                err, STATUS_USAGE,
                "cannot run layer '%s' on a cpu: its window has more than 255 elements", l->name);
        u->alone = l;
        ++*at;
        return STATUS_OK;
    case LAYER_DROPOUT:
        u->alone = l;
        ++*at;
        return STATUS_OK;
    default:
        return error_set(err, STATUS_USAGE,
                         "cannot run layer '%s' on a cpu: no kernel for its kind yet", l->name);
    }
}

// ---- Places ----

// Kernels may read so many floats behind the last place, never to use them.
enum { SLACK = 64 };

// `border` zero columns before and behind each row; a row's right border is the next one's left
// border.
static place put(plan *p, shape size, int border) {
    const size_t lanes = (size_t)p->lanes;
    place at = {.size = size};
    at.row = (size_t)(size.width + border) * lanes;
    at.plane = (size_t)size.height * at.row;
    at.offset = p->floats + (size_t)border * lanes;
    p->floats += (size_t)border * lanes + (size_t)size.channels * at.plane;
    return at;
}

static int max_int(int a, int b) {
    return a > b ? a : b;
}

// Zero columns that a consumer wants around its input.
static int border_before(const unit *next) {
    return next && next->core && next->core->kind == LAYER_CONV ? next->core->pad_w : 0;
}

// Zero columns around dz that the input gradient of a convolution reads.
static int border_of_gradient(const unit *u) {
    if (u->first || !u->core || u->core->kind != LAYER_CONV || u->core->stride_w != 1 ||
        u->core->stride_h != 1)
        return 0;
    return max_int(0, u->core->kernel_w - 1 - u->core->pad_w);
}

static shape output_of(const unit *u, shape in) {
    return u->core ? u->core->out : in;
}

static shape pooled_shape(shape z) {
    return (shape){z.channels, z.height / 2, z.width / 2};
}

// `flat` is the shape in which the next layer sees the input: flatten has no unit.
static void place_unit(plan *p, int index, shape seen) {
    unit *u = &p->units[index];
    const unit *next = index + 1 < p->count ? &p->units[index + 1] : NULL;
    const place before = index ? p->units[index - 1].y : p->input;
    u->x = before;
    u->dx = index ? p->units[index - 1].dy : p->input_gradient;
    shape z = u->alone ? u->alone->out : output_of(u, seen);
    shape y = u->pool ? pooled_shape(z) : z;
    if (!u->alone) u->z = put(p, z, border_of_gradient(u));
    if (u->last) return;
    u->y = put(p, y, border_before(next));
    u->dy = put(p, y, 0);
    if (u->pool || u->alone) {
        u->winner = p->bytes;
        p->bytes += shape_size(y) * (size_t)p->lanes;
    }
}

static size_t take_packed(plan *p, size_t floats) {
    const size_t at = p->packed_floats;
    p->packed_floats += (floats + GROUP - 1) / GROUP * GROUP;
    return at;
}

static void take_scratch(plan *p, size_t floats) {
    if (floats > p->scratch_floats) p->scratch_floats = floats;
}

static void plan_winograd(plan *p, unit *u, const kernels *k) {
    u->winograd = true;
    take_scratch(p, k->winograd_scratch(u->core));
    u->packed = take_packed(p, winograd_packed_floats(u->core, false));
    if (!u->first) u->packed_transposed = take_packed(p, winograd_packed_floats(u->core, true));
}

static void plan_weights(plan *p, unit *u, const kernels *k) {
    const layer *l = u->core;
    if (!l) return;
    if (winograd_pays(l)) {
        plan_winograd(p, u, k);
        return;
    }
    size_t floats = l->kind == LAYER_LINEAR
                        ? (shape_size(l->in) + GROUP - 1) / GROUP * GROUP
                        : CONV_SCRATCH_OUTPUTS * layer_weights(l) / (size_t)l->out.channels;
    take_scratch(p, floats * GROUP);
    if (l->kind == LAYER_LINEAR) return;
    u->block = k->conv_block_size(l->out.channels, l->out.width);
    u->packed = take_packed(p, conv_packed_floats(l, u->block, false));
    if (u->first || l->stride_h != 1 || l->stride_w != 1) return;
    u->block_transposed = k->conv_block_size(l->in.channels, l->in.width);
    u->packed_transposed = take_packed(p, conv_packed_floats(l, u->block_transposed, true));
}

status plan_init(plan *p, const program *prog, const kernels *k, bool receives, bool sends,
                 error *err) {
    status rc = STATUS_OK;
    *p = (plan){.lanes = k->lanes};
    shape *seen = memory_new((size_t)prog->count + 1, sizeof *seen, err);
    p->units = memory_new((size_t)prog->count + 1, sizeof *p->units, err);
    if (!seen || !p->units) TRY(STATUS_FAILED);
    for (int at = 0; at < prog->count;) {
        if (prog->layers[at].kind == LAYER_FLATTEN) {
            at++;
            continue;
        }
        seen[p->count] = prog->layers[at].in;
        TRY(take_unit(&p->units[p->count], prog, &at, err));
        p->count++;
    }
    if (p->count == 0) TRY(error_set(err, STATUS_USAGE, "cannot run this model: it has no layer"));
    unit *last = &p->units[p->count - 1];
    if (!sends && (!last->core || last->norm || last->relu || last->pool))
        TRY(error_set(err, STATUS_USAGE,
                      "cannot run this model: its last layer is not a linear layer"));
    p->units[0].first = !receives;
    last->last = !sends;
    p->input = put(p, prog->input, border_before(&p->units[0]));
    if (receives) p->input_gradient = put(p, prog->input, 0);
    for (int i = 0; i < p->count; i++) {
        unit *u = &p->units[i];
        place_unit(p, i, seen[i]);
        plan_weights(p, u, k);
        if (!u->norm) continue;
        u->norm_index = p->norms++;
        u->norm_channel = p->norm_channels;
        p->norm_channels += (size_t)u->norm->out.channels;
    }
    // Whole cache lines, and not a multiple of a page: groups that are worked on together must not
    // share cache sets.
    p->floats = (p->floats + 15) / 16 * 16 + SLACK;
    p->bytes = (p->bytes + 63) / 64 * 64 + 192;
out:
    free(seen);
    if (rc != STATUS_OK) plan_release(p);
    return rc;
}

void plan_release(plan *p) {
    free(p->units);
    *p = (plan){0};
}
