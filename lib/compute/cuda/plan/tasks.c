// SPDX-License-Identifier: MIT
// The tasks of a plan's kernels.
#include <math.h>

#include "compute/cuda/plan/arrays.h"

// The arrays that tasks point to.
typedef struct sources {
    const cuda_plan *plan;
    const model_arrays *model;
    const norm_arrays *norm;
    gradient_set gradients;
} sources;

static conv_task conv_of(const sources *s, const cuda_unit *u) {
    const layer *l = u->layers.anchor;
    conv_task t = cuda_conv_task_of(l);
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
    const layer *l = u->layers.norm;
    const norm_arrays *n = s->norm;
    const size_t at = u->layers.norm_channel, parameters = s->plan->program->parameters;
    return (norm_task){.size = u->layers.z,
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
static epilogue_task epilogue_of(const sources *s, const cuda_unit *u) {
    const unit_layers *l = &u->layers;
    const norm_task *n = &u->norm;
    epilogue_task t = {.size = l->z,
                       .activation = unit_epilogue_activation(l),
                       .pool = l->pool,
                       .norm = l->norm != NULL,
                       .z = u->z,
                       .second = l->plus ? u->second : NULL,
                       .y = u->y,
                       .argmax = u->argmax,
                       .dy = u->dy,
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

static epilogue_task epilogue_gradient_of(const cuda_unit *u) {
    epilogue_task t = u->epilogue;
    if (u->layers.plus || u->layers.smooth) t.activation = ACTIVATION_NONE;
    return t;
}

// Scale and shift come from the running statistics, the mean included, and are the same for all
// shards.
static epilogue_task inference_epilogue_of(const sources *s, const cuda_unit *u) {
    epilogue_task t = u->epilogue;
    if (!t.norm) return t;
    t.scale = s->norm->run_scale + u->layers.norm_channel;
    t.shift = s->norm->run_shift + u->layers.norm_channel;
    t.mean = NULL;
    t.norm_stride = 0;
    return t;
}

static pool_task pool_of(const cuda_unit *u) {
    const layer *l = u->layers.unfused;
    return (pool_task){.in = l->in,
                       .out = l->out,
                       .kernel_h = l->kernel_h,
                       .kernel_w = l->kernel_w,
                       .stride_y = l->stride_h,
                       .stride_x = l->stride_w,
                       .pad_y = l->pad_h,
                       .pad_x = l->pad_w,
                       .max = l->kind == LAYER_MAX_POOL,
                       .x = u->x,
                       .y = u->y,
                       .argmax = u->argmax,
                       .dy = u->dy,
                       .dx = u->dx};
}

// Random numbers are compared with the rate as floats; comparing integers is equivalent.
static dropout_task dropout_of(const cuda_plan *p, const cuda_unit *u) {
    const layer *l = u->layers.unfused;
    return (dropout_task){.features = shape_size(u->layers.y),
                          .seed = layer_seed(l, p->options.seed),
                          .threshold = (uint32_t)ceil((double)(float)l->rate * 0x1p24),
                          .factor = (float)(1 / (1 - l->rate)),
                          .from = u->x,
                          .to = u->y};
}

static activation_task unfused_activation_of(const cuda_unit *u) {
    const layer *l = u->layers.unfused;
    return (activation_task){.kind = layer_traits_of(l)->activation,
                             .factor = (float)l->factor,
                             .features = shape_size(u->layers.y),
                             .x = u->x,
                             .y = u->y,
                             .dy = u->dy,
                             .dx = u->dx};
}

// Of the logits, and then of their gradients.
static activation_task logits_scale_of(const cuda_unit *u) {
    return (activation_task){.kind = ACTIVATION_SCALE,
                             .factor = (float)u->layers.scale->factor,
                             .features = shape_size(u->layers.z),
                             .x = u->z,
                             .y = u->z};
}

static group_norm_task group_norm_of(const sources *s, const cuda_unit *u) {
    const layer *l = u->layers.unfused;
    return (group_norm_task){.size = u->layers.x,
                             .groups = l->groups,
                             .eps = (float)l->eps,
                             .weight = s->model->parameters + l->weight,
                             .bias = s->model->parameters + l->bias,
                             .x = u->x,
                             .y = u->y,
                             .dy = u->dy,
                             .dx = u->dx,
                             .parts = s->norm->parts,
                             .gradients = s->gradients,
                             .weight_at = l->weight,
                             .bias_at = l->bias};
}

static void finish_unfused(const sources *s, cuda_unit *u) {
    switch (u->layers.unfused->kind) {
    case LAYER_MAX_POOL:
    case LAYER_AVG_POOL: u->pool = pool_of(u); break;
    case LAYER_DROPOUT: u->dropout = dropout_of(s->plan, u); break;
    case LAYER_GROUP_NORM: u->group_norm = group_norm_of(s, u); break;
    case LAYER_GELU:
    case LAYER_SILU:
    case LAYER_SCALE: u->activation = unfused_activation_of(u); break;
    case LAYER_CONV:
    case LAYER_LINEAR:
    case LAYER_BATCH_NORM:
    case LAYER_RELU:
    case LAYER_FLATTEN:
    case LAYER_ADD:
    case LAYER_KINDS: break; // never unfused
    }
}

static void finish_unit(const sources *s, cuda_unit *u) {
    const unit_layers *l = &u->layers;
    if (l->unfused) {
        finish_unfused(s, u);
        return;
    }
    if (l->scale) u->activation = logits_scale_of(u);
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
    status rc;
    TRY(cuda_take_host(d, room, &host, err));
    TRY(cuda_take(d, room, &device, err));
    *list = (norm_running_list){
        .shards = p->options.shards, .sync = p->options.sync_batch_norm, .items = device};
    for (int i = 0; i < p->units.count; i++)
        if (p->units.units[i].norm)
            host[list->count++] = running_of(s, &p->units.units[i], reduced);
    rc = cuda_enqueue_copy(d, device, host, room, cudaMemcpyHostToDevice, "listing batch norms",
                           err);
out:
    return rc;
}

status cuda_make_tasks(cuda_plan *p, const model_arrays *m, const norm_arrays *n,
                       const gradient_arrays *r, const result_arrays *results, cuda_device *d,
                       error *err) {
    const sources s = {p, m, n, {r->of_shards, r->stride}};
    const size_t loss_at = p->program->parameters + p->program->buffers + TAIL_LOSS;
    for (int i = 0; i < p->units.count; i++) finish_unit(&s, &p->placed[i]);
    p->load = load_of(p);
    p->loss = (loss_task){.classes = p->program->classes,
                          .smoothing = p->options.label_smoothing,
                          .logits = cuda_last_unit(p)->z,
                          .losses = r->losses,
                          .gradients = s.gradients,
                          .loss_at = loss_at,
                          .counters = r->loss_counters};
    p->update = (update_task){.kind = p->kind,
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
