// SPDX-License-Identifier: MIT
// A step and its update: running them and returning results.
#include <assert.h>

#include "base/clock.h"
#include "compute/cuda/group/group.h"

// ---- A step ----

// For an engine that has all shards, the next call is usually the update; for one whose group
// reduces in buckets, the reduction and then the update. So the step waits for that call:
// everything goes to the device as one copy and one graph.
status cuda_step(engine *e, const batch *b, error *err) {
    status rc;
    e->given_gradients = NULL;
    TRY(cuda_tell(e, b, err));
    e->step_waits = true;
    if (e->options.local_shards == e->options.shards || cuda_has_buckets(e)) return rc;
    const uint64_t begin = clock_now();
    TRY(cuda_run_waiting(e, err));
    TRY(cuda_sync(e, err)); // other engines wait for its results
    e->inside += clock_now() - begin;
out:
    return rc;
}

status cuda_run_waiting(engine *e, error *err) {
    status rc = STATUS_OK;
    if (!e->step_waits) return rc;
    if (cuda_reduction_waits(e))
        return error_set(err, STATUS_FAILED, "cannot read a step that is being reduced");
    e->step_waits = false;
    TRY(cuda_send(e, !e->images, err));
    TRY(cuda_run_piece(e, PIECE_STEP, err));
out:
    return rc;
}

static status fetch_records(engine *e, error *err) {
    const size_t bytes = record_floats(e->program) * sizeof(float);
    status rc = STATUS_OK;
    TRY(cuda_check(e, cudaSetDevice(e->options.device), "selecting the device", err));
    TRY(cuda_run_waiting(e, err));
    for (int k = 0; k < e->record_count; k++) {
        TRY(cuda_check(e,
                       cudaMemcpyAsync(e->records_host[k], e->sums + (size_t)k * e->stride, bytes,
                                       cudaMemcpyDeviceToHost, e->stream),
                       "reading a record", err));
    }
    TRY(cuda_sync(e, err));
    e->records_here = true;
out:
    return rc;
}

float *const *cuda_records(engine *e, int *count) {
    const uint64_t begin = clock_now();
    if (!e->records_here && e->failed == STATUS_OK) e->failed = fetch_records(e, &e->failure);
    e->ns[PHASE_COPY] += clock_now() - begin;
    *count = e->record_count;
    return e->records_host;
}

float *cuda_reduced(engine *e) {
    e->reduced_here = true;
    return e->reduced_host;
}

// ---- The update ----

static_assert(OTHER_GROUPS == UPDATE_GROUPS - 1, "the groups besides group 0");

// Adds the update rule to a step's numbers.
static void write_rule(const engine *e, const update_rule *r, step_numbers *n) {
    n->scale = (float)update_scale(r, n->samples);
    n->lr = r->lr;
    n->weight_decay = r->weight_decay;
    n->momentum = r->momentum;
    n->beta1 = r->beta1;
    n->beta2 = r->beta2;
    n->eps = r->eps;
    n->correction1 = update_bias_correction(r->beta1, r->step);
    n->correction2 = update_bias_correction(r->beta2, r->step);
    n->nesterov = r->nesterov;
    n->result = e->pending;
    for (int g = 0; e->group_of && g < OTHER_GROUPS; g++)
        n->groups[g] =
            (group_numbers){r->groups[g].lr, r->groups[g].weight_decay, r->groups[g].frozen};
}

// The step's own block may still be on its way to the device, so the rule is sent with a copy of
// its numbers.
static status send_update(engine *e, const update_rule *rule, error *err) {
    step_numbers *numbers = &e->rules[cuda_turn(e)];
    status rc;
    *numbers = *e->host.numbers;
    write_rule(e, rule, numbers);
    TRY(cuda_check(e,
                   cudaMemcpyAsync(e->device.numbers, numbers, sizeof *numbers,
                                   cudaMemcpyHostToDevice, e->stream),
                   "sending an update's rule", err));
    if (e->reduced_here)
        TRY(cuda_check(e,
                       cudaMemcpyAsync(e->sums, e->reduced_host,
                                       record_floats(e->program) * sizeof(float),
                                       cudaMemcpyHostToDevice, e->stream),
                       "sending the reduced record", err));
out:
    return rc;
}

status cuda_collect(engine *e, update_result *results, int count, error *err) {
    const uint64_t begin = clock_now();
    status rc;
    TRY(cuda_check(e, cudaSetDevice(e->options.device), "selecting the device", err));
    TRY(cuda_pending_failure(e, err));
    if (count != e->pending)
        return error_set(err, STATUS_FAILED, "cannot collect %d results: %d are pending", count,
                         e->pending);
    TRY(cuda_check(e,
                   cudaMemcpyAsync(e->results_host, e->results,
                                   (size_t)count * sizeof *e->results_host, cudaMemcpyDeviceToHost,
                                   e->stream),
                   "reading the results of steps", err));
    TRY(cuda_sync(e, err));
    for (int i = 0; i < count; i++)
        results[i] =
            (update_result){.loss = (float)((double)e->results_host[i].loss / e->samples[i]),
                            .digest = e->results_host[i].digest};
    e->pending = 0;
    e->inside += clock_now() - begin;
    cuda_book(e, count);
out:
    return rc;
}

static status run_update(engine *e, const update_rule *rule, error *err) {
    status rc;
    if (e->reduced_here) TRY(cuda_run_waiting(e, err));
    if (e->step_waits) {
        e->step_waits = false;
        write_rule(e, rule, e->host.numbers);
        TRY(cuda_send(e, !e->images, err));
        return cuda_reduction_waits(e) ? cuda_run_reduced_step(e, err)
                                       : cuda_run_piece(e, PIECE_STEP_AND_UPDATE, err);
    }
    TRY(send_update(e, rule, err));
    TRY(cuda_run_piece(e, PIECE_UPDATE, err));
out:
    return rc;
}

status cuda_update_step(engine *e, const update_rule *rule, update_result *result, error *err) {
    const uint64_t begin = clock_now();
    status rc;
    if (rule->kind != e->kind)
        return error_set(err, STATUS_USAGE,
                         "cannot update: the engine was opened for another optimizer");
    if (e->pending == ENGINE_PENDING)
        return error_set(err, STATUS_FAILED,
                         "cannot update: earlier results have not been collected");
    TRY(cuda_check(e, cudaSetDevice(e->options.device), "selecting the device", err));
    TRY(cuda_pending_failure(e, err));
    TRY(run_update(e, rule, err));
    e->samples[e->pending++] = e->host.numbers->samples;
    *result = (update_result){.pending = true};
    e->inside += clock_now() - begin;
    if (!e->options.deferred) TRY(cuda_collect(e, result, 1, err));
out:
    return rc;
}
