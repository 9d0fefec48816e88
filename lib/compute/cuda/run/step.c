// SPDX-License-Identifier: MIT
// A step, its update, and inference: running them and returning results.
#include <string.h>

#include "base/clock.h"
#include "compute/cuda/run/cuda_engine.h"

// ---- A step ----

// For an engine that has all shards, the next call is usually the update; for one whose ranks
// reduces in buckets, the reduction and then the update. So the step waits for that call:
// everything goes to the device as one copy and one graph.
static status run_step(engine *e, const batch *b, error *err) {
    NEED(cuda_tell(e, b, err));
    e->step_waits = true;
    if (e->plan.options.local_shards == e->shards.count || e->place.has_buckets) return STATUS_OK;
    const uint64_t begin = clock_now();
    NEED(cuda_run_waiting(e, err));
    NEED(cuda_sync(e, err)); // other engines wait for its results
    e->clock.inside += clock_now() - begin;
    return STATUS_OK;
}

status cuda_run_waiting(engine *e, error *err) {
    if (!e->step_waits) return STATUS_OK;
    if (e->place.waits)
        return error_set(err, STATUS_FAILED, "cannot read a step that is being reduced");
    e->step_waits = false;
    NEED(cuda_send(e, !e->input.data_set, err));
    return cuda_run_piece(e, PIECE_STEP, err);
}

// ---- A step in parts ----

// Returns when the device has finished: other engines wait for what it sends, or have it wait.
static status run_piece_of_part(engine *e, piece p, error *err) {
    const operations_of o = cuda_operations_of(&e->plan.training, p);
    if (o.receives) NEED(cuda_run_operations(e, o.first, o.first + 1, false, err));
    NEED(cuda_run_piece(e, p, err));
    if (o.sends) NEED(cuda_run_operations(e, o.end - 1, o.end, false, err));
    return cuda_sync(e, err);
}

// Every range of a step sends the whole step's input: a pipeline's stages meet at each range
// anyway.
static status run_some(engine *e, const batch *b, const run_part *part, error *err) {
    uint64_t begin = clock_now();
    if (!part->backward) {
        NEED(cuda_prepare(e, b, err));
        begin = clock_now();
    } else {
        NEED(cuda_begin(&e->device, err));
        cuda_mark(&e->clock, MARK_COPY, cuda_main(&e->device));
    }
    e->part = *part;
    e->shards.run_first = part->first_shard;
    e->shards.run_end = part->end_shard;
    NEED(run_piece_of_part(e, part->backward ? PIECE_BACKWARD : PIECE_FORWARD, err));
    e->clock.inside += clock_now() - begin;
    cuda_book(&e->clock, &e->place, 1);
    return STATUS_OK;
}

status cuda_run(engine *e, const batch *b, const run_part *part, error *err) {
    const status rc = step_plan_check_part(&e->plan.options, part, err);
    if (rc != STATUS_OK) return rc;
    return part ? run_some(e, b, part, err) : run_step(e, b, err);
}

// ---- Gradient buffers ----

static status fetch_gradients(engine *e, error *err) {
    const size_t bytes = gradient_floats(e->plan.program) * sizeof(float);
    gradient_arrays *r = &e->gradients;
    NEED(cuda_select(&e->device, err));
    NEED(cuda_run_waiting(e, err));
    for (int k = 0; k < e->shards.cover_count; k++)
        NEED(cuda_enqueue_copy(&e->device, r->host[k], r->sums + (size_t)k * r->stride, bytes,
                               cudaMemcpyDeviceToHost, "reading a record", err));
    NEED(cuda_sync(e, err));
    r->here = true;
    return STATUS_OK;
}

float *const *cuda_gradients(engine *e, int *count) {
    const uint64_t begin = clock_now();
    cuda_device *d = &e->device;
    if (!e->gradients.here && d->failed == STATUS_OK) d->failed = fetch_gradients(e, &d->failure);
    e->clock.times.ns[PHASE_COPY] += clock_now() - begin;
    *count = e->shards.cover_count;
    return e->gradients.host;
}

static status fetch_reduced(engine *e, error *err) {
    const gradient_arrays *r = &e->gradients;
    NEED(cuda_select(&e->device, err));
    NEED(cuda_enqueue_copy(&e->device, r->reduced_host, r->sums,
                           gradient_floats(e->plan.program) * sizeof *r->sums,
                           cudaMemcpyDeviceToHost, "reading the reduced record", err));
    return cuda_sync(e, err);
}

float *cuda_reduced(engine *e) {
    gradient_arrays *r = &e->gradients;
    cuda_device *d = &e->device;
    if (r->reduced && !r->reduced_here && d->failed == STATUS_OK)
        d->failed = fetch_reduced(e, &d->failure);
    r->reduced_here = true;
    return r->reduced_host;
}

// ---- The update ----

// Adds the groups' own numbers. A group that is trained from the first step on has the corrections
// of group 0, which take time.
static void write_groups(const update_rule *r, step_numbers *n) {
    for (int i = 0; i < PARAMETER_GROUPS - 1; i++) {
        const parameter_group *g = &r->groups[i];
        update_numbers own = n->update;
        bool frozen;
        const update_rule rule = parameter_group_rule(r, i + 1, &frozen);
        if (g->first_step > 0) own = update_numbers_of(&rule, n->samples);
        n->groups[i] = (group_numbers){.lr = g->lr,
                                       .weight_decay = g->weight_decay,
                                       .correction1 = own.correction1,
                                       .correction2 = own.correction2,
                                       .frozen = frozen};
    }
}

// Adds the update rule to a step's numbers.
static void write_rule(const engine *e, const update_rule *r, step_numbers *n) {
    n->update = update_numbers_of(r, n->samples);
    n->result = e->results.pending;
    if (e->model.parameter_groups) write_groups(r, n);
}

// The step's own block may still be on its way to the device, so the rule is sent with a copy of
// its numbers.
static status send_update(engine *e, const update_rule *rule, error *err) {
    const gradient_arrays *r = &e->gradients;
    step_numbers *numbers = &e->input.rules[cuda_turn(&e->input)];
    *numbers = *e->input.host.numbers;
    write_rule(e, rule, numbers);
    NEED(cuda_enqueue_copy(&e->device, e->input.device.numbers, numbers, sizeof *numbers,
                           cudaMemcpyHostToDevice, "sending an update's rule", err));
    if (r->reduced_here)
        NEED(cuda_enqueue_copy(&e->device, r->sums, r->reduced_host,
                               gradient_floats(e->plan.program) * sizeof(float),
                               cudaMemcpyHostToDevice, "sending the reduced record", err));
    return STATUS_OK;
}

status cuda_collect(engine *e, update_result *results, int count, error *err) {
    const uint64_t begin = clock_now();
    result_arrays *r = &e->results;
    NEED(cuda_begin(&e->device, err));
    if (count != r->pending)
        return error_set(err, STATUS_FAILED, "cannot collect %d results: %d are pending", count,
                         r->pending);
    NEED(cuda_enqueue_copy(&e->device, r->host, r->device, (size_t)count * sizeof *r->host,
                           cudaMemcpyDeviceToHost, "reading the results of steps", err));
    NEED(cuda_sync(e, err));
    for (int i = 0; i < count; i++)
        results[i] = (update_result){.loss = (float)((double)r->host[i].loss / r->samples[i]),
                                     .digest = r->host[i].digest};
    r->pending = 0;
    e->clock.inside += clock_now() - begin;
    cuda_book(&e->clock, &e->place, count);
    return STATUS_OK;
}

// Runs a step that waits for a reduction that waits for its update: all three.
static status run_reduced_step(engine *e, error *err) {
    comm_place *p = &e->place;
    p->waits = false;
    const status rc = cuda_run_piece(e, PIECE_REDUCED_STEP_AND_UPDATE, err);
    p->under_way |= rc == STATUS_OK; // with batch norms that meet, only a part has been waited for
    if (rc != STATUS_OK) p->hooks->abort(p->comm);
    return rc;
}

static status run_update(engine *e, const update_rule *rule, error *err) {
    if (e->gradients.reduced_here) NEED(cuda_run_waiting(e, err));
    if (e->step_waits) {
        e->step_waits = false;
        write_rule(e, rule, e->input.host.numbers);
        NEED(cuda_send(e, !e->input.data_set, err));
        return e->place.waits ? run_reduced_step(e, err)
                              : cuda_run_piece(e, PIECE_STEP_AND_UPDATE, err);
    }
    NEED(send_update(e, rule, err));
    return cuda_run_piece(e, PIECE_UPDATE, err);
}

status cuda_update_step(engine *e, const update_rule *rule, update_result *result, error *err) {
    const uint64_t begin = clock_now();
    if (rule->kind != e->plan.kind)
        return error_set(err, STATUS_USAGE,
                         "cannot update: the engine was opened for another optimizer");
    if (e->results.pending == ENGINE_PENDING)
        return error_set(err, STATUS_FAILED,
                         "cannot update: earlier results have not been collected");
    NEED(cuda_begin(&e->device, err));
    NEED(run_update(e, rule, err));
    e->results.samples[e->results.pending++] = e->input.host.numbers->samples;
    *result = (update_result){.pending = true};
    e->clock.inside += clock_now() - begin;
    if (!e->plan.options.deferred) NEED(cuda_collect(e, result, 1, err));
    return STATUS_OK;
}

// ---- Inference: images of any data set, up to a step's number of samples at a time ----

static void copy_images(const engine *e, const uint8_t *const *pixels, size_t samples) {
    const step_input *h = &e->input.host;
    const size_t bytes = shape_size(e->plan.program->input), lanes = (size_t)e->plan.lanes;
    for (size_t s = 0; s * lanes < samples; s++) {
        const size_t left = samples - s * lanes;
        h->count[s] = (int)(left < lanes ? left : lanes);
    }
    for (size_t n = 0; n < samples; n++) {
        h->rows[n] = (uint32_t)n;
        memcpy(h->images + n * bytes, pixels[n], bytes);
    }
}

static void store_logits(const engine *e, size_t samples, float *logits) {
    const size_t classes = (size_t)e->plan.program->classes, lanes = (size_t)e->plan.lanes;
    const float *from = e->results.logits_host;
    for (size_t n = 0; n < samples; n++)
        for (size_t j = 0; j < classes; j++)
            logits[n * classes + j] = from[(n / lanes * classes + j) * lanes + n % lanes];
}

static status infer_part(engine *e, const uint8_t *const *pixels, size_t samples, float *logits,
                         error *err) {
    const size_t lanes = (size_t)e->plan.lanes, shards = (samples + lanes - 1) / lanes;
    const size_t bytes = shards * (size_t)e->plan.program->classes * lanes * sizeof(float);
    copy_images(e, pixels, samples);
    e->shards.run_first = 0;
    e->shards.run_end = (int)shards;
    NEED(cuda_send(e, true, err));
    NEED(cuda_run_inference(e, err));
    NEED(cuda_enqueue_copy(&e->device, e->results.logits_host, cuda_last_unit(&e->plan)->z, bytes,
                           cudaMemcpyDeviceToHost, "reading logits", err));
    NEED(cuda_sync(e, err));
    store_logits(e, samples, logits);
    return STATUS_OK;
}

status cuda_infer(engine *e, const uint8_t *const *pixels, size_t samples, float *logits,
                  error *err) {
    const uint64_t begin = clock_now();
    const size_t room = (size_t)e->plan.options.local_shards * (size_t)e->plan.lanes;
    status rc;
    TRY(cuda_begin(&e->device, err));
    TRY(cuda_run_waiting(e, err));
    TRY(cuda_sync(e, err));
    cuda_prepare_inference(e);
    for (size_t done = 0; done < samples && rc == STATUS_OK; done += room) {
        const size_t left = samples - done;
        rc = infer_part(e, pixels + done, left < room ? left : room,
                        logits + done * (size_t)e->plan.program->classes, err);
    }
    e->clock.marked = 0;
    e->clock.times.ns[PHASE_FORWARD] += clock_now() - begin;
out:
    return rc;
}
