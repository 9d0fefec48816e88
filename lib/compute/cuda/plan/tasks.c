// SPDX-License-Identifier: MIT
// The tasks of a plan's kernels.
#include "compute/cuda/plan/arrays.h"
#include "compute/plan/within.h"

// The arrays that tasks point to.
typedef struct sources {
    const cuda_plan *plan;
    const model_arrays *model;
    const norm_arrays *norm;
    gradient_set gradients;
} sources;

static cuda_conv_task conv_of(const sources *s, const cuda_unit *u) {
    const layer *l = u->layers->anchor;
    cuda_conv_task t = cuda_conv_task_of(l);
    t.x = u->x;
    t.weight = s->model->parameters + l->weight;
    t.bias = l->has_bias ? s->model->parameters + l->bias : NULL;
    t.z = u->z;
    t.dx = u->dx;
    t.gradients = s->gradients;
    t.workspace = s->plan->workspace;
    t.counters = s->plan->counters;
    t.transforms = s->plan->transforms;
    return t;
}

static norm_task norm_of(const sources *s, const cuda_unit *u) {
    const layer *l = u->layers->norm;
    const norm_arrays *n = s->norm;
    const size_t at = u->layers->norm_channel, parameters = s->plan->program->parameters;
    return (norm_task){.size = u->layers->z,
                       .eps = l->eps,
                       .sync = s->plan->options.sync_batch_norm,
                       .shards = s->plan->options.shards,
                       .z = u->z,
                       .own = n->own,
                       .all = n->all,
                       .parts = n->parts,
                       .counters = n->counters,
                       .weight = s->model->parameters + l->weight,
                       .bias = s->model->parameters + l->bias,
                       .mean = n->mean + at,
                       .mean_rest = n->mean_rest + at,
                       .inv_std = n->inv_std + at,
                       .scale = n->scale + at,
                       .shift = n->shift + at,
                       .from_dy = n->from_dy + at,
                       .from_z = n->from_z + at,
                       .from_one = n->from_one + at,
                       .stride = s->plan->units.norm_channels,
                       .gradients = s->gradients,
                       .mean_at = parameters + l->mean,
                       .variance_at = parameters + l->variance};
}

// From the norm's task, if the unit has one.
static cuda_epilogue_task epilogue_of(const sources *s, const cuda_unit *u) {
    const unit_layers *l = u->layers;
    const norm_task *n = &u->norm;
    cuda_epilogue_task t = {.size = l->z,
                            .activation = unit_epilogue_activation(l),
                            .numbers = unit_epilogue_numbers(l),
                            .pool = l->pool,
                            .norm = l->norm != NULL,
                            .z = u->z,
                            .second = l->plus ? u->second : NULL,
                            .y = u->y,
                            .argmax = u->argmax,
                            .dy = u->dy,
                            .dz_replaces_dy = l->options.on_x,
                            .sums = s->norm->own,
                            .gradients = s->gradients};
    if (!l->norm) return t;
    t.scale = n->scale;
    t.shift = n->shift;
    t.mean = n->mean;
    t.mean_rest = n->mean_rest;
    t.inv_std = n->inv_std;
    t.from_dy = n->from_dy;
    t.from_z = n->from_z;
    t.from_one = n->from_one;
    t.norm_stride = n->stride;
    t.sync = n->sync;
    t.weight = n->weight;
    t.weight_at = l->norm->weight;
    t.bias_at = l->norm->bias;
    t.parts = n->parts;
    t.counters = n->counters;
    return t;
}

static cuda_epilogue_task epilogue_gradient_of(const cuda_unit *u) {
    cuda_epilogue_task t = u->epilogue;
    if (u->layers->plus || u->layers->smooth) t.activation = ACTIVATION_NONE;
    return t;
}

// Scale and shift come from the running statistics, the mean included, and are the same for all
// shards.
static cuda_epilogue_task inference_epilogue_of(const sources *s, const cuda_unit *u) {
    cuda_epilogue_task t = u->epilogue;
    if (!t.norm) return t;
    t.scale = s->norm->run_scale + u->layers->norm_channel;
    t.shift = s->norm->run_shift + u->layers->norm_channel;
    t.mean = NULL;
    t.norm_stride = 0;
    return t;
}

static cuda_layer_task layer_of(const sources *s, const cuda_unit *u) {
    const layer *l = u->layers->unfused;
    return (cuda_layer_task){.l = l,
                             .x = u->x,
                             .second = u->second,
                             .y = u->y,
                             .choices = u->argmax,
                             .weight = s->model->parameters + l->weight,
                             .bias = s->model->parameters + l->bias,
                             .seed = s->plan->options.seed,
                             .dy = u->dy,
                             .dx = u->dx,
                             .dsecond = u->second_dx,
                             .second_adds = u->layers->second.adds,
                             .parts = s->norm->parts,
                             .gradients = s->gradients};
}

// Of the logits, and then of their gradients.
static cuda_layer_task logits_scale_of(const cuda_unit *u) {
    return (cuda_layer_task){.l = u->layers->scale, .x = u->z, .y = u->z};
}

// Returns the values of a sample in the activation that a unit's y, or dy, lies within.
static size_t whole_features(const cuda_plan *p, int unit) {
    return shape_size(unit == UNIT_INPUT ? p->program->input : p->units.units[unit].y);
}

// A slice reads a part of its source; an input of a concat is written to a part of it.
static void finish_moved(const sources *s, cuda_unit *u) {
    const cuda_plan *p = s->plan;
    const unit_layers *l = u->layers;
    const int unit = (int)(u - p->placed);
    const size_t features = shape_size(l->y), skipped = l->part.feature * (size_t)p->lanes;
    const size_t of_x = whole_features(p, units_place(&p->units, l->source.unit).unit);
    const size_t of_y = whole_features(p, units_place(&p->units, unit).unit);
    const bool is_slice = unit_is_slice(l), adds = l->source.adds;
    u->range = (cuda_range_task){.features = features,
                                 .from = u->x + (is_slice ? skipped : 0),
                                 .to = u->y,
                                 .from_features = of_x,
                                 .to_features = of_y};
    float *dx = u->dx_total ? u->dx_total : u->dx;
    if (!dx) return;
    u->range_gradient = (cuda_range_task){
        .features = features,
        .from = u->dy,
        .to = dx + (is_slice && adds ? skipped : 0),
        .from_features = whole_features(p, units_gradient_place(&p->units, unit).unit),
        .to_features = whole_features(p, units_gradient_place(&p->units, l->source.unit).unit),
        .adds = adds,
        .clears = is_slice && !adds,
        .first = is_slice && !adds ? l->part.feature : 0};
}

static void finish_unit(const sources *s, cuda_unit *u) {
    const unit_layers *l = u->layers;
    if (l->joined) return;
    if (l->moved) {
        finish_moved(s, u);
        return;
    }
    if (l->unfused) {
        u->layer = layer_of(s, u);
        return;
    }
    if (l->scale) u->layer = logits_scale_of(u);
    if (l->anchor) u->conv = conv_of(s, u);
    if (l->norm) u->norm = norm_of(s, u);
    u->epilogue = epilogue_of(s, u);
    u->epilogue_gradient = epilogue_gradient_of(u);
    u->inference_epilogue = inference_epilogue_of(s, u);
}

static load_task load_of(const cuda_plan *p) {
    const engine_options *o = &p->options;
    load_task t = {.size = p->program->input, .seed = o->seed, .x = p->input};
    if (o->images && o->augment) t.augment = *o->augment;
    for (int c = 0; !o->receives && c < p->program->input.channels; c++)
        t.scale[c] = engine_input_scale(o, c, &t.shift[c]);
    return t;
}

static norm_running_task running_of(const sources *s, const unit_layers *u, const float *reduced) {
    const float *gradients = reduced + s->plan->program->parameters;
    const layer *l = u->norm;
    return (norm_running_task){.channels = l->out.channels,
                               .positions = u->z.height * u->z.width,
                               .momentum = l->momentum,
                               .mean_sum = gradients + l->mean,
                               .variance_sum = gradients + l->variance,
                               .mean = s->model->buffers + l->mean,
                               .variance = s->model->buffers + l->variance};
}

// Lists the norms that an update moves, on the device.
static status list_norms(const sources *s, const float *reduced, norm_running_list *list,
                         cuda_device *d, error *err) {
    const cuda_plan *p = s->plan;
    const size_t room = (size_t)p->units.count * sizeof(norm_running_task);
    norm_running_task *host, *device;
    NEED(cuda_take_host(d, room, &host, err));
    NEED(cuda_take(d, room, &device, err));
    *list = (norm_running_list){
        .shards = p->options.shards, .sync = p->options.sync_batch_norm, .items = device};
    for (int i = 0; i < p->units.count; i++)
        if (p->units.units[i].norm)
            host[list->count++] = running_of(s, &p->units.units[i], reduced);
    return cuda_enqueue_copy(d, device, host, room, cudaMemcpyHostToDevice, "listing batch norms",
                             err);
}

status cuda_make_tasks(cuda_plan *p, const model_arrays *m, const norm_arrays *n,
                       const gradient_arrays *r, const result_arrays *results, cuda_device *d,
                       error *err) {
    const sources s = {p, m, n, {r->of_shards, r->stride}};
    const size_t loss_at = p->program->parameters + p->program->buffers + TAIL_LOSS;
    for (int i = 0; i < p->units.count; i++) finish_unit(&s, &p->placed[i]);
    p->load = load_of(p);
    p->loss = (cuda_loss_task){.classes = p->program->classes,
                               .smoothing = p->options.label_smoothing,
                               .logits = cuda_last_unit(p)->z,
                               .losses = r->losses,
                               .gradients = s.gradients,
                               .loss_at = loss_at,
                               .counters = r->loss_counters};
    p->update = (cuda_update_task){.kind = p->kind,
                                   .first = m->own_first,
                                   .end = m->own_end,
                                   .parameter_groups = m->parameter_groups,
                                   .parameters = m->parameters,
                                   .state = m->state[0],
                                   .state2 = m->state[1],
                                   .gradient = r->sums,
                                   .loss = r->sums + loss_at,
                                   .progress = m->progress,
                                   .results = results->device};
    return list_norms(&s, r->sums, &p->update.norms, d, err);
}
