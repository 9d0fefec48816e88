// SPDX-License-Identifier: MIT
// A training's results in its manifest, from known times and losses.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "train/train_manifest.h"

enum { SAMPLES = 8, BATCH = 4, STEPS = SAMPLES / BATCH, MOST_EPOCHS = 5 };

#define MUST(call)                                            \
    do {                                                      \
        if ((call) != STATUS_OK) fail_msg("%s", err.message); \
    } while (0)

static void make_model(model *m) {
    static const char text[] = "schema: lockstep.model/1\nname: small\ninput: [1, 2, 2]\n"
                               "layers: [flatten, linear: {out: 2}]\n";
    yaml_node *root;
    error err;
    MUST(yaml_read_text(text, sizeof text - 1, "model", &root, &err));
    MUST(model_from_yaml(m, root, &err));
    yaml_free(root);
}

// A run with these seconds per epoch, half of them in each step.
static void make_run(checkpoint *c, const model *m, const double *seconds, int epochs) {
    const phase_times times = {0};
    const update_result result = {.loss = 1};
    error err;
    MUST(checkpoint_init(c, m, OPTIMIZER_SGD, epochs, (uint64_t)epochs * STEPS, &err));
    for (int i = 0; i < epochs * STEPS; i++)
        timeline_append(&c->timeline, &result, (uint64_t)(seconds[i / STEPS] * 1e9 / STEPS),
                        &times);
    c->step = (uint64_t)(epochs * STEPS);
    yaml_append(c->execution, yaml_new(YAML_MAPPING));
}

static void check(const double *seconds, int epochs, double expected) {
    const experiment e = {.virtual_shards = 1, .global_batch = BATCH, .epochs = epochs};
    char *argv[] = {(char *)"train", NULL};
    model m;
    checkpoint c;
    manifest man;
    error err;
    make_model(&m);
    make_run(&c, &m, seconds, epochs);
    MUST(manifest_begin(&man, "train-single", 1, 1, argv, &err));
    train_manifest_results(&man, &c, &e, SAMPLES, "hash");
    const yaml_node *results = manifest_results(&man);
    const double median = yaml_number_at(results, "seconds_per_epoch");
    if (fabs(median - expected) > 1e-9)
        fail_msg("%d epochs: %g s, not %g", epochs, median, expected);
    for (int i = 0; i < epochs; i++) {
        char path[40];
        snprintf(path, sizeof path, "epochs.%d.seconds", i);
        assert_true(fabs(yaml_number_at(results, path) - seconds[i]) < 1e-9);
    }
    manifest_release(&man);
    checkpoint_release(&c);
    model_release(&m);
}

// The first epoch is a warm-up, and counts only if there is no other.
static void test_seconds_per_epoch(void **state) {
    (void)state;
    static const double slow[MOST_EPOCHS] = {100, 1, 5, 2, 4},
                        fast[MOST_EPOCHS] = {0.5, 7, 3, 5, 4};
    static const double of_slow[] = {100, 1, 3, 2, 3}, of_fast[] = {0.5, 7, 5, 5, 4.5};
    for (int epochs = 1; epochs <= MOST_EPOCHS; epochs++) {
        check(slow, epochs, of_slow[epochs - 1]);
        check(fast, epochs, of_fast[epochs - 1]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_seconds_per_epoch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
