// SPDX-License-Identifier: MIT
// A CPU engine: opening, closing, memory, parameters in and out, the update. The backend's table is
// at the end.
#include "compute/cpu/engine.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"

// ---- Time ----

void member_mark(team_member *m, phase spent) {
    const uint64_t now = clock_now();
    m->ns[spent] += now - m->last;
    trace_phase(m->track, phase_name(spent), m->last, now);
    m->last = now;
}

void engine_region(engine *e, void (*body)(void *, int)) {
    const int threads = team_size(e->team);
    const uint64_t start = clock_now();
    for (int t = 0; t < threads; t++) e->members[t].last = start;
    team_run(e->team, body, e);
    const uint64_t end = clock_now();
    for (int t = 0; t < threads; t++) {
        team_member *m = &e->members[t];
        m->ns[PHASE_WAIT] += end - m->last;
        trace_phase(m->track, phase_name(PHASE_WAIT), m->last, end);
    }
}

static phase_times cpu_times(engine *e) {
    phase_times mean = {.ns = {0}};
    const uint64_t threads = (uint64_t)team_size(e->team);
    for (uint64_t t = 0; t < threads; t++) {
        for (int p = 0; p < PHASES; p++) mean.ns[p] += e->members[t].ns[p];
        memset(e->members[t].ns, 0, sizeof e->members[t].ns);
    }
    for (int p = 0; p < PHASES; p++) mean.ns[p] /= threads;
    return mean;
}

// ---- Opening ----

static void *take(engine *e, size_t count, size_t size, error *err) {
    e->allocated += count * size;
    return memory_try_new_aligned(count, size, err);
}

#define TAKE(pointer, count)                                  \
    do {                                                      \
        (pointer) = take(e, (count), sizeof *(pointer), err); \
        if (!(pointer)) return STATUS_FAILED;                 \
    } while (0)

static status take_norm_state(engine *e, error *err) {
    const size_t channels = e->placement.list.norm_channels,
                 shards = (size_t)e->options.local_shards;
    const size_t groups = (size_t)e->group_capacity * channels, own = shards * channels;
    norm_state *n = &e->norm;
    TAKE(n->group_mean, groups);
    TAKE(n->group_m2, groups);
    TAKE(n->group_dy, groups);
    TAKE(n->group_dy_xhat, groups);
    float **rows[] = {&n->mean,          &n->mean_rest,        &n->inv_std, &n->scale,
                      &n->shift,         &n->from_dy,          &n->from_z,  &n->from_one,
                      &n->weighted_mean, &n->weighted_variance};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) TAKE(*rows[i], own);
    TAKE(n->run_scale, channels);
    TAKE(n->run_shift, channels);
    TAKE(n->mine, 2 * own);
    TAKE(n->all, 2 * (size_t)e->options.shards * channels);
    return STATUS_OK;
}

status engine_take_stack(engine *e, team_member *m, int count, error *err) {
    for (int i = 0; i < count; i++)
        if (!m->stack[i]) TAKE(m->stack[i], gradient_floats(e->program));
    return STATUS_OK;
}

status engine_take_filters(engine *e, error *err) {
    if (!e->inference.filters) TAKE(e->inference.filters, e->inference.filter_floats);
    return STATUS_OK;
}

static status take_member(engine *e, team_member *m, error *err) {
    TAKE(m->stack, (size_t)e->stack_size);
    if (e->options.stage && engine_take_stack(e, m, e->stack_size, err) != STATUS_OK)
        return STATUS_FAILED;
    TAKE(m->scratch, e->placement.scratch_floats);
    TAKE(m->added, e->training.added_floats);
    TAKE(m->values, e->training.values_floats); // inference takes one group at a time
    return STATUS_OK;
}

static void take_tracks(engine *e) {
    const engine_options *o = &e->options;
    e->members[0].track = o->track;
    for (int t = 1; t < o->threads; t++)
        trace_track_new(o->trace, &e->members[t].track, "%s %d", o->track_name, t);
}

// Measures the needs of the largest step; no step with fewer samples needs more.
static status measure_tree(engine *e, int shard_groups, error *err) {
    for (int v = 0; v < e->options.shards; v++) e->shard_groups[v] = shard_groups;
    status rc = reduction_tree_init(&e->tree, e->shard_groups, e->options.shards, err);
    if (rc != STATUS_OK) return rc;
    e->stack_size = reduction_tree_stack(&e->tree);
    e->cover_size = 2 * e->tree.depth;
    reduction_tree_release(&e->tree);
    return STATUS_OK;
}

static status take_memory(engine *e, error *err) {
    const engine_options *o = &e->options;
    const size_t threads = (size_t)o->threads, shards = (size_t)o->shards;
    const int shard_groups = (o->shard_samples + GROUP - 1) / GROUP;
    e->group_capacity = o->local_shards * shard_groups;
    TAKE(e->parameters, e->program->parameters);
    TAKE(e->buffers, e->program->buffers);
    for (int i = 0; i < optimizer_states(e->kind); i++) TAKE(e->state[i], e->program->parameters);
    TAKE(e->packed, e->placement.packed_floats);
    TAKE(e->groups, (size_t)e->group_capacity);
    TAKE(e->shard_groups, shards);
    TAKE(e->shard_leaves, shards + 1);
    TAKE(e->counts, shards);
    status rc = measure_tree(e, shard_groups, err);
    if (rc != STATUS_OK) return rc;
    TAKE(e->cover, (size_t)e->cover_size);
    TAKE(e->terms_node, threads * (size_t)e->cover_size + shards);
    TAKE(e->terms, threads * (size_t)e->cover_size);
    TAKE(e->members, threads);
    for (size_t t = 0; t < threads; t++) {
        rc = take_member(e, &e->members[t], err);
        if (rc != STATUS_OK) return rc;
    }
    e->slot_bytes = e->placement.floats * sizeof(float) + e->placement.bytes;
    e->slot_count = threads;
    if (!engine_shares_slots(e) && (size_t)e->group_capacity > threads)
        e->slot_count = (size_t)e->group_capacity;
    TAKE(e->slots, e->slot_count * e->slot_bytes);
    return take_norm_state(e, err);
}

// One gradient buffer for each node of the widest cover of the local leaves: a single one if all
// leaves are local. A stage keeps one per shard.
static status take_gradients(engine *e, error *err) {
    int widest = e->options.local_shards == e->options.shards ? 1 : e->cover_size;
    if (e->options.stage) widest = e->options.shards;
    e->gradients_room = widest;
    TAKE(e->gradients, (size_t)widest);
    for (int i = 0; i < widest; i++) TAKE(e->gradients[i], gradient_floats(e->program));
    // A single gradient buffer is already the sum and needs no second buffer.
    if (widest == 1)
        e->reduced = e->gradients[0];
    else
        TAKE(e->reduced, gradient_floats(e->program));
    return STATUS_OK;
}

static status check_options(const program *p, const engine_options *o, error *err) {
    if (!o->receives && p->input.channels > ENGINE_MAX_CHANNELS)
        return error_set(err, STATUS_USAGE, "cannot run this model: more than %d input channels",
                         (int)ENGINE_MAX_CHANNELS);
    if (o->threads < 1 || o->shards < 1 || o->local_shards < 1 || o->local_shards > o->shards ||
        o->shard_samples < 1)
        return error_set(
            err, STATUS_USAGE,
            "cannot open a cpu engine: threads, shards and samples must be at least 1");
    if (o->shards > ENGINE_MAX_SHARDS || o->shard_samples > ENGINE_MAX_SHARD_SAMPLES)
        return error_set(err, STATUS_USAGE,
                         "cannot run this batch: at most %d virtual shards of %d samples per step",
                         (int)ENGINE_MAX_SHARDS, (int)ENGINE_MAX_SHARD_SAMPLES);
    return STATUS_OK;
}

static void cpu_close(engine *e) {
    if (!e) return;
    team_free(e->team);
    if (e->members)
        for (int t = 0; t < e->options.threads; t++) {
            team_member *m = &e->members[t];
            for (int i = 0; m->stack && i < e->stack_size; i++) free(m->stack[i]);
            free(m->stack);
            free(m->scratch);
            free(m->added);
            free(m->values);
        }
    if (e->gradients && e->reduced != e->gradients[0]) free(e->reduced);
    if (e->gradients)
        for (int i = 0; i < e->gradients_room; i++) free(e->gradients[i]);
    norm_state *n = &e->norm;
    if (e->filters_by_superstep) free(e->inference.filters);
    free(e->training.filters);
    void *all[] = {e->parameters, e->buffers,      e->state[0],     e->state[1], e->packed,
                   e->groups,     e->shard_groups, e->shard_leaves, e->counts,   e->cover,
                   e->gradients,  e->terms_node,   e->terms,        e->members,  e->slots};
    void *norm[] = {n->group_mean,    n->group_m2,          n->group_dy, n->group_dy_xhat,
                    n->mean,          n->mean_rest,         n->inv_std,  n->scale,
                    n->shift,         n->from_dy,           n->from_z,   n->from_one,
                    n->weighted_mean, n->weighted_variance, n->mine,     n->all,
                    n->run_scale,     n->run_shift};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
    for (size_t i = 0; i < sizeof norm / sizeof *norm; i++) free(norm[i]);
    for (size_t i = 0; i < e->given_count; i++) free(e->given[i]);
    free(e->given);
    reduction_tree_release(&e->tree);
    cpu_plan_release(&e->training);
    cpu_plan_release(&e->inference);
    placement_release(&e->placement);
    free(e);
}

static status take_plans(engine *e, error *err) {
    const engine_options *o = &e->options;
    cpu_plan_training(&e->training, e, 0);
    cpu_plan_inference(&e->inference, e);
    e->filters_by_superstep = e->placement.list.norms > 0 && !o->apart && !o->stage;
    cpu_plan_place_filters(&e->training, e, e->filters_by_superstep);
    cpu_plan_place_filters(&e->inference, e, false);
    TAKE(e->training.filters, e->training.filter_floats);
    // Forward operations come first in training, too: their filters have the same places.
    if (!e->filters_by_superstep) e->inference.filters = e->training.filters;
    return STATUS_OK;
}

static status open_parts(engine *e, error *err) {
    status rc;
    TRY(placement_init(&e->placement, e->program, e->kernels, &e->options, err));
    TRY(take_plans(e, err));
    TRY(take_memory(e, err));
    TRY(take_gradients(e, err));
    take_tracks(e);
    TRY(team_new(e->options.threads, e->options.spin, &e->team, err));
out:
    return rc;
}

static status cpu_open(const program *p, const engine_options *o, optimizer_kind kind, engine **out,
                       error *err) {
    *out = NULL;
    status rc = check_options(p, o, err);
    if (rc != STATUS_OK) return rc;
    // Depends on the experiment alone, never on which engine holds which shard.
    const kernels *k = kernels_find(o->isa, kernels_lanes(o->shard_samples));
    if (!k)
        return error_set(err, STATUS_USAGE,
                         "cannot use instruction set '%s': unknown, or not supported by this "
                         "processor; known: v4, v3, baseline",
                         o->isa);
    engine *e = memory_new(1, sizeof *e);
    e->program = p;
    e->options = *o;
    e->kernels = k;
    e->kind = kind;
    for (int c = 0; !o->receives && c < p->input.channels; c++)
        e->load_scale[c] = engine_input_scale(o, c, &e->load_shift[c]);
    e->own_end = p->parameters;
    if (o->stage) units_own_part(p, &e->own_first, &e->own_end);
    rc = open_parts(e, err);
    if (rc != STATUS_OK) {
        cpu_close(e);
        return rc;
    }
    *out = e;
    return STATUS_OK;
}

// ---- Memory between engines ----

// Not counted in the memory of this engine: its caller needs it.
static float *cpu_allocate(engine *e, size_t floats, error *err) {
    memory_grow((void **)&e->given, &e->given_room, e->given_count + 1, sizeof *e->given);
    float *memory = memory_try_new_aligned(floats, sizeof *memory, err);
    if (memory) e->given[e->given_count++] = memory;
    return memory;
}

static status cpu_copy(engine *e, const engine_copy *copies, int count, error *err) {
    (void)e, (void)err;
    for (int i = 0; i < count; i++)
        memcpy(copies[i].to, copies[i].from, copies[i].floats * sizeof(float));
    return STATUS_OK;
}

// ---- Parameters and the update ----

static void pack_part(engine *e, int member) {
    const int members = team_size(e->team);
    if (!e->filters_by_superstep)
        filters_transform(e, &e->training, 0, e->training.steps.operation_count, member);
    for (int i = member; i < e->placement.list.count; i += members) {
        const unit *u = &e->placement.units[i];
        if (!u->layers.anchor || u->layers.anchor->kind != LAYER_CONV || u->winograd) continue;
        convolution_pack(e, u, false);
        if (u->packed_transposed) convolution_pack(e, u, true);
    }
}

static void pack_body(void *argument, int member) {
    pack_part(argument, member);
}

// No superstep needs more memory than in the plan of all gradients, for which it was taken.
void engine_freeze(engine *e, uint32_t frozen) {
    cpu_plan p;
    cpu_plan_training(&p, e, frozen);
    cpu_plan_place_filters(&p, e, e->filters_by_superstep);
    p.filters = e->training.filters;
    cpu_plan_release(&e->training);
    e->training = p;
    e->frozen = frozen;
    if (!e->filters_by_superstep) team_run(e->team, pack_body, e);
}

static void copy(float *to, const float *from, size_t n) {
    if (to && from) memcpy(to, from, n * sizeof *to);
}

static void cpu_write(engine *e, const float *parameters, const float *buffers,
                      const float *state) {
    const size_t n = e->program->parameters;
    copy(e->parameters, parameters, n);
    copy(e->buffers, buffers, e->program->buffers);
    for (int i = 0; i < optimizer_states(e->kind); i++)
        copy(e->state[i], state ? state + (size_t)i * n : NULL, n);
    team_run(e->team, pack_body, e);
    e->inference_is_old = true;
}

static status cpu_read(engine *e, float *parameters, float *buffers, float *state, error *err) {
    (void)err;
    const size_t n = e->program->parameters;
    copy(parameters, e->parameters, n);
    copy(buffers, e->buffers, e->program->buffers);
    for (int i = 0; i < optimizer_states(e->kind); i++)
        copy(state ? state + (size_t)i * n : NULL, e->state[i], n);
    return STATUS_OK;
}

static int samples_of_step(const engine *e) {
    int n = 0;
    for (int v = 0; v < e->options.shards; v++) n += e->counts[v];
    return n;
}

// Updates the parameters [first, end), each run of one group with the rule of that group.
static void update_part(const engine *e, update_task *t, size_t first, size_t end) {
    const uint8_t *groups = e->options.parameter_groups;
    for (size_t next; first < end; first = next) {
        const int number = groups ? groups[first / ARENA_ALIGNMENT] : 0;
        bool frozen;
        const update_rule rule = parameter_group_rule(e->rule, number, &frozen);
        next = groups ? first + ARENA_ALIGNMENT : end;
        while (next < end && groups[next / ARENA_ALIGNMENT] == number) next += ARENA_ALIGNMENT;
        if (next > end) next = end;
        t->numbers.lr = rule.lr;
        t->numbers.weight_decay = rule.weight_decay;
        t->first = first;
        t->count = next - first;
        if (!frozen) e->kernels->update(t);
    }
}

static void update_body(void *argument, int member) {
    engine *e = argument;
    team_member *m = &e->members[member];
    member_mark(m, PHASE_WAIT);
    const size_t n = e->own_end - e->own_first, members = (size_t)team_size(e->team);
    const size_t lines = (n + GROUP - 1) / GROUP;
    const size_t first = e->own_first + lines * (size_t)member / members * GROUP;
    size_t end = e->own_first + lines * ((size_t)member + 1) / members * GROUP;
    if (end > e->own_end) end = e->own_end;
    update_task t = {.kind = e->kind,
                     .numbers = update_numbers_of(e->rule, samples_of_step(e)),
                     .parameters = e->parameters,
                     .state = e->state[0],
                     .state2 = e->state[1],
                     .gradient = e->reduced};
    update_part(e, &t, first, end);
    m->digest = e->kernels->digest(e->parameters, first, end > first ? end - first : 0);
    if (member == 0) batch_norm_update(e);
    member_mark(m, PHASE_UPDATE);
    team_barrier(e->team);
    member_mark(m, PHASE_WAIT);
    pack_part(e, member);
    member_mark(m, PHASE_UPDATE);
}

static status cpu_update(engine *e, const update_rule *rule, update_result *result, error *err) {
    if (rule->kind != e->kind)
        return error_set(err, STATUS_USAGE,
                         "cannot update: the engine was opened for another optimizer");
    e->rule = rule;
    engine_region(e, update_body);
    e->inference_is_old = true;
    const size_t tail = e->program->parameters + e->program->buffers;
    result->loss = (float)((double)e->reduced[tail + TAIL_LOSS] / samples_of_step(e));
    result->digest = 0;
    for (int t = 0; t < team_size(e->team); t++) result->digest += e->members[t].digest;
    return STATUS_OK;
}

// ---- The table ----

static const reduction_tree *cpu_tree(const engine *e) {
    return &e->tree;
}
static const int *cpu_shard_leaves(const engine *e) {
    return e->shard_leaves;
}
static float *cpu_reduced(engine *e) {
    return e->reduced;
}
static const char *cpu_isa(const engine *e) {
    return e->kernels->isa;
}
static int cpu_threads(const engine *e) {
    return team_size(e->team);
}
static size_t cpu_memory(const engine *e) {
    return e->allocated;
}

static float *const *cpu_gradients(engine *e, int *count) {
    *count = e->cover_count;
    return e->gradients;
}

static const backend cpu = {
    .name = "cpu",
    .units = placement_units,
    .open = cpu_open,
    .close = cpu_close,
    .allocate = cpu_allocate,
    .copy = cpu_copy,
    .write = cpu_write,
    .read = cpu_read,
    .step = cpu_step,
    .tree = cpu_tree,
    .shard_leaves = cpu_shard_leaves,
    .gradients = cpu_gradients,
    .forward = cpu_forward,
    .logits_floats = cpu_logits_floats,
    .gather_logits = cpu_gather_logits,
    .loss = cpu_loss,
    .backward = cpu_backward,
    .stage_floats = cpu_stage_floats,
    .stage_forward = cpu_stage_forward,
    .stage_backward = cpu_stage_backward,
    .stage_reduce = cpu_stage_reduce,
    .reduced = cpu_reduced,
    .update = cpu_update,
    .infer = cpu_infer,
    .times = cpu_times,
    .isa = cpu_isa,
    .threads = cpu_threads,
    .memory = cpu_memory,
};

const backend *backend_find(const char *name) {
    return strcmp(name, "cpu") == 0 ? &cpu : NULL;
}
