// SPDX-License-Identifier: MIT
// The CUDA engine that adds in the CPU's order (engine_options.exact) against the CPU engine, bit
// for bit: the tests of both engines (engine_suite.h), with the CPU's results as the expected ones.
//
// LOCKSTEP_CUDA_LIBRARY and LOCKSTEP_TEST_FILTER are as in test_cuda_engine.c.
#include "engine_suite.h"

#include "compute/devices.h"

// The CPU; and one engine, and those with the least even shares.
static int executions(const split *s, execution x[MAX_EXECUTIONS]) {
    const int uneven = s->shards < 3 ? 2 : 3;
    int n = 0;
    x[n++] = (execution){backend_find("cpu"), NULL, 1, 1, false};
    x[n++] = (execution){suite.be, NULL, 1, 1, true};
    if (uneven <= s->shards && !(few_cases() && is_long(s)))
        x[n++] = (execution){suite.be, NULL, 1, uneven, true};
    return n;
}

// ---- Larger layers ----

// Blocks of many weights, whose threads have several, or with a stride or one tap many; blocks of
// many outputs; and a linear layer of so many inputs that its sums have parts.
static model_case large_layers[] = {
    {.name = "many weights",
     .input = "[3, 8, 7]",
     .layers = "[conv: {out: 43, kernel: 5, padding: 2}, relu, conv: {out: 46, kernel: 5}, "
               "batch_norm, relu, flatten, linear: {out: 10}]"},
    {.name = "many weights of small images",
     .input = "[3, 4, 4]",
     .layers = "[conv: {out: 32, kernel: 1}, relu, conv: {out: 32, kernel: 3, stride: 2, padding: "
               "1}, relu, conv: {out: 192, kernel: 1}, relu, flatten, linear: {out: 5}]"},
    {.name = "many outputs and inputs",
     .input = "[2, 33, 34]",
     .layers = "[conv: {out: 130, kernel: 1}, relu, flatten, linear: {out: 5}]"},
};

// Blocks and parts follow from the layers: a sanitizer sees every access with few samples.
static void test_large(void **state) {
    static const split whole = {.shards = 1, .count = {33}}, few = {.shards = 1, .count = {5}};
    static const update_rule rule = {.kind = OPTIMIZER_SGD, .lr = 0.1f};
    check(*state, fewest_cases() ? &few : &whole, &rule);
}

// ---- Many steps ----

enum { STEPS = 12 }; // more than are prepared ahead: graphs are replayed

// What a run leaves.
typedef struct course {
    update_result results[STEPS];
    float *values; // parameters, buffers and optimizer state
    size_t floats;
} course;

static engine *open_course(const problem *p, const backend *be, bool exact, optimizer_kind kind) {
    engine_options o = {.threads = 1,
                        .shards = p->s->shards,
                        .local_shards = p->s->shards,
                        .shard_samples = p->s->count[0],
                        .seed = PROBLEM_SEED,
                        .sync_batch_norm = p->s->sync,
                        .label_smoothing = (float)p->smoothing,
                        .exact = exact};
    engine *e = NULL;
    error err;
    memcpy(o.mean, p->mean, sizeof o.mean);
    memcpy(o.std, p->std, sizeof o.std);
    if (be->open(&p->m.program, &o, kind, &e, &err) != STATUS_OK) fail_msg("%s", err.message);
    be->write(e, p->parameters, p->buffers, p->state);
    return e;
}

// Every third step is shorter, as at the end of an epoch.
static void run_course(const problem *p, const backend *be, bool exact, optimizer_kind kind,
                       course *out) {
    const size_t n = p->m.program.parameters, buffers = p->m.program.buffers;
    engine *e = open_course(p, be, exact, kind);
    error err;
    out->floats = n + buffers + (size_t)optimizer_states(kind) * n;
    out->values = calloc(out->floats, sizeof(float));
    assert_non_null(out->values);
    for (int i = 0; i < STEPS; i++) {
        int count[MAX_SHARDS];
        for (int v = 0; v < p->s->shards; v++)
            count[v] = i % 3 == 2 ? (p->s->count[v] + 1) / 2 : p->s->count[v];
        batch b = whole_batch(p);
        b.count = count;
        b.epoch = (uint32_t)i;
        update_rule rule = default_rule(kind);
        rule.lr = kind == OPTIMIZER_SGD ? 0.05f : 0.002f;
        rule.weight_decay = 0.001f;
        rule.hyper[HYPER_MOMENTUM] = 0.9f;
        rule.hyper[HYPER_BETA2] = 0.99f;
        rule.step = (uint64_t)i;
        if (be->run(e, &b, NULL, &err) != STATUS_OK ||
            be->update(e, &rule, &out->results[i], &err) != STATUS_OK)
            fail_msg("%s", err.message);
    }
    if (be->read(e, out->values, out->values + n, out->values + n + buffers, &err) != STATUS_OK)
        fail_msg("%s", err.message);
    be->close(e);
}

static void compare_courses(const course *a, const course *b) {
    for (int i = 0; i < STEPS; i++) {
        if (memcmp(&a->results[i].loss, &b->results[i].loss, sizeof(float)))
            fail_msg("step %d: the losses are %.9g and %.9g", i, (double)a->results[i].loss,
                     (double)b->results[i].loss);
        if (a->results[i].digest != b->results[i].digest) fail_msg("step %d: other parameters", i);
    }
    assert_memory_equal(a->values, b->values, a->floats * sizeof(float));
}

static void test_steps(void **state) {
    (void)state;
    static const model_case m = {
        .name = "steps",
        .input = "[3, 12, 12]",
        .layers = "[conv: {out: 8, kernel: 3, padding: 1}, batch_norm, relu, max_pool: {size: 2}, "
                  "dropout: {p: 0.25}, conv: {out: 12, kernel: 3}, relu, max_pool: {size: 2, "
                  "stride: 1}, flatten, linear: {out: 34}, batch_norm, relu, linear: {out: 10}]"};
    static const split batches[] = {{.shards = 1, .count = {37}},
                                    {.shards = 3, .count = {19, 18, 18}, .sync = true},
                                    {.shards = 4, .count = {7, 7, 6, 6}}};
    for (size_t i = 0; i < sizeof batches / sizeof *batches; i++)
        for (int k = 0; k < OPTIMIZER_KINDS; k++) {
            const optimizer_kind kind = (optimizer_kind)k;
            if (few_cases() && k != (int)i) continue;
            // A sanitizer sees every kernel in the smallest batch.
            if (fewest_cases() && i + 1 < sizeof batches / sizeof *batches) continue;
            problem p;
            course cpu, cuda;
            problem_init(&p, &m, &batches[i]);
            problem_suit(&p, kind);
            p.smoothing = 0.1 * (double)i;
            run_course(&p, backend_find("cpu"), false, kind, &cpu);
            run_course(&p, suite.be, true, kind, &cuda);
            compare_courses(&cuda, &cpu);
            free(cpu.values), free(cuda.values);
            problem_release(&p);
        }
}

// ---- Winograd's algorithm ----

// Images of one tile, of part of one, with other paddings; sums of weights that have parts; so many
// channels that a layer takes several portions, which are parts of images, or that its filters
// alone are more than a portion; and so many groups that they are groups of images, the last ones
// fewer. The portions are the emulation's (tests/emulation/cuda_runtime.h); a GPU has one.
static model_case winograd_layers[] = {
    {.name = "winograd: small images",
     .input = "[3, 9, 10]",
     .layers = "[conv: {out: 16, kernel: 3, padding: 0}, relu, conv: {out: 17, kernel: 3, padding: "
               "2}, batch_norm, relu, max_pool: {size: 2}, conv: {out: 35, kernel: 3, padding: 1, "
               "bias: false}, batch_norm, relu, conv: {out: 16, kernel: 3, padding: 0}, relu, "
               "flatten, linear: {out: 10}]"},
    {.name = "winograd: parts of sums",
     .input = "[3, 65, 70]",
     .layers = "[conv: {out: 16, kernel: 1}, relu, conv: {out: 40, kernel: 3, padding: 1}, relu, "
               "max_pool: {size: 7}, flatten, linear: {out: 4}]"},
    {.name = "winograd: portions",
     .input = "[3, 28, 16]",
     .layers = "[conv: {out: 60, kernel: 1}, relu, conv: {out: 52, kernel: 3, padding: 1}, relu, "
               "global_avg_pool, flatten, linear: {out: 4}]"},
    {.name = "winograd: filters larger than a portion",
     .input = "[3, 4, 5]",
     .layers = "[conv: {out: 86, kernel: 1}, relu, conv: {out: 86, kernel: 3, padding: 1}, relu, "
               "global_avg_pool, flatten, linear: {out: 4}]"},
    {.name = "winograd: portions of groups",
     .input = "[3, 8, 8]",
     .layers = "[conv: {out: 20, kernel: 1}, relu, conv: {out: 22, kernel: 3, padding: 1}, relu, "
               "global_avg_pool, flatten, linear: {out: 4}]"},
};

static void test_winograd(void **state) {
    static const split small = {.shards = 1, .count = {5}};
    static const split groups = {.shards = 2, .count = {33, 32}};
    static const split few_groups = {.shards = 2, .count = {17, 16}};
    static const split one_shard = {.shards = 1, .count = {21}};
    static const update_rule rule = {.kind = OPTIMIZER_SGD, .lr = 0.1f};
    // The sums' parts are of images, however many there are: one split has groups of each kind.
    const bool parts = *state == &winograd_layers[1];
    if (parts && few_cases()) {
        check(*state, fewest_cases() ? &small : &one_shard, &rule);
        return;
    }
    check(*state, &small, &rule);
    // For the others the same, for longer.
    if (parts)
        check(*state, &few_groups, &rule);
    else if (*state != &winograd_layers[2] && *state != &winograd_layers[3])
        check(*state, &groups, &rule);
}

// ---- The experiments' models that engine_cases.h lacks ----

static model_case experiment_models[] = {
    {.name = "mlp", .path = "experiments/models/mlp.yaml"},
    {.name = "cnn", .path = "experiments/models/cnn.yaml"},
    {.name = "vgg", .path = "experiments/models/vgg.yaml"},
    {.name = "airbench94", .path = "experiments/models/airbench94.yaml"},
    {.name = "airbench95", .path = "experiments/models/airbench95.yaml"},
    {.name = "wrn-16-4", .path = "experiments/models/wrn-16-4.yaml"},
    {.name = "resnet18", .path = "experiments/models/resnet18.yaml"},
};
enum {
    EXPERIMENTS = sizeof experiment_models / sizeof *experiment_models,
    LARGE_EXPERIMENTS = 3 // the last ones
};

static void test_experiment(void **state) {
    static const split s = {.shards = 1, .count = {1}};
    static const update_rule rule = {.kind = OPTIMIZER_SGD, .lr = 0.1f};
    check(*state, &s, &rule);
}

// Where few cases are asked for, the other tests execute each line and branch of the backend that
// these do (gcov). The large ones would add half as much time.
static size_t experiments_left_out(void) {
    return fewest_cases() ? EXPERIMENTS : few_cases() ? LARGE_EXPERIMENTS : 0;
}

#define EXPERIMENT(i, model)                                         \
    {                                                                \
        .name = "experiments: " model, .test_func = test_experiment, \
        .initial_state = &experiment_models[i]                       \
    }

int main(void) {
    static const struct CMUnitTest extra[] = {{.name = "larger layers: weights",
                                               .test_func = test_large,
                                               .initial_state = &large_layers[0]},
                                              {.name = "larger layers: weights of small images",
                                               .test_func = test_large,
                                               .initial_state = &large_layers[1]},
                                              {.name = "larger layers: outputs and inputs",
                                               .test_func = test_large,
                                               .initial_state = &large_layers[2]},
                                              {.name = "winograd: small images",
                                               .test_func = test_winograd,
                                               .initial_state = &winograd_layers[0]},
                                              {.name = "winograd: parts of sums",
                                               .test_func = test_winograd,
                                               .initial_state = &winograd_layers[1]},
                                              {.name = "winograd: portions",
                                               .test_func = test_winograd,
                                               .initial_state = &winograd_layers[2]},
                                              {.name = "winograd: filters larger than a portion",
                                               .test_func = test_winograd,
                                               .initial_state = &winograd_layers[3]},
                                              {.name = "winograd: portions of groups",
                                               .test_func = test_winograd,
                                               .initial_state = &winograd_layers[4]},
                                              cmocka_unit_test(test_steps),
                                              EXPERIMENT(0, "mlp"),
                                              EXPERIMENT(1, "cnn"),
                                              EXPERIMENT(2, "vgg"),
                                              EXPERIMENT(3, "airbench94"),
                                              EXPERIMENT(4, "airbench95"),
                                              EXPERIMENT(5, "wrn-16-4"),
                                              EXPERIMENT(6, "resnet18")};
    error err = {0};
    suite = (engine_suite){NULL, executions, .sums_groups = true, .exact = true, .ninth = 6};
    if (backend_open("cuda", &suite.be, &err) != STATUS_OK) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    const char *filter = getenv("LOCKSTEP_TEST_FILTER");
    if (filter && *filter) cmocka_set_test_filter(filter);
    return run_suite("exact cuda engine", extra,
                     sizeof extra / sizeof *extra - experiments_left_out());
}
