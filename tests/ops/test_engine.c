// SPDX-License-Identifier: MIT
// The CPU engine, through the public table of backends, against the reference network; and its bits
// across instruction sets, thread counts and distributions of the shards over engines.
//
// A test is one model and one way to cut a step into shards.
#include "engine_suite.h"

#include "compute/cpu/kernels.h"
#include "nn/layer_types.h"

// Every instruction set of the processor with several numbers of threads (the baseline is slow: its
// fused multiply-add is a function call), and the shards distributed over several engines, evenly
// and unevenly. A sanitizer gets each instruction set once, with other threads, and the engines
// with the least even shares.
static int executions(const split *s, execution x[MAX_EXECUTIONS]) {
    const backend *cpu = backend_find("cpu");
    const execution single[] = {{cpu, "baseline", 1, 1, false}, {cpu, "v3", 3, 1, false},
                                {cpu, "v4", 2, 1, false},       {cpu, "v3", 1, 1, false},
                                {cpu, "v4", 1, 1, false},       {cpu, "v4", 3, 1, false}};
    const int singles = fewest_cases() ? 3 : (int)(sizeof single / sizeof *single);
    int n = 0;
    for (int i = 0; i < singles; i++)
        if (kernels_find(single[i].isa, GROUP)) x[n++] = single[i];
    const char *best = x[n - 1].isa;
    const int fewest = s->shards < 3 ? 2 : 3;
    for (int engines = 2; engines <= s->shards && engines <= (fewest_cases() ? fewest : 4);
         engines++)
        if (!fewest_cases() || engines == fewest)
            x[n++] = (execution){cpu, best, 1 + engines % 2, engines, false};
    return n;
}

// ---- Refusals ----

static void expect_refused(const problem *p, engine_options o, const char *reason) {
    engine *e = NULL;
    error err = {0};
    for (int c = 0; c < ENGINE_MAX_CHANNELS; c++) o.std[c] = 1;
    assert_int_equal(backend_find("cpu")->open(&p->m.program, &o, OPTIMIZER_SGD, &e, &err),
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

// ---- Kinds of layers ----

static void test_every_kind(void **state) {
    (void)state;
    bool found[LAYER_KINDS] = {false};
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        model m;
        load_model(&models[i], &m);
        for (int k = 0; k < m.program.count; k++) found[m.program.layers[k].kind] = true;
        model_release(&m);
    }
    for (int k = 0; k < LAYER_KINDS; k++)
        if (!found[k]) fail_msg("no model has a layer '%s'", layer_types[k].word);
}

int main(void) {
    static const struct CMUnitTest others[] = {cmocka_unit_test(test_refusals),
                                               cmocka_unit_test(test_every_kind)};
    suite = (engine_suite){backend_find("cpu"), executions, .sums_groups = true, .quick = true};
    return run_suite("cpu engine", others, 2);
}
