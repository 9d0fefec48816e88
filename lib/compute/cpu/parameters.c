// SPDX-License-Identifier: MIT
// Parameters in and out, and the update.
#include <string.h>

#include "compute/cpu/batch_norm.h"
#include "compute/cpu/cpu_engine.h"
#include "compute/cpu/packing.h"
#include "compute/plan/slices.h"

static void copy(float *to, const float *from, size_t n) {
    if (to && from) memcpy(to, from, n * sizeof *to);
}

void cpu_write(engine *e, const float *parameters, const float *buffers, const float *state) {
    const execution *x = &e->execution;
    const size_t n = x->program->parameters;
    copy(x->parameters, parameters, n);
    copy(x->buffers, buffers, x->program->buffers);
    for (int i = 0; i < optimizer_states(e->kind); i++)
        copy(e->state[i], state ? state + (size_t)i * n : NULL, n);
    packing_run(e->team, x, &e->training);
    e->inference_is_old = true;
}

status cpu_read(engine *e, float *parameters, float *buffers, float *state, error *err) {
    (void)err;
    const execution *x = &e->execution;
    const size_t n = x->program->parameters;
    copy(parameters, x->parameters, n);
    copy(buffers, x->buffers, x->program->buffers);
    for (int i = 0; i < optimizer_states(e->kind); i++)
        copy(state ? state + (size_t)i * n : NULL, e->state[i], n);
    return STATUS_OK;
}

// ---- The update ----

typedef struct update_run {
    engine *e;
    const update_rule *rule;
} update_run;

// Updates the parameters [first, end), each run of one group with the rule of that group.
static void update_part(const update_run *r, update_task *t, size_t first, size_t end) {
    const execution *x = &r->e->execution;
    const uint8_t *groups = x->options.parameter_groups;
    for (size_t next; first < end; first = next) {
        const int number = groups ? groups[first / ARENA_ALIGNMENT] : 0;
        bool frozen;
        const update_rule rule = parameter_group_rule(r->rule, number, &frozen);
        next = groups ? first + ARENA_ALIGNMENT : end;
        while (next < end && groups[next / ARENA_ALIGNMENT] == number) next += ARENA_ALIGNMENT;
        if (next > end) next = end;
        t->numbers = update_numbers_of(&rule, ownership_samples(&r->e->ownership));
        t->first = first;
        t->count = next - first;
        if (!frozen) x->kernels->update(t);
    }
}

static void update_body(void *argument, int member) {
    const update_run *r = argument;
    engine *e = r->e;
    const execution *x = &e->execution;
    const gradients *g = &e->gradients;
    team_member *m = &e->members[member];
    member_mark(m, PHASE_WAIT);
    const op_slice slice = {member, team_size(e->team)};
    const float_range own = slice_floats(slice, g->own_end - g->own_first);
    const size_t first = g->own_first + own.first, end = g->own_first + own.end;
    update_task t = {.kind = e->kind,
                     .parameters = x->parameters,
                     .state = e->state[0],
                     .state2 = e->state[1],
                     .gradient = g->reduced};
    update_part(r, &t, first, end);
    m->digest = x->kernels->digest(x->parameters, first, end - first);
    batch_norm_update(x, &e->ownership, g->reduced, slice);
    member_mark(m, PHASE_UPDATE);
    team_barrier(e->team);
    member_mark(m, PHASE_WAIT);
    packing_update(x, &e->training, member);
    member_mark(m, PHASE_UPDATE);
}

status cpu_update(engine *e, const update_rule *rule, update_result *result, error *err) {
    const program *p = e->execution.program;
    if (rule->kind != e->kind)
        return error_set(err, STATUS_USAGE,
                         "cannot update: the engine was opened for another optimizer");
    (void)members_run(e->members, e->team, update_body, &(update_run){e, rule});
    e->inference_is_old = true;
    const double loss = (double)e->gradients.reduced[p->parameters + p->buffers + TAIL_LOSS];
    result->loss = (float)(loss / ownership_samples(&e->ownership));
    result->digest = 0;
    for (int t = 0; t < team_size(e->team); t++) result->digest += e->members[t].digest;
    return STATUS_OK;
}
