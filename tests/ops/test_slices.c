// SPDX-License-Identifier: MIT
// Threads that share groups of samples: the bits of a step are those of one thread, for every
// number of slices, and every kind of operation has been cut.
//
// The layers are so large that the plan cuts them, and have odd numbers of channels and rows.
#include "ops.h"

#include <stdio.h>

#include "../few.h"
#include "base/yaml_tree.h"
#include "compute/cpu/cpu_engine.h"
#include "compute/cpu/kernels.h"
#include "compute/plan/step_plan.h"
#include "engine_cases.h"
#include "nn/initial_values.h"
#include "nn/model.h"

enum { MOST_SLICES = 16, SAMPLES = 3 * GROUP, INSTRUCTION_SETS = 3 };

typedef struct network {
    const char *name, *input, *layers;
    size_t number; // with few cases, each network and instruction set has one number of samples
} network;

static const network networks[] = {
    {"strides, pools, batch norm", "[3, 59, 47]",
     "[conv: {out: 7, kernel: 5, stride: 2, padding: 2}, batch_norm, relu, max_pool: {size: 2}, "
     "conv: {out: "
     "13, kernel: 3, stride: 2, padding: 1}, batch_norm, gelu, conv: {out: 9, kernel: [3, 2]}, "
     "relu, flatten, linear: {out: 75}, batch_norm, relu, linear: {out: 75}]",
     .number = 0},
    {"without batch norm", "[3, 21, 19]",
     "[conv: {out: 7, kernel: 4}, relu, max_pool: {size: 2}, conv: {out: 5, kernel: 3, padding: "
     "1}, silu, max_pool: {size: 3, stride: 2}, conv: {out: 33, kernel: 2}, dropout: {p: 0.3}, "
     "flatten, linear: {out: 75}, relu, linear: {out: 75}]",
     .number = 1},
    {"winograd", "[3, 17, 15]",
     "[conv: {out: 19, kernel: 3, padding: 1}, batch_norm, relu, conv: {out: 33, kernel: 3, "
     "padding: 1}, batch_norm, relu, max_pool: {size: 2}, conv: {out: 37, kernel: 3, padding: 1}, "
     "relu, avg_pool: {size: 3}, flatten, linear: {out: 75}]",
     .number = 2},
    {"residual, groups of channels", "[3, 17, 15]",
     "[conv: {name: a, out: 18, kernel: 3, padding: 1}, batch_norm, relu: {name: b}, conv: {out: "
     "18, kernel: 3, padding: 1, groups: 3}, batch_norm, add: {with: b}, relu: {name: c}, conv: "
     "{out: 18, kernel: 1}, group_norm: {groups: 6}, gelu, add: {with: c}, conv: {out: 18, "
     "kernel: 3, groups: 18, stride: 2}, relu, flatten, linear: {out: 75}]",
     .number = 3},
    {"gates, channels side by side", "[3, 17, 15]",
     "[conv: {name: a, out: 14, kernel: 3, padding: 1}, batch_norm, relu: {name: b}, "
     "global_avg_pool, "
     "conv: {out: 14, kernel: 1}, sigmoid, multiply: {with: b, name: c}, conv: {out: 5, kernel: 3, "
     "padding: 1}, batch_norm, relu, concat: {with: [c, a]}, batch_norm, silu, slice: {channels: "
     "[3, "
     "26]}, conv: {out: 11, kernel: 3, padding: 1}, relu, flatten, linear: {out: 75}]",
     .number = 4},
};

// A network for each kind of unfused layer that computes channels apart.
static network of_kinds[LAYER_KINDS];

static const network *network_of(layer_kind kind) {
    static char layers[LAYER_KINDS][200];
    const layer_traits *t = &layer_kind_traits[kind];
    const char *options = layer_examples[kind];
    snprintf(
        layers[kind], sizeof layers[kind],
        "[conv: {name: a, out: 14, kernel: 3, padding: 1}, %s: {%s}, flatten, linear: {out: 75}]",
        t->word,
        options         ? options
        : t->has_second ? "with: a"
                        : "");
    of_kinds[kind] = (network){t->word, "[3, 19, 17]", layers[kind], (size_t)kind};
    return &of_kinds[kind];
}

// ---- A step ----

typedef struct step_input {
    model m;
    uint8_t *bytes;
    const uint8_t *pixels[SAMPLES];
    sample_target targets[SAMPLES];
    uint32_t ids[SAMPLES];
    float *parameters, *buffers;
} step_input;

static void prepare(step_input *s, const network *n) {
    char text[2000];
    error err = {0};
    yaml_node *root = NULL;
    snprintf(text, sizeof text, "schema: lockstep.model/1\nname: test\ninput: %s\nlayers: %s\n",
             n->input, n->layers);
    status rc = yaml_read_text(text, strlen(text), n->name, &root, &err);
    if (rc == STATUS_OK) rc = model_from_yaml(&s->m, root, &err);
    yaml_free(root);
    if (rc != STATUS_OK) fail_msg("%s", err.message);
    const program *p = &s->m.program;
    const size_t size = shape_size(p->input);
    s->bytes = calloc(SAMPLES, size);
    s->parameters = calloc(p->parameters, sizeof(float));
    s->buffers = calloc(p->buffers + 1, sizeof(float));
    assert_true(s->bytes && s->parameters && s->buffers);
    for (size_t i = 0; i < SAMPLES * size; i++) s->bytes[i] = (uint8_t)(i * 2654435761u >> 13);
    for (uint32_t i = 0; i < SAMPLES; i++) {
        s->pixels[i] = s->bytes + i * size;
        s->targets[i] = (sample_target){.label = i % (uint32_t)p->classes};
        s->ids[i] = 3 * i + 1;
    }
    model_init_parameters(&s->m, 4, s->parameters, s->buffers);
}

static void release(step_input *s) {
    free(s->bytes), free(s->parameters), free(s->buffers);
    model_release(&s->m);
}

static engine_options options_of(int samples, const char *isa, int threads) {
    engine_options o = {
        .threads = threads, .isa = isa, .shards = 1, .local_shards = 1, .shard_samples = samples};
    for (int i = 0; i < ENGINE_MAX_CHANNELS; i++) o.mean[i] = 0.5f, o.std[i] = 0.25f;
    return o;
}

// Some steps, with an update between them, so that values that one has left in memory are there in
// the next one. Writes the last gradient buffer. With `rest`, threads share no groups in the second
// one. `numbers`: of the threads that compute each step; NULL: all.
static void run_steps(const step_input *s, int samples, const char *isa, int threads,
                      const int *numbers, int steps, bool rest, float *out) {
    const backend *cpu = backend_find("cpu");
    engine_options o = options_of(samples, isa, threads);
    if (rest) o.cores = threads;
    batch b = {.shards = 1,
               .count = &samples,
               .end_shard = 1,
               .pixels = s->pixels,
               .targets = s->targets,
               .ids = s->ids};
    const update_rule rule = {.kind = OPTIMIZER_SGD, .lr = 0.05f};
    update_result result;
    engine *e = NULL;
    error err;
    int count;
    status rc = cpu->open(&s->m.program, &o, rule.kind, &e, &err);
    if (rc == STATUS_OK) cpu->write(e, s->parameters, s->buffers, NULL);
    for (int i = 0; i < steps && rc == STATUS_OK; i++) {
        if (i > 0) rc = cpu->update(e, &rule, &result, &err);
        if (rest) { // decided here, and not by how long the threads have waited
            e->ownership.rest = i == 2;
            if (i > 0) ownership_shared(&e->ownership, UINT64_MAX, 1);
        }
        assert_true(i == 0 || cpu->tree(e).nodes->nodes);
        if (numbers) b.threads = numbers[i];
        if (rc == STATUS_OK) rc = cpu->run(e, &b, NULL, &err);
        if (numbers) assert_int_equal(team_size(e->team), numbers[i]);
        if (rest) assert_int_equal(e->ownership.crews[0].size, i == 1 ? 1 : threads);
    }
    if (rc != STATUS_OK) fail_msg("%s", err.message);
    memcpy(out, cpu->gradients(e, &count)[0], gradient_floats(&s->m.program) * sizeof *out);
    assert_int_equal(count, 1);
    cpu->close(e);
}

// ---- Bits ----

static void check_bits(const step_input *s, const char *name, const char *isa, int samples) {
    const size_t n = gradient_floats(&s->m.program);
    float *one = calloc(n, sizeof *one), *other = calloc(n, sizeof *other);
    assert_true(one && other);
    run_steps(s, samples, isa, 1, NULL, 2, false, one);
    for (int threads = 2; threads <= MOST_SLICES; threads++) {
        if (few_cases() && threads != 5 && (fewest_cases() || threads != 2)) continue;
        run_steps(s, samples, isa, threads, NULL, 2, false, other);
        for (size_t i = 0; i < n; i++)
            if (memcmp(&one[i], &other[i], sizeof *one))
                fail_msg("%s, %s, %d samples, %d threads: value %zu of %zu is %.9g, not %.9g", name,
                         isa, samples, threads, i, n, (double)other[i], (double)one[i]);
    }
    free(one), free(other);
}

// Whether to leave this instruction set out: with the fewest cases, a network has one of those that
// there are. Which elements a slice has does not depend on it.
static bool leaves_out(const network *n, const char *const *sets, size_t i) {
    size_t before = 0, found = 0;
    for (size_t k = 0; k < INSTRUCTION_SETS; k++) {
        const bool is_there = kernels_find(sets[k], GROUP);
        found += is_there;
        before += is_there && k < i;
    }
    return !kernels_find(sets[i], GROUP) || (fewest_cases() && n->number % found != before);
}

// One group, of each number of lanes; groups that are fewer than the threads, and not whole.
static void test_bits(void **state) {
    enum { COUNTS = 4 };
    static const int all[COUNTS] = {GROUP, 3, 7, SAMPLES - 5};
    static const char *const sets[INSTRUCTION_SETS] = {"v4", "v3", "baseline"};
    const network *n = *state;
    step_input s = {.bytes = NULL};
    prepare(&s, n);
    for (size_t i = 0; i < INSTRUCTION_SETS; i++)
        for (size_t k = 0; k < COUNTS; k++)
            if (!leaves_out(n, sets, i) && (!few_cases() || (i + n->number) % COUNTS == k))
                check_bits(&s, n->name, sets[i], all[k]);
    release(&s);
}

// Whether threads share may change from one step to the next.
static void test_changing_crews(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof networks / sizeof *networks; i++) {
        step_input s = {.bytes = NULL};
        prepare(&s, &networks[i]);
        const size_t n = gradient_floats(&s.m.program);
        float *one = calloc(n, sizeof *one), *other = calloc(n, sizeof *other);
        assert_true(one && other);
        run_steps(&s, GROUP, NULL, 1, NULL, 3, false, one);
        run_steps(&s, GROUP, NULL, 2, NULL, 3, true, other);
        assert_memory_equal(one, other, n * sizeof *one);
        free(one), free(other);
        release(&s);
    }
}

// As may the number of threads that compute.
static void test_changing_numbers(void **state) {
    (void)state;
    enum { NUMBERS = 7 };
    static const int numbers[NUMBERS] = {5, 2, 1, 4, 4, 1, 3};
    for (size_t i = 0; i < sizeof networks / sizeof *networks; i++) {
        step_input s = {.bytes = NULL};
        prepare(&s, &networks[i]);
        const size_t n = gradient_floats(&s.m.program);
        float *one = calloc(n, sizeof *one), *other = calloc(n, sizeof *other);
        assert_true(one && other);
        for (int steps = few_cases() ? NUMBERS : 1; steps <= NUMBERS; steps++) {
            const int samples = steps % 2 ? SAMPLES : GROUP - 1;
            run_steps(&s, samples, NULL, 1, NULL, steps, false, one);
            run_steps(&s, samples, NULL, numbers[0], numbers, steps, false, other);
            assert_memory_equal(one, other, n * sizeof *one);
        }
        free(one), free(other);
        release(&s);
    }
}

// ---- What is cut ----

// Adds the operations of a network that the plan cuts. Returns how it cuts the first, the load.
static operation_cut find_cuts(const network *n, bool cut[OPERATION_KINDS]) {
    step_input s = {.bytes = NULL};
    const engine_options o = options_of(GROUP, NULL, 1);
    unit_list units;
    step_plan plan;
    error err;
    prepare(&s, n);
    if (backend_find("cpu")->units(&s.m.program, &o, &units, &err) != STATUS_OK)
        fail_msg("%s", err.message);
    step_plan_training(&plan, &s.m.program, &units, &o, 0);
    for (int k = 0; k < plan.operation_count; k++)
        cut[plan.operations[k].kind] |= plan.operations[k].cut != CUT_NOT;
    const operation_cut load = plan.operations[0].cut;
    step_plan_release(&plan);
    units_release(&units);
    release(&s);
    return load;
}

// Every operation that can be cut is, in one of the networks, and every kind of layer.
static void test_every_operation(void **state) {
    (void)state;
    bool cut[OPERATION_KINDS] = {false};
    for (size_t i = 0; i < sizeof networks / sizeof *networks; i++)
        assert_int_equal(find_cuts(&networks[i], cut), i == 0 ? CUT_AREAS : CUT_EACH);
    for (int k = 0; k < OPERATION_KINDS; k++)
        if (operation_kind_traits[k].cut != CUT_NOT && !cut[k])
            fail_msg("no network cuts '%s'", operation_kind_traits[k].name);
    for (int k = 0; k < LAYER_KINDS; k++) {
        bool of_kind[OPERATION_KINDS] = {false};
        if (layer_kind_traits[k].apart == APART_NOT) continue;
        find_cuts(&of_kinds[k], of_kind);
        if (!of_kind[OP_UNFUSED] && !of_kind[OP_EPILOGUE])
            fail_msg("'%s' is not cut", of_kinds[k].name);
    }
}

// The slices of a rectangle have each of its elements once.
static void check_areas(int rows, int columns, int count) {
    uint8_t seen[16][16] = {{0}};
    for (int i = 0; i < count; i++) {
        const slice_area a = slice_area_of((op_slice){i, count}, rows, columns);
        for (int y = a.rows.first; y < a.rows.end; y++)
            for (int x = a.columns.first; x < a.columns.end; x++) seen[y][x]++;
    }
    for (int y = 0; y < rows; y++)
        for (int x = 0; x < columns; x++) assert_int_equal(seen[y][x], 1);
}

static void test_areas(void **state) {
    (void)state;
    for (int count = 1; count <= MOST_SLICES; count++)
        for (int rows = 1; rows <= 16; rows++)
            for (int columns = 1; columns <= 16; columns++) check_areas(rows, columns, count);
    for (size_t n = 0; n < 100; n++)
        for (int count = 1; count <= MOST_SLICES; count++) {
            size_t at = 0;
            for (int i = 0; i < count; i++) {
                const float_range r = slice_floats((op_slice){i, count}, n);
                assert_true(r.first == at && r.end >= at);
                at = r.end;
            }
            assert_true(at == n);
        }
}

// ---- Who shares ----

static void test_crews(void **state) {
    (void)state;
    static const int expected[][3] = {// groups, threads, crews
                                      {4, 1, 1},  {4, 2, 2},  {4, 4, 4},   {4, 8, 4},    {4, 16, 4},
                                      {1, 2, 1},  {1, 16, 1}, {4, 6, 2},   {8, 8, 8},    {8, 16, 8},
                                      {16, 8, 8}, {4, 3, 1},  {2, 5, 2},   {64, 16, 16}, {3, 4, 3},
                                      {5, 4, 2},  {9, 8, 4},  {33, 32, 16}};
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
        assert_int_equal(ownership_crews(expected[i][0], expected[i][1]), expected[i][2]);
}

// Threads without work would only wait at every barrier.
static void test_threads(void **state) {
    (void)state;
    static const int expected[][5] = {// shards, samples, cores, threads, of which have work
                                      {1, 16, 2, 4, 2}, {1, 16, 8, 4, 4},  {1, 64, 2, 8, 4},
                                      {2, 64, 2, 8, 8}, {1, 64, 8, 16, 8}, {1, 16, 0, 4, 4}};
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        const int *e = expected[i];
        const engine_options o = {
            .local_shards = e[0], .shard_samples = e[1], .cores = e[2], .threads = e[3]};
        assert_int_equal(ownership_threads(&o), e[4]);
    }
}

// Threads that wait for each other too long compute apart, for more steps each time.
static void test_rests(void **state) {
    (void)state;
    ownership o = {.cores = 2, .mates = 1};
    ownership_shared(&o, 900, 1000);
    assert_int_equal(o.rest, 0);
    for (int rest = 16; rest <= 4096; rest *= 2) {
        ownership_shared(&o, 1001, 1000);
        assert_int_equal(o.rest, rest < 1024 ? rest : 1024);
        while (o.rest > 0) ownership_shared(&o, 0, 1000);
    }
    for (int i = 0; i < 11; i++) ownership_shared(&o, 0, 1000);
    ownership_shared(&o, 1001, 1000);
    assert_int_equal(o.rest, 16);
    ownership_release(&o);
}

static struct CMUnitTest test_of(const network *n) {
    return (struct CMUnitTest){n->name, test_bits, NULL, NULL, (void *)(uintptr_t)n};
}

int main(void) {
    struct CMUnitTest tests[6 + sizeof networks / sizeof *networks + LAYER_KINDS] = {
        cmocka_unit_test(test_areas),           cmocka_unit_test(test_crews),
        cmocka_unit_test(test_threads),         cmocka_unit_test(test_every_operation),
        cmocka_unit_test(test_rests),           cmocka_unit_test(test_changing_crews),
        cmocka_unit_test(test_changing_numbers)};
    size_t count = 6;
    for (size_t i = 0; i < sizeof networks / sizeof *networks; i++)
        tests[count++] = test_of(&networks[i]);
    for (int k = 0; k < LAYER_KINDS; k++)
        if (layer_kind_traits[k].apart != APART_NOT)
            tests[count++] = test_of(network_of((layer_kind)k));
    return _cmocka_run_group_tests("slices", tests, count, NULL, NULL);
}
