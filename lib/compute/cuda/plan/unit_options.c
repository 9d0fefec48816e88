// SPDX-License-Identifier: MIT
// How an engine runs the units of a program: what its products compute along with them.
#include <limits.h>

#include "compute/cuda/plan/cuda_plan.h"
#include "compute/plan/within.h"

// A point's filters begin at an int (exact_correlation.cu), and a dimension of a grid has all parts
// of the channels of all shards (cuda_conv_task).
static status check_layers(const program *p, const engine_options *o, error *err) {
    for (int i = 0; i < p->count; i++) {
        const layer *l = &p->layers[i];
        const long long filters = (long long)l->in.channels * l->out.channels;
        if (l->kind == LAYER_CONV && layer_groups(l) > MAX_GRID_YZ / o->local_shards)
            return error_set(err, STATUS_USAGE,
                             "cannot run layer '%s': %d groups of channels in %d shards are more "
                             "than %d; use --device cpu",
                             l->name, layer_groups(l), o->local_shards, (int)MAX_GRID_YZ);
        if (o->exact && winograd_pays(l) && 36 * filters > INT_MAX)
            return error_set(err, STATUS_USAGE,
                             "cannot run layer '%s': it has too many channels; use --math fast or "
                             "--device cpu",
                             l->name);
    }
    return STATUS_OK;
}

int cuda_lanes(const engine_options *o) {
    return (o->shard_samples + LANE_ROUND - 1) / LANE_ROUND * LANE_ROUND;
}

bool cuda_is_ours(const arithmetic *sums_by, const layer *anchor, int lanes) {
    return anchor->kind != LAYER_LINEAR || !sums_by->fuses || !cuda_linear_by_blas(anchor, lanes);
}

// Does the product of the unit write further results, if they are needed?
static bool fuses(const unit_layers *u, const engine_options *o) {
    const arithmetic *sums_by = cuda_arithmetic(o->exact);
    return sums_by->fuses && u->anchor && layer_groups(u->anchor) == 1 &&
           cuda_is_ours(sums_by, u->anchor, cuda_lanes(o));
}

// Up to this number, a channel of a linear layer is small enough for one block to do its epilogue.
enum { EPILOGUE_LANES_MOST = 1024 };

// An epilogue can go with the product unless it needs results from all shards, or from all blocks
// of a channel: that is, without batch norm, or after the batch norm of a linear layer, which has
// few elements; there the block that finishes the moments makes it. In inference scale and shift of
// a batch norm are known before.
static unit_options options_of(const unit_layers *u, const engine_options *o) {
    const bool fused = fuses(u, o);
    const bool few = u->anchor && u->anchor->kind == LAYER_LINEAR &&
                     cuda_lanes(o) <= EPILOGUE_LANES_MOST && !o->sync_batch_norm;
    const bool epilogue = fused && !u->last && !u->plus && !u->smooth; // what products know of them
    return (unit_options){.on_x = unit_can_be_on_x(u),
                          .moments_with_anchor = fused && u->norm,
                          .norm_with_moments = !o->sync_batch_norm,
                          .statistics_forward = true,
                          .epilogue_with_anchor = epilogue && (!u->norm || few),
                          .inference_epilogue_with_anchor = epilogue};
}

// The sums over dy for the gradient through a batch norm go with the product that makes dy, if its
// rows are the norm's channels, that is, without a flatten in between, and if it makes all of dy.
static bool makes_sums(const unit_list *list, const unit_layers *u, const engine_options *o) {
    const layer *l = u->anchor;
    if (!fuses(u, o) || u->source.unit < 0 || units_readers(list, u->source.unit) != 1)
        return false;
    const unit_layers *source = &list->units[u->source.unit];
    const shape x = u->x, y = source->y;
    const bool same = x.channels == y.channels && x.height == y.height && x.width == y.width;
    const bool strided = l->kind == LAYER_CONV && (l->stride_h > 1 || l->stride_w > 1);
    return source->norm && !source->plus && !source->smooth && same && !strided;
}

status cuda_units(const program *of, const engine_options *o, unit_list *list, error *err) {
    *list = (unit_list){.count = 0};
    NEED(check_layers(of, o, err));
    NEED(units_init(list, of, o->receives, engine_has_logits(o), err));
    // Values of one shard follow those of another: only of a single one is a range one piece.
    if (o->local_shards == 1) units_lie_within(list, NULL);
    for (int i = 0; i < list->count; i++) {
        unit_layers *u = &list->units[i];
        u->options = options_of(u, o);
        if (makes_sums(list, u, o)) list->units[u->source.unit].options.sums_with_reader = true;
    }
    return STATUS_OK;
}
