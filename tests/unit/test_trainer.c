// SPDX-License-Identifier: MIT
// The training loop, its state, its turns, and the ways to stop it, on a fake backend.
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/memory.h"
#include "base/signals.h"
#include "dist/endpoint.h"
#include "fake_backend.h"
#include "timing/arm.h"
#include "train/trainer.h"
#include "train/trainer_lengths.h"

// 44 samples in batches of 12 (V = 4): four steps per epoch, the last with 8 samples.
enum { SAMPLES = 44, PIXELS = 12, CLASSES = 3, STEPS = 4, EPOCHS = 3, TOTAL = STEPS * EPOCHS };

typedef struct fixture {
    char folder[64], state[96];
    uint8_t images[SAMPLES][PIXELS];
    uint32_t labels[SAMPLES];
    uint32_t ids[SAMPLES];
    const uint8_t *pixels[SAMPLES];
    dataset data;
    experiment experiment;
} fixture;

static const char EXPERIMENT[] = "schema: lockstep.experiment/1\nname: tiny\ndataset: synthetic\n"
                                 "model: ./tiny-model.yaml\nstrategy: single\nvirtual_shards: 4\n"
                                 "global_batch: 12\nepochs: 3\nseed: 1\nworld_size: 1\n"
                                 "optimizer: {kind: sgd, lr: 0.1, momentum: 0.9}\n";
static const char MODEL[] = "schema: lockstep.model/1\nname: tiny\ninput: [1, 3, 4]\n"
                            "layers: [flatten, linear: {out: 3}]\n";

static void write_text(const char *folder, const char *name, const char *text, char *path) {
    error err = {0};
    sprintf(path, "%s/%s", folder, name);
    assert_int_equal(output_write_file(path, text, strlen(text), &err), STATUS_OK);
}

static void read_experiment(fixture *f, experiment *e, const char *set) {
    error err = {0};
    char path[96];
    write_text(f->folder, "tiny-model.yaml", MODEL, path);
    write_text(f->folder, "tiny.yaml", EXPERIMENT, path);
    if (experiment_read(e, path, &set, set ? 1 : 0, &err) != STATUS_OK) fail_msg("%s", err.message);
}

static int begin(void **state) {
    static fixture f;
    memset(&f, 0, sizeof f);
    strcpy(f.folder, "/tmp/lockstep-trainer.XXXXXX");
    if (getenv("TMPDIR"))
        snprintf(f.folder, sizeof f.folder, "%s/trainer.XXXXXX", getenv("TMPDIR"));
    assert_non_null(mkdtemp(f.folder));
    sprintf(f.state, "%s/state.st.zst", f.folder);
    for (uint32_t i = 0; i < SAMPLES; i++) {
        f.labels[i] = (uint32_t)(i % CLASSES);
        f.ids[i] = i;
        for (uint32_t k = 0; k < PIXELS; k++)
            f.images[i][k] = (uint8_t)(i * 37 + k * 11 + (k == f.labels[i] ? 90 : 0));
        f.pixels[i] = f.images[i];
    }
    f.data = (dataset){.samples = SAMPLES,
                       .channels = 1,
                       .height = 3,
                       .width = 4,
                       .classes = CLASSES,
                       .pixels = f.pixels,
                       .labels = f.labels,
                       .ids = f.ids,
                       .source = "data"};
    read_experiment(&f, &f.experiment, NULL);
    fake = (fake_faults){.nan_at = -1, .fail_at = -1, .signal_at = -1};
    signals_watch(); // forgets earlier signals
    *state = &f;
    return 0;
}

// With a device that runs ahead of the trainer.
static int begin_deferred(void **state) {
    const int rc = begin(state);
    fake.defers = true;
    return rc;
}

static int end(void **state) {
    fixture *f = *state;
    char command[128];
    experiment_release(&f->experiment);
    sprintf(command, "rm -rf '%s'", f->folder);
    return system(command);
}

typedef struct knobs {
    uint64_t stop_after, every;
    int workers;
    bool test, resume;
    turn_taker *turns;
} knobs;

static run_identity identity(const experiment *e) {
    return (run_identity){e->resolved, "data", "", 1};
}

// One process of a run. `c` is initialised here; release it.
static status run(fixture *f, const knobs *k, checkpoint *c, trainer_end *how, error *err) {
    const experiment *e = &f->experiment;
    comm *self = comm_self();
    yaml_node *segment = yaml_new(YAML_MAPPING);
    status rc;
    TRY(checkpoint_init(c, &e->model, OPTIMIZER_SGD, EPOCHS, EPOCHS * STEPS, err));
    model_init_parameters(&e->model, e->seed, c->parameters, c->buffers);
    const run_identity id = identity(e);
    if (k->resume) TRY(checkpoint_read(c, &id, f->state, err));
    const trainer_options o = {
        .strategy = &strategy_single,
        .executor = {.backend = &fake_backend, .experiment = e, .comm = self, .threads = 1},
        .train = &f->data,
        .test = k->test ? &f->data : NULL,
        .loader_workers = k->workers,
        .stop_after_steps = k->stop_after,
        .checkpoint_steps = k->every,
        .run = id,
        .state_path = f->state,
        .segment = segment,
        .turns = k->turns,
    };
    TRY(trainer_run(&o, c, how, err));
out:
    comm_free(self);
    yaml_free(segment);
    return rc;
}

static void must_run(fixture *f, const knobs *k, checkpoint *c, trainer_end expected) {
    error err = {0};
    trainer_end how;
    if (run(f, k, c, &how, &err) != STATUS_OK) fail_msg("%s", err.message);
    assert_int_equal(how, expected);
}

static void assert_same_run(const checkpoint *a, const checkpoint *b) {
    size_t n = a->model->program.parameters;
    assert_int_equal(a->step, b->step);
    assert_memory_equal(a->parameters, b->parameters, n * sizeof(float));
    assert_memory_equal(a->optimizer, b->optimizer, n * sizeof(float));
    assert_memory_equal(a->timeline.loss, b->timeline.loss, a->step * sizeof(float));
    assert_memory_equal(a->timeline.digest, b->timeline.digest, a->step * sizeof(uint64_t));
}

static uint64_t saved_step(fixture *f) {
    error err = {0};
    checkpoint c;
    const run_identity id = identity(&f->experiment);
    assert_int_equal(
        checkpoint_init(&c, &f->experiment.model, OPTIMIZER_SGD, EPOCHS, EPOCHS * STEPS, &err), 0);
    if (checkpoint_read(&c, &id, f->state, &err) != STATUS_OK) fail_msg("%s", err.message);
    uint64_t step = c.step;
    checkpoint_release(&c);
    return step;
}

static void test_learns(void **state) {
    fixture *f = *state;
    checkpoint c;
    const knobs k = {.test = true};
    must_run(f, &k, &c, TRAINER_FINISHED);
    assert_int_equal(c.step, TOTAL);
    assert_int_equal(c.timeline.steps, TOTAL);
    double first = trainer_epoch_loss(&c, &f->experiment, SAMPLES, 0);
    assert_true(trainer_epoch_loss(&c, &f->experiment, SAMPLES, EPOCHS - 1) < first);
    for (int e = 0; e < EPOCHS; e++) assert_true(c.accuracy[e] >= 0 && c.accuracy[e] <= 1);
    for (uint64_t i = 0; i < TOTAL; i++) assert_true(c.timeline.wall[i] > 0);
    checkpoint_release(&c);
}

// The mean over samples, not over steps: the last step has fewer.
static void test_epoch_loss_counts_samples(void **state) {
    fixture *f = *state;
    checkpoint c;
    const knobs k = {0};
    assert_int_equal(trainer_steps_per_epoch(&f->experiment, SAMPLES), STEPS);
    must_run(f, &k, &c, TRAINER_FINISHED);
    const float *loss = c.timeline.loss + STEPS;
    double sum = ((double)loss[0] + (double)loss[1] + (double)loss[2]) * 12 + (double)loss[3] * 8;
    double expected = sum / (double)SAMPLES;
    assert_true(fabs(trainer_epoch_loss(&c, &f->experiment, SAMPLES, 1) - expected) < 1e-12);
    checkpoint_release(&c);
}

static void test_stopped_anywhere_and_resumed(void **state) {
    fixture *f = *state;
    checkpoint whole;
    const knobs k = {.test = true};
    must_run(f, &k, &whole, TRAINER_FINISHED);
    for (uint64_t stop = 1; stop <= TOTAL; stop++) {
        checkpoint a, b;
        const knobs first = {.stop_after = stop, .test = true, .workers = 2};
        const knobs rest = {.resume = true, .test = true, .workers = (int)(stop % 3)};
        must_run(f, &first, &a, TRAINER_PAUSED);
        assert_int_equal(a.step, stop);
        assert_int_equal(saved_step(f), stop);
        must_run(f, &rest, &b, TRAINER_FINISHED);
        assert_same_run(&whole, &b);
        assert_int_equal(b.execution->count, 2);
        for (int e = 0; e < EPOCHS; e++) assert_true(b.accuracy[e] == whole.accuracy[e]);
        checkpoint_release(&a);
        checkpoint_release(&b);
    }
    checkpoint_release(&whole);
}

static void test_signal_saves(void **state) {
    fixture *f = *state;
    checkpoint a, b, whole;
    const knobs k = {0}, rest = {.resume = true};
    must_run(f, &k, &whole, TRAINER_FINISHED);
    fake.steps = 0;
    fake.signal_at = 5;
    must_run(f, &k, &a, TRAINER_SIGNALLED);
    // The signal came during step 5, whose requests were already collected.
    assert_int_equal(a.step, 7);
    assert_int_equal(saved_step(f), 7);
    signals_watch();
    must_run(f, &rest, &b, TRAINER_FINISHED);
    assert_same_run(&whole, &b);
    checkpoint_release(&a);
    checkpoint_release(&b);
    checkpoint_release(&whole);
}

// A signal in an epoch's last step stops before the evaluation, which the resumed run catches up
// on.
static void test_signal_before_evaluation(void **state) {
    fixture *f = *state;
    checkpoint a, b;
    const knobs k = {.test = true}, rest = {.resume = true, .test = true};
    fake.signal_at = (int64_t)TOTAL - 1;
    must_run(f, &k, &a, TRAINER_SIGNALLED);
    assert_int_equal(saved_step(f), TOTAL);
    assert_true(a.accuracy[EPOCHS - 1] != a.accuracy[EPOCHS - 1]); // NaN
    signals_watch();
    must_run(f, &rest, &b, TRAINER_FINISHED);
    assert_true(b.accuracy[EPOCHS - 1] >= 0);
    checkpoint_release(&a);
    checkpoint_release(&b);
}

static void test_nan_stops_and_keeps_the_old_state(void **state) {
    fixture *f = *state;
    error err = {0};
    checkpoint c;
    trainer_end how;
    const knobs k = {0};
    fake.nan_at = 6;
    assert_int_equal(run(f, &k, &c, &how, &err), STATUS_FAILED);
    assert_non_null(strstr(err.message, "step 6"));
    assert_non_null(strstr(err.message, "loss is nan"));
    assert_int_equal(saved_step(f), STEPS);
    checkpoint_release(&c);
}

static void test_checkpoint_every(void **state) {
    fixture *f = *state;
    error err = {0};
    checkpoint c;
    trainer_end how;
    const knobs k = {.every = 3, .workers = 2};
    fake.fail_at = 7; // with loader workers still ahead
    assert_int_equal(run(f, &k, &c, &how, &err), STATUS_FAILED);
    assert_string_equal(err.message, "cannot compute: 'fake': asked to");
    assert_int_equal(saved_step(f), 6);
    checkpoint_release(&c);
}

static void refuses(fixture *f, const experiment *e, const char *data, const char *init, int bits,
                    const char *word) {
    error err = {0};
    checkpoint c;
    const run_identity id = {e->resolved, data, init, bits};
    assert_int_equal(checkpoint_init(&c, &e->model, OPTIMIZER_SGD, EPOCHS, EPOCHS * STEPS, &err),
                     STATUS_OK);
    assert_int_equal(checkpoint_read(&c, &id, f->state, &err), STATUS_INPUT);
    if (!strstr(err.message, word)) fail_msg("'%s' is not in: %s", word, err.message);
    checkpoint_release(&c);
}

static void test_state_of_another_run_is_refused(void **state) {
    fixture *f = *state;
    checkpoint c;
    experiment other = {0};
    const knobs k = {.stop_after = 2};
    must_run(f, &k, &c, TRAINER_PAUSED);
    checkpoint_release(&c);
    static const struct {
        const char *set, *key;
    } cases[] = {{"optimizer.lr=0.2", "optimizer.lr"},
                 {"optimizer.lr=0.10000000000000002", "optimizer.lr"}, // the next double
                 {"optimizer.momentum=0.9000000000000001", "optimizer.momentum"},
                 {"seed=7", "seed"},
                 {"shard_seed=3", "shard_seed"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        read_experiment(f, &other, cases[i].set);
        refuses(f, &other, "data", "", 1, cases[i].key);
        experiment_release(&other);
    }
    refuses(f, &f->experiment, "other data", "", 1, "training data");
    refuses(f, &f->experiment, "data", "weights", 1, "--init");
    refuses(f, &f->experiment, "data", "", 2, "revision 1 of the arithmetic");
}

static void test_damaged_state_is_refused(void **state) {
    fixture *f = *state;
    error err = {0};
    checkpoint c;
    trainer_end how;
    const knobs first = {.stop_after = 2}, rest = {.resume = true};
    must_run(f, &first, &c, TRAINER_PAUSED);
    checkpoint_release(&c);
    assert_int_equal(truncate(f->state, 300), 0);
    assert_int_equal(run(f, &rest, &c, &how, &err), STATUS_INPUT);
    checkpoint_release(&c);
}

static void test_deferred_results_are_the_same(void **state) {
    fixture *f = *state;
    checkpoint together, alone;
    const knobs k = {.test = true};
    must_run(f, &k, &together, TRAINER_FINISHED);
    fake.defers = false;
    must_run(f, &k, &alone, TRAINER_FINISHED);
    assert_same_run(&together, &alone);
    assert_int_equal(together.timeline.steps, TOTAL);
    for (int e = 0; e < EPOCHS; e++) assert_true(together.accuracy[e] == alone.accuracy[e]);
    checkpoint_release(&together);
    checkpoint_release(&alone);
}

// ---- Ranks that part ----

// One rank's values change behind its back, before or after the update of a step.
typedef struct parting {
    int ranks, rank;
    int64_t before, after; // -1: never
    fixture *f;
} parting;

static parting parts;
static backend parting_backend;

// Flips a bit of the first parameter, or of the first number of the optimizer's state.
static status flip(engine *e, bool parameter, error *err) {
    const size_t n = parts.f->experiment.model.program.parameters;
    const backend *cpu = backend_find("cpu");
    float *values = calloc(n, sizeof *values);
    uint32_t bits;
    status rc = cpu->read(e, parameter ? values : NULL, NULL, parameter ? NULL : values, err);
    memcpy(&bits, values, sizeof bits);
    bits ^= 1u << 12;
    memcpy(values, &bits, sizeof bits);
    cpu->write(e, parameter ? values : NULL, NULL, parameter ? NULL : values);
    free(values);
    return rc;
}

static status parting_update(engine *e, const update_rule *rule, update_result *result,
                             error *err) {
    const int64_t step = (int64_t)rule->step;
    status rc = STATUS_OK;
    if (step == parts.before) rc = flip(e, true, err);
    if (rc == STATUS_OK) rc = backend_find("cpu")->update(e, rule, result, err);
    if (rc == STATUS_OK && step == parts.after) rc = flip(e, false, err);
    return rc;
}

static status parting_rank(void *argument, comm *c, error *err) {
    fixture *f = argument;
    const experiment *e = &f->experiment;
    checkpoint k = {0};
    trainer_end how;
    yaml_node *segment = yaml_new(YAML_MAPPING);
    status rc;
    if (c->rank != parts.rank) parts.before = parts.after = -1;
    parting_backend = *backend_find("cpu");
    parting_backend.update = parting_update;
    TRY(checkpoint_init(&k, &e->model, OPTIMIZER_SGD, EPOCHS, EPOCHS * STEPS, err));
    model_init_parameters(&e->model, e->seed, k.parameters, k.buffers);
    const trainer_options o = {
        .strategy = &strategy_ddp,
        .executor = {.backend = &parting_backend,
                     .experiment = e,
                     .normalization = {.std = {1}},
                     .comm = c,
                     .world_size = c->size,
                     .threads = 1},
        .train = &f->data,
        .run = identity(e),
        .state_path = f->state,
        .segment = segment,
    };
    TRY(trainer_run(&o, &k, &how, err));
out:
    checkpoint_release(&k);
    yaml_free(segment);
    return rc;
}

static status train_ranks(fixture *f, const parting *p, error *err) {
    const message_sizes sizes = trainer_message_sizes(&f->experiment, p->ranks);
    parts = *p;
    parts.f = f;
    return launch_local(p->ranks, sizes.floats, sizes.gather_bytes, parting_rank, f, NULL, NULL,
                        err);
}

static void must_part(fixture *f, const parting *p, const char *who, const char *what) {
    error err = {0};
    assert_int_equal(train_ranks(f, p, &err), STATUS_FINDING);
    if (!strstr(err.message, who) || !strstr(err.message, what))
        fail_msg("'%s' and '%s' are not in: %s", who, what, err.message);
}

static void test_a_parted_rank_is_named_and_not_saved(void **state) {
    fixture *f = *state;
    error err = {0};
    const parting none = {4, 0, -1, -1, NULL}, third = {4, 2, 6, -1, NULL},
                  lead = {4, 0, 9, -1, NULL}, pair = {2, 1, 5, -1, NULL},
                  momentum = {4, 3, -1, 7, NULL};
    if (train_ranks(f, &none, &err) != STATUS_OK) fail_msg("%s", err.message);
    assert_int_equal(saved_step(f), TOTAL);
    // Saved after each epoch of four steps.
    must_part(f, &third, "'rank 2'",
              "from step 6 (epoch 2) on, its parameters differ from those of 3 of 4 ranks");
    assert_int_equal(saved_step(f), 4);
    must_part(f, &lead, "'rank 0'", "from step 9 (epoch 3) on, its parameters differ");
    assert_int_equal(saved_step(f), 8);
    must_part(f, &pair, "'rank 1'",
              "from step 5 (epoch 2) on, its parameters differ from those of "
              "rank 0");
    must_part(f, &momentum, "'rank 3'", "from step 7 (epoch 2) on, its optimizer state differ");
    assert_int_equal(saved_step(f), 4);
}

// ---- Turns ----

// The program that gives the turns, in a thread of its own.
typedef struct giver {
    int listener;
    uint64_t turns, steps;  // of each turn
    uint64_t done, samples; // as the arm tells
    status outcome;
} giver;

static status give(giver *g, arm *a, error *err) {
    static turn_step told[TURN_STEPS];
    struct pollfd at = {.fd = g->listener, .events = POLLIN};
    uint32_t entries;
    bool ready;
    int connection;
    status rc;
    TRY(endpoint_wait(&at, 1, UINT64_MAX, &ready, err));
    TRY(endpoint_accept(g->listener, &connection, err));
    TRY(arm_admit(a, 1, connection, err));
    for (uint64_t i = 0; i < g->turns; i++) {
        TRY(arm_turn(a, g->steps, 60, told, &entries, err));
        for (uint32_t k = 0; k < entries; k++) {
            g->done += told[k].steps;
            g->samples += told[k].samples;
        }
    }
out:
    return rc;
}

static void *give_turns(void *argument) {
    giver *g = argument;
    arm a = {.command = "test"};
    error err;
    g->outcome = give(g, &a, &err);
    arm_release(&a);
    return NULL;
}

// Leaves in `c` the training that took these turns.
static void take_turns(fixture *f, giver *g, int workers, checkpoint *c) {
    error err = {0};
    pthread_t thread;
    turn_taker taker = {.endpoint = 1 + getpid() % 65535, .ranks = 1, .connection = -1};
    const knobs k = {.workers = workers, .test = true, .turns = &taker};
    taker.description = memory_string("key: test\n");
    assert_int_equal(endpoint_listen(taker.endpoint, &g->listener, &err), STATUS_OK);
    assert_int_equal(pthread_create(&thread, NULL, give_turns, g), 0);
    must_run(f, &k, c, TRAINER_TIMED);
    pthread_join(thread, NULL);
    turn_taker_release(&taker);
    close(g->listener);
    assert_int_equal(g->outcome, STATUS_OK);
    assert_int_equal(g->done, g->turns * g->steps);
}

static void test_turns_do_not_change_the_steps(void **state) {
    fixture *f = *state;
    checkpoint whole;
    const knobs k = {0};
    must_run(f, &k, &whole, TRAINER_FINISHED);
    assert_int_equal(unlink(f->state), 0);
    for (int workers = 0; workers <= 2; workers++) {
        checkpoint c;
        giver g = {.turns = 2, .steps = STEPS + 1};
        take_turns(f, &g, workers, &c);
        assert_int_equal(c.step, 2 * STEPS + 2);
        assert_int_equal(g.samples, 2 * SAMPLES + 24);
        assert_memory_equal(c.timeline.loss, whole.timeline.loss, c.step * sizeof(float));
        assert_memory_equal(c.timeline.digest, whole.timeline.digest, c.step * sizeof(uint64_t));
        assert_int_equal(access(f->state, F_OK), -1); // it saves nothing
        checkpoint_release(&c);
    }
    checkpoint_release(&whole);
}

// It begins again, as often as the turns ask for.
static void test_turns_may_be_longer_than_the_training(void **state) {
    fixture *f = *state;
    checkpoint c;
    giver g = {.turns = 3, .steps = 3 * TOTAL + 1};
    take_turns(f, &g, 1, &c);
    assert_int_equal(c.step, 3);
    checkpoint_release(&c);
}

static void test_no_turns(void **state) {
    fixture *f = *state;
    checkpoint c;
    giver g = {0};
    take_turns(f, &g, 1, &c);
    assert_int_equal(c.step, 0);
    checkpoint_release(&c);
}

#define TEST(name)     cmocka_unit_test_setup_teardown(name, begin, end)
#define DEFERRED(name) #name ", deferred", name, begin_deferred, end, NULL

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_learns),
        TEST(test_epoch_loss_counts_samples),
        TEST(test_stopped_anywhere_and_resumed),
        TEST(test_signal_saves),
        TEST(test_signal_before_evaluation),
        TEST(test_nan_stops_and_keeps_the_old_state),
        TEST(test_checkpoint_every),
        TEST(test_state_of_another_run_is_refused),
        TEST(test_damaged_state_is_refused),
        TEST(test_a_parted_rank_is_named_and_not_saved),
        TEST(test_turns_do_not_change_the_steps),
        TEST(test_turns_may_be_longer_than_the_training),
        TEST(test_no_turns),
        {DEFERRED(test_learns)},
        {DEFERRED(test_epoch_loss_counts_samples)},
        {DEFERRED(test_stopped_anywhere_and_resumed)},
        {DEFERRED(test_signal_saves)},
        {DEFERRED(test_signal_before_evaluation)},
        {DEFERRED(test_nan_stops_and_keeps_the_old_state)},
        {DEFERRED(test_checkpoint_every)},
        {DEFERRED(test_state_of_another_run_is_refused)},
        {DEFERRED(test_damaged_state_is_refused)},
        {DEFERRED(test_deferred_results_are_the_same)},
        {DEFERRED(test_turns_do_not_change_the_steps)},
        {DEFERRED(test_turns_may_be_longer_than_the_training)},
        {DEFERRED(test_no_turns)},
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
