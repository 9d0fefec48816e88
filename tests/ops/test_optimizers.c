// SPDX-License-Identifier: MIT
// The engine's update against PyTorch's optimizers: the cases "update" of
// tests/golden/operations.safetensors, step by step, on every instruction set.
#include "golden_update.h"

#include "base/yaml_tree.h"
#include "compute/cpu/kernels.h"
#include "data/tensor/tensor_file.h"
#include "nn/model.h"

static const char PATH[] = "tests/golden/operations.safetensors";
enum { PARAMETERS = 24, MOST_STEPS = 20 };

typedef struct golden {
    const char *name, *description;
    const double *start, *gradients, *after; // [24], [steps][24], [steps][24]
    uint64_t steps;
    update_rule rule;
} golden;

static double number(const golden *g, const char *key) {
    char wanted[32];
    snprintf(wanted, sizeof wanted, " %s=", key);
    const char *at = strstr(g->description, wanted);
    if (!at) fail_msg("%s: no %s in '%s'", g->name, key, g->description);
    return strtod(at + strlen(wanted), NULL);
}

static const double *values(const tensor_file *f, const golden *g, const char *key, size_t n) {
    char name[128];
    snprintf(name, sizeof name, "%s.%s", g->name, key);
    const tensor *t = tensor_file_find(f, name);
    assert_non_null(t);
    assert_int_equal(t->type, TENSOR_F64);
    assert_int_equal(tensor_elements(t), n);
    return t->data;
}

static void read_case(golden *g, const tensor_file *f) {
    g->rule = golden_rule(g->description);
    g->steps = (uint64_t)number(g, "steps");
    assert_in_range(g->steps, 5, MOST_STEPS);
    assert_int_equal((int)number(g, "n"), PARAMETERS);
    g->start = values(f, g, "x", PARAMETERS);
    g->gradients = values(f, g, "dy", g->steps * PARAMETERS);
    g->after = values(f, g, "y", g->steps * PARAMETERS);
}

// ---- An engine with a case's number of parameters ----

static void load_model(model *m) {
    static const char text[] = "schema: lockstep.model/1\nname: test\ninput: [1, 3, 4]\n"
                               "layers: [flatten, linear: {out: 2, bias: false}]\n";
    error err = {0};
    yaml_node *root = NULL;
    if (yaml_read_text(text, strlen(text), "test", &root, &err) != STATUS_OK ||
        model_from_yaml(m, root, &err) != STATUS_OK)
        fail_msg("%s", err.message);
    yaml_free(root);
}

// An update divides by the last step's samples: here four.
enum { SAMPLES = 4 };

static engine *open_engine(const model *m, optimizer_kind kind, const char *isa, int threads) {
    static const uint8_t image[12];
    static const sample_target targets[SAMPLES];
    static const uint8_t *const pixels[SAMPLES] = {image, image, image, image};
    static const uint32_t ids[SAMPLES];
    static const int count = SAMPLES;
    const engine_options o = {.threads = threads,
                              .isa = isa,
                              .shards = 1,
                              .local_shards = 1,
                              .shard_samples = SAMPLES,
                              .std = {1}};
    const batch b = {.shards = 1,
                     .count = &count,
                     .end_shard = 1,
                     .pixels = pixels,
                     .targets = targets,
                     .ids = ids};
    engine *e = NULL;
    error err = {0};
    if (backend_find("cpu")->open(&m->program, &o, kind, &e, &err) != STATUS_OK ||
        backend_find("cpu")->run(e, &b, NULL, &err) != STATUS_OK)
        fail_msg("%s", err.message);
    return e;
}

// Writes the parameters after each step.
static void run(const golden *g, const model *m, const char *isa, int threads, float *after) {
    const backend *be = backend_find("cpu");
    const size_t n = m->program.parameters;
    float *parameters = calloc(n, sizeof *parameters),
          *state = calloc(OPTIMIZER_STATES * n, sizeof *state);
    update_rule rule = g->rule;
    update_result result;
    error err = {0};
    assert_true(parameters && state && n >= PARAMETERS);
    for (int i = 0; i < PARAMETERS; i++) parameters[i] = (float)g->start[i];
    engine *e = open_engine(m, rule.kind, isa, threads);
    be->write(e, parameters, NULL, state);
    for (; rule.step < g->steps; rule.step++, after += PARAMETERS) {
        for (size_t i = 0; i < PARAMETERS; i++)
            be->reduced(e)[i] = (float)((double)SAMPLES * g->gradients[rule.step * PARAMETERS + i]);
        if (be->update(e, &rule, &result, &err) != STATUS_OK) fail_msg("%s", err.message);
        assert_int_equal(be->read(e, parameters, NULL, NULL, &err), STATUS_OK);
        memcpy(after, parameters, PARAMETERS * sizeof *after);
    }
    be->close(e);
    free(parameters), free(state);
}

static void test_case(void **state) {
    const golden *g = *state;
    static const char *const isas[] = {"baseline", "v3", "v4"};
    float first[MOST_STEPS * PARAMETERS], other[MOST_STEPS * PARAMETERS];
    const size_t n = g->steps * PARAMETERS;
    double *got = ops_zeros(n);
    model m;
    load_model(&m);
    run(g, &m, "baseline", 1, first);
    for (size_t i = 0; i < n; i++) got[i] = (double)first[i];
    // Rounding to float, compared per step, so that no error hides among the others.
    for (size_t i = 0; i < n; i += PARAMETERS)
        ops_near(g->name, got + i, g->after + i, PARAMETERS, 2e-6);
    for (size_t i = 0; i < sizeof isas / sizeof *isas; i++)
        for (int threads = 1; kernels_find(isas[i], GROUP) && threads <= 2; threads++) {
            run(g, &m, isas[i], threads, other);
            assert_memory_equal(other, first, n * sizeof *first);
        }
    free(got);
    model_release(&m);
}

enum { MAX_CASES = 64 };

int main(void) {
    static struct CMUnitTest tests[MAX_CASES];
    static golden cases[MAX_CASES];
    tensor_file file = {0};
    error err;
    if (tensor_file_read(PATH, TENSOR_FILE_DEFAULT_MAX, &file, &err) != STATUS_OK) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    size_t n = 0;
    for (size_t i = 0; i < file.metadata_count && n < MAX_CASES; i++) {
        const tensor_pair *pair = &file.metadata[i];
        if (strncmp(pair->key, "case.", 5) != 0 || strncmp(pair->value, "update ", 7) != 0)
            continue;
        cases[n] = (golden){.name = pair->key + 5, .description = pair->value};
        read_case(&cases[n], &file);
        tests[n] = (struct CMUnitTest){
            .name = cases[n].name, .test_func = test_case, .initial_state = &cases[n]};
        n++;
    }
    // cmocka_run_group_tests needs an array of a size known at compile time.
    int failed = n ? _cmocka_run_group_tests("optimizers", tests, n, NULL, NULL) : 1;
    tensor_file_release(&file);
    return failed;
}
