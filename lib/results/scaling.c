// SPDX-License-Identifier: MIT
#include "results/scaling.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/reduction_tree.h"
#include "compute/backend.h"
#include "nn/model.h"
#include "results/like_for_like.h"
#include "results/timed_arms.h"
#include "results/verdict.h"

// ---- The model ----

static int64_t smaller(int64_t a, int64_t b) {
    return a < b ? a : b;
}

int64_t scaling_cores(const scaling_place *place) {
    return smaller(place->ranks * place->threads, place->cores);
}

epoch_parts scaling_predict(scaling_strategy strategy, const epoch_parts *one,
                            const scaling_place *from, const scaling_place *to,
                            double communication) {
    const double before = (double)scaling_cores(from), spread = before / (double)scaling_cores(to);
    epoch_parts e = {.compute = one->compute * spread, .communication = communication};
    switch (strategy) {
    case SCALING_DDP:
        e.load = one->load / (double)smaller(to->ranks, to->cores);
        e.update = one->update * (double)to->ranks * spread;
        break;
    case SCALING_DP:
        e.load = one->load;
        e.update = one->update * before / (double)smaller(to->threads, to->cores);
        break;
    }
    return e;
}

// ---- Predictions of runs ----

static bool is(const run *r, const char *strategy) {
    return strcmp(r->strategy, strategy) == 0;
}

bool prediction_is_due(const seed_group *g) {
    const run *r = g->runs[0];
    return r->train && r->world_size > 1 && (is(r, "ddp") || is(r, "dp"));
}

// ---- The basis ----

// Finds the first reason why the times of any two runs of the groups cannot be compared.
static void find_reasons(const seed_group *a, const seed_group *b, reason_list *reasons) {
    const bool together = seed_group_common_timing(a, b);
    for (size_t i = 0; !reasons->count && i < a->count; i++)
        for (size_t k = 0; !reasons->count && k < b->count; k++)
            like_for_like(a->runs[i], b->runs[k], NULL, together, reasons);
}

static bool is_candidate(const run *r) {
    return r->train && r->world_size == 1 && (is(r, "ddp") || is(r, "dp") || is(r, "single"));
}

// Ranks a candidate: like for like first, then the subject's own strategy.
static int rank_candidate(const prediction *p, const seed_group *g, bool alike) {
    const run *r = g->runs[0];
    return 1 + (alike ? 4 : 0) + (is(r, p->subject->runs[0]->strategy) ? 2 : is(r, "single"));
}

static void find_basis(prediction *p, const seed_group *groups, size_t count) {
    int best = 0;
    for (size_t i = 0; i < count; i++) {
        reason_list reasons = {0};
        if (!is_candidate(groups[i].runs[0])) continue;
        find_reasons(p->subject, &groups[i], &reasons);
        const int rank = rank_candidate(p, &groups[i], !reasons.count);
        if (rank <= best) {
            reasons_release(&reasons);
            continue;
        }
        best = rank;
        p->basis = &groups[i];
        reasons_release(&p->reason);
        p->reason = reasons;
    }
    if (!p->basis) reasons_add(&p->reason, "no basis", NULL, NULL);
}

// ---- Communication ----

static const char *device_of(const prediction *p) {
    return p->subject->runs[0]->device;
}

// The number of vectors that a rank sends to a reduction: the maximum, and the sum over all ranks
// but the first. Empty shards of a last step, and the groups inside a shard, do not affect a full
// step.
typedef struct vector_count {
    int most, others;
} vector_count;

static status count_vectors(const run *r, vector_count *vectors, error *err) {
    reduction_tree tree = {0};
    int cover[2 * REDUCTION_TREE_MAX_DEPTH];
    const int shards = (int)r->virtual_shards, own = shards / (int)r->world_size;
    const bool fast = strcmp(r->reduce, "fast") == 0;
    status rc = STATUS_OK;
    int *groups = memory_new((size_t)shards, sizeof *groups);
    for (int v = 0; v < shards; v++) groups[v] = 1;
    TRY(reduction_tree_init(&tree, groups, shards, err));
    *vectors = (vector_count){.most = 1};
    for (int v = 0; own && v + own <= shards; v += own) {
        const int count = reduction_tree_cover(&tree, v, v + own, cover);
        if (count > vectors->most && !fast) vectors->most = count;
        if (v) vectors->others += count;
    }
out:
    reduction_tree_release(&tree);
    free(groups);
    return rc;
}

enum { SHARDS_MAX = 1 << 20 };

// The bytes between the dp master and its replicas in a full step: parameters and buffers, samples
// with labels and ids, logits and their gradients, gradient buffers (lib/train/strategy_dp.c).
static double dp_bytes(const run *r, const program *p, const vector_count *vectors) {
    const double others = (double)(r->world_size - 1), ranks = (double)r->world_size;
    const int64_t shard = r->global_batch / r->virtual_shards;
    const double groups =
        (double)((shard + GROUP - 1) / GROUP * (r->virtual_shards / r->world_size));
    const double arenas = (double)(p->parameters + p->buffers) * sizeof(float);
    const double image = (double)shape_size(p->input) + sizeof(uint8_t) + sizeof(uint32_t);
    const double logits = groups * p->classes * GROUP * sizeof(float);
    return others * (arenas + 2 * logits) + (double)r->global_batch * others / ranks * image +
           (double)(gradient_floats(p) * sizeof(float)) * vectors->others;
}

// Under dp: one message to every replica each for broadcast, scatter, gather, scatter_gradient and
// reduce.
enum { DP_MESSAGES = 5 };

// Counts the bytes and messages of a step: under ddp, those that a rank sends to the reduction,
// with a gradient buffer per vector. NAN if the manifest does not describe the model.
static status count_bytes(const run *r, double *bytes, double *messages, error *err) {
    model m = {0};
    vector_count vectors;
    const yaml_node *description = yaml_get(r->train, "parameters.architecture");
    *bytes = NAN;
    *messages = is(r, "dp") ? (double)(DP_MESSAGES * (r->world_size - 1)) : 1;
    if (!description || r->virtual_shards < r->world_size || r->virtual_shards > SHARDS_MAX)
        return STATUS_OK;
    NEED(count_vectors(r, &vectors, err));
    if (model_from_yaml(&m, description, NULL) == STATUS_OK) {
        const double gradients = (double)(gradient_floats(&m.program) * sizeof(float));
        *bytes = is(r, "dp") ? dp_bytes(r, &m.program, &vectors) : gradients * vectors.most;
    }
    model_release(&m);
    return STATUS_OK;
}

static bool same_machine(const collectives *measured, const run *r) {
    return strcmp(measured->host, r->host) == 0 && strcmp(measured->cpu, r->cpu) == 0;
}

static const char *transport_of(const run *r) {
    return yaml_text_at(run_last_segment(r), "transport");
}

// A run or a measurement that does not name its transport cannot be compared.
static bool is_other_transport(const run *r, const collective *cost) {
    const char *own = transport_of(r);
    return is(r, "ddp") && *own && *cost->transport && strcmp(own, cost->transport) != 0;
}

static void refuse_counts(prediction *p, const char *of, int64_t a, int64_t b) {
    char first[24], second[24];
    snprintf(first, sizeof first, "%lld", (long long)a);
    snprintf(second, sizeof second, "%lld", (long long)b);
    reasons_add(&p->reason, of, first, second);
}

// Adds why the measured collectives cannot be used, if they cannot.
static void refuse_collectives(prediction *p, const collectives *measured) {
    const run *r = p->subject->runs[0];
    const int64_t ranks = is(r, "dp") ? 1 : r->world_size;
    p->cost = collectives_find(measured, ranks, is(r, "ddp") ? r->reduce : NULL);
    if (strcmp(device_of(p), "cpu") != 0)
        reasons_add(&p->reason, "no model of the device", device_of(p), NULL);
    else if (!same_machine(measured, r))
        reasons_add(&p->reason, "another machine", measured->host, measured->cpu);
    else if (measured->devices)
        reasons_add(&p->reason, "other devices", measured->devices, NULL);
    else if (is(r, "ddp") && strcmp(measured->reduce, "both") != 0 &&
             strcmp(r->reduce, measured->reduce) != 0)
        reasons_add(&p->reason, "another reduction", r->reduce, measured->reduce);
    else if (!p->cost)
        refuse_counts(p, "no collective", ranks, ranks);
    else if (r->hosts != measured->hosts)
        refuse_counts(p, "other hosts", r->hosts, measured->hosts);
    else if (is_other_transport(r, p->cost))
        reasons_add(&p->reason, "another transport", transport_of(r), p->cost->transport);
}

// Seconds per epoch; NAN if the size of the messages is unknown. An epoch has as many steps as on
// one rank.
static status count_communication(prediction *p, double *seconds, error *err) {
    const run *basis = p->basis->runs[0];
    double messages;
    NEED(count_bytes(p->subject->runs[0], &p->bytes, &messages, err));
    *seconds =
        basis->steps_per_epoch * (messages * p->cost->cost.alpha + p->cost->cost.beta * p->bytes);
    return STATUS_OK;
}

// ---- The prediction ----

// Splits the median epoch of an execution in the proportions of its mean step; time that no phase
// accounts for counts as compute. NAN without phases.
static epoch_parts parts_of(const run *r) {
    const run_split split = run_time_split(r);
    const double scale = r->seconds_per_epoch / split.wall, *ms = split.phase;
    return (epoch_parts){.load = ms[RUN_LOAD] * scale,
                         .update = ms[RUN_UPDATE] * scale,
                         .communication = ms[RUN_COMM] * scale,
                         .compute =
                             (split.wall - ms[RUN_LOAD] - ms[RUN_UPDATE] - ms[RUN_COMM]) * scale};
}

static void add_share(epoch_parts *sum, const epoch_parts *e, double share) {
    sum->load += e->load * share;
    sum->compute += e->compute * share;
    sum->update += e->update * share;
    sum->communication += e->communication * share;
}

static int64_t at_least_one(int64_t n) {
    return n < 1 ? 1 : n;
}

// Hosts are assumed to be alike.
static scaling_place place_of(const run *r) {
    return (scaling_place){at_least_one(r->world_size), at_least_one(r->threads),
                           at_least_one(r->cores) * at_least_one(r->hosts)};
}

// Predicts from one execution of the one-rank run: here, and with one device per rank.
static void predict_one(const prediction *p, const run *from, double communication,
                        epoch_parts *here, epoch_parts *there) {
    const run *r = p->subject->runs[0];
    const scaling_strategy strategy = is(r, "dp") ? SCALING_DP : SCALING_DDP;
    const scaling_place one = place_of(from), at = place_of(r);
    const int64_t device = scaling_cores(&one);
    const scaling_place spread = {at.ranks, device, at.ranks * device};
    const epoch_parts parts = parts_of(from);
    *here = scaling_predict(strategy, &parts, &one, &at, communication);
    *there = scaling_predict(strategy, &parts, &one, &spread, communication);
}

static bool has_fewer_devices(const prediction *p) {
    const scaling_place from = place_of(p->basis->runs[0]), here = place_of(p->subject->runs[0]);
    return scaling_cores(&here) < here.ranks * scaling_cores(&from);
}

// The executions of the basis: copies, which own nothing. Of one that took turns, they are those of
// its arm, with the parts of a step of the whole training.
static void find_executions(const seed_group *basis, run **copies, size_t *count) {
    const run **executions = NULL, *timed = seed_group_arm(basis, NULL, count);
    if (timed)
        *count = turn_evidence_shown(&timed->timing->evidence)->executions;
    else
        seed_group_executions(basis, &executions, count);
    *copies = memory_new(*count, sizeof **copies);
    for (size_t i = 0; i < *count; i++) {
        (*copies)[i] = timed ? *timed : *executions[i];
        if (timed) (*copies)[i].seconds_per_epoch = timed_arms_execution(timed, i);
    }
    free(executions);
}

// Takes means over the executions of the basis, and their interval.
static void predict(prediction *p, double communication) {
    run *executions;
    double *seconds = NULL;
    size_t count;
    find_executions(p->basis, &executions, &count);
    seconds = memory_new(count, sizeof *seconds);
    for (size_t i = 0; i < count; i++) {
        epoch_parts here, there;
        predict_one(p, &executions[i], communication, &here, &there);
        add_share(&p->here, &here, 1 / (double)count);
        add_share(&p->there, &there, 1 / (double)count);
        seconds[i] = epoch_parts_sum(&here);
    }
    const mean_estimate mean = statistics_alone(seconds, count);
    if (count >= VERDICT_EXECUTIONS) p->range = statistics_interval(&mean, 0.95);
    p->error = epoch_parts_sum(&p->here) / p->measured - 1;
    p->projects = has_fewer_devices(p);
    free(executions);
    free(seconds);
}

status prediction_make(const seed_group *subject, const seed_group *groups, size_t count,
                       const collectives *measured, prediction *p, error *err) {
    status rc = STATUS_OK;
    double communication;
    const metric_row *epoch = metrics_find("seconds_per_epoch");
    *p = (prediction){.subject = subject, .range = {NAN, NAN}};
    p->measured = seed_group_mean(subject, epoch, 0).mean;
    find_basis(p, groups, count);
    if (!p->reason.count) refuse_collectives(p, measured);
    if (p->reason.count) goto out;
    p->basis_seconds = seed_group_mean(p->basis, epoch, 0).mean;
    TRY(count_communication(p, &communication, err));
    const epoch_parts one = parts_of(p->basis->runs[0]);
    if (isnan(communication))
        reasons_add(&p->reason, "unknown messages", NULL, NULL);
    else if (isnan(epoch_parts_sum(&one)))
        reasons_add(&p->reason, "no phases", p->basis->name, NULL);
    else
        predict(p, communication);
out:
    if (rc != STATUS_OK) prediction_release(p);
    return rc;
}

void prediction_release(prediction *p) {
    reasons_release(&p->reason);
}
