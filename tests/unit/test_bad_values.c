// SPDX-License-Identifier: MIT
// Values that no training produces and no model can compute with are refused, with their tensor's
// name: on every input of tensors, and before output.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nn/initial_values.h"
#include "train/checkpoint.h"
#include "train/evaluation.h"
#include "train/model_import.h"
#include "train/state_check.h"

#include "temporary_folder.h"

enum { EPOCHS = 2, STEPS = 3 };

static const float BAD[] = {NAN, INFINITY, -INFINITY};
enum { BADS = sizeof BAD / sizeof *BAD };

static model m;
static yaml_node *parameters;
static char state_path[FILE_PATH_SIZE];

#define MUST(call)                                            \
    do {                                                      \
        if ((call) != STATUS_OK) fail_msg("%s", err.message); \
    } while (0)

static int begin(void **state) {
    static const char text[] = "schema: lockstep.model/1\nname: small\ninput: [1, 6, 6]\n"
                               "layers: [conv: {out: 3, kernel: 3}, batch_norm, relu, flatten, "
                               "linear: {out: 5}, batch_norm, linear: {out: 4}]\n";
    yaml_node *root;
    error err;
    if (make_folder(state)) return -1;
    snprintf(state_path, sizeof state_path, "%s/state.st.zst", folder);
    MUST(yaml_read_text(text, sizeof text - 1, "model", &root, &err));
    MUST(model_from_yaml(&m, root, &err));
    yaml_free(root);
    parameters = yaml_new(YAML_MAPPING);
    return parameters ? 0 : -1;
}

static int end(void **state) {
    model_release(&m);
    yaml_free(parameters);
    return remove_folder(state);
}

static run_identity identity(void) {
    return (run_identity){.parameters = parameters, .data = "data", .init = "", .bits = 2};
}

static checkpoint good(optimizer_kind kind) {
    checkpoint c;
    error err;
    MUST(checkpoint_init(&c, &m, kind, EPOCHS, EPOCHS * STEPS, &err));
    model_init_parameters(&m, 1, c.parameters, c.buffers);
    const update_result result = {.loss = 1.5f};
    const phase_times times = {0};
    for (int i = 0; i < STEPS; i++) timeline_append(&c.timeline, &result, 1000, &times);
    c.step = STEPS;
    c.accuracy[0] = 0.5;
    return c;
}

static void says(const error *err, const char *word) {
    if (!strstr(err->message, word)) fail_msg("'%s' is not in: %s", word, err->message);
}

static const char *text_of(float value) {
    return isnan(value) ? "holds nan" : value > 0 ? "holds inf" : "holds -";
}

// ---- Foreign checkpoints ----

static void import_refuses(const float *all, const float *buffers, const char *name, float value) {
    float *to = calloc(m.program.parameters, sizeof *to);
    float *buffers_to = calloc(m.program.buffers, sizeof *to);
    tensor_file f = {0};
    error err = {0};
    assert_true(to && buffers_to);
    model_file_store(&m, "", all, buffers, &f);
    const status rc = model_import(&m, to, buffers_to, &f, "theirs.st", NULL, NULL, &err);
    tensor_file_release(&f);
    free(to), free(buffers_to);
    if (!name) {
        assert_int_equal(rc, STATUS_OK);
        return;
    }
    assert_int_equal(rc, STATUS_INPUT);
    says(&err, "'theirs.st'");
    says(&err, name);
    says(&err, text_of(value));
}

static void test_import(void **state) {
    (void)state;
    checkpoint c = good(OPTIMIZER_SGD);
    import_refuses(c.parameters, c.buffers, NULL, 0);
    for (int i = 0; i < m.tensor_count; i++) {
        const model_tensor *t = &m.tensors[i];
        float *first = (t->is_buffer ? c.buffers : c.parameters) + t->offset;
        const size_t places[] = {0, t->count - 1};
        char name[192];
        snprintf(name, sizeof name, "'%s'", t->name);
        for (int p = 0; p < 2; p++) {
            const float before = first[places[p]];
            for (int b = 0; b < BADS; b++) {
                first[places[p]] = BAD[b];
                import_refuses(c.parameters, c.buffers, name, BAD[b]);
            }
            first[places[p]] = -FLT_MIN;
            import_refuses(c.parameters, c.buffers, strstr(name, "running_var") ? name : NULL, -1);
            first[places[p]] = before;
        }
    }
    checkpoint_release(&c);
}

// ---- States ----

static void state_refuses(const checkpoint *c, const char *name, const char *what) {
    const run_identity run = identity();
    error err = {0};
    checkpoint back;
    MUST(checkpoint_write(c, &run, state_path, NULL, &err));
    MUST(checkpoint_init(&back, &m, c->kind, EPOCHS, EPOCHS * STEPS, &err));
    if (c->losses) checkpoint_begin_losses(&back);
    const status rc = checkpoint_read(&back, &run, state_path, &err);
    checkpoint_release(&back);
    if (!name) {
        if (rc != STATUS_OK) fail_msg("%s", err.message);
        return;
    }
    assert_int_equal(rc, STATUS_INPUT);
    says(&err, state_path);
    says(&err, name);
    says(&err, what);
}

// Expects a training to fail at this state.
static void training_ends(const checkpoint *c, const char *name, const char *what) {
    error err = {0};
    assert_int_equal(state_check_tensors(c, 5, STEPS, &err), STATUS_FAILED);
    says(&err, "'step 5' (epoch 2)");
    says(&err, name);
    says(&err, what);
    assert_int_equal(state_check_loss(c, 4, STEPS, NAN, &err), STATUS_FAILED);
    says(&err, "'step 4' (epoch 2): the loss is nan");
    says(&err, name);
}

static void check_arena(const checkpoint *c, const char *prefix, float *arena, bool buffers,
                        bool variances) {
    for (int i = 0; i < m.tensor_count; i++) {
        const model_tensor *t = &m.tensors[i];
        if (t->is_buffer != buffers) continue;
        float *last = arena + t->offset + t->count - 1;
        const float before = *last;
        char name[192];
        snprintf(name, sizeof name, "'%s%s'", prefix, t->name);
        const char *shown = strncmp(prefix, "model.", 6) ? name : name + strlen("'model.");
        for (int b = 0; b < BADS; b++) {
            *last = BAD[b];
            state_refuses(c, name, text_of(BAD[b]));
            training_ends(c, shown, text_of(BAD[b]));
        }
        *last = -1;
        if (variances || strstr(t->name, "running_var")) {
            state_refuses(c, name, "holds -1");
            training_ends(c, shown, "holds -1");
        } else {
            state_refuses(c, NULL, NULL);
        }
        *last = before;
    }
}

static void test_state(void **state) {
    (void)state;
    static const optimizer_kind kinds[] = {OPTIMIZER_SGD, OPTIMIZER_ADAMW, OPTIMIZER_ADADELTA};
    for (int k = 0; k < 3; k++) {
        checkpoint c = good(kinds[k]);
        error err = {0};
        state_refuses(&c, NULL, NULL);
        MUST(state_check_tensors(&c, 5, STEPS, &err));
        check_arena(&c, "model.", c.parameters, false, false);
        check_arena(&c, "model.", c.buffers, true, false);
        const optimizer_state *states = optimizer_kind_traits[kinds[k]].states;
        for (int i = 0; i < optimizer_states(kinds[k]); i++)
            check_arena(&c, states[i].prefix, c.optimizer + (size_t)i * m.program.parameters, false,
                        states[i].never_negative);
        checkpoint_release(&c);
    }
}

static void test_series_of_a_state(void **state) {
    (void)state;
    checkpoint c = good(OPTIMIZER_SGD);
    for (int b = 0; b < BADS; b++) {
        c.timeline.loss[1] = BAD[b];
        state_refuses(&c, "'steps.loss'", text_of(BAD[b]));
    }
    c.timeline.loss[1] = 2;
    c.accuracy[0] = (double)INFINITY;
    state_refuses(&c, "'epochs.accuracy'", "holds inf");
    c.accuracy[0] = -0.25;
    state_refuses(&c, "'epochs.accuracy'", "holds -0.25");
    c.accuracy[0] = (double)NAN; // not measured
    state_refuses(&c, NULL, NULL);
    checkpoint_begin_losses(&c);
    state_refuses(&c, NULL, NULL);
    c.losses[0] = (double)INFINITY;
    state_refuses(&c, "'epochs.loss'", "holds inf");
    c.losses[0] = -0.25;
    state_refuses(&c, "'epochs.loss'", "holds -0.25");
    checkpoint_release(&c);
}

// The first tensor in the model's order is named, whatever else is wrong.
static void test_first_bad_tensor_is_named(void **state) {
    (void)state;
    checkpoint c = good(OPTIMIZER_SGD);
    for (int i = 0; i < m.tensor_count; i++)
        (m.tensors[i].is_buffer ? c.buffers : c.parameters)[m.tensors[i].offset] = NAN;
    training_ends(&c, "tensor 'conv1.weight' holds nan", "holds nan");
    checkpoint_release(&c);
}

static void test_loss_alone(void **state) {
    (void)state;
    error err = {0};
    checkpoint c = good(OPTIMIZER_SGD);
    assert_int_equal(state_check_loss(&c, 0, STEPS, INFINITY, &err), STATUS_FAILED);
    says(&err, "'step 0' (epoch 1): the loss is inf; a lower learning rate");
    checkpoint_release(&c);
}

// ---- Logits ----

static void test_logits(void **state) {
    (void)state;
    enum { SAMPLES = 3, CLASSES = 4 };
    uint32_t labels[SAMPLES] = {0, 1, 2};
    const dataset d = {.samples = SAMPLES, .classes = CLASSES, .labels = labels};
    float logits[SAMPLES * CLASSES] = {0};
    evaluation e;
    error err = {0};
    MUST(evaluation_init(&e, &d, logits, &err));
    evaluation_release(&e);
    for (int b = 0; b < BADS; b++) {
        logits[2 * CLASSES + 1] = BAD[b];
        assert_int_equal(evaluation_init(&e, &d, logits, &err), STATUS_FAILED);
        says(&err, "'image 2'");
        says(&err, "class 1");
    }
}

// ---- Revisions ----

static void test_revision(void **state) {
    (void)state;
    checkpoint c = good(OPTIMIZER_SGD), back;
    run_identity run = identity();
    error err = {0};
    MUST(checkpoint_write(&c, &run, state_path, NULL, &err));
    MUST(checkpoint_init(&back, &m, OPTIMIZER_SGD, EPOCHS, EPOCHS * STEPS, &err));
    MUST(checkpoint_read(&back, &run, state_path, &err));
    run.bits = 3;
    assert_int_equal(checkpoint_read(&back, &run, state_path, &err), STATUS_INPUT);
    says(&err, state_path);
    says(&err, "revision 2");
    says(&err, "this version has 3");
    says(&err, "without --resume");
    assert_int_equal(checkpoint_check_bits(3, 0, "old", &err), STATUS_INPUT);
    says(&err, "'old': it does not record");
    MUST(checkpoint_check_bits(3, 3, "old", &err));
    checkpoint_release(&back);
    checkpoint_release(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_import),
        cmocka_unit_test(test_state),
        cmocka_unit_test(test_series_of_a_state),
        cmocka_unit_test(test_first_bad_tensor_is_named),
        cmocka_unit_test(test_loss_alone),
        cmocka_unit_test(test_logits),
        cmocka_unit_test(test_revision),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
