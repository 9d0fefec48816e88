// SPDX-License-Identifier: MIT
// The CUDA engine against the reference network, and its bits across engines that share the shards:
// the same tests as the CPU engine's (engine_suite.h).
//
// LOCKSTEP_CUDA_LIBRARY names the backend: `make test` uses the emulation, which runs the kernels
// on the host; `make test-cuda` the real one. LOCKSTEP_TEST_FILTER: runs only tests whose name
// matches this pattern with * and ?.
#include "engine_suite.h"

#include "compute/devices.h"

// With few cases: one engine, and the engines with the least even shares.
static int executions(const split *s, execution x[MAX_EXECUTIONS]) {
    int n = 0;
    for (int engines = 1; engines <= s->shards && engines <= 4; engines++) {
        const bool uneven = engines == (s->shards < 3 ? 2 : 3) && !is_long(s);
        if (!few_cases() || engines == 1 || uneven)
            x[n++] = (execution){suite.be, NULL, 1, engines, false};
    }
    return n;
}

// ---- Results collected later ----

enum { STEPS = 70 }; // more than are prepared ahead, and more than the engine's MARKED_EVERY

static bool serial_launches; // of the engines opened next

static engine *open_deferred(const problem *p, bool deferred) {
    engine_options o = {.threads = 1,
                        .shards = p->s->shards,
                        .local_shards = p->s->shards,
                        .shard_samples = p->s->count[0],
                        .deferred = deferred,
                        .serial_launches = serial_launches};
    engine *e = NULL;
    error err;
    memcpy(o.mean, p->mean, sizeof o.mean);
    memcpy(o.std, p->std, sizeof o.std);
    if (suite.be->open(&p->m.program, &o, OPTIMIZER_SGD, &e, &err) != STATUS_OK)
        fail_msg("%s", err.message);
    suite.be->write(e, p->parameters, p->buffers, p->state);
    return e;
}

// Collects the results of so many steps at a time; 0: each comes with its update.
static void run_steps(const problem *p, int steps, int together, update_result *results) {
    engine *e = open_deferred(p, together > 0);
    error err = {0};
    int pending = 0;
    for (int i = 0; i < steps; i++) {
        batch b = whole_batch(p);
        b.epoch = (uint32_t)i;
        const update_rule rule = {.kind = OPTIMIZER_SGD,
                                  .lr = 0.01f / (float)(i + 1),
                                  .hyper = {[HYPER_MOMENTUM] = 0.9f},
                                  .step = (uint64_t)i};
        if (suite.be->run(e, &b, NULL, &err) != STATUS_OK ||
            suite.be->update(e, &rule, &results[i], &err) != STATUS_OK)
            fail_msg("%s", err.message);
        assert_true(results[i].pending == (together > 0));
        pending += results[i].pending;
        if (pending == 0 || (pending < together && i + 1 < steps)) continue;
        if (suite.be->collect(e, results + i + 1 - pending, pending, &err) != STATUS_OK)
            fail_msg("%s", err.message);
        pending = 0;
    }
    suite.be->close(e);
}

static void same_results(const update_result *a, const update_result *b, int count) {
    for (int i = 0; i < count; i++) {
        assert_memory_equal(&a[i].loss, &b[i].loss, sizeof a[i].loss);
        assert_true(a[i].digest == b[i].digest);
    }
}

static void test_deferred(void **state) {
    (void)state;
    static const model_case m = {
        .name = "deferred",
        .input = "[2, 7, 7]",
        .layers = "[conv: {out: 5, kernel: 3}, batch_norm, relu, max_pool: {size: 2}, flatten, "
                  "dropout: {p: 0.25}, linear: {out: 10}]"};
    static const split s = {.shards = 2, .count = {5, 4}};
    static update_result alone[STEPS], together[STEPS];
    static const int chunks[] = {1, 7, 50, STEPS};
    problem p;
    problem_init(&p, &m, &s);
    run_steps(&p, STEPS, 0, alone);
    for (size_t k = 0; k < sizeof chunks / sizeof *chunks; k++) {
        if (few_cases() && k % 2 == 0) continue;
        run_steps(&p, STEPS, chunks[k], together);
        same_results(alone, together, STEPS);
    }
    problem_release(&p);
}

// ---- In every order ----

// A step leaves the order of some streams and blocks open. The emulation uses the order that the
// environment selects; the order of a GPU cannot be selected.
static void test_orders(void **state) {
    (void)state;
    static const char *const orders[] = {"forward", "backward", "shuffle"};
    static const model_case m = {
        .name = "orders",
        .input = "[2, 6, 6]",
        .layers =
            "[conv: {out: 5, kernel: 3, padding: 1}, batch_norm, relu, conv: {out: 4, kernel: 3, "
            "bias: false}, relu, max_pool: {size: 2}, flatten, linear: {out: 10}]"};
    static const split batches[] = {{.shards = 1, .count = {70}}, {.shards = 2, .count = {5, 4}}};
    enum { FEW_STEPS = 8 };
    update_result first[FEW_STEPS], other[FEW_STEPS];
    const char *const set = getenv("LOCKSTEP_EMULATED_ORDER");
    char *const before = set ? strdup(set) : NULL;
    for (size_t k = 0; k < sizeof batches / sizeof *batches; k++) {
        problem p;
        problem_init(&p, &m, &batches[k]);
        for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
            setenv("LOCKSTEP_EMULATED_ORDER", orders[i], 1);
            run_steps(&p, FEW_STEPS, 0, i == 0 ? first : other);
            if (i > 0) same_results(first, other, FEW_STEPS);
        }
        problem_release(&p);
    }
    if (before)
        setenv("LOCKSTEP_EMULATED_ORDER", before, 1);
    else
        unsetenv("LOCKSTEP_EMULATED_ORDER");
    free(before);
}

// ---- Kernels that wait in place ----

// A kernel may be launched before the previous one has ended; its results must not show that. A
// driver may be unable to capture such launches.
static void test_serial_launches(void **state) {
    (void)state;
    static const model_case m = {
        .name = "launches",
        .input = "[3, 12, 12]",
        .layers = "[conv: {out: 8, kernel: 3, padding: 1}, batch_norm, relu, max_pool: {size: 2}, "
                  "dropout: {p: 0.25}, conv: {out: 16, kernel: 3}, relu, max_pool: {size: 2, "
                  "stride: 1}, flatten, linear: {out: 520}, relu, linear: {out: 10}]"};
    static const split batches[] = {{.shards = 1, .count = {64}}, {.shards = 2, .count = {5, 4}}};
    enum { SOME_STEPS = 6 };
    update_result waiting[SOME_STEPS], serial[SOME_STEPS], uncaptured[SOME_STEPS];
    // A sanitizer sees every kernel of these in the small batch.
    for (size_t k = fewest_cases(); k < sizeof batches / sizeof *batches; k++) {
        problem p;
        problem_init(&p, &m, &batches[k]);
        run_steps(&p, SOME_STEPS, SOME_STEPS, waiting);
        serial_launches = true;
        run_steps(&p, SOME_STEPS, SOME_STEPS, serial);
        serial_launches = false;
        same_results(waiting, serial, SOME_STEPS);
        setenv("LOCKSTEP_EMULATED_PROGRAMMATIC", "uncaptured", 1); // no effect on a GPU
        run_steps(&p, SOME_STEPS, SOME_STEPS, uncaptured);
        unsetenv("LOCKSTEP_EMULATED_PROGRAMMATIC");
        same_results(waiting, uncaptured, SOME_STEPS);
        problem_release(&p);
    }
}

int main(void) {
    static const struct CMUnitTest extra[] = {cmocka_unit_test(test_deferred),
                                              cmocka_unit_test(test_orders),
                                              cmocka_unit_test(test_serial_launches)};
    error err = {0};
    suite = (engine_suite){NULL, executions, .sums_groups = false, .ninth = 3};
    if (backend_open("cuda", &suite.be, &err) != STATUS_OK) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    const char *filter = getenv("LOCKSTEP_TEST_FILTER");
    if (filter && *filter) cmocka_set_test_filter(filter);
    return run_suite("cuda engine", extra, sizeof extra / sizeof *extra);
}
