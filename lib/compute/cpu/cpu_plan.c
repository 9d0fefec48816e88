// SPDX-License-Identifier: MIT
#include "compute/cpu/cpu_plan.h"

#include <stdlib.h>

#include "base/memory.h"

// Groups that share a slot of memory are never in a chunk.
static int chunk_of(const step_plan *p, const execution *e, const superstep *s) {
    int chunk = 1;
    if (e->placement.shares_slots) return 1;
    for (int i = s->first; i < s->end; i++) {
        const operation *op = &p->operations[i];
        if (!is_winograd(e, op)) continue;
        const int groups = winograd_groups(unit_of(e, op)->layers->anchor);
        if (groups > chunk) chunk = groups;
    }
    return chunk;
}

static superstep_needs needs_of(const step_plan *p, const execution *e, const superstep *s) {
    superstep_needs n = {.chunk = chunk_of(p, e, s)};
    for (int i = s->first; i < s->end; i++) {
        const operation *op = &p->operations[i];
        if (op->unit == NO_UNIT) continue;
        const size_t values = placement_values(&e->placement, unit_of(e, op));
        const size_t added = placement_added(&e->placement, unit_of(e, op));
        if (values > n.values) n.values = values;
        if (added > n.added) n.added = added;
    }
    return n;
}

static void find_needs(cpu_plan *p, const execution *e) {
    const step_plan *steps = &p->steps;
    p->needs = memory_new((size_t)steps->superstep_count, sizeof *p->needs);
    p->filters_at = memory_new((size_t)steps->operation_count, sizeof *p->filters_at);
    for (int i = 0; i < steps->superstep_count; i++) {
        const superstep_needs n = needs_of(steps, e, &steps->supersteps[i]);
        const size_t chunk = (size_t)n.chunk;
        p->needs[i] = n;
        if (chunk * n.values > p->values_floats) p->values_floats = chunk * n.values;
        if (chunk * n.added > p->added_floats) p->added_floats = chunk * n.added;
    }
}

// Transformed, filters take four times the memory of the weights, for each direction. So a step
// with batch norm, whose supersteps all threads begin together, keeps only those of one superstep,
// and transforms them before it.
static void place_filters(cpu_plan *p, const execution *e) {
    size_t floats = 0;
    for (int i = 0; i < p->steps.superstep_count; i++) {
        const superstep *s = &p->steps.supersteps[i];
        if (p->by_superstep) floats = 0;
        for (int k = s->first; k < s->end; k++) {
            const operation *op = &p->steps.operations[k];
            if (!is_winograd(e, op)) continue;
            p->filters_at[k] = floats;
            floats +=
                winograd_packed_floats(unit_of(e, op)->layers->anchor, op->kind == OP_ANCHOR_INPUT);
        }
        if (floats > p->filter_floats) p->filter_floats = floats;
    }
}

void cpu_plan_training(cpu_plan *p, const execution *e, uint32_t frozen) {
    const bool in_parts = engine_runs_in_parts(&e->options);
    *p = (cpu_plan){.frozen = frozen, .by_superstep = e->placement.list.norms > 0 && !in_parts};
    step_plan_training(&p->steps, e->program, &e->placement.list, &e->options, frozen);
    find_needs(p, e);
    place_filters(p, e);
}

void cpu_plan_inference(cpu_plan *p, const execution *e) {
    *p = (cpu_plan){.filters = NULL};
    step_plan_inference(&p->steps, e->program, &e->placement.list);
    find_needs(p, e);
    place_filters(p, e);
}

void cpu_plan_release(cpu_plan *p) {
    step_plan_release(&p->steps);
    free(p->needs);
    free(p->filters_at);
    *p = (cpu_plan){.filters = NULL};
}
