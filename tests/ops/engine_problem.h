// SPDX-License-Identifier: MIT
// engine_problem.h - an engine's steps against the reference network: problems made of a model and
// a way to cut a step into shards, engines that share the work, and the expected results.
//
// Parameters, images and labels are random but always the same.
#ifndef LOCKSTEP_TESTS_ENGINE_PROBLEM_H
#define LOCKSTEP_TESTS_ENGINE_PROBLEM_H

#include "ops.h"

#include <pthread.h>
#include <stdio.h>

#include "base/reduction_tree.h"
#include "base/yaml_tree.h"
#include "compute/backend.h"
#include "engine_cases.h"
#include "nn/initial_values.h"
#include "nn/model.h"
#include "reference.h"

// How far the engine, which works in float, may be from the reference. Most tensors of a gradient
// agree to 1e-6. Batch norm over a handful of samples is different: if a deviation is near zero,
// the factor 1 / sqrt(eps) = 316 multiplies the rounding errors of nearly equal terms.
typedef struct tolerance {
    double gradient, value;
} tolerance;
static const tolerance MANY = {1e-5, 1e-5};
static const tolerance FEW = {1e-3, 1e-4};
enum { FEW_SAMPLES = 6 }; // of a shard: with fewer, FEW holds

// ---- A problem: a model with parameters, and the samples of a step ----

enum { PROBLEM_SEED = 11 }; // of dropout

typedef struct problem {
    model m;
    const split *s;
    double smoothing; // of the labels
    int samples;
    uint8_t *bytes; // the images
    const uint8_t **pixels;
    sample_target *targets;
    uint32_t *ids;
    float *parameters, *buffers, *state; // state: room for two arrays
    float mean[ENGINE_MAX_CHANNELS], std[ENGINE_MAX_CHANNELS];
    const uint8_t *parameter_groups; // engine_options.parameter_groups; NULL: none
    // The same in double, for the reference.
    double *inputs, *parameters64, *buffers64, *state64;
} problem;

static void load_model(const model_case *c, model *m) {
    char text[2000];
    error err = {0};
    yaml_node *root = NULL;
    status rc;
    if (c->path) {
        rc = model_read(m, c->path, &err);
    } else {
        snprintf(text, sizeof text, "schema: lockstep.model/1\nname: test\ninput: %s\nlayers: %s\n",
                 c->input, c->layers);
        rc = yaml_read_text(text, strlen(text), c->name, &root, &err);
        if (rc == STATUS_OK) rc = model_from_yaml(m, root, &err);
        yaml_free(root);
    }
    if (rc != STATUS_OK) fail_msg("%s", err.message);
}

// PyTorch's initialisation, but batch norm away from 1 and 0, which would hide errors.
static void choose_parameters(problem *p) {
    // With this seed no value is so near a kink (of ReLU, of a maximum) that rounding decides.
    model_init_parameters(&p->m, 9, p->parameters, p->buffers);
    for (int i = 0; i < p->m.tensor_count; i++) {
        const model_tensor *t = &p->m.tensors[i];
        if (p->m.program.layers[t->layer].kind != LAYER_BATCH_NORM) continue;
        double *r = ops_random(t->count, 100 + (uint32_t)i);
        const bool positive = strstr(t->name, ".weight") || strstr(t->name, ".running_var");
        float *to = (t->is_buffer ? p->buffers : p->parameters) + t->offset;
        for (size_t k = 0; k < t->count; k++)
            to[k] = (float)(positive ? 1 + 0.5 * r[k] : 0.5 * r[k]);
        free(r);
    }
}

// As after some steps: first moments of either sign, second moments of at least 0. Gaps stay zero.
static void choose_state(problem *p) {
    const size_t n = p->m.program.parameters;
    for (int i = 0; i < p->m.tensor_count; i++) {
        const model_tensor *t = &p->m.tensors[i];
        if (t->is_buffer) continue;
        double *r = ops_random(t->count, 200 + (uint32_t)i);
        for (size_t k = 0; k < t->count; k++) {
            p->state[t->offset + k] = (float)(0.1 * r[k]);
            p->state[n + t->offset + k] = (float)(0.01 * r[k] * r[k]);
        }
        free(r);
    }
}

// As after some steps of this optimizer.
static inline void problem_suit(problem *p, optimizer_kind kind) {
    const size_t n = p->m.program.parameters;
    for (size_t i = 0; i < OPTIMIZER_STATES * n; i++) {
        if (optimizer_kind_traits[kind].states[i / n].never_negative)
            p->state[i] = fabsf(p->state[i]);
        p->state64[i] = (double)p->state[i];
    }
}

// The rule with the defaults of an optimizer.
static inline update_rule default_rule(optimizer_kind kind) {
    update_rule rule = {.kind = kind, .lr = 0.01f};
    for (int i = 0; i < HYPERPARAMETERS; i++)
        rule.hyper[i] = (float)optimizer_kind_traits[kind].takes[i].otherwise;
    return rule;
}

static void choose_samples(problem *p) {
    const program *prog = &p->m.program;
    const size_t size = shape_size(prog->input), plane = size / (size_t)prog->input.channels;
    const random_stream stream = {.seed = 3, .purpose = RANDOM_SYNTHETIC};
    for (size_t n = 0; n < (size_t)p->samples; n++) {
        p->pixels[n] = p->bytes + n * size;
        p->targets[n].label = random_below(&stream, (1 << 24) + n, (uint32_t)prog->classes);
        p->ids[n] = (uint32_t)(7 * n + 3);
        for (size_t i = 0; i < size; i++) {
            const size_t at = n * size + i;
            p->bytes[at] = (uint8_t)random_below(&stream, at, 256);
            p->inputs[at] =
                (p->bytes[at] / 255.0 - (double)p->mean[i / plane]) / (double)p->std[i / plane];
        }
    }
}

static void widen(const float *from, double *to, size_t n) {
    for (size_t i = 0; i < n; i++) to[i] = (double)from[i];
}

static void problem_init(problem *p, const model_case *c, const split *s) {
    *p = (problem){.s = s};
    load_model(c, &p->m);
    const program *prog = &p->m.program;
    for (int v = 0; v < s->shards; v++) p->samples += s->count[v];
    for (int k = 0; k < ENGINE_MAX_CHANNELS; k++) {
        p->mean[k] = 0.5f - 0.03f * (float)k;
        p->std[k] = 0.25f + 0.02f * (float)k;
    }
    const size_t n = (size_t)p->samples;
    p->bytes = calloc(n, shape_size(prog->input));
    p->pixels = calloc(n, sizeof *p->pixels);
    p->targets = calloc(n, sizeof *p->targets);
    p->ids = calloc(n, sizeof *p->ids);
    p->parameters = calloc(prog->parameters, sizeof(float));
    p->buffers = calloc(prog->buffers + 1, sizeof(float));
    p->state = calloc(2 * prog->parameters, sizeof(float));
    assert_true(p->bytes && p->pixels && p->targets && p->ids);
    assert_true(p->parameters && p->buffers && p->state);
    p->inputs = ops_zeros(n * shape_size(prog->input));
    p->parameters64 = ops_zeros(prog->parameters);
    p->buffers64 = ops_zeros(prog->buffers);
    p->state64 = ops_zeros(2 * prog->parameters);
    choose_parameters(p);
    choose_state(p);
    choose_samples(p);
    widen(p->parameters, p->parameters64, prog->parameters);
    widen(p->buffers, p->buffers64, prog->buffers);
    widen(p->state, p->state64, 2 * prog->parameters);
}

static void problem_release(problem *p) {
    free(p->bytes), free(p->pixels), free(p->targets), free(p->ids);
    free(p->parameters), free(p->buffers), free(p->state);
    free(p->inputs), free(p->parameters64), free(p->buffers64), free(p->state64);
    model_release(&p->m);
}

static reference_batch reference_batch_of(const problem *p) {
    return (reference_batch){.shards = p->s->shards,
                             .count = p->s->count,
                             .inputs = p->inputs,
                             .targets = p->targets,
                             .ids = p->ids,
                             .seed = PROBLEM_SEED,
                             .sync_batch_norm = p->s->sync,
                             .label_smoothing = p->smoothing};
}

// All samples of the problem, for an engine that has all shards.
static inline batch whole_batch(const problem *p) {
    return (batch){.shards = p->s->shards,
                   .count = p->s->count,
                   .end_shard = p->s->shards,
                   .pixels = p->pixels,
                   .targets = p->targets,
                   .ids = p->ids};
}

// ---- Running engines ----

// How a step's work is done; none of it may change a bit of the result.
typedef struct execution {
    const backend *be;
    const char *isa; // NULL: the best
    int threads;
    int engines; // each with contiguous shards
    bool exact;  // engine_options.exact
} execution;

static void describe(char text[80], const execution *x) {
    snprintf(text, 80, "%s %s, %d threads, %d engines%s", x->be->name, x->isa ? x->isa : "",
             x->threads, x->engines, x->exact ? ", exact" : "");
}

// All results of a step, an update and an inference.
typedef struct outcome {
    size_t gradient_floats, logits_floats;
    float *gradients; // reduced
    float *updated;   // parameters, buffers, optimizer state after the update
    size_t updated_floats;
    float *logits;
    update_result result;
} outcome;

static void outcome_init(outcome *o, const problem *p, const update_rule *rule) {
    const program *prog = &p->m.program;
    const size_t arrays = 1 + (size_t)optimizer_states(rule->kind);
    o->gradient_floats = gradient_floats(prog);
    o->updated_floats = arrays * prog->parameters + prog->buffers;
    o->logits_floats = (size_t)p->samples * (size_t)prog->classes;
    o->gradients = calloc(o->gradient_floats, sizeof(float));
    o->updated = calloc(o->updated_floats, sizeof(float));
    o->logits = calloc(o->logits_floats, sizeof(float));
    assert_true(o->gradients && o->updated && o->logits);
}

static void outcome_release(outcome *o) {
    free(o->gradients), free(o->updated), free(o->logits);
}

// Shared by the engines of one step: the exchange of sync_batch_norm.
typedef struct shared_rows {
    pthread_barrier_t barrier;
    unsigned char *rows; // of all shards
    int shards;
} shared_rows;

// One engine of a step, on a separate thread.
typedef struct rank {
    const problem *p;
    const execution *x;
    const update_rule *rule;
    shared_rows *shared;
    int first_shard, end_shard;
    size_t first_sample;
    const backend *be;
    engine *e;
    batch b;
    status rc;
    error err;
} rank;

// Room for every shard's rows in the widest batch norm: two doubles per channel.
enum { ROW_BYTES = 2 * 4096 * sizeof(double) };

static status exchange_rows(void *context, const void *mine, size_t bytes, void *all, error *err) {
    (void)err;
    const rank *r = context;
    shared_rows *s = r->shared;
    const size_t own = (size_t)(r->end_shard - r->first_shard) * bytes;
    memcpy(s->rows + (size_t)r->first_shard * bytes, mine, own);
    pthread_barrier_wait(&s->barrier);
    memcpy(all, s->rows, (size_t)s->shards * bytes);
    pthread_barrier_wait(&s->barrier);
    return STATUS_OK;
}

static void *run_rank(void *argument) {
    rank *r = argument;
    const problem *p = r->p;
    engine_options o = {.threads = r->x->threads,
                        .isa = r->x->isa,
                        .shards = p->s->shards,
                        .local_shards = r->end_shard - r->first_shard,
                        .shard_samples = p->s->count[0],
                        .seed = PROBLEM_SEED,
                        .sync_batch_norm = p->s->sync,
                        .parameter_groups = p->parameter_groups,
                        .label_smoothing = (float)p->smoothing,
                        .exact = r->x->exact,
                        .exchange = r->x->engines > 1 ? exchange_rows : NULL,
                        .exchange_context = r};
    memcpy(o.mean, p->mean, sizeof o.mean);
    memcpy(o.std, p->std, sizeof o.std);
    r->rc = r->be->open(&p->m.program, &o, r->rule->kind, &r->e, &r->err);
    if (r->rc != STATUS_OK) return NULL;
    r->be->write(r->e, p->parameters, p->buffers, p->state);
    r->b = (batch){.shards = p->s->shards,
                   .count = p->s->count,
                   .first_shard = r->first_shard,
                   .end_shard = r->end_shard,
                   .pixels = p->pixels + r->first_sample,
                   .targets = p->targets + r->first_sample,
                   .ids = p->ids + r->first_sample};
    r->rc = r->be->run(r->e, &r->b, NULL, &r->err);
    return NULL;
}

static void deal_shards(rank *ranks, const problem *p, const execution *x) {
    size_t sample = 0;
    for (int i = 0; i < x->engines; i++) {
        ranks[i].first_shard = p->s->shards * i / x->engines;
        ranks[i].end_shard = p->s->shards * (i + 1) / x->engines;
        ranks[i].first_sample = sample;
        for (int v = ranks[i].first_shard; v < ranks[i].end_shard; v++)
            sample += (size_t)p->s->count[v];
    }
}

// The sum of all engines' gradient buffers along the tree, as the ranks of a group would compute
// it.
static void reduce(const rank *ranks, const execution *x, float *out, size_t n) {
    enum { TERMS = 64 };
    const float *term[TERMS];
    int cover[TERMS], terms = 0;
    const reduction_tree *tree = ranks[0].be->tree(ranks[0].e).nodes;
    for (int i = 0; i < x->engines; i++) {
        int count;
        const int *leaves = ranks[i].be->tree(ranks[i].e).shard_leaves;
        float *const *gradients = ranks[i].be->gradients(ranks[i].e, &count);
        int nodes = reduction_tree_cover(tree, leaves[ranks[i].first_shard],
                                         leaves[ranks[i].end_shard], cover + terms);
        assert_int_equal(nodes, count);
        for (int k = 0; k < count; k++) term[terms++] = gradients[k];
        assert_true(terms < TERMS / 2);
    }
    reduction_tree_sum(tree, cover, term, terms, out, n);
}

static void step_all(rank *ranks, const problem *p, const execution *x, const update_rule *rule) {
    pthread_t threads[MAX_SHARDS];
    shared_rows shared = {.shards = p->s->shards};
    shared.rows = calloc((size_t)p->s->shards, ROW_BYTES);
    assert_non_null(shared.rows);
    assert_int_equal(pthread_barrier_init(&shared.barrier, NULL, (unsigned)x->engines), 0);
    for (int i = 0; i < x->engines; i++) {
        ranks[i].p = p, ranks[i].x = x, ranks[i].rule = rule, ranks[i].shared = &shared;
        ranks[i].be = x->be;
    }
    deal_shards(ranks, p, x);
    for (int i = 0; i < x->engines; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, run_rank, &ranks[i]), 0);
    for (int i = 0; i < x->engines; i++) pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&shared.barrier);
    free(shared.rows);
    for (int i = 0; i < x->engines; i++)
        if (ranks[i].rc != STATUS_OK) fail_msg("%s", ranks[i].err.message);
}

// Runs a problem's step with any number of engines; the first one does update and inference.
static void run(const problem *p, const execution *x, const update_rule *rule, outcome *o) {
    rank ranks[MAX_SHARDS] = {{0}};
    error err;
    const program *prog = &p->m.program;
    outcome_init(o, p, rule);
    step_all(ranks, p, x, rule);
    const backend *be = ranks[0].be;
    engine *e = ranks[0].e;
    reduce(ranks, x, o->gradients, o->gradient_floats);

    // Inference first: with the parameters that the step saw.
    if (be->infer(e, p->pixels, (size_t)p->samples, o->logits, &err) != STATUS_OK)
        fail_msg("%s", err.message);
    memcpy(be->reduced(e), o->gradients, o->gradient_floats * sizeof(float));
    if (be->update(e, rule, &o->result, &err) != STATUS_OK) fail_msg("%s", err.message);
    if (be->read(e, o->updated, o->updated + prog->parameters,
                 o->updated + prog->parameters + prog->buffers, &err) != STATUS_OK)
        fail_msg("%s", err.message);
    for (int i = 0; i < x->engines; i++) be->close(ranks[i].e);
}

// ---- Comparing ----

static tolerance tolerance_of(const problem *p) {
    for (int v = 0; v < p->s->shards; v++)
        if (p->m.program.buffers && p->s->count[v] > 0 && p->s->count[v] < FEW_SAMPLES) return FEW;
    return MANY;
}

// Compares tensor by tensor. A tensor that is nearly zero is measured against the whole gradient:
// the bias before a batch norm has no gradient.
static void compare_gradients(const problem *p, const float *gradients, const double *expected) {
    const program *prog = &p->m.program;
    double *got = ops_zeros(prog->parameters), *zero = ops_zeros(prog->parameters);
    widen(gradients, got, prog->parameters);
    const double allowed = tolerance_of(p).gradient;
    const double whole = ops_distance(expected, zero, prog->parameters);
    for (int i = 0; i < p->m.tensor_count; i++) {
        const model_tensor *t = &p->m.tensors[i];
        if (t->is_buffer) continue;
        const double norm = ops_distance(expected + t->offset, zero, t->count);
        double distance = ops_distance(got + t->offset, expected + t->offset, t->count);
        if (norm > 0) distance *= norm;
        if (!(distance <= allowed * (norm + 0.1 * whole)))
            fail_msg("gradient of %s: off by %.3g, its norm is %.3g, that of all %.3g", t->name,
                     distance, norm, whole);
    }
    free(got), free(zero);
}

// Means are measured against the deviations: the relative error of a mean near zero says nothing.
static void compare_statistics(const problem *p, const float *gradients, const double *expected) {
    const double allowed = tolerance_of(p).value;
    for (int i = 0; i < p->m.program.count; i++) {
        const layer *l = &p->m.program.layers[i];
        if (l->kind != LAYER_BATCH_NORM) continue;
        double count = (double)p->samples * l->in.height * l->in.width;
        for (int c = 0; c < l->in.channels; c++) {
            size_t mean = p->m.program.parameters + l->mean + (size_t)c;
            size_t variance = p->m.program.parameters + l->variance + (size_t)c;
            double deviation =
                sqrt(count * expected[variance]) + fabs(expected[mean]) + 0.1 * count;
            if (!(fabs((double)gradients[mean] - expected[mean]) <= allowed * deviation))
                fail_msg("%s: mean of channel %d is %.9g, not %.9g", l->name, c,
                         (double)gradients[mean], expected[mean]);
            // A deviation below a hundredth is the difference of larger terms, with their rounding
            // errors.
            if (!(fabs((double)gradients[variance] - expected[variance]) <=
                  allowed * (expected[variance] + 1e-4 * count)))
                fail_msg("%s: variance of channel %d is %.9g, not %.9g", l->name, c,
                         (double)gradients[variance], expected[variance]);
        }
    }
}

static void compare_with_reference(const problem *p, const outcome *o) {
    const program *prog = &p->m.program;
    const reference_batch b = reference_batch_of(p);
    const size_t tail = prog->parameters + prog->buffers;
    double *gradients = ops_zeros(o->gradient_floats), *logits = ops_zeros(o->logits_floats);
    double *got = ops_zeros(o->logits_floats);
    error err;
    assert_int_equal(reference_step(prog, p->parameters64, &b, gradients, NULL, &err), STATUS_OK);
    compare_gradients(p, o->gradients, gradients);
    compare_statistics(p, o->gradients, gradients);
    const double loss = (double)o->gradients[tail + TAIL_LOSS];
    ops_near("loss", &loss, &gradients[tail + TAIL_LOSS], 1, tolerance_of(p).value);

    assert_int_equal(
        reference_infer(prog, p->parameters64, p->buffers64, p->samples, p->inputs, logits, &err),
        STATUS_OK);
    widen(o->logits, got, o->logits_floats);
    ops_near("logits of inference", got, logits, o->logits_floats, MANY.value);
    free(gradients), free(logits), free(got);
}

// Checks the update, computed from the same gradient buffer that the engine reduced.
static void compare_update(const problem *p, const outcome *o, const update_rule *rule) {
    const program *prog = &p->m.program;
    const reference_batch b = reference_batch_of(p);
    const size_t n = prog->parameters, states = (size_t)optimizer_states(rule->kind);
    double *gradients = ops_zeros(o->gradient_floats), *expected = ops_zeros(o->updated_floats);
    double *got = ops_zeros(o->updated_floats);
    widen(o->gradients, gradients, o->gradient_floats);
    widen(o->updated, got, o->updated_floats);
    memcpy(expected, p->parameters64, n * sizeof *expected);
    memcpy(expected + n, p->buffers64, prog->buffers * sizeof *expected);
    memcpy(expected + n + prog->buffers, p->state64, states * n * sizeof *expected);
    reference_update(rule, p->parameter_groups, update_scale(rule, p->samples), n, gradients,
                     expected, expected + n + prog->buffers);
    reference_update_buffers(prog, &b, gradients, expected + n);
    ops_near("parameters after the update", got, expected, n, 1e-6);
    ops_near("running statistics", got + n, expected + n, prog->buffers, 1e-6);
    ops_near("optimizer state", got + n + prog->buffers, expected + n + prog->buffers, states * n,
             1e-6);
    const double loss = (double)o->result.loss,
                 mean = gradients[n + prog->buffers + TAIL_LOSS] / p->samples;
    ops_near("mean loss", &loss, &mean, 1, 1e-6);
    free(gradients), free(expected), free(got);
}

static void same_bits(const char *what, const float *a, const float *b, size_t n,
                      const execution *x) {
    char text[80];
    describe(text, x);
    for (size_t i = 0; i < n; i++)
        if (memcmp(&a[i], &b[i], sizeof *a))
            fail_msg("%s: %s: value %zu of %zu is %.9g, not %.9g", text, what, i, n, (double)a[i],
                     (double)b[i]);
}

static void compare_bits(const outcome *a, const outcome *b, const execution *x) {
    same_bits("record", a->gradients, b->gradients, a->gradient_floats, x);
    same_bits("logits", a->logits, b->logits, a->logits_floats, x);
    same_bits("after the update", a->updated, b->updated, a->updated_floats, x);
    assert_true(a->result.digest == b->result.digest);
    assert_true(memcmp(&a->result.loss, &b->result.loss, sizeof a->result.loss) == 0);
}

#endif
