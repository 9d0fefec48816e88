// SPDX-License-Identifier: MIT
// DataParallel and pipelines on several GPUs: they give the bits of one GPU, and copy only results
// to the host. The tests run the strategies themselves, on engines of the CUDA backend.
//
// Needs a device for each replica or stage: the emulation has four; on a real machine the tests use
// those it has. Only the emulation reports how data was copied.
#include "ops.h"

#include <stdio.h>
#include <unistd.h>

#include "../few.h"
#include "cuda_devices.h"
#include "nn/initial_values.h"
#include "nn/model.h"
#include "train/strategy.h"

enum { IMAGES = 90, STEPS = 4, MAX_SHARDS = 12 };

static const backend *cuda;
static int device_count;
static char folder[200];  // of the experiment
static char *given_order; // the original LOCKSTEP_EMULATED_ORDER

static const update_rule rule = {
    .kind = OPTIMIZER_SGD, .lr = 0.1f, .hyper = {[HYPER_MOMENTUM] = 0.9f}, .weight_decay = 0.01f};

// ---- The trained model and data ----

// Shards of more than one group of samples, and shards per replica that are not a whole subtree. In
// step 2 some shards are shorter or empty.
static const struct {
    int shards, global_batch, short_step;
} problems[] = {{4, 72, 35}, {12, 36, 7}};
enum { PROBLEMS = sizeof problems / sizeof *problems, SHORT_STEP = 2 };

typedef struct fixture {
    experiment e;
    dataset data;
    uint8_t *bytes;
    sample_target targets[IMAGES];
    const uint8_t *pixels[IMAGES];
    uint32_t ids[IMAGES];
    float *parameters, *buffers;
    size_t trained; // floats of parameters, buffers and optimizer state
} fixture;

static void write_file(char path[300], const char *name, const char *text) {
    snprintf(path, 300, "%s/%s", folder, name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    assert_int_equal(fclose(f), 0);
}

static void read_experiment(experiment *e, int which, bool sync) {
    char net[300], path[300], text[500];
    error err = {0};
    write_file(net, "net.yaml",
               "schema: lockstep.model/1\nname: net\ninput: [2, 6, 6]\n"
               "layers: [conv: {out: 4, kernel: 3}, batch_norm, relu, max_pool: {size: 2},\n"
               "         conv: {out: 6, kernel: 3, padding: 1}, relu, flatten, dropout: {p: 0.2},\n"
               "         linear: {out: 12}, batch_norm, relu, linear: {out: 10}]\n");
    snprintf(text, sizeof text,
             "schema: lockstep.experiment/1\nname: peers\ndataset: synthetic\nmodel: ./net.yaml\n"
             "strategy: single\nworld_size: 1\nvirtual_shards: %d\nglobal_batch: %d\nepochs: 1\n"
             "seed: 11\noptimizer: {kind: sgd, lr: 0.1, momentum: 0.9}\nsync_batch_norm: %s\n",
             problems[which].shards, problems[which].global_batch, sync ? "true" : "false");
    write_file(path, "e.yaml", text);
    if (experiment_read(e, path, NULL, 0, &err) != STATUS_OK) fail_msg("%s", err.message);
    unlink(net);
    unlink(path);
}

static void begin(fixture *f, int which, bool sync) {
    const random_stream s = {.seed = 5, .purpose = RANDOM_SYNTHETIC};
    *f = (fixture){0};
    read_experiment(&f->e, which, sync);
    const program *p = &f->e.model.program;
    const size_t image = shape_size(p->input);
    f->bytes = calloc(IMAGES, image);
    f->parameters = calloc(p->parameters, sizeof(float));
    f->buffers = calloc(p->buffers, sizeof(float));
    assert_true(f->bytes && f->parameters && f->buffers);
    for (size_t i = 0; i < IMAGES * image; i++) f->bytes[i] = (uint8_t)random_below(&s, i, 256);
    for (uint32_t i = 0; i < IMAGES; i++) {
        f->pixels[i] = f->bytes + i * image;
        f->targets[i] = (sample_target){.label = (uint32_t)(i * 7 % 10)};
        f->ids[i] = 3 * i;
    }
    f->data = (dataset){.samples = IMAGES, .pixels = f->pixels};
    model_init_parameters(&f->e.model, 7, f->parameters, f->buffers);
    f->trained = 2 * p->parameters + p->buffers;
}

static void end(fixture *f) {
    free(f->bytes), free(f->parameters), free(f->buffers);
    experiment_release(&f->e);
}

// ---- Training ----

typedef struct way {
    const strategy *s;
    int world_size;
    const char *devices;
    bool fast;
} way;

typedef struct outcome {
    float *trained;
    update_result results[STEPS];
    char transport[32]; // "": not reported by the strategy
} outcome;

static void same_outcome(const outcome *a, const outcome *b, const fixture *f) {
    assert_memory_equal(a->trained, b->trained, f->trained * sizeof(float));
    for (int i = 0; i < STEPS; i++) {
        assert_true(a->results[i].digest == b->results[i].digest);
        assert_memory_equal(&a->results[i].loss, &b->results[i].loss, sizeof(float));
    }
}

static void one_step(const way *x, executor *ex, const fixture *f, int number, update_result *out) {
    const int shards = f->e.virtual_shards;
    int count[MAX_SHARDS], left = f->e.global_batch;
    uint32_t rows[IMAGES], ids[IMAGES];
    sample_target targets[IMAGES];
    const uint8_t *pixels[IMAGES];
    bool request[REQUESTS] = {false};
    step_result result;
    error err = {0};
    for (int i = 0; i < PROBLEMS; i++)
        if (number == SHORT_STEP && problems[i].shards == shards) left = problems[i].short_step;
    for (uint32_t i = 0; i < (uint32_t)left; i++) {
        rows[i] = (i * 11 + (uint32_t)number) % IMAGES;
        ids[i] = f->ids[rows[i]];
        targets[i] = f->targets[rows[i]];
        pixels[i] = f->pixels[rows[i]];
    }
    for (int v = 0; v < shards; v++) {
        count[v] = (left + shards - v - 1) / (shards - v);
        left -= count[v];
    }
    const batch b = {.shards = shards,
                     .count = count,
                     .end_shard = shards,
                     .pixels = pixels,
                     .targets = targets,
                     .ids = ids,
                     .rows = rows};
    if (x->s->step(ex, &b, &rule, request, &result, &err) != STATUS_OK) fail_msg("%s", err.message);
    if (result.update.pending && x->s->collect(ex, &result.update, 1, &err) != STATUS_OK)
        fail_msg("%s", err.message);
    *out = result.update;
}

static void find_transport(const way *x, const executor *ex, char text[32]) {
    yaml_node *segment = yaml_new(YAML_MAPPING);
    x->s->describe(ex, segment);
    const yaml_node *found = yaml_find(segment, "transport");
    snprintf(text, 32, "%s", found ? found->text : "");
    yaml_free(segment);
}

// `copies`: the file that gets a line for each copy in the steps; NULL: none.
static void train(const way *x, const fixture *f, const char *copies, outcome *o) {
    const program *p = &f->e.model.program;
    devices d;
    executor *ex = NULL;
    error err = {0};
    comm *self = comm_self();
    assert_int_equal(devices_parse(&d, x->devices, &err), STATUS_OK);
    executor_options options = {.backend = cuda,
                                .devices = &d,
                                .experiment = &f->e,
                                .data = &f->data,
                                .comm = self,
                                .world_size = x->world_size,
                                .threads = 1,
                                .reduce_fast = x->fast};
    for (int c = 0; c < ENGINE_MAX_CHANNELS; c++)
        options.normalization.mean[c] = 0.4f, options.normalization.std[c] = 0.2f;
    o->trained = calloc(f->trained, sizeof(float));
    assert_non_null(o->trained);
    if (x->s->open(&options, &ex, &err) != STATUS_OK) fail_msg("%s", err.message);
    x->s->write(ex, f->parameters, f->buffers, o->trained);
    if (copies) setenv("LOCKSTEP_EMULATED_COPIES", copies, 1);
    for (int i = 0; i < STEPS; i++) one_step(x, ex, f, i, &o->results[i]);
    unsetenv("LOCKSTEP_EMULATED_COPIES");
    find_transport(x, ex, o->transport);
    if (x->s->read(ex, o->trained, o->trained + p->parameters,
                   o->trained + p->parameters + p->buffers, &err) != STATUS_OK)
        fail_msg("%s", err.message);
    x->s->close(ex);
    comm_free(self);
}

// ---- Bits ----

static const way one = {&strategy_single, 1, "cuda:0", false};

static const way ways[] = {
    {&strategy_dp, 2, "cuda:0,cuda:1", false},
    {&strategy_dp, 3, "cuda:2,cuda:0,cuda:1", false},
    {&strategy_dp, 4, "cuda:0,cuda:1,cuda:2,cuda:3", false},
    {&strategy_dp, 4, "cuda:1,cuda:0", false},
    {&strategy_mp, 2, "cuda:0,cuda:1", false},
    {&strategy_mp, 3, "cuda:2,cuda:0,cuda:1", false},
    {&strategy_mp, 3, "cuda:0,cuda:1", false},
};

static bool possible(const way *x, const fixture *f) {
    devices d;
    error err = {0};
    assert_int_equal(devices_parse(&d, x->devices, &err), STATUS_OK);
    for (int i = 0; i < d.count; i++)
        if (devices_index(&d, i) >= device_count) return false;
    return x->s != &strategy_dp || f->e.virtual_shards % x->world_size == 0;
}

static void need_devices(int count) {
    if (device_count < count) skip();
}

// For a sanitizer each way has one of the problems, and another one with synchronised batch norm.
static void all_have_the_bits_of_one(bool sync) {
    for (int which = 0; which < PROBLEMS; which++) {
        fixture f;
        outcome expected, o;
        begin(&f, which, sync);
        train(&one, &f, NULL, &expected);
        for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
            if (!possible(&ways[i], &f)) continue;
            if (fewest_cases() && ((size_t)which + i + sync) % PROBLEMS) continue;
            train(&ways[i], &f, NULL, &o);
            same_outcome(&o, &expected, &f);
            free(o.trained);
        }
        free(expected.trained);
        end(&f);
    }
}

static void same_bits_as_one(void **state) {
    (void)state;
    need_devices(2);
    all_have_the_bits_of_one(false);
    all_have_the_bits_of_one(true);
}

static void in_every_order_of_the_emulation(void **state) {
    static const char *const orders[] = {"backward", "shuffle"};
    (void)state;
    need_devices(4);
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
        if (given_order && strcmp(given_order, orders[i]) == 0) continue; // same_bits_as_one's
        setenv("LOCKSTEP_EMULATED_ORDER", orders[i], 1);
        all_have_the_bits_of_one(false);
    }
}

// With more than two vectors, adding one after the other is not the tree's order.
static void fast_uses_another_order(void **state) {
    static const way fast = {&strategy_dp, 4, "cuda:0,cuda:1,cuda:2,cuda:3", true};
    (void)state;
    need_devices(4);
    fixture f;
    outcome expected, o;
    begin(&f, 0, false);
    train(&one, &f, NULL, &expected);
    train(&fast, &f, NULL, &o);
    assert_memory_not_equal(o.trained, expected.trained, f.trained * sizeof(float));
    for (size_t i = 0; i < f.trained; i++)
        if (!(fabsf(o.trained[i] - expected.trained[i]) <= 1e-4f))
            fail_msg("value %zu is %g, not %g", i, (double)o.trained[i],
                     (double)expected.trained[i]);
    free(expected.trained), free(o.trained);
    end(&f);
}

// ---- Routes of the copies ----

// Bytes copied in all steps.
typedef struct routes {
    size_t to_host, from_host, across, within; // across: from one device to another
} routes;

static void read_routes(const char *path, routes *r) {
    char from[16], to[16];
    size_t bytes;
    FILE *list = fopen(path, "r");
    assert_non_null(list);
    *r = (routes){0};
    while (fscanf(list, "%15s %15s %zu", from, to, &bytes) == 3) {
        if (strcmp(to, "host") == 0)
            r->to_host += bytes;
        else if (strcmp(from, "host") == 0)
            r->from_host += bytes;
        else
            *(strcmp(from, to) ? &r->across : &r->within) += bytes;
    }
    fclose(list);
}

static void follow(const way *x, const fixture *f, outcome *o, routes *r) {
    char path[300];
    snprintf(path, sizeof path, "%s/copies", folder);
    train(x, f, path, o);
    read_routes(path, r);
    unlink(path);
}

// The result of an update: a digest and a loss.
enum { RESULT_BYTES = 16 };

// Only results of updates go to the host, one per optimizer. Without peer access the driver moves
// the same floats through the host.
static void check_routes(const way *x, const fixture *f) {
    const size_t updates = x->s == &strategy_mp ? (size_t)x->world_size : 1;
    outcome direct, staged;
    routes with, without;
    setenv("LOCKSTEP_EMULATED_PEERS", "0", 1);
    follow(x, f, &staged, &without);
    unsetenv("LOCKSTEP_EMULATED_PEERS");
    follow(x, f, &direct, &with);
    same_outcome(&staged, &direct, f);
    assert_string_equal(direct.transport, "peer copies");
    assert_string_equal(staged.transport, "host copies");
    assert_int_equal(with.to_host, STEPS * updates * RESULT_BYTES);
    assert_true(with.across > 0);
    assert_int_equal(without.across, 0);
    assert_int_equal(without.to_host, with.to_host + with.across);
    assert_int_equal(without.from_host, with.from_host + with.across);
    assert_int_equal(without.within, with.within);
    free(direct.trained), free(staged.trained);
}

static void copies_between_devices_are_direct(void **state) {
    (void)state;
    need_devices(4);
    const char *library = getenv("LOCKSTEP_CUDA_LIBRARY");
    if (!library || !strstr(library, "emulated")) skip();
    for (int which = 0; which < PROBLEMS; which++) {
        fixture f;
        begin(&f, which, false);
        for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
            // With few cases each way has one of the problems.
            if (possible(&ways[i], &f) && !(few_cases() && ((size_t)which + i) % PROBLEMS))
                check_routes(&ways[i], &f);
        end(&f);
    }
}

static void one_device_needs_no_access(void **state) {
    static const way shared[] = {{&strategy_dp, 2, "cuda:0", false},
                                 {&strategy_mp, 2, "cuda:0", false}};
    (void)state;
    fixture f;
    outcome o;
    begin(&f, 0, false);
    for (int i = 0; i < 2; i++) {
        train(&shared[i], &f, NULL, &o);
        assert_string_equal(o.transport, "device memory");
        free(o.trained);
    }
    end(&f);
}

// Also resets the settings of a test that failed.
static int ordinary(void **state) {
    (void)state;
    if (given_order)
        setenv("LOCKSTEP_EMULATED_ORDER", given_order, 1);
    else
        unsetenv("LOCKSTEP_EMULATED_ORDER");
    unsetenv("LOCKSTEP_EMULATED_PEERS");
    unsetenv("LOCKSTEP_EMULATED_COPIES");
    return 0;
}

#define TEST(f) cmocka_unit_test_teardown(f, ordinary)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(same_bits_as_one),           TEST(in_every_order_of_the_emulation),
        TEST(fast_uses_another_order),    TEST(copies_between_devices_are_direct),
        TEST(one_device_needs_no_access),
    };
    const char *tmp = getenv("TMPDIR"), *order = getenv("LOCKSTEP_EMULATED_ORDER");
    error err = {0};
    setenv("LOCKSTEP_EMULATED_DEVICES", "4", 1);
    if (backend_open("cuda", &cuda, &err) != STATUS_OK) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    snprintf(folder, sizeof folder, "%s/peers-XXXXXX", tmp ? tmp : "/tmp");
    if (!mkdtemp(folder)) return 1;
    if (order) given_order = strdup(order);
    device_count = count_devices();
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    rmdir(folder);
    free(given_order);
    return failed;
}
