// SPDX-License-Identifier: MIT
// A step as supersteps of operations: built when the engine is opened, and for training again
// whenever other parameters are frozen.
#include <limits.h>
#include <stdlib.h>

#include "base/memory.h"
#include "compute/cpu/engine.h"

phase operation_phase(operation_kind kind) {
    if (kind < OP_LOAD) return PHASE_COPY;
    if (kind == OP_LOAD) return PHASE_LOAD;
    return kind >= OP_EPILOGUE_AGAIN ? PHASE_BACKWARD : PHASE_FORWARD;
}

static void add_range(sequence *s, size_t first, size_t count) {
    if (count) s->ranges[s->range_count++] = (range){first, count};
}

// The parts of a gradient buffer that an operation writes: those of a layer's tensors, and the
// loss.
static void add_ranges(sequence *s, const engine *e, operation_kind kind, const unit *u) {
    const program *p = e->program;
    const layer *l = kind == OP_ANCHOR_WEIGHTS                           ? u->layers.anchor
                     : kind == OP_UNFUSED_BACKWARD                       ? u->layers.unfused
                     : kind == OP_EPILOGUE_SUMS || kind == OP_STATISTICS ? u->layers.norm
                                                                         : NULL;
    if (kind == OP_LOSS) add_range(s, p->parameters + p->buffers, GRADIENT_TAIL);
    if (!l) return;
    if (kind != OP_STATISTICS) {
        add_range(s, l->weight, layer_weights(l));
        add_range(s, l->bias, layer_biases(l));
    }
    add_range(s, p->parameters + l->mean, layer_statistics(l));
    add_range(s, p->parameters + l->variance, layer_statistics(l));
}

static void add(sequence *s, const engine *e, operation_kind kind, const unit *u) {
    s->operations[s->operation_count++] = (operation){.kind = kind, .unit = u};
    add_ranges(s, e, kind, u);
}

// Groups that share a slot of memory are never in a chunk.
static int chunk_of(const sequence *s, const engine *e, int first) {
    int chunk = 1;
    if (engine_shares_slots(e)) return 1;
    for (int i = first; i < s->operation_count; i++) {
        const operation *op = &s->operations[i];
        const bool products = op->kind == OP_ANCHOR || op->kind == OP_ANCHOR_INPUT;
        if (!products || !op->unit->winograd) continue;
        const int groups = winograd_groups(op->unit->layers.anchor);
        if (groups > chunk) chunk = groups;
    }
    return chunk;
}

// Adds the memory of a thread that the last superstep needs.
static void measure_superstep(sequence *s, const engine *e) {
    superstep *last = &s->supersteps[s->superstep_count - 1];
    for (int i = last->first; i < last->end; i++) {
        const unit *u = s->operations[i].unit;
        if (!u) continue;
        const size_t values = placement_values(&e->placement, u);
        const size_t added = placement_added(&e->placement, u);
        if (values > last->values) last->values = values;
        if (added > last->added) last->added = added;
    }
    const size_t chunk = (size_t)last->chunk;
    if (chunk * last->values > s->values_floats) s->values_floats = chunk * last->values;
    if (chunk * last->added > s->added_floats) s->added_floats = chunk * last->added;
}

static void close_superstep(sequence *s, const engine *e, barrier_work work, const unit *norm) {
    const superstep *before = s->superstep_count ? &s->supersteps[s->superstep_count - 1] : NULL;
    const int first = before ? before->end : 0;
    s->supersteps[s->superstep_count++] = (superstep){.first = first,
                                                      .end = s->operation_count,
                                                      .barrier = work,
                                                      .norm = norm,
                                                      .chunk = chunk_of(s, e, first),
                                                      .range_first = before ? before->range_end : 0,
                                                      .range_end = s->range_count};
    measure_superstep(s, e);
}

static void sequence_new(sequence *s, const engine *e) {
    const size_t most = (size_t)e->placement.count * 9 + 8; // nine per unit, and the ends
    *s = (sequence){.operations = memory_new(most, sizeof *s->operations),
                    .supersteps = memory_new(most, sizeof *s->supersteps),
                    .ranges = memory_new(most * 2, sizeof *s->ranges)};
}

void sequence_release(sequence *s) {
    free(s->operations);
    free(s->supersteps);
    free(s->ranges);
    *s = (sequence){0};
}

static void add_forward(sequence *s, const engine *e, const unit *u, bool training) {
    if (u->layers.unfused) {
        add(s, e, OP_UNFUSED, u);
        return;
    }
    if (!u->in_place) add(s, e, OP_ANCHOR, u);
    if (u->layers.norm && training) {
        add(s, e, OP_MOMENTS, u);
        close_superstep(s, e, BARRIER_FORWARD, u);
    }
    if (!u->layers.last) add(s, e, OP_EPILOGUE, u);
}

// ---- What backward needs ----

// What the frozen groups leave to backward.
typedef struct demand {
    const engine *e;
    uint32_t frozen; // groups
    bool *units;     // whose tensors, or those of units below, are trained
    int lowest;      // of these; INT_MAX: none
} demand;

static bool is_group_trained(const demand *d, size_t offset) {
    const uint8_t *groups = d->e->options.parameter_groups;
    return !(d->frozen >> (groups ? groups[offset / ARENA_ALIGNMENT] : 0) & 1);
}

static bool is_trained(const demand *d, const layer *l) {
    return l && ((layer_weights(l) && is_group_trained(d, l->weight)) ||
                 (layer_biases(l) && is_group_trained(d, l->bias)));
}

static bool is_wanted(const demand *d, unit_source source) {
    return source.unit == UNIT_INPUT ? d->e->options.receives : d->units[source.unit];
}

// Is the gradient of an operand of the unit needed?
static bool wants_input(const demand *d, const unit *u) {
    return is_wanted(d, u->layers.source) ||
           (unit_has_second(&u->layers) && is_wanted(d, u->layers.second));
}

static void demand_init(demand *d, const engine *e, uint32_t frozen) {
    const int count = e->placement.count;
    *d = (demand){.e = e, .frozen = frozen, .lowest = INT_MAX};
    d->units = memory_new((size_t)count, sizeof *d->units);
    for (int i = 0; i < count; i++) {
        const unit *u = &e->placement.units[i];
        d->units[i] = wants_input(d, u) || is_trained(d, u->layers.anchor) ||
                      is_trained(d, u->layers.norm) || is_trained(d, u->layers.unfused);
        if (d->units[i] && i < d->lowest) d->lowest = i;
    }
}

// Of a unit whose gradient nothing needs.
static void add_statistics(sequence *s, const demand *d, int i) {
    const unit *u = &d->e->placement.units[i];
    if (!u->layers.norm) return;
    add(s, d->e, OP_STATISTICS, u);
    if (d->lowest < i) close_superstep(s, d->e, BARRIER_FILTERS, u);
}

static void add_backward(sequence *s, const demand *d, int i) {
    const engine *e = d->e;
    const unit *u = &e->placement.units[i];
    if (!d->units[i]) {
        add_statistics(s, d, i);
        return;
    }
    if (u->layers.unfused) {
        if (!u->layers.first || layer_weights(u->layers.unfused)) add(s, e, OP_UNFUSED_BACKWARD, u);
        return;
    }
    if (u->layers.plus) add(s, e, OP_SUM_BACKWARD, u);
    if (u->layers.norm) {
        add(s, e, OP_EPILOGUE_SUMS, u);
        close_superstep(s, e, BARRIER_BACKWARD, u);
    }
    if (!u->layers.last) add(s, e, OP_EPILOGUE_BACKWARD, u);
    const unit *source =
        u->layers.source.unit == UNIT_INPUT ? NULL : &e->placement.units[u->layers.source.unit];
    if (is_trained(d, u->layers.anchor)) {
        if (source && source->again) add(s, e, OP_EPILOGUE_AGAIN, source);
        add(s, e, OP_ANCHOR_WEIGHTS, u);
    }
    if (u->in_place || !wants_input(d, u)) return;
    if (!u->layers.first || (u->layers.sum && u->layers.second.gradient))
        add(s, e, OP_ANCHOR_INPUT, u);
}

void sequence_training(sequence *s, const engine *e, uint32_t frozen) {
    demand d;
    demand_init(&d, e, frozen);
    sequence_new(s, e);
    const engine_options *o = &e->options;
    add(s, e, o->receives ? OP_RECEIVE : OP_LOAD, NULL);
    for (int i = 0; i < e->placement.count; i++) add_forward(s, e, &e->placement.units[i], true);
    if (o->sends) add(s, e, OP_SEND, NULL);
    if (o->apart || o->stage) close_superstep(s, e, BARRIER_NONE, NULL);
    s->loss_superstep = s->superstep_count;
    if (o->sends)
        add(s, e, OP_RECEIVE_GRADIENT, NULL);
    else
        add(s, e, OP_LOSS, &e->placement.units[e->placement.count - 1]);
    if (o->apart) close_superstep(s, e, BARRIER_NONE, NULL);
    for (int i = e->placement.count - 1; i >= 0; i--) add_backward(s, &d, i);
    if (o->receives) add(s, e, OP_SEND_GRADIENT, NULL);
    close_superstep(s, e, BARRIER_NONE, NULL);
    free(d.units);
}

void sequence_inference(sequence *s, const engine *e) {
    sequence_new(s, e);
    add(s, e, OP_LOAD, NULL);
    for (int i = 0; i < e->placement.count; i++) add_forward(s, e, &e->placement.units[i], false);
    close_superstep(s, e, BARRIER_NONE, NULL);
}
