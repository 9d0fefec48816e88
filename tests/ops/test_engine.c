// The CPU engine, through the public table of backends, against the reference network; and its bits
// against themselves: over instruction sets, thread counts, and which engine holds which shard.
//
// A test is one model and one way to cut a step into shards. Parameters, images and labels are
// random but always the same.
#include "ops.h"

#include <pthread.h>
#include <stdio.h>

#include "base/reduction_tree.h"
#include "base/yaml_tree.h"
#include "compute/backend.h"
#include "compute/cpu/kernels.h"
#include "compute/reference.h"
#include "engine_cases.h"
#include "nn/model.h"

// How far the engine, which works in float, may be from the reference. Most tensors of a gradient
// agree to 1e-6. Batch norm over a handful of samples is another matter: a deviation near zero, of
// which 1 / sqrt(eps) = 316 remains, multiplies the rounding errors of nearly equal terms.
typedef struct tolerance {
    double gradient, value;
} tolerance;
static const tolerance MANY = {1e-5, 1e-5};
static const tolerance FEW = {1e-3, 1e-4};
enum { FEW_SAMPLES = 6 }; // of a shard: below it FEW holds

// ---- A problem: a model with parameters, and the samples of a step ----

typedef struct problem {
    model m;
    const split *s;
    int samples;
    uint8_t *bytes; // the images
    const uint8_t **pixels;
    uint8_t *labels;
    uint32_t *ids;
    float *parameters, *buffers, *state; // state: room for two arrays
    float mean[ENGINE_MAX_CHANNELS], std[ENGINE_MAX_CHANNELS];
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

// PyTorch's initialisation, but batch norm away from 1 and 0, which would hide mistakes.
static void choose_parameters(problem *p) {
    model_init_parameters(&p->m, 7, p->parameters, p->buffers);
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

// As after some steps: first moments of either sign, second moments at least 0. Gaps stay zero.
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

static void choose_samples(problem *p) {
    const program *prog = &p->m.program;
    const size_t size = shape_size(prog->input), plane = size / (size_t)prog->input.channels;
    const random_stream stream = {.seed = 3, .purpose = RANDOM_SYNTHETIC};
    for (size_t n = 0; n < (size_t)p->samples; n++) {
        p->pixels[n] = p->bytes + n * size;
        p->labels[n] = (uint8_t)random_below(&stream, (1 << 24) + n, (uint32_t)prog->classes);
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
    p->labels = calloc(n, 1);
    p->ids = calloc(n, sizeof *p->ids);
    p->parameters = calloc(prog->parameters, sizeof(float));
    p->buffers = calloc(prog->buffers + 1, sizeof(float));
    p->state = calloc(2 * prog->parameters, sizeof(float));
    assert_true(p->bytes && p->pixels && p->labels && p->ids);
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
    free(p->bytes), free(p->pixels), free(p->labels), free(p->ids);
    free(p->parameters), free(p->buffers), free(p->state);
    free(p->inputs), free(p->parameters64), free(p->buffers64), free(p->state64);
    model_release(&p->m);
}

static reference_batch reference_batch_of(const problem *p) {
    return (reference_batch){.shards = p->s->shards,
                             .count = p->s->count,
                             .inputs = p->inputs,
                             .labels = p->labels,
                             .ids = p->ids,
                             .sync_batch_norm = p->s->sync};
}

// ---- Running engines ----

// How the work of a step is done; none of it may change a bit of the result.
typedef struct execution {
    const char *isa;
    int threads;
    int engines; // contiguous shards for each
} execution;

static void describe(char text[80], const execution *x) {
    snprintf(text, 80, "%s, %d threads, %d engines", x->isa, x->threads, x->engines);
}

// Everything that comes out of a step, an update and an inference.
typedef struct outcome {
    size_t record_floats, logits_floats;
    float *record;  // reduced
    float *updated; // parameters, buffers, optimizer state after the update
    size_t updated_floats;
    float *logits;
    update_result result;
} outcome;

static void outcome_init(outcome *o, const problem *p, const update_rule *rule) {
    const program *prog = &p->m.program;
    const size_t arrays = 1 + (size_t)update_state_arrays(rule->kind);
    o->record_floats = record_floats(prog);
    o->updated_floats = arrays * prog->parameters + prog->buffers;
    o->logits_floats = (size_t)p->samples * (size_t)prog->classes;
    o->record = calloc(o->record_floats, sizeof(float));
    o->updated = calloc(o->updated_floats, sizeof(float));
    o->logits = calloc(o->logits_floats, sizeof(float));
    assert_true(o->record && o->updated && o->logits);
}

static void outcome_release(outcome *o) {
    free(o->record), free(o->updated), free(o->logits);
}

// What the engines of one step share: the meeting place of sync_batch_norm.
typedef struct shared_rows {
    pthread_barrier_t barrier;
    unsigned char *rows; // of all shards
    int shards;
} shared_rows;

// One engine of a step, on a thread of its own.
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

// Room for the rows of every shard of the widest batch norm: two doubles a channel.
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
                        .seed = 11,
                        .sync_batch_norm = p->s->sync,
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
                   .labels = p->labels + r->first_sample,
                   .ids = p->ids + r->first_sample};
    r->rc = r->be->step(r->e, &r->b, &r->err);
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

// The sum of all engines' records along the tree, as the ranks of a group would take it.
static void reduce(const rank *ranks, const execution *x, float *out, size_t n) {
    enum { TERMS = 64 };
    const float *term[TERMS];
    int cover[TERMS], terms = 0;
    const reduction_tree *tree = ranks[0].be->tree(ranks[0].e);
    for (int i = 0; i < x->engines; i++) {
        int count;
        const int *leaves = ranks[i].be->shard_leaves(ranks[i].e);
        float *const *records = ranks[i].be->records(ranks[i].e, &count);
        int nodes = reduction_tree_cover(tree, leaves[ranks[i].first_shard],
                                         leaves[ranks[i].end_shard], cover + terms);
        assert_int_equal(nodes, count);
        for (int k = 0; k < count; k++) term[terms++] = records[k];
        assert_true(terms < TERMS / 2);
    }
    reduction_tree_sum(tree, cover, term, terms, out, n);
}

static void step_all(rank *ranks, const problem *p, const execution *x, const update_rule *rule) {
    static const char name[] = "cpu";
    pthread_t threads[MAX_SHARDS];
    shared_rows shared = {.shards = p->s->shards};
    shared.rows = calloc((size_t)p->s->shards, ROW_BYTES);
    assert_non_null(shared.rows);
    assert_int_equal(pthread_barrier_init(&shared.barrier, NULL, (unsigned)x->engines), 0);
    for (int i = 0; i < x->engines; i++) {
        ranks[i].p = p, ranks[i].x = x, ranks[i].rule = rule, ranks[i].shared = &shared;
        ranks[i].be = backend_find(name);
        assert_non_null(ranks[i].be);
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

// The step of a problem, by any number of engines; update and inference by the first of them.
static void run(const problem *p, const execution *x, const update_rule *rule, outcome *o) {
    rank ranks[MAX_SHARDS] = {{0}};
    error err;
    const program *prog = &p->m.program;
    outcome_init(o, p, rule);
    step_all(ranks, p, x, rule);
    const backend *be = ranks[0].be;
    engine *e = ranks[0].e;
    reduce(ranks, x, o->record, o->record_floats);

    // Inference first: with the parameters that the step saw.
    if (be->infer(e, p->pixels, (size_t)p->samples, o->logits, &err) != STATUS_OK)
        fail_msg("%s", err.message);
    memcpy(be->reduced(e), o->record, o->record_floats * sizeof(float));
    if (be->update(e, rule, &o->result, &err) != STATUS_OK) fail_msg("%s", err.message);
    be->read(e, o->updated, o->updated + prog->parameters,
             o->updated + prog->parameters + prog->buffers);
    for (int i = 0; i < x->engines; i++) be->close(ranks[i].e);
}

// ---- Comparing ----

static tolerance tolerance_of(const problem *p) {
    for (int v = 0; v < p->s->shards; v++)
        if (p->m.program.buffers && p->s->count[v] > 0 && p->s->count[v] < FEW_SAMPLES) return FEW;
    return MANY;
}

// Tensor by tensor. One that is nearly zero is measured against the whole: the bias before a batch
// norm has no gradient.
static void compare_gradients(const problem *p, const float *record, const double *expected) {
    const program *prog = &p->m.program;
    double *got = ops_zeros(prog->parameters), *zero = ops_zeros(prog->parameters);
    widen(record, got, prog->parameters);
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

// Means are measured against the deviations: a mean near zero has no relative error of its own.
static void compare_statistics(const problem *p, const float *record, const double *expected) {
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
            if (!(fabs((double)record[mean] - expected[mean]) <= allowed * deviation))
                fail_msg("%s: mean of channel %d is %.9g, not %.9g", l->name, c,
                         (double)record[mean], expected[mean]);
            if (!(fabs((double)record[variance] - expected[variance]) <=
                  allowed * expected[variance]))
                fail_msg("%s: variance of channel %d is %.9g, not %.9g", l->name, c,
                         (double)record[variance], expected[variance]);
        }
    }
}

static void compare_with_reference(const problem *p, const outcome *o) {
    const program *prog = &p->m.program;
    const reference_batch b = reference_batch_of(p);
    const size_t tail = prog->parameters + prog->buffers;
    double *record = ops_zeros(o->record_floats), *logits = ops_zeros(o->logits_floats);
    double *got = ops_zeros(o->logits_floats);
    error err;
    assert_int_equal(reference_step(prog, p->parameters64, &b, record, NULL, &err), STATUS_OK);
    compare_gradients(p, o->record, record);
    compare_statistics(p, o->record, record);
    const double loss = (double)o->record[tail + RECORD_LOSS];
    ops_near("loss", &loss, &record[tail + RECORD_LOSS], 1, tolerance_of(p).value);

    assert_int_equal(
        reference_infer(prog, p->parameters64, p->buffers64, p->samples, p->inputs, logits, &err),
        STATUS_OK);
    widen(o->logits, got, o->logits_floats);
    ops_near("logits of inference", got, logits, o->logits_floats, MANY.value);
    free(record), free(logits), free(got);
}

// The update, from the very record that the engine reduced.
static void compare_update(const problem *p, const outcome *o, const update_rule *rule) {
    const program *prog = &p->m.program;
    const reference_batch b = reference_batch_of(p);
    const size_t n = prog->parameters, states = (size_t)update_state_arrays(rule->kind);
    double *record = ops_zeros(o->record_floats), *expected = ops_zeros(o->updated_floats);
    double *got = ops_zeros(o->updated_floats);
    widen(o->record, record, o->record_floats);
    widen(o->updated, got, o->updated_floats);
    memcpy(expected, p->parameters64, n * sizeof *expected);
    memcpy(expected + n, p->buffers64, prog->buffers * sizeof *expected);
    memcpy(expected + n + prog->buffers, p->state64, states * n * sizeof *expected);
    reference_update(rule, 1.0 / p->samples, n, record, expected, expected + n + prog->buffers);
    reference_update_buffers(prog, &b, record, expected + n);
    ops_near("parameters after the update", got, expected, n, 1e-6);
    ops_near("running statistics", got + n, expected + n, prog->buffers, 1e-6);
    ops_near("optimizer state", got + n + prog->buffers, expected + n + prog->buffers, states * n,
             1e-6);
    const double loss = (double)o->result.loss,
                 mean = record[n + prog->buffers + RECORD_LOSS] / p->samples;
    ops_near("mean loss", &loss, &mean, 1, 1e-6);
    free(record), free(expected), free(got);
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
    same_bits("record", a->record, b->record, a->record_floats, x);
    same_bits("logits", a->logits, b->logits, a->logits_floats, x);
    same_bits("after the update", a->updated, b->updated, a->updated_floats, x);
    assert_true(a->result.digest == b->result.digest);
    assert_true(memcmp(&a->result.loss, &b->result.loss, sizeof a->result.loss) == 0);
}

// ---- Steps ----

enum { MAX_EXECUTIONS = 32 };

// Every instruction set that the processor has, over numbers of threads (the baseline is slow: its
// fused multiply-add is a function call), and the shards dealt to several engines, evenly and not.
static int executions(const split *s, execution x[MAX_EXECUTIONS]) {
    static const execution single[] = {{"baseline", 1, 1}, {"v3", 1, 1}, {"v3", 3, 1},
                                       {"v4", 1, 1},       {"v4", 2, 1}, {"v4", 3, 1}};
    int n = 0;
    for (size_t i = 0; i < sizeof single / sizeof *single; i++)
        if (kernels_find(single[i].isa, GROUP)) x[n++] = single[i];
    const char *best = x[n - 1].isa;
    for (int engines = 2; engines <= s->shards && engines <= 4; engines++)
        x[n++] = (execution){best, 1 + engines % 2, engines};
    return n;
}

// One execution against the reference, and the bits of all others against that one.
static void check_problem(const problem *p, const update_rule *rule) {
    outcome first = {0};
    execution x[MAX_EXECUTIONS];
    const int n = executions(p->s, x);
    run(p, &x[0], rule, &first);
    compare_with_reference(p, &first);
    compare_update(p, &first, rule);
    for (int i = 1; i < n; i++) {
        outcome other = {0};
        run(p, &x[i], rule, &other);
        compare_bits(&other, &first, &x[i]);
        outcome_release(&other);
    }
    outcome_release(&first);
}

static void check(const model_case *m, const split *s, const update_rule *rule) {
    problem p;
    problem_init(&p, m, s);
    check_problem(&p, rule);
    problem_release(&p);
}

typedef struct test_case {
    char name[120];
    const model_case *m;
    const split *s;
} test_case;

static void test_step(void **state) {
    static const update_rule rule = {
        .kind = UPDATE_SGD, .lr = 0.5f, .momentum = 0.9f, .weight_decay = 0.01f};
    const test_case *c = *state;
    check(c->m, c->s, &rule);
}

// ---- Updates ----

typedef struct update_case {
    const char *name;
    update_rule rule;
} update_case;

static const update_case updates[] = {
    {"update: sgd", {.kind = UPDATE_SGD, .lr = 0.1f}},
    {"update: sgd, momentum", {.kind = UPDATE_SGD, .lr = 0.1f, .momentum = 0.9f}},
    {"update: sgd, nesterov", {UPDATE_SGD, 0.1f, 0.0f, 0.9f, true, 0, 0, 0, 3}},
    {"update: sgd, nesterov, weight decay", {UPDATE_SGD, 0.3f, 0.02f, 0.5f, true, 0, 0, 0, 3}},
    {"update: adam, first step", {UPDATE_ADAM, 0.01f, 0.0f, 0, false, 0.9f, 0.999f, 1e-8f, 0}},
    {"update: adam, weight decay", {UPDATE_ADAM, 0.01f, 0.1f, 0, false, 0.9f, 0.999f, 1e-8f, 9}},
    {"update: adamw", {UPDATE_ADAMW, 0.01f, 0.1f, 0, false, 0.8f, 0.95f, 1e-4f, 1000}},
};

static void test_update(void **state) {
    const update_case *c = *state;
    static const model_case m = {
        .name = "update",
        .input = "[2, 7, 7]",
        .layers = "[conv: {out: 5, kernel: 3}, batch_norm, relu, max_pool: {size: 2}, flatten, "
                  "linear: {out: 13}, batch_norm, relu, linear: {out: 10}]"};
    static const split s = {.shards = 4, .count = {5, 5, 4, 4}};
    check(&m, &s, &c->rule);
}

// ---- Ties of max pooling ----

// Pixels 0 and 1, and weights -1, 0 and 1 in the convolutions: small integers, which floats hold
// exactly. So windows have equal maxima, from unequal inputs: which one wins shows in the gradient.
static void choose_integers(problem *p) {
    const size_t bytes = (size_t)p->samples * shape_size(p->m.program.input);
    for (size_t i = 0; i < bytes; i++) {
        p->bytes[i] = p->bytes[i] & 1 ? 255 : 0;
        p->inputs[i] = p->bytes[i] / 255.0;
    }
    for (int c = 0; c < ENGINE_MAX_CHANNELS; c++) {
        p->mean[c] = 0;
        p->std[c] = 1;
    }
    for (int i = 0; i < p->m.tensor_count; i++) {
        const model_tensor *t = &p->m.tensors[i];
        if (p->m.program.layers[t->layer].kind != LAYER_CONV) continue;
        double *r = ops_random(t->count, 300 + (uint32_t)i);
        for (size_t k = 0; k < t->count; k++) p->parameters[t->offset + k] = rintf((float)r[k]);
        free(r);
    }
    widen(p->parameters, p->parameters64, p->m.program.parameters);
}

static const model_case ties[] = {
    {.name = "ties: conv, pool, relu",
     .input = "[2, 10, 9]",
     .layers = "[conv: {out: 4, kernel: 3}, max_pool: {size: 2}, relu, conv: {out: 3, kernel: 2}, "
               "relu, flatten, linear: {out: 10}]"},
    {.name = "ties: conv, relu, pool",
     .input = "[2, 9, 10]",
     .layers = "[conv: {out: 5, kernel: 3, padding: 1}, relu, max_pool: {size: 2}, conv: {out: 3, "
               "kernel: 2}, max_pool: {size: 2}, flatten, linear: {out: 10}]"},
    {.name = "ties: pools that overlap",
     .input = "[2, 11, 12]",
     .layers = "[conv: {out: 4, kernel: 3}, max_pool: {size: 3, stride: 2, padding: 1}, conv: "
               "{out: 3, kernel: 2}, max_pool: {size: [3, 2], stride: 1}, flatten, linear: {out: "
               "10}]"},
};

static void test_ties(void **state) {
    static const split s = {.shards = 2, .count = {17, 16}};
    static const update_rule rule = {.kind = UPDATE_SGD, .lr = 0.01f};
    problem p;
    problem_init(&p, *state, &s);
    choose_integers(&p);
    check_problem(&p, &rule);
    problem_release(&p);
}

// ---- One engine used again ----

static engine *open_engine(const problem *p, int threads) {
    engine_options o = {
        .threads = threads, .shards = 1, .local_shards = 1, .shard_samples = p->samples};
    error err;
    engine *e = NULL;
    memcpy(o.mean, p->mean, sizeof o.mean);
    memcpy(o.std, p->std, sizeof o.std);
    if (backend_find("cpu")->open(&p->m.program, &o, UPDATE_SGD, &e, &err) != STATUS_OK)
        fail_msg("%s", err.message);
    backend_find("cpu")->write(e, p->parameters, p->buffers, NULL);
    return e;
}

// The record of the first `samples` samples as one shard.
static void step_first(const problem *p, engine *e, int samples, float *record) {
    const backend *be = backend_find("cpu");
    const batch b = {.shards = 1,
                     .count = &samples,
                     .end_shard = 1,
                     .pixels = p->pixels,
                     .labels = p->labels,
                     .ids = p->ids};
    const execution x = {.engines = 1};
    rank r = {.be = be, .e = e, .end_shard = 1};
    error err;
    if (be->step(e, &b, &err) != STATUS_OK) fail_msg("%s", err.message);
    reduce(&r, &x, record, record_floats(&p->m.program));
}

// What a larger step or an inference left in memory must not show in a smaller step.
static void check_reuse(const model_case *m) {
    static const split whole = {.shards = 1, .count = {40}};
    static const int sizes[] = {40, 5, 17, 1, 40};
    problem p;
    problem_init(&p, m, &whole);
    const backend *be = backend_find("cpu");
    const size_t n = record_floats(&p.m.program);
    float *used = calloc(n, sizeof *used), *fresh = calloc(n, sizeof *fresh);
    float *logits = calloc(40 * (size_t)p.m.program.classes, sizeof *logits);
    assert_true(used && fresh && logits);
    engine *e = open_engine(&p, 2);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        engine *other = open_engine(&p, 1);
        step_first(&p, e, sizes[i], used);
        step_first(&p, other, sizes[i], fresh);
        assert_memory_equal(used, fresh, n * sizeof *used);
        be->close(other);
        error err;
        assert_int_equal(be->infer(e, p.pixels, 33, logits, &err), STATUS_OK);
    }
    be->close(e);
    free(used), free(fresh), free(logits);
    problem_release(&p);
}

static void test_reuse(void **state) {
    (void)state;
    for (size_t i = 0; i < MODELS; i++)
        if (!models[i].large) check_reuse(&models[i]);
}

// Logits of a sample do not depend on its neighbours.
static void test_infer_in_pieces(void **state) {
    (void)state;
    static const split whole = {.shards = 1, .count = {40}};
    static const size_t pieces[] = {1, 16, 3, 20};
    problem p;
    problem_init(&p, &models[MODELS - 2], &whole);
    const size_t classes = (size_t)p.m.program.classes;
    float *once = calloc(40 * classes, sizeof *once), *parts = calloc(40 * classes, sizeof *parts);
    assert_true(once && parts);
    const backend *be = backend_find("cpu");
    engine *e = open_engine(&p, 3);
    error err;
    size_t done = 0;
    assert_int_equal(be->infer(e, p.pixels, 40, once, &err), STATUS_OK);
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; done += pieces[i++])
        assert_int_equal(be->infer(e, p.pixels + done, pieces[i], parts + done * classes, &err),
                         STATUS_OK);
    assert_memory_equal(once, parts, 40 * classes * sizeof *once);
    be->close(e);
    free(once), free(parts);
    problem_release(&p);
}

// ---- Refusals ----

static void expect_refused(const problem *p, engine_options o, const char *reason) {
    engine *e = NULL;
    error err = {0};
    for (int c = 0; c < ENGINE_MAX_CHANNELS; c++) o.std[c] = 1;
    assert_int_equal(backend_find("cpu")->open(&p->m.program, &o, UPDATE_SGD, &e, &err),
                     STATUS_USAGE);
    assert_null(e);
    if (!strstr(err.message, reason)) fail_msg("no '%s' in '%s'", reason, err.message);
}

static void test_refusals(void **state) {
    (void)state;
    problem p;
    problem_init(&p, &models[0], &splits[0]);
    const engine_options good = {.threads = 1, .shards = 2, .local_shards = 2, .shard_samples = 4};
    engine_options o = good;
    o.isa = "v9";
    expect_refused(&p, o, "'v9'");
    o = good;
    o.threads = 0;
    expect_refused(&p, o, "threads");
    o = good;
    o.local_shards = 3;
    expect_refused(&p, o, "shards");
    assert_null(backend_find("abacus"));
    backend_find("cpu")->close(NULL);
    problem_release(&p);
}

// ---- All of them ----

static test_case cases[MODELS * SPLITS];
static struct CMUnitTest tests[MODELS * SPLITS + 100];

static bool has_batch_norm(const model_case *m) {
    problem p;
    static const split one = {.shards = 1, .count = {1}};
    problem_init(&p, m, &one);
    const bool any = p.m.program.buffers > 0;
    problem_release(&p);
    return any;
}

static void name_case(test_case *c) {
    int n = snprintf(c->name, sizeof c->name, "%s: ", c->m->name);
    for (int v = 0; v < c->s->shards; v++)
        n +=
            snprintf(c->name + n, sizeof c->name - (size_t)n, "%s%d", v ? "+" : "", c->s->count[v]);
    snprintf(c->name + n, sizeof c->name - (size_t)n, " samples%s",
             c->s->sync ? ", batch norm over all" : "");
}

static size_t add_steps(size_t n) {
    for (size_t m = 0; m < MODELS; m++) {
        const bool norms = has_batch_norm(&models[m]);
        for (size_t s = 0; s < SPLITS; s++) {
            if (splits[s].sync && !norms) continue;
            if (models[m].large && !splits[s].large_also) continue;
            test_case *c = &cases[m * SPLITS + s];
            *c = (test_case){.m = &models[m], .s = &splits[s]};
            name_case(c);
            tests[n++] =
                (struct CMUnitTest){.name = c->name, .test_func = test_step, .initial_state = c};
        }
    }
    return n;
}

int main(void) {
    static const struct CMUnitTest single[] = {
        cmocka_unit_test(test_reuse),
        cmocka_unit_test(test_infer_in_pieces),
        cmocka_unit_test(test_refusals),
    };
    size_t n = sizeof single / sizeof *single;
    memcpy(tests, single, sizeof single);
    for (size_t i = 0; i < sizeof updates / sizeof *updates; i++)
        tests[n++] = (struct CMUnitTest){.name = updates[i].name,
                                         .test_func = test_update,
                                         .initial_state = (void *)(uintptr_t)&updates[i]};
    for (size_t i = 0; i < sizeof ties / sizeof *ties; i++)
        tests[n++] = (struct CMUnitTest){.name = ties[i].name,
                                         .test_func = test_ties,
                                         .initial_state = (void *)(uintptr_t)&ties[i]};
    n = add_steps(n);
    // cmocka_run_group_tests wants an array of a size known to the compiler.
    return _cmocka_run_group_tests("cpu engine", tests, n, NULL, NULL);
}
