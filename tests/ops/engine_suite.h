// SPDX-License-Identifier: MIT
// engine_suite.h - the tests of an engine, for any backend: every model cut in every way, updates,
// ties of max pooling, reuse of an engine. A test program supplies the backend and the executions
// (threads, instruction sets, engines that share the work) that must agree in every bit.
#ifndef LOCKSTEP_TESTS_ENGINE_SUITE_H
#define LOCKSTEP_TESTS_ENGINE_SUITE_H

#include "../few.h"
#include "engine_frozen.h"
#include "engine_norm_tree.h"
#include "engine_problem.h"

enum { MAX_EXECUTIONS = 32 };

typedef struct engine_suite {
    const backend *be;
    // Fills in the ways to run a step; returns their number.
    int (*executions)(const split *s, execution x[MAX_EXECUTIONS]);
    bool sums_groups; // its trees' leaves are groups of samples, not whole shards
    bool quick;       // it has time for larger batches and more cases where few are asked for
    // Its engines add in the CPU's order. The first execution is the CPU's, which test_engine.c
    // compares with the reference; here only bits are compared.
    bool exact;
    // Of the ninths of all pairs of a model and a split, the one that it runs where few cases are
    // asked for; the fewest are ninth 0. Not if it is quick.
    size_t ninth;
} engine_suite;

static engine_suite suite; // set by main

// Whether to leave out the pair of this model and the split in this column. The large ones have few
// splits: of a ninth of them some models would have none.
static inline bool leaves_out(size_t m, size_t column) {
    if (suite.quick || models[m].large || fewest_cases() || !few_cases())
        return is_left_out(m, column);
    return (m + column) % 9 != suite.ninth;
}

// A split of many samples, whose engines exchange nothing: with few cases, shorter ones are enough
// to show that an engine with some of the shards gives the bits of one with all.
static inline bool is_long(const split *s) {
    int samples = 0;
    for (int v = 0; v < s->shards; v++) samples += s->count[v];
    return samples > 2 * GROUP && !s->sync;
}

// ---- Steps ----

// Checks one execution against the reference, and the bits of all others against that one.
static void check_problem(const problem *p, const update_rule *rule) {
    outcome first = {0};
    execution x[MAX_EXECUTIONS];
    const int n = suite.executions(p->s, x);
    run(p, &x[0], rule, &first);
    if (!suite.exact) {
        compare_with_reference(p, &first);
        compare_update(p, &first, rule);
    }
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
    static const update_rule rule = {.kind = OPTIMIZER_SGD,
                                     .lr = 0.5f,
                                     .hyper = {[HYPER_MOMENTUM] = 0.9f},
                                     .weight_decay = 0.01f};
    const test_case *c = *state;
    check(c->m, c->s, &rule);
}

// ---- Updates ----

typedef struct update_case {
    const char *name;
    update_rule rule;
} update_case;

static const update_case updates[] = {
    {"update: sgd", {.kind = OPTIMIZER_SGD, .lr = 0.1f}},
    {"update: sgd, momentum",
     {.kind = OPTIMIZER_SGD, .lr = 0.1f, .hyper = {[HYPER_MOMENTUM] = 0.9f}}},
    {"update: sgd, nesterov",
     {.kind = OPTIMIZER_SGD,
      .lr = 0.1f,
      .hyper = {[HYPER_MOMENTUM] = 0.9f, [HYPER_NESTEROV] = 1},
      .step = 3}},
    {"update: sgd, nesterov, weight decay",
     {.kind = OPTIMIZER_SGD,
      .lr = 0.3f,
      .weight_decay = 0.02f,
      .hyper = {[HYPER_MOMENTUM] = 0.5f, [HYPER_NESTEROV] = 1},
      .step = 3}},
    {"update: adam, first step",
     {.kind = OPTIMIZER_ADAM,
      .lr = 0.01f,
      .hyper = {[HYPER_BETA1] = 0.9f, [HYPER_BETA2] = 0.999f, [HYPER_EPS] = 1e-8f}}},
    {"update: adam, weight decay",
     {.kind = OPTIMIZER_ADAM,
      .lr = 0.01f,
      .weight_decay = 0.1f,
      .hyper = {[HYPER_BETA1] = 0.9f, [HYPER_BETA2] = 0.999f, [HYPER_EPS] = 1e-8f},
      .step = 9}},
    {"update: sgd, clipped",
     {.kind = OPTIMIZER_SGD,
      .lr = 0.3f,
      .hyper = {[HYPER_MOMENTUM] = 0.9f},
      .clip_norm = 1,
      .factor = 0.0625}},
    {"update: adamw",
     {.kind = OPTIMIZER_ADAMW,
      .lr = 0.01f,
      .weight_decay = 0.1f,
      .hyper = {[HYPER_BETA1] = 0.8f, [HYPER_BETA2] = 0.95f, [HYPER_EPS] = 1e-4f},
      .step = 1000}},
    {"update: adadelta",
     {.kind = OPTIMIZER_ADADELTA,
      .lr = 1,
      .weight_decay = 0.1f,
      .hyper = {[HYPER_RHO] = 0.9f, [HYPER_EPS] = 1e-6f},
      .step = 3}},
};

// A bias before a batch norm has no gradient, and changes only by weight decay: conv1.bias does.
static const model_case updated_model = {
    .name = "update",
    .input = "[2, 7, 7]",
    .layers = "[conv: {out: 5, kernel: 3}, batch_norm, relu, max_pool: {size: 2}, flatten, "
              "linear: {out: 13, bias: false}, batch_norm, relu, linear: {out: 10}]"};
static const split updated_split = {.shards = 4, .count = {5, 5, 4, 4}};

static void test_update(void **state) {
    const update_case *c = *state;
    problem p;
    problem_init(&p, &updated_model, &updated_split);
    problem_suit(&p, c->rule.kind);
    check_problem(&p, &c->rule);
    problem_release(&p);
}

// ---- Groups of parameters ----

enum { ARENA_LINES = 512, FROZEN_GROUP = 2, LAST_GROUP = 3 };

static const parameter_group other_groups[PARAMETER_GROUPS - 1] = {
    {.lr = 0.04f, .weight_decay = 0.3f},
    [FROZEN_GROUP - 1] = {.lr = 0.5f, .weight_decay = 0.5f, .frozen = true},
    [LAST_GROUP - 1] = {.lr = 0.2f, .first_step = 2},
};

static int group_of_tensor(int i) {
    return i % (LAST_GROUP + 1);
}

// Tensors in frozen groups keep their bits, and so does their state; the others change.
static void check_frozen(const problem *p, const outcome *o, int arrays) {
    const size_t n = p->m.program.parameters, after = n + p->m.program.buffers;
    for (int i = 0; i < p->m.tensor_count; i++) {
        const model_tensor *t = &p->m.tensors[i];
        const bool frozen = group_of_tensor(i) == FROZEN_GROUP;
        if (t->is_buffer) continue;
        const size_t bytes = t->count * sizeof(float);
        for (int a = -1; a < arrays; a++) {
            const size_t at = t->offset + (a > 0 ? n : 0);
            const float *before = a < 0 ? p->parameters + at : p->state + at;
            const bool same = memcmp(o->updated + at + (a < 0 ? 0 : after), before, bytes) == 0;
            if (same != frozen) fail_msg("%s: array %d: %s", t->name, a, same ? "same" : "changed");
        }
    }
}

static void test_groups(void **state) {
    const update_case *c = *state;
    update_rule rule = c->rule;
    uint8_t groups[ARENA_LINES] = {0};
    problem p;
    execution x[MAX_EXECUTIONS];
    outcome o = {0};
    problem_init(&p, &updated_model, &updated_split);
    problem_suit(&p, rule.kind);
    assert_true(p.m.program.parameters <= (size_t)ARENA_LINES * ARENA_ALIGNMENT);
    for (int i = 0; i < p.m.tensor_count; i++) {
        const model_tensor *t = &p.m.tensors[i];
        for (size_t k = 0; k < t->count && !t->is_buffer; k++)
            groups[(t->offset + k) / ARENA_ALIGNMENT] = (uint8_t)group_of_tensor(i);
    }
    p.parameter_groups = groups;
    rule.groups = other_groups;
    check_problem(&p, &rule);
    (void)suite.executions(p.s, x);
    run(&p, &x[0], &rule, &o);
    check_frozen(&p, &o, optimizer_states(rule.kind));
    outcome_release(&o);
    problem_release(&p);
}

// ---- Label smoothing ----

// GPUs have separate code for more than 16 classes.
static const model_case smoothed[] = {
    {.name = "label smoothing: 10 classes",
     .input = "[2, 6, 6]",
     .layers = "[conv: {out: 4, kernel: 3}, relu, flatten, linear: {out: 10}]"},
    {.name = "label smoothing: 2 classes",
     .input = "[1, 3, 3]",
     .layers = "[flatten, linear: {out: 9}, relu, linear: {out: 2}]"},
    {.name = "label smoothing: 37 classes",
     .input = "[1, 4, 5]",
     .layers = "[conv: {out: 3, kernel: 3}, flatten, linear: {out: 37}]"},
};

static void test_smoothing(void **state) {
    static const split wide = {.shards = 4, .count = {17, 16, 16, 16}};
    static const split few = {.shards = 2, .count = {3, 2}};
    static const update_rule rule = {.kind = OPTIMIZER_SGD, .lr = 0.1f};
    static const double smoothing[] = {0.2, 0.9};
    for (int i = 0; i < 4; i++) {
        problem p;
        problem_init(&p, *state, i % 2 ? &few : &wide);
        p.smoothing = smoothing[i / 2];
        check_problem(&p, &rule);
        problem_release(&p);
    }
}

// ---- Mixup ----

// Every third sample keeps its label; the others share it, some with the same class.
static void test_mixed_labels(void **state) {
    static const split wide = {.shards = 4, .count = {17, 16, 16, 16}};
    static const update_rule rule = {.kind = OPTIMIZER_SGD, .lr = 0.1f};
    for (int i = 0; i < 2; i++) {
        problem p;
        problem_init(&p, *state, &wide);
        p.smoothing = i * 0.2;
        for (int n = 0; n < p.samples; n++) {
            p.targets[n].other = (uint32_t)(n * 5 % p.m.program.classes);
            p.targets[n].share = (float)(n % 3) * 0.4375f;
        }
        check_problem(&p, &rule);
        problem_release(&p);
    }
}

// ---- Ties of max pooling ----

// Pixels 0 and 1, and weights -1, 0 and 1 in the convolutions: small integers, which floats
// represent exactly. So windows have equal maxima from unequal inputs: the gradient shows which one
// wins.
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
    static const update_rule rule = {.kind = OPTIMIZER_SGD, .lr = 0.01f};
    problem p;
    problem_init(&p, *state, &s);
    choose_integers(&p);
    check_problem(&p, &rule);
    problem_release(&p);
}

// ---- A batch norm far from zero ----

// The first layer's outputs are integers, exact in float as in double, about 1,000 or 30,000 of
// their deviations from zero: only batch norm's own rounding shows.
static const model_case far_from_zero[] = {
    {.name = "far from zero: conv",
     .input = "[2, 9, 8]",
     .layers = "[conv: {out: 5, kernel: 3}, batch_norm, flatten, linear: {out: 10}]"},
    {.name = "far from zero: conv, relu, conv",
     .input = "[2, 10, 9]",
     .layers = "[conv: {out: 4, kernel: 3}, batch_norm, relu, conv: {out: 3, kernel: 2}, flatten, "
               "linear: {out: 10}]"},
    {.name = "far from zero: conv, relu, pool, conv",
     .input = "[2, 11, 12]",
     .layers = "[conv: {out: 6, kernel: 3, padding: 1}, batch_norm, relu, max_pool: {size: 2}, "
               "conv: {out: 3, kernel: 3}, flatten, linear: {out: 10}]"},
    {.name = "far from zero: linear",
     .input = "[2, 5, 6]",
     .layers = "[flatten, linear: {out: 37}, batch_norm, relu, linear: {out: 10}]"},
    {.name = "far from zero: conv, gelu",
     .input = "[2, 9, 8]",
     .layers = "[conv: {out: 5, kernel: 3}, batch_norm, gelu, flatten, linear: {out: 10}]"},
};

static void choose_far(problem *p, float mean) {
    choose_integers(p);
    const model_tensor *weight = &p->m.tensors[0], *bias = &p->m.tensors[1];
    double *r = ops_random(weight->count, 500);
    for (size_t k = 0; k < weight->count; k++)
        p->parameters[weight->offset + k] = rintf((float)r[k]);
    for (size_t c = 0; c < bias->count; c++)
        p->parameters[bias->offset + c] = c % 2 ? -mean : mean + (float)c;
    free(r);
    widen(p->parameters, p->parameters64, p->m.program.parameters);
}

static void test_far(void **state) {
    static const split batches[] = {{.shards = 1, .count = {45}},
                                    {.shards = 3, .count = {17, 16, 16}},
                                    {.shards = 3, .count = {17, 16, 16}, .sync = true}};
    static const float means[] = {2000, 60000};
    static const update_rule rule = {.kind = OPTIMIZER_SGD, .lr = 0.01f};
    const size_t which = (size_t)((const model_case *)*state - far_from_zero);
    for (size_t i = 0; i < 6; i++) {
        problem p;
        // With few cases each model has every batch, and every mean.
        if (few_cases() && (which + i / 2 + i % 2) % 2) continue;
        problem_init(&p, *state, &batches[i / 2]);
        choose_far(&p, means[i % 2]);
        check_problem(&p, &rule);
        problem_release(&p);
    }
}

// ---- Reuse of an engine ----

static engine *open_engine(const problem *p, int threads) {
    engine_options o = {.threads = threads,
                        .shards = 1,
                        .local_shards = 1,
                        .shard_samples = p->samples,
                        .exact = suite.exact};
    error err;
    engine *e = NULL;
    memcpy(o.mean, p->mean, sizeof o.mean);
    memcpy(o.std, p->std, sizeof o.std);
    if (suite.be->open(&p->m.program, &o, OPTIMIZER_SGD, &e, &err) != STATUS_OK)
        fail_msg("%s", err.message);
    suite.be->write(e, p->parameters, p->buffers, NULL);
    return e;
}

// Returns the first *samples of the problem as one shard.
static batch first_samples(const problem *p, const int *samples) {
    return (batch){.shards = 1,
                   .count = samples,
                   .end_shard = 1,
                   .pixels = p->pixels,
                   .targets = p->targets,
                   .ids = p->ids};
}

// Writes the gradient buffer of the first `samples` samples as one shard.
static void step_first(const problem *p, engine *e, int samples, float *gradients) {
    const backend *be = suite.be;
    const batch b = first_samples(p, &samples);
    const execution x = {.engines = 1};
    rank r = {.be = be, .e = e, .end_shard = 1};
    error err;
    if (be->run(e, &b, NULL, &err) != STATUS_OK) fail_msg("%s", err.message);
    reduce(&r, &x, gradients, gradient_floats(&p->m.program));
}

// Values that a larger step or an inference left in memory must not show in a smaller step, nor in
// a larger one again, which sanitizers have seen by then.
static void check_reuse(const model_case *m) {
    enum { WHOLE = 33 };
    static const split whole = {.shards = 1, .count = {WHOLE}};
    static const int all_sizes[] = {5, 17, 1, WHOLE}, few_sizes[] = {5, WHOLE};
    const bool few = few_cases() && !suite.quick;
    const int *sizes = few ? few_sizes : all_sizes;
    const size_t some = fewest_cases() ? 1 : sizeof few_sizes / sizeof *sizes;
    const size_t count = few ? some : sizeof all_sizes / sizeof *sizes;
    problem p;
    problem_init(&p, m, &whole);
    const backend *be = suite.be;
    const size_t n = gradient_floats(&p.m.program);
    float *used = calloc(n, sizeof *used), *fresh = calloc(n, sizeof *fresh);
    float *logits = calloc(WHOLE * (size_t)p.m.program.classes, sizeof *logits);
    assert_true(used && fresh && logits);
    engine *e = open_engine(&p, 2);
    step_first(&p, e, WHOLE, used);
    for (size_t i = 0; i < count; i++) {
        error err;
        if (i % 2 == 0) assert_int_equal(be->infer(e, p.pixels, WHOLE, logits, &err), STATUS_OK);
        engine *other = open_engine(&p, 1);
        step_first(&p, e, sizes[i], used);
        step_first(&p, other, sizes[i], fresh);
        assert_memory_equal(used, fresh, n * sizeof *used);
        be->close(other);
    }
    be->close(e);
    free(used), free(fresh), free(logits);
    problem_release(&p);
}

static void test_reuse(void **state) {
    (void)state;
    for (size_t i = 0; i < MODELS; i++)
        if (!models[i].large && !leaves_out(i, 0)) check_reuse(&models[i]);
}

static void test_frozen_left_out(void **state) {
    (void)state;
    enum { FROZEN_SPLITS = sizeof freezing_splits / sizeof *freezing_splits };
    const int stride = fewest_cases() ? FREEZABLE_CHOICES : few_cases() && !suite.quick ? 2 : 1;
    for (size_t i = 0; i < MODELS; i++)
        for (size_t k = suite.quick ? 0 : FROZEN_SPLITS - 1; k < FROZEN_SPLITS; k++)
            if (!models[i].large && !leaves_out(i, k))
                check_frozen_left_out(&models[i], &freezing_splits[k], suite.be, suite.exact,
                                      (int)i % stride, stride);
}

// A small one, for tests of the order of calls: its layers and values do not matter to them.
static const model_case *small_model(void) {
    size_t i = 0;
    while (strcmp(models[i].name, "vgg-bn, small") != 0) i++;
    return &models[i];
}

typedef enum between { NOTHING, GRADIENTS, INFERENCE, READING, WRITING } between;

// The operations that may come between a step and its update.
static void come_between(const problem *p, engine *e, between what, float *scratch) {
    const backend *be = suite.be;
    error err;
    int count;
    switch (what) {
    case GRADIENTS: assert_non_null(be->gradients(e, &count)[0]); break;
    case INFERENCE: assert_int_equal(be->infer(e, p->pixels, 9, scratch, &err), STATUS_OK); break;
    case READING: assert_int_equal(be->read(e, scratch, NULL, NULL, &err), STATUS_OK); break;
    // After the step, whose gradients are those of its own parameters.
    case WRITING: be->write(e, p->parameters, NULL, NULL); break;
    case NOTHING: break;
    }
}

// Runs two steps; the second uses the first one's results. Two updates follow the second step: an
// engine that delays a step until its update must not run it twice.
static update_result update_behind(const problem *p, between what, float *parameters) {
    const backend *be = suite.be;
    const update_rule rule = {.kind = OPTIMIZER_SGD, .lr = 0.1f};
    engine *e = open_engine(p, 2);
    error err;
    update_result result = {0};
    for (int step = 0; step < 2; step++) {
        const int samples = p->samples - step;
        const batch b = first_samples(p, &samples);
        assert_int_equal(be->run(e, &b, NULL, &err), STATUS_OK);
        come_between(p, e, step == 0 && what == WRITING ? NOTHING : what, parameters);
        assert_int_equal(be->update(e, &rule, &result, &err), STATUS_OK);
    }
    assert_int_equal(be->update(e, &rule, &result, &err), STATUS_OK);
    assert_int_equal(be->read(e, parameters, NULL, NULL, &err), STATUS_OK);
    be->close(e);
    return result;
}

static void test_between(void **state) {
    (void)state;
    static const split whole = {.shards = 1, .count = {21}};
    problem p;
    problem_init(&p, small_model(), &whole);
    const size_t n = p.m.program.parameters;
    float *plain = calloc(n, sizeof *plain), *other = calloc(n, sizeof *other);
    assert_true(plain && other);
    const update_result expected = update_behind(&p, NOTHING, plain);
    for (between what = GRADIENTS; what < WRITING; what++) {
        const update_result got = update_behind(&p, what, other);
        assert_memory_equal(plain, other, n * sizeof *plain);
        assert_int_equal(expected.digest, got.digest);
        assert_memory_equal(&expected.loss, &got.loss, sizeof got.loss);
    }
    // The loss is that of the step, not that of parameters written after it.
    assert_float_equal(update_behind(&p, WRITING, other).loss, expected.loss, 0);
    assert_memory_not_equal(plain, other, n * sizeof *plain);
    problem_release(&p);
    free(plain), free(other);
}

// A sample's logits do not depend on its neighbours.
static void test_infer_in_pieces(void **state) {
    (void)state;
    static const split whole = {.shards = 1, .count = {40}};
    static const size_t pieces[] = {1, 16, 3, 20};
    problem p;
    problem_init(&p, small_model(), &whole);
    const size_t classes = (size_t)p.m.program.classes;
    float *once = calloc(40 * classes, sizeof *once), *parts = calloc(40 * classes, sizeof *parts);
    assert_true(once && parts);
    const backend *be = suite.be;
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

// An engine that has inferred, stepped and been updated infers as one that was opened with its
// parameters.
static void check_infer_after_update(const model_case *m) {
    static const split whole = {.shards = 1, .count = {21}};
    static const update_rule rule = {.kind = OPTIMIZER_SGD, .lr = 0.1f};
    problem p;
    problem_init(&p, m, &whole);
    const backend *be = suite.be;
    const size_t n = (size_t)p.samples * (size_t)p.m.program.classes;
    float *used = calloc(n, sizeof *used), *fresh = calloc(n, sizeof *fresh);
    assert_true(used && fresh);
    engine *e = open_engine(&p, 2);
    const batch b = first_samples(&p, &p.samples);
    update_result result;
    error err;
    assert_int_equal(be->infer(e, p.pixels, (size_t)p.samples, used, &err), STATUS_OK);
    assert_int_equal(be->run(e, &b, NULL, &err), STATUS_OK);
    assert_int_equal(be->update(e, &rule, &result, &err), STATUS_OK);
    assert_int_equal(be->infer(e, p.pixels, (size_t)p.samples, used, &err), STATUS_OK);
    assert_int_equal(be->read(e, p.parameters, p.buffers, NULL, &err), STATUS_OK);
    engine *other = open_engine(&p, 1);
    assert_int_equal(be->infer(other, p.pixels, (size_t)p.samples, fresh, &err), STATUS_OK);
    assert_memory_equal(used, fresh, n * sizeof *used);
    be->close(e);
    be->close(other);
    free(used), free(fresh);
    problem_release(&p);
}

static void test_infer_after_update(void **state) {
    (void)state;
    for (size_t i = 0; i < MODELS; i++)
        if (!models[i].large && !leaves_out(i, 0)) check_infer_after_update(&models[i]);
    // lenet-bn: on a GPU, layers of many positions and few outputs have blocks of their own.
    check_infer_after_update(&models[MODELS - 2]);
}

// ---- The tree of a batch norm ----

static void test_norm_tree(void **state) {
    static const update_rule rule = {.kind = OPTIMIZER_SGD, .lr = 0.01f};
    const split *s = *state;
    int groups[MAX_SHARDS];
    reduction_tree tree;
    execution x[MAX_EXECUTIONS];
    problem p;
    error err;
    for (int v = 0; v < s->shards; v++) groups[v] = s->count[v] / GROUP;
    assert_int_equal(reduction_tree_init(&tree, groups, s->shards, &err), STATUS_OK);
    problem_init(&p, &norm_model, s);
    choose_groups(&p);
    const int n = suite.executions(s, x);
    for (int i = 0; i < n; i++) {
        outcome o = {0};
        run(&p, &x[i], &rule, &o);
        for (int c = 0; c < NORM_CHANNELS; c++) check_channel(&p, &tree, c, &o);
        outcome_release(&o);
    }
    reduction_tree_release(&tree);
    problem_release(&p);
}

// ---- A NaN ----

// Layers that might stop a NaN on its way to the loss.
static const model_case leaks[] = {
    {.name = "a NaN: relu",
     .input = "[1, 3, 3]",
     .layers = "[flatten, linear: {out: 9}, relu, "
               "linear: {out: 10}]"},
    {.name = "a NaN: batch norm, relu",
     .input = "[1, 3, 3]",
     .layers = "[flatten, linear: {out: 9}, batch_norm, relu, linear: {out: 10}]"},
    {.name = "a NaN: conv, relu",
     .input = "[1, 4, 5]",
     .layers = "[conv: {out: 3, kernel: 3, padding: 1}, relu, flatten, linear: {out: 10}]"},
    {.name = "a NaN: conv, relu, pool",
     .input = "[1, 4, 4]",
     .layers = "[conv: {out: 3, kernel: 1}, relu, max_pool: {size: 2}, flatten, linear: {out: "
               "10}]"},
    {.name = "a NaN: conv, pool",
     .input = "[1, 5, 5]",
     .layers = "[conv: {out: 3, kernel: 2}, max_pool: {size: 2}, flatten, linear: {out: 10}]"},
    {.name = "a NaN: conv, batch norm, relu, pool",
     .input = "[1, 5, 5]",
     .layers = "[conv: {out: 3, kernel: 2, bias: true}, batch_norm, relu, max_pool: {size: 2}, "
               "flatten, linear: {out: 10}]"},
    {.name = "a NaN: pools alone",
     .input = "[1, 7, 7]",
     .layers = "[conv: {out: 3, kernel: 2}, relu, max_pool: {size: 3, stride: 1, padding: 1}, "
               "avg_pool: {size: 2}, flatten, linear: {out: 10}]"},
};

// In the first layer's last parameter, the bias of one channel.
static void test_nan(void **state) {
    static const split s = {.shards = 2, .count = {5, 4}};
    static const update_rule rule = {.kind = OPTIMIZER_SGD, .lr = 0.01f};
    problem p;
    execution x[MAX_EXECUTIONS];
    problem_init(&p, *state, &s);
    const model_tensor *bias = &p.m.tensors[1];
    assert_non_null(strstr(bias->name, ".bias"));
    p.parameters[bias->offset + bias->count - 1] = NAN;
    const int n = suite.executions(&s, x);
    for (int i = 0; i < n; i++) {
        outcome o = {0};
        run(&p, &x[i], &rule, &o);
        if (!isnan(o.result.loss)) fail_msg("the loss is %g", (double)o.result.loss);
        for (size_t k = 0; k < o.logits_floats; k++) assert_true(isnan(o.logits[k]));
        outcome_release(&o);
    }
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
        for (size_t s = 0, column = 0; s < SPLITS; s++) {
            if (splits[s].sync && !norms) continue;
            if (models[m].large && !splits[s].large_also) continue;
            if (leaves_out(m, column++)) continue;
            test_case *c = &cases[m * SPLITS + s];
            *c = (test_case){.m = &models[m], .s = &splits[s]};
            name_case(c);
            tests[n++] =
                (struct CMUnitTest){.name = c->name, .test_func = test_step, .initial_state = c};
        }
    }
    return n;
}

static size_t add_case(size_t n, const char *name, CMUnitTestFunction function, const void *state) {
    tests[n] = (struct CMUnitTest){
        .name = name, .test_func = function, .initial_state = (void *)(uintptr_t)state};
    return n + 1;
}

// LOCKSTEP_TEST_PART=KofN: runs every N-th test, from the K-th on. Returns their number.
static size_t take_part(size_t n) {
    const char *text = getenv("LOCKSTEP_TEST_PART");
    size_t part, parts, taken = 0;
    if (!text) return n;
    if (sscanf(text, "%zuof%zu", &part, &parts) != 2 || part < 1 || part > parts) {
        fprintf(stderr, "LOCKSTEP_TEST_PART='%s': expected as in 1of2\n", text);
        abort();
    }
    for (size_t i = part - 1; i < n; i += parts) tests[taken++] = tests[i];
    return taken;
}

// Runs `extra` and then the suite, or LOCKSTEP_TEST_PART of both.
static int run_suite(const char *name, const struct CMUnitTest *extra, size_t extras) {
    size_t n = extras;
    if (extras) memcpy(tests, extra, extras * sizeof *extra);
    n = add_case(n, "one engine used again", test_reuse, NULL);
    n = add_case(n, "gradients of frozen parameters left out", test_frozen_left_out, NULL);
    n = add_case(n, "between a step and its update", test_between, NULL);
    n = add_case(n, "inference in pieces", test_infer_in_pieces, NULL);
    n = add_case(n, "inference after an update", test_infer_after_update, NULL);
    for (size_t i = 0; i < sizeof updates / sizeof *updates; i++)
        n = add_case(n, updates[i].name, test_update, &updates[i]);
    static char words[OPTIMIZER_KINDS][64];
    static update_case defaults[OPTIMIZER_KINDS];
    for (int k = 0; k < OPTIMIZER_KINDS; k++) {
        snprintf(words[k], sizeof words[k], "update: %s, defaults", optimizer_kind_traits[k].word);
        defaults[k] = (update_case){words[k], default_rule((optimizer_kind)k)};
        defaults[k].rule.weight_decay = 0.1f;
        defaults[k].rule.step = 9;
        n = add_case(n, words[k], test_update, &defaults[k]);
    }
    static char grouped[sizeof updates / sizeof *updates][64];
    for (size_t i = 0; i < sizeof updates / sizeof *updates; i++) {
        snprintf(grouped[i], sizeof grouped[i], "groups of parameters: %s", updates[i].name);
        n = add_case(n, grouped[i], test_groups, &updates[i]);
    }
    for (size_t i = 0; i < sizeof smoothed / sizeof *smoothed; i++)
        n = add_case(n, smoothed[i].name, test_smoothing, &smoothed[i]);
    static const char *const mixed[] = {"mixup: 10 classes", "mixup: 2 classes",
                                        "mixup: 37 classes"};
    for (size_t i = 0; i < sizeof mixed / sizeof *mixed; i++)
        n = add_case(n, mixed[i], test_mixed_labels, &smoothed[i]);
    for (size_t i = 0; i < sizeof ties / sizeof *ties; i++)
        n = add_case(n, ties[i].name, test_ties, &ties[i]);
    for (size_t i = 0; i < sizeof far_from_zero / sizeof *far_from_zero; i++)
        n = add_case(n, far_from_zero[i].name, test_far, &far_from_zero[i]);
    static char names[sizeof norm_trees / sizeof *norm_trees][64];
    for (size_t i = 0; i < sizeof norm_trees / sizeof *norm_trees; i++) {
        if (!suite.sums_groups && norm_trees[i].count[0] > GROUP) continue;
        snprintf(names[i], sizeof names[i], "tree of a batch norm: %d shards of %d groups%s",
                 norm_trees[i].shards, norm_trees[i].count[0] / GROUP,
                 norm_trees[i].sync ? ", over all" : "");
        n = add_case(n, names[i], test_norm_tree, &norm_trees[i]);
    }
    for (size_t i = 0; i < sizeof leaks / sizeof *leaks; i++)
        n = add_case(n, leaks[i].name, test_nan, &leaks[i]);
    n = take_part(add_steps(n));
    // cmocka_run_group_tests needs an array of a size known at compile time.
    return _cmocka_run_group_tests(name, tests, n, NULL, NULL);
}

#endif
