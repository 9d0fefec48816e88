// SPDX-License-Identifier: MIT
// Trainings whose steps are computed by changing numbers of threads: every strategy gives the bits
// of one process on one thread. The numbers are chosen here, by the step, and not by the machine.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "nn/initial_values.h"
#include "temporary_folder.h"
#include "train/strategy.h"
#include "train/trainer.h"
#include "train/trainer_lengths.h"

// Shards of 20 samples, two groups each, and at the end of an epoch of 15.
enum { SAMPLES = 140, PIXELS = 3 * 12 * 12, CLASSES = 3, EPOCHS = 3, STEPS = 2, MOST = 4 };

// The CPU's backend, but steps have other numbers of threads than the trainer says.
static const backend *cpu;
static backend changing;

// All parts of a step have its samples; steps differ in their first one.
static status run_changed(engine *e, const batch *b, const run_part *part, error *err) {
    batch own = *b;
    own.threads = 1 + (int)(b->ids[0] % MOST);
    return cpu->run(e, &own, part, err);
}

typedef struct fixture {
    uint8_t images[SAMPLES][PIXELS];
    uint32_t labels[SAMPLES], ids[SAMPLES];
    const uint8_t *pixels[SAMPLES];
    dataset data;
    experiment experiment;
} fixture;

static const char EXPERIMENT[] =
    "schema: lockstep.experiment/1\nname: tiny\ndataset: synthetic\nmodel: ./tiny-model.yaml\n"
    "strategy: single\nvirtual_shards: 4\nglobal_batch: 80\nepochs: 3\nseed: 1\nworld_size: 1\n"
    "optimizer: {kind: sgd, lr: 0.1, momentum: 0.9}\n";
static const char MODEL[] =
    "schema: lockstep.model/1\nname: tiny\ninput: [3, 12, 12]\nlayers: [conv: {out: 8, kernel: 3}, "
    "batch_norm, relu, conv: {out: 16, kernel: 3, padding: 1}, batch_norm, relu, max_pool: {size: "
    "2}, flatten, linear: {out: 20}, relu, linear: {out: 3}]\n";

static void prepare(fixture *f) {
    error err = {0};
    memset(f, 0, sizeof *f);
    write_file("tiny-model.yaml", MODEL);
    write_file("tiny.yaml", EXPERIMENT);
    if (experiment_read(&f->experiment, "tiny.yaml", NULL, 0, &err) != STATUS_OK)
        fail_msg("%s", err.message);
    for (uint32_t i = 0; i < SAMPLES; i++) {
        f->labels[i] = f->ids[i] = i;
        f->labels[i] %= CLASSES;
        for (uint32_t k = 0; k < PIXELS; k++)
            f->images[i][k] = (uint8_t)((i * PIXELS + k) * 2654435761u >> 13);
        f->pixels[i] = f->images[i];
    }
    f->data = (dataset){.samples = SAMPLES,
                        .channels = 3,
                        .height = 12,
                        .width = 12,
                        .classes = CLASSES,
                        .pixels = f->pixels,
                        .labels = f->labels,
                        .ids = f->ids,
                        .source = "data"};
}

static void train(fixture *f, const strategy *s, int ranks, const backend *be, int threads,
                  checkpoint *c) {
    const experiment *e = &f->experiment;
    error err = {0};
    trainer_end how;
    comm *self = comm_self();
    yaml_node *segment = yaml_new(YAML_MAPPING);
    devices on;
    status rc = devices_parse(&on, "cpu", &err);
    if (rc == STATUS_OK)
        rc = checkpoint_init(c, &e->model, OPTIMIZER_SGD, EPOCHS, EPOCHS * STEPS, &err);
    if (rc != STATUS_OK) fail_msg("%s", err.message);
    model_init_parameters(&e->model, e->seed, c->parameters, c->buffers);
    const trainer_options o = {
        .strategy = s,
        .executor = {.backend = be,
                     .devices = &on,
                     .experiment = e,
                     .normalization = {.mean = {0.5f, 0.5f, 0.5f}, .std = {0.25f, 0.25f, 0.25f}},
                     .comm = self,
                     .world_size = ranks,
                     .threads = threads},
        .train = &f->data,
        .test = &f->data,
        .run = {e->resolved, "data", "", 1},
        .segment = segment,
    };
    if (trainer_run(&o, c, &how, &err) != STATUS_OK) fail_msg("%s: %s", s->name, err.message);
    comm_free(self);
    yaml_free(segment);
}

static void test_bits(void **state) {
    (void)state;
    static const struct {
        const strategy *strategy;
        int world;
    } all[] = {{&strategy_single, 1}, {&strategy_dp, 2}, {&strategy_mp, 3}};
    static fixture f;
    checkpoint one;
    cpu = backend_find("cpu");
    changing = *cpu;
    changing.run = run_changed;
    prepare(&f);
    train(&f, &strategy_single, 1, cpu, 1, &one);
    assert_int_equal(one.step, EPOCHS * STEPS);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        checkpoint c;
        train(&f, all[i].strategy, all[i].world, &changing, MOST, &c);
        const program *p = &f.experiment.model.program;
        assert_memory_equal(c.parameters, one.parameters, p->parameters * sizeof(float));
        assert_memory_equal(c.buffers, one.buffers, p->buffers * sizeof(float));
        assert_memory_equal(c.accuracy, one.accuracy, EPOCHS * sizeof *one.accuracy);
        assert_memory_equal(c.timeline.loss, one.timeline.loss, c.step * sizeof(float));
        checkpoint_release(&c);
    }
    checkpoint_release(&one);
    experiment_release(&f.experiment);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_bits)};
    return cmocka_run_group_tests(tests, enter_folder, remove_folder);
}
