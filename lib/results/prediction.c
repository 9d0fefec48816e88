#include "results/prediction.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/reduction_tree.h"
#include "compute/backend.h"
#include "nn/model.h"
#include "results/execution.h"
#include "results/like_for_like.h"

static bool is(const run *r, const char *strategy) {
    return strcmp(r->strategy, strategy) == 0;
}

bool prediction_is_due(const group *g) {
    const run *r = g->runs[0];
    return r->train && r->world_size > 1 && (is(r, "ddp") || is(r, "dp"));
}

// What is to be said in the place of a prediction, taken over by it. NULL is a failure.
static status give_reason(prediction *p, char *reason) {
    p->reason = reason;
    return reason ? STATUS_OK : STATUS_FAILED;
}

// ---- The run that it starts from ----

// The first reason against holding the times of any two of their runs against each other.
static status find_reasons(const group *a, const group *b, language l, char **reasons, error *err) {
    status rc = STATUS_OK;
    *reasons = NULL;
    for (size_t i = 0; rc == STATUS_OK && !*reasons && i < a->count; i++)
        for (size_t k = 0; rc == STATUS_OK && !*reasons && k < b->count; k++)
            rc = like_for_like(a->runs[i], b->runs[k], NULL, l, reasons, err);
    return rc;
}

static bool is_candidate(const run *r) {
    return r->train && r->world_size == 1 && (is(r, "ddp") || is(r, "dp") || is(r, "single"));
}

// How well a candidate serves: like for like before all, then the subject's own strategy.
static int rank_candidate(const prediction *p, const group *g, bool alike) {
    const run *r = g->runs[0];
    return 1 + (alike ? 4 : 0) + (is(r, p->subject->runs[0]->strategy) ? 2 : is(r, "single"));
}

static status find_basis(prediction *p, const group *groups, size_t count, language l, error *err) {
    int best = 0;
    for (size_t i = 0; i < count; i++) {
        char *reasons;
        if (!is_candidate(groups[i].runs[0])) continue;
        status rc = find_reasons(p->subject, &groups[i], l, &reasons, err);
        if (rc != STATUS_OK) return rc;
        const int rank = rank_candidate(p, &groups[i], !reasons);
        if (rank <= best) {
            free(reasons);
            continue;
        }
        best = rank;
        p->basis = &groups[i];
        free(p->reason);
        p->reason = reasons;
    }
    if (p->basis) return STATUS_OK;
    return give_reason(p, memory_string(words_in(l, "this report has no run on one rank"), err));
}

// ---- Communication ----

static const char *device_of(const prediction *p) {
    return p->subject->runs[0]->device;
}

// Vectors that the rank with most of them brings to a reduction. Empty shards of a last step, and
// the groups inside a shard, change nothing about a full step.
static status count_vectors(const run *r, int *vectors, error *err) {
    reduction_tree tree = {0};
    int cover[2 * REDUCTION_TREE_MAX_DEPTH];
    const int shards = (int)r->virtual_shards, own = shards / (int)r->world_size;
    status rc = STATUS_FAILED;
    int *groups = memory_new((size_t)shards, sizeof *groups, err);
    if (!groups) return rc;
    for (int v = 0; v < shards; v++) groups[v] = 1;
    TRY(reduction_tree_init(&tree, groups, shards, err));
    *vectors = 1;
    for (int v = 0; own && strcmp(r->reduce, "fast") != 0 && v + own <= shards; v += own) {
        const int count = reduction_tree_cover(&tree, v, v + own, cover);
        if (count > *vectors) *vectors = count;
    }
out:
    reduction_tree_release(&tree);
    free(groups);
    return rc;
}

enum { SHARDS_MAX = 1 << 20 };

// Bytes that a rank of ddp brings to the reduction of a step: records by vectors. NAN when the
// manifest does not describe the model.
static status reduced_bytes(const run *r, double *bytes, error *err) {
    model m = {0};
    int vectors;
    const yaml_node *description = yaml_get(r->train, "parameters.architecture");
    *bytes = NAN;
    if (!description || r->virtual_shards < r->world_size || r->virtual_shards > SHARDS_MAX)
        return STATUS_OK;
    status rc = count_vectors(r, &vectors, err);
    if (rc != STATUS_OK) return rc;
    if (model_from_yaml(&m, description, NULL) == STATUS_OK)
        *bytes = (double)(record_floats(&m.program) * sizeof(float)) * vectors;
    model_release(&m);
    return STATUS_OK;
}

// What crosses between the master of dp and its replicas in a step, as the run counted it, and in
// how many messages. NAN where it did not count.
static status copied_bytes(const run *r, double *bytes, double *messages, error *err) {
    execution e;
    status rc = execution_read(r, &e, err);
    if (rc != STATUS_OK) return rc;
    *bytes = *messages = 0;
    for (int k = 0; e.kind == EXECUTION_REPLICAS && k < EXECUTION_ACTIVITIES; k++) {
        if (e.bytes[k] < 0) continue;
        *bytes += (double)e.bytes[k];
        *messages += (double)(r->world_size - 1);
    }
    if (*messages == 0) *bytes = NAN;
    execution_release(&e);
    return STATUS_OK;
}

static bool same_machine(const collectives *measured, const run *r) {
    return strcmp(measured->host, r->host) == 0 && strcmp(measured->cpu, r->cpu) == 0;
}

static const char *transport_of(const run *r) {
    int segments;
    const yaml_node *last = run_last_segment(r, &segments);
    return last ? run_text(last, "transport") : "";
}

// A run or a measurement that does not say has nothing to be held against.
static bool is_other_transport(const run *r, const collective *cost) {
    const char *own = transport_of(r);
    return is(r, "ddp") && *own && *cost->transport && strcmp(own, cost->transport) != 0;
}

// What the measured collectives cannot serve for.
static status check_collectives(prediction *p, const collectives *measured, language l,
                                error *err) {
    const run *r = p->subject->runs[0];
    const int64_t ranks = is(r, "dp") ? 1 : r->world_size;
    p->cost = collectives_find(measured, ranks, is(r, "ddp") ? r->reduce : NULL);
    if (strcmp(device_of(p), "cpu") != 0)
        return give_reason(p, memory_format(err, words_in(l, "there is no model for the device %s"),
                                            device_of(p)));
    if (!same_machine(measured, r))
        return give_reason(
            p, memory_format(
                   err, words_in(l, "the collectives were measured on another machine: %s, %s"),
                   measured->host, measured->cpu));
    if (measured->devices)
        return give_reason(p, memory_format(err, words_in(l, "the collectives were measured on %s"),
                                            measured->devices));
    if (is(r, "ddp") && strcmp(measured->reduce, "both") != 0 &&
        strcmp(r->reduce, measured->reduce) != 0)
        return give_reason(
            p,
            memory_format(err, words_in(l, "the run reduces %s, the collectives were measured %s"),
                          r->reduce, measured->reduce));
    if (!p->cost)
        return give_reason(
            p, memory_format(err, words_in(l, "no collective was measured with %lld ranks"),
                             (long long)ranks));
    if (r->hosts != measured->hosts)
        return give_reason(
            p, memory_format(err, words_in(l, "hosts of the run: %lld, of the collectives: %lld"),
                             (long long)r->hosts, (long long)measured->hosts));
    if (is_other_transport(r, p->cost))
        return give_reason(
            p, memory_format(
                   err, words_in(l, "the run reduces by %s, the collectives were measured by %s"),
                   transport_of(r), p->cost->transport));
    return STATUS_OK;
}

// Seconds an epoch; NAN when the size of the messages is not known.
static status count_communication(prediction *p, double *seconds, error *err) {
    const run *r = p->subject->runs[0];
    double messages = 1;
    status rc =
        is(r, "dp") ? copied_bytes(r, &p->bytes, &messages, err) : reduced_bytes(r, &p->bytes, err);
    if (rc != STATUS_OK) return rc;
    const double steps = (double)r->steps / (double)r->epoch_count;
    *seconds = steps * (messages * p->cost->cost.alpha + p->cost->cost.beta * p->bytes);
    return STATUS_OK;
}

// ---- Putting it together ----

// The median epoch in the proportions of the mean step, means over the runs; what no phase accounts
// for counts as compute. NAN where a run has no phases.
static epoch_parts parts_of(const group *g) {
    enum { LOAD = 0, COMM = 4, UPDATE = 6 }; // of run_phase_name
    epoch_parts mean = {0};
    for (size_t i = 0; i < g->count; i++) {
        const run *r = g->runs[i];
        const run_split split = run_time_split(r);
        const double scale = r->seconds_per_epoch / split.wall / (double)g->count;
        const double *ms = split.phase;
        mean.load += ms[LOAD] * scale;
        mean.update += ms[UPDATE] * scale;
        mean.communication += ms[COMM] * scale;
        mean.compute += (split.wall - ms[LOAD] - ms[UPDATE] - ms[COMM]) * scale;
    }
    return mean;
}

static int64_t at_least_one(int64_t n) {
    return n < 1 ? 1 : n;
}

// Hosts are taken to be alike.
static scaling_place place_of(const run *r) {
    return (scaling_place){at_least_one(r->world_size), at_least_one(r->threads),
                           at_least_one(r->cores) * at_least_one(r->hosts)};
}

static void predict(prediction *p, const epoch_parts *one, double communication) {
    const run *r = p->subject->runs[0];
    const scaling_strategy strategy = is(r, "dp") ? SCALING_DP : SCALING_DDP;
    const scaling_place from = place_of(p->basis->runs[0]), here = place_of(r);
    const int64_t device = scaling_cores(&from);
    const scaling_place there = {here.ranks, device, here.ranks * device};
    p->here = scaling_predict(strategy, one, &from, &here, communication);
    p->error = epoch_parts_sum(&p->here) / p->measured - 1;
    p->projects = scaling_cores(&here) < scaling_cores(&there);
    p->there = scaling_predict(strategy, one, &from, &there, communication);
}

status prediction_make(const group *subject, const group *groups, size_t count,
                       const collectives *measured, language l, prediction *p, error *err) {
    status rc;
    double communication;
    group_summary summary;
    *p = (prediction){.subject = subject};
    TRY(group_summarize(subject, &summary, err));
    p->measured = summary.seconds;
    TRY(find_basis(p, groups, count, l, err));
    if (!p->reason) TRY(check_collectives(p, measured, l, err));
    if (p->reason) goto out;
    TRY(group_summarize(p->basis, &summary, err));
    p->basis_seconds = summary.seconds;
    TRY(count_communication(p, &communication, err));
    const epoch_parts one = parts_of(p->basis);
    if (isnan(communication))
        rc = give_reason(p,
                         memory_string(words_in(l, "the size of its messages is not known"), err));
    else if (isnan(epoch_parts_sum(&one)))
        rc = give_reason(p, memory_format(err, words_in(l, "%s: %s"), p->basis->name,
                                          words_in(l, "the manifest has no phases")));
    else
        predict(p, &one, communication);
out:
    if (rc != STATUS_OK) prediction_release(p);
    return rc;
}

void prediction_release(prediction *p) {
    free(p->reason);
    p->reason = NULL;
}
