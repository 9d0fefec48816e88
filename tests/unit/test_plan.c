// SPDX-License-Identifier: MIT
// Plans: the rungs between two experiments in their order, and the variants of a study.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <glob.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "experiment/catalog.h"
#include "experiment/experiment.h"
#include "experiment/plan.h"

#include "../few.h"
#include "temporary_folder.h"

#define MODEL                                                                             \
    "schema: lockstep.model/1\nname: %s\ninput: [3, 8, 8]\nlayers:\n"                     \
    "  [conv: {out: %d, kernel: 3}, batch_norm, relu, flatten, linear: {out: 8}, relu,\n" \
    "   linear: {out: 10}]\n"
#define HEAD   "schema: lockstep.experiment/1\ndataset: cifar10\nmodel: small\n"
#define SGD    "optimizer: {kind: sgd, lr: 0.001, momentum: 0.9}\n"
#define BASE_B HEAD "name: b\nglobal_batch: 64\nepochs: 10\n" SGD
#define BASE   HEAD "name: a\nglobal_batch: 64\nepochs: 10\n" SGD

// Without batch norm, V does not appear in figures of others.
#define PLAIN                                                                             \
    "schema: lockstep.model/1\nname: plain\ninput: [3, 8, 8]\nlayers: [flatten, linear: " \
    "{out: 10}]\n"

static char file_a[FILE_PATH_SIZE], file_b[FILE_PATH_SIZE], file_c[FILE_PATH_SIZE],
    file_study[FILE_PATH_SIZE], file_claim[FILE_PATH_SIZE];

static void write_model(const char *name, int out) {
    char path[FILE_PATH_SIZE], text[512];
    snprintf(path, sizeof path, "models/%s.yaml", name);
    snprintf(text, sizeof text, MODEL, name, out);
    write_file(path, text);
}

static int make_files(void **state) {
    if (make_folder(state)) return -1;
    snprintf(file_a, sizeof file_a, "%s/a.yaml", folder);
    snprintf(file_b, sizeof file_b, "%s/b.yaml", folder);
    snprintf(file_c, sizeof file_c, "%s/c.yaml", folder);
    snprintf(file_claim, sizeof file_claim, "%s/claim.yaml", folder);
    snprintf(file_study, sizeof file_study, "%s/studies/s.yaml", folder);
    write_model("small", 4);
    write_model("large", 6);
    write_file("models/plain.yaml", PLAIN);
    return 0;
}

// ---- Ladders ----

static yaml_node *ladder_between(const char *from, const char *to, const char *const *set,
                                 size_t count) {
    yaml_node *plan;
    error err = {0};
    if (plan_ladder(from, to, set, count, &plan, &err) != STATUS_OK) fail_msg("%s", err.message);
    return plan;
}

static yaml_node *ladder(const char *from, const char *to) {
    write_file(file_a, from);
    write_file(file_b, to);
    return ladder_between(file_a, file_b, NULL, 0);
}

static const char *text_at(const yaml_node *plan, const char *path) {
    const yaml_node *node = yaml_get(plan, path);
    if (!node || node->kind != YAML_SCALAR) fail_msg("no '%s' in the plan", path);
    return node->text;
}

// The runs' names, separated by blanks.
static void check_names(const yaml_node *plan, const char *expected) {
    char names[512] = "";
    const yaml_node *runs = yaml_find(plan, "runs");
    for (size_t i = 0; i < runs->count; i++) {
        size_t used = strlen(names);
        snprintf(names + used, sizeof names - used, "%s%s", i ? " " : "",
                 yaml_find(runs->items[i], "name")->text);
    }
    assert_string_equal(names, expected);
}

// Reads the experiment of run number `at`.
static void read_run(const yaml_node *plan, size_t at, experiment *e) {
    error err = {0};
    const char *set[64];
    const yaml_node *list = yaml_find(yaml_find(plan, "runs")->items[at], "set");
    assert_true(list->count <= 64);
    for (size_t i = 0; i < list->count; i++) set[i] = list->items[i]->text;
    if (experiment_read(e, text_at(plan, "experiment"), set, list->count, &err) != STATUS_OK)
        fail_msg("%s", err.message);
}

// Checks that the last run is `to`, by the same strategy at the same size.
static void check_arrival(const yaml_node *plan, const char *to, const char *const *set,
                          size_t count) {
    experiment last, goal;
    error err = {0};
    char key[64];
    read_run(plan, yaml_find(plan, "runs")->count - 1, &last);
    assert_int_equal(experiment_read(&goal, to, set, count, &err), STATUS_OK);
    const char *differs = experiment_difference(last.resolved, goal.resolved, key);
    if (differs) fail_msg("ladder to %s: '%s' differs at its end", to, differs);
    assert_int_equal(last.strategy, goal.strategy);
    assert_int_equal(last.world_size, goal.world_size);
    assert_int_equal(last.loader_workers, goal.loader_workers);
    experiment_release(&last);
    experiment_release(&goal);
}

// Steps that only change which rank computes, or how test images are viewed, must not change a bit;
// all others must.
static void check_bits(const yaml_node *plan) {
    const yaml_node *runs = yaml_find(plan, "runs");
    for (size_t i = 1; i < runs->count; i++) {
        const yaml_node *factors = yaml_find(runs->items[i], "factors");
        experiment before, after;
        char key[64];
        if (!factors || factors->count != 1) continue;
        const char *name = factors->items[0]->text;
        bool free_of_bits = !strcmp(name, "loader-workers") || !strcmp(name, "world-size") ||
                            !strcmp(name, "test-views");
        bool after_control = !strcmp(text_at(runs->items[i - 1], "role"), "control");
        read_run(plan, i - (after_control ? 2 : 1), &before);
        read_run(plan, i, &after);
        const char *differs = experiment_difference(before.resolved, after.resolved, key);
        if (free_of_bits != !differs)
            fail_msg("%s: %s differs", text_at(runs->items[i], "name"),
                     differs ? differs : "nothing");
        experiment_release(&before);
        experiment_release(&after);
    }
}

static void one_factor_at_a_time_in_order(void **state) {
    (void)state;
    yaml_node *plan = ladder(HEAD "name: a\nvirtual_shards: 4\nglobal_batch: 64\nepochs: 10\n" SGD,
                             HEAD "name: b\nstrategy: ddp\nworld_size: 2\nvirtual_shards: 8\n"
                                  "global_batch: 128\nepochs: 20\nloader_workers: 2\n"
                                  "augment: [{horizontal_flip: {p: 0.5}}]\n"
                                  "schedule: {kind: multistep, milestones: [5, 15]}\n" SGD);
    check_names(plan, "00-a 01-loader-workers 02-world-size 03-virtual-shards 04-global-batch "
                      "05-learning-rate 06-epochs 07-augment");
    assert_string_equal(text_at(plan, "runs.2.changes.strategy.0"), "single");
    assert_string_equal(text_at(plan, "runs.2.changes.world_size.1"), "2");
    assert_string_equal(text_at(plan, "runs.0.role"), "start");
    assert_null(yaml_get(plan, "runs.2.kept"));
    check_arrival(plan, file_b, NULL, 0);
    check_bits(plan);
    yaml_free(plan);
}

static void training_options_are_rungs_of_their_own(void **state) {
    (void)state;
    yaml_node *plan =
        ladder(BASE "shard_seed: 1\n", HEAD "name: b\nglobal_batch: 64\nepochs: 10\n"
                                            "optimizer: {kind: sgd, lr: 0.001, momentum: "
                                            "0.9, clip_norm: 2}\n"
                                            "label_smoothing: 0.2\nmixup: {alpha: 0.3}\n"
                                            "average: {kind: ema, decay: 0.9}\ndrop_last: true\n");
    check_names(plan, "00-a 01-label-smoothing 02-mixup 03-averaged-weights "
                      "04-gradient-clipping 05-drop-last 06-shard_seed");
    assert_string_equal(text_at(plan, "runs.1.changes.label_smoothing.0"), "none");
    check_arrival(plan, file_b, NULL, 0);
    check_bits(plan);
    yaml_free(plan);
    // And back.
    plan = ladder(BASE "label_smoothing: 0.2\n", BASE_B);
    check_names(plan, "00-a 01-label-smoothing");
    check_arrival(plan, file_b, NULL, 0);
    yaml_free(plan);
}

static void shards_come_first_if_ranks_need_them(void **state) {
    (void)state;
    yaml_node *plan = ladder(BASE, HEAD "name: b\nstrategy: ddp\nworld_size: 4\nglobal_batch: 64\n"
                                        "epochs: 10\n" SGD);
    check_names(plan, "00-a 01-virtual-shards 02-world-size");
    assert_string_equal(text_at(plan, "runs.1.kept"), "world-size");
    assert_string_equal(text_at(plan, "runs.1.because"),
                        "'virtual_shards' is 1: it must be a multiple of 'world_size', which is 4");
    check_arrival(plan, file_b, NULL, 0);
    check_bits(plan);
    yaml_free(plan);
    // The batch changes first if that keeps the shards.
    plan = ladder(HEAD "name: a\nglobal_batch: 4\nepochs: 1\n" SGD,
                  HEAD "name: b\nstrategy: ddp\nworld_size: 8\nglobal_batch: 64\nepochs: 1\n"
                       "lr_scaling: {kind: linear, base_batch: 4}\n" SGD);
    check_names(plan, "00-a 01-global-batch 02-virtual-shards 03-world-size 04-learning-rate");
    check_arrival(plan, file_b, NULL, 0);
    yaml_free(plan);
}

// Without virtual_shards in the file the shards follow the ranks; in the step of the ranks they
// must not.
static void shards_stay_while_ranks_change(void **state) {
    (void)state;
    yaml_node *plan = ladder(HEAD "name: a\nstrategy: ddp\nworld_size: 4\nglobal_batch: 64\n"
                                  "epochs: 10\n" SGD,
                             BASE);
    check_names(plan, "00-a 01-world-size 02-virtual-shards");
    check_bits(plan);
    check_arrival(plan, file_b, NULL, 0);
    yaml_free(plan);
}

static void factors_that_need_each_other_change_together(void **state) {
    (void)state;
    yaml_node *plan = ladder(HEAD "name: a\nworld_size: 3\nglobal_batch: 48\nepochs: 1\n" SGD,
                             HEAD "name: b\nworld_size: 4\nglobal_batch: 48\nepochs: 1\n" SGD);
    check_names(plan, "00-a 01-world-size-and-virtual-shards");
    assert_int_equal(yaml_get(plan, "runs.1.factors")->count, 2);
    check_arrival(plan, file_b, NULL, 0);
    yaml_free(plan);
}

static void an_unscaled_rate_gets_a_control(void **state) {
    (void)state;
    yaml_node *plan = ladder(BASE, HEAD "name: b\nglobal_batch: 256\nepochs: 80\n" SGD);
    experiment control;
    check_names(plan, "00-a 01-global-batch 02-global-batch-scaled-rate 03-epochs");
    assert_string_equal(text_at(plan, "runs.2.role"), "control");
    read_run(plan, 2, &control);
    assert_int_equal(control.lr_scaling.kind, LR_SCALING_LINEAR);
    assert_int_equal(control.lr_scaling.base_batch, 64);
    assert_int_equal(control.schedule.warmup_epochs, 1);
    assert_int_equal(control.epochs, 10);
    experiment_release(&control);
    check_arrival(plan, file_b, NULL, 0);
    yaml_free(plan);
    // Not if the rate does follow the batch, nor for Adam.
    plan = ladder(BASE, HEAD "name: b\nglobal_batch: 256\nepochs: 10\n"
                             "lr_scaling: {kind: linear, base_batch: 64}\n" SGD);
    check_names(plan, "00-a 01-global-batch 02-learning-rate");
    yaml_free(plan);
    plan = ladder(HEAD "name: a\nglobal_batch: 64\nepochs: 1\noptimizer: {kind: adam, lr: 0.1}\n",
                  HEAD "name: b\nglobal_batch: 32\nepochs: 1\noptimizer: {kind: adam, lr: 0.1}\n");
    check_names(plan, "00-a 01-global-batch");
    yaml_free(plan);
}

static void other_differences_are_one_last_step(void **state) {
    (void)state;
    // SGD's rate has no meaning for Adam: it changes with the optimizer.
    yaml_node *plan = ladder(BASE "normalize: {mean: [0, 0, 0], std: [1, 1, 1]}\n",
                             HEAD "name: b\nglobal_batch: 64\nepochs: 10\nshard_seed: 3\n"
                                  "optimizer: {kind: adam, lr: 0.01}\n");
    check_names(plan, "00-a 01-rest");
    assert_string_equal(text_at(plan, "runs.1.changes.normalize.1"), "none");
    assert_non_null(yaml_get(plan, "runs.1.changes.optimizer"));
    check_arrival(plan, file_b, NULL, 0);
    yaml_free(plan);
    plan = ladder(BASE, HEAD "name: b\nglobal_batch: 64\nepochs: 10\n"
                             "optimizer: {kind: sgd, lr: 0.01, momentum: 0.8}\n");
    check_names(plan, "00-a 01-learning-rate 02-optimizer");
    check_arrival(plan, file_b, NULL, 0);
    yaml_free(plan);
    plan = ladder(BASE, "schema: lockstep.experiment/1\ndataset: cifar10\nmodel: large\nname: b\n"
                        "global_batch: 64\nepochs: 10\n" SGD);
    check_names(plan, "00-a 01-model");
    assert_string_equal(text_at(plan, "runs.1.changes.model.1"), "large");
    check_arrival(plan, file_b, NULL, 0);
    yaml_free(plan);
}

// The patterns of the run number `at`, each with its settings, as in a --set.
static void check_patterns(const yaml_node *plan, size_t at, const char *expected) {
    experiment e;
    read_run(plan, at, &e);
    char *text = plan_value_text(yaml_find(e.resolved, "tensors"));
    assert_string_equal(text, expected);
    free(text);
    experiment_release(&e);
}

static void every_pattern_of_tensors_is_a_factor(void **state) {
    (void)state;
    yaml_node *plan =
        ladder(BASE "tensors: {bn1.bias: {lr_factor: 2}, conv1.bias: {init: zero}, fc2.bias: "
                    "{trained_epochs: 1}}\n",
               HEAD "name: b\nglobal_batch: 64\nepochs: 10\nseed: 3\n" SGD
                    "tensors: {\"*conv*.weight\": {init: dirac}, bn1.bias: {lr_factor: 3}, "
                    "fc2.bias: {trained_epochs: 1}, fc1.weight: {weight_decay: 0.1}}\n");
    check_names(plan, "00-a 01-tensors.conv.weight 02-tensors.bn1.bias 03-tensors.conv1.bias "
                      "04-tensors.fc1.weight 05-seed");
    const yaml_node *changes = yaml_get(plan, "runs.2.changes");
    assert_string_equal(changes->keys[0], "tensors.bn1.bias");
    assert_string_equal(changes->items[0]->items[0]->text, "{lr_factor: 2}");
    assert_string_equal(changes->items[0]->items[1]->text, "{lr_factor: 3}");
    changes = yaml_get(plan, "runs.3.changes");
    assert_string_equal(changes->items[0]->items[1]->text, "none");
    assert_string_equal(text_at(plan, "runs.4.factors.0"), "tensors.fc1.weight");
    check_patterns(plan, 0,
                   "[{bn1.bias: {lr_factor: 2}}, {conv1.bias: {init: zero}}, {fc2.bias: "
                   "{trained_epochs: 1}}]");
    check_patterns(plan, 2,
                   "[{'*conv*.weight': {init: dirac}}, {bn1.bias: {lr_factor: 3}}, "
                   "{conv1.bias: {init: zero}}, {fc2.bias: {trained_epochs: 1}}]");
    check_arrival(plan, file_b, NULL, 0);
    check_bits(plan);
    yaml_free(plan);
    // To none at all.
    plan = ladder(BASE "tensors: {bn1.bias: {lr_factor: 2}, conv1.bias: {init: zero}}\n",
                  HEAD "name: b\nglobal_batch: 64\nepochs: 10\n" SGD);
    check_names(plan, "00-a 01-tensors.bn1.bias 02-tensors.conv1.bias");
    check_arrival(plan, file_b, NULL, 0);
    yaml_free(plan);
}

// Patterns in another order, and patterns that only one of the models has tensors for.
static void patterns_that_cannot_change_one_by_one(void **state) {
    (void)state;
    yaml_node *plan =
        ladder(BASE "tensors: {bn1.bias: {lr_factor: 2}, \"*.bias\": {lr_factor: 4}}\n",
               HEAD "name: b\nglobal_batch: 64\nepochs: 10\n" SGD
                    "tensors: {\"*.bias\": {lr_factor: 4}, bn1.bias: {lr_factor: 2}}\n");
    check_names(plan, "00-a 01-tensors");
    check_arrival(plan, file_b, NULL, 0);
    yaml_free(plan);
    plan = ladder(BASE "tensors: {fc1.bias: {lr_factor: 2}, bn1.bias: {lr_factor: 2}}\n",
                  "schema: lockstep.experiment/1\ndataset: cifar10\nmodel: plain\nname: b\n"
                  "global_batch: 64\nepochs: 10\n" SGD "tensors: {fc1.bias: {lr_factor: 3}}\n");
    check_names(plan, "00-a 01-tensors.fc1.bias 02-tensors.bn1.bias 03-model");
    check_arrival(plan, file_b, NULL, 0);
    yaml_free(plan);
}

// Writes a claim next to the experiments, with these rows. "": none.
static void write_claim(const char *rows) {
    char text[1024];
    snprintf(text, sizeof text, "schema: lockstep.claim/1\nname: R1\nrows:\n%s", rows);
    if (*rows)
        write_file(file_claim, text);
    else
        unlink(file_claim);
}

static void published_figures_stay_with_their_runs(void **state) {
    (void)state;
    write_claim("  - {name: one, experiment: a, accuracy: 65.39, where: table 1, device: T4}\n"
                "  - {name: two, experiment: [c, b], note: \"a\\tb\", accuracy: ~64}\n");
    yaml_node *plan = ladder(BASE, HEAD "name: b\nglobal_batch: 256\nepochs: 10\n" SGD);
    assert_string_equal(text_at(plan, "runs.0.published.0.source"), "R1");
    assert_string_equal(text_at(plan, "runs.0.published.0.where"), "table 1");
    assert_string_equal(text_at(plan, "runs.0.published.0.claim"), file_claim);
    assert_string_equal(text_at(plan, "runs.0.published.0.accuracy"), "65.39");
    assert_string_equal(text_at(plan, "runs.0.published.0.note"), "1 x T4");
    assert_string_equal(text_at(plan, "runs.1.published.0.accuracy"), "~64");
    assert_string_equal(text_at(plan, "runs.1.published.0.note"), "a\tb");
    assert_null(yaml_get(plan, "runs.2.published"));
    yaml_free(plan);
    write_claim("");
}

// Other forms become the number that they mean.
static void published_figures_have_units(void **state) {
    (void)state;
    write_claim("  - {name: one, experiment: a, accuracy: 93.02%, total_seconds: 2m36s, "
                "seconds_per_epoch: [12 s, 1m]}\n"
                "  - {name: two, experiment: b, error: 8.5, iterations_per_second: 12.5, "
                "total_seconds: 93.5 ± 0.25}\n");
    yaml_node *plan = ladder(BASE, HEAD "name: b\nglobal_batch: 256\nepochs: 10\n" SGD);
    assert_string_equal(text_at(plan, "runs.0.published.0.accuracy"), "93.02");
    assert_string_equal(text_at(plan, "runs.0.published.0.total_seconds"), "156");
    assert_string_equal(text_at(plan, "runs.0.published.0.seconds_per_epoch.1"), "60");
    assert_string_equal(text_at(plan, "runs.1.published.0.accuracy"), "91.5");
    assert_string_equal(text_at(plan, "runs.1.published.0.batch_ms"), "80");
    assert_string_equal(text_at(plan, "runs.1.published.0.total_seconds.0"), "93.25");
    assert_string_equal(text_at(plan, "runs.1.published.0.total_seconds.1"), "93.75");
    yaml_free(plan);
    write_claim("");
}

// A figure that no report could show is reported at its place in the claim, before any training.
static void published_figures_are_numbers(void **state) {
    (void)state;
    static const char *const bad[] = {"[1, 2, 3]", "abc", "[~1, x]", "{a: 1}", "\"~\""};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char row[128];
        yaml_node *plan = NULL;
        error err = {0};
        write_file(file_a, BASE);
        write_file(file_b, HEAD "name: b\nglobal_batch: 256\nepochs: 10\n" SGD);
        snprintf(row, sizeof row, "  - {name: one, experiment: a, accuracy: %s}\n", bad[i]);
        write_claim(row);
        assert_int_equal(plan_ladder(file_a, file_b, NULL, 0, &plan, &err), STATUS_INPUT);
        if (!strstr(err.message, "claim.yaml:4:")) fail_msg("%s", err.message);
        yaml_free(plan);
    }
    write_claim("");
}

// Checks that run number `at` is this file and has these seconds, for the same run; NULL: none.
static void check_known(const yaml_node *plan, size_t at, const char *name, const char *seconds) {
    const yaml_node *run = yaml_find(plan, "runs")->items[at];
    const yaml_node *same = yaml_find(run, "same_as");
    const yaml_node *found = yaml_get(run, "published.0.total_seconds");
    if (name)
        assert_string_equal(same ? same->text : "none", name);
    else
        assert_null(same);
    if (seconds)
        assert_string_equal(found ? found->text : "none", seconds);
    else
        assert_null(found);
}

#define TIMED(name, seconds) \
    "  - {name: " name ", experiment: " name ", total_seconds: " seconds "}\n"
#define PLAIN_RUN                                                                       \
    "schema: lockstep.experiment/1\ndataset: cifar10\nmodel: plain\nglobal_batch: 64\n" \
    "epochs: 10\n" SGD

// a: no workers; c: 4 workers; b: 2 ranks with 4 workers, and so V = 2. The step of V lies between
// c and b. `figures_of_c`: a row of the claim.
static void write_three(const char *more_of_c, const char *figures_of_c) {
    char text[1024], rows[512];
    write_file(file_a, PLAIN_RUN "name: a\n");
    snprintf(text, sizeof text, "%s%s", PLAIN_RUN "name: c\nloader_workers: 4\nseed: 7\n",
             more_of_c);
    write_file(file_c, text);
    write_file(file_b, PLAIN_RUN "name: b\nloader_workers: 4\nstrategy: ddp\nworld_size: 2\n");
    snprintf(rows, sizeof rows, "%s%s", TIMED("a", "72.80") TIMED("b", "26.1"), figures_of_c);
    write_claim(rows);
}

static void rungs_that_are_files_show_their_figures(void **state) {
    (void)state;
    write_three("target_accuracy: 0.9\n", TIMED("c", "18.47"));
    yaml_node *plan = ladder_between(file_a, file_b, NULL, 0);
    check_names(plan, "00-a 01-loader-workers 02-virtual-shards 03-world-size");
    check_known(plan, 0, "a", "72.80");
    check_known(plan, 1, "c", "18.47");
    check_known(plan, 2, "c", "18.47");
    check_known(plan, 3, "b", "26.1");
    assert_null(yaml_get(plan, "runs.0.published_factors"));
    assert_string_equal(text_at(plan, "runs.1.published_factors.0"), "loader-workers");
    assert_int_equal(yaml_get(plan, "runs.1.published_factors")->count, 1);
    // The seed differs, and V: for the published report these are the same.
    assert_string_equal(text_at(plan, "runs.1.same_but.0"), "seed");
    assert_string_equal(text_at(plan, "runs.2.same_but.0"), "virtual_shards");
    assert_null(yaml_get(plan, "runs.2.published_factors"));
    assert_int_equal(yaml_get(plan, "runs.3.published_factors")->count, 1);
    assert_string_equal(text_at(plan, "runs.3.published_factors.0"), "world-size");
    assert_string_equal(text_at(plan, "runs.3.published_epochs"), "10");
    assert_null(yaml_get(plan, "runs.3.same_but"));
    yaml_free(plan);
    // A file without figures gives only its name; the factors wait for the next one that has
    // figures.
    write_three("", "");
    plan = ladder_between(file_a, file_b, NULL, 0);
    check_known(plan, 1, "c", NULL);
    assert_int_equal(yaml_get(plan, "runs.3.published_factors")->count, 2);
    yaml_free(plan);
    // Other work does not match: one process of DDP is not a single device.
    write_three("strategy: ddp\n", TIMED("c", "18.47"));
    plan = ladder_between(file_a, file_b, NULL, 0);
    check_known(plan, 1, NULL, NULL);
    yaml_free(plan);
    assert_int_equal(unlink(file_c), 0);
}

// Batch norm over a shard changes with V; sync_batch_norm undoes that.
static void with_batch_norm_virtual_shards_are_a_factor(void **state) {
    (void)state;
    write_file(file_c, HEAD "name: c\nglobal_batch: 64\nepochs: 10\nloader_workers: 4\n" SGD);
    write_claim(TIMED("a", "72.80") TIMED("b", "26.1") TIMED("c", "18.47"));
    yaml_node *plan = ladder(BASE, HEAD "name: b\nstrategy: ddp\nworld_size: 2\nglobal_batch: 64\n"
                                        "epochs: 10\nloader_workers: 4\n" SGD);
    check_names(plan, "00-a 01-loader-workers 02-virtual-shards 03-world-size");
    check_known(plan, 1, "c", "18.47");
    check_known(plan, 2, NULL, NULL);
    assert_int_equal(yaml_get(plan, "runs.3.published_factors")->count, 2);
    assert_string_equal(text_at(plan, "runs.3.published_factors.1"), "virtual-shards");
    yaml_free(plan);
    plan = ladder(BASE, HEAD "name: b\nstrategy: ddp\nworld_size: 2\nglobal_batch: 64\nepochs: 10\n"
                             "loader_workers: 4\nsync_batch_norm: true\n" SGD);
    check_known(plan, 2, "c", "18.47");
    assert_int_equal(yaml_get(plan, "runs.3.published_factors")->count, 1);
    yaml_free(plan);
    assert_int_equal(unlink(file_c), 0);
}

// Figures are those of the published files: a shorter run keeps them, other work does not.
static void settings_do_not_change_published_figures(void **state) {
    (void)state;
    const char *const epochs[] = {"epochs=2"}, *const batch[] = {"global_batch=32"};
    write_file(file_a, PLAIN_RUN "name: a\n");
    write_claim(TIMED("a", "72.80") TIMED("b", "26.1"));
    write_file(file_b, "schema: lockstep.experiment/1\ndataset: cifar10\nmodel: plain\n"
                       "global_batch: 256\nepochs: 80\nname: b\n" SGD);
    yaml_node *plan = ladder_between(file_a, file_b, epochs, 1);
    check_names(plan, "00-a 01-global-batch 02-global-batch-scaled-rate");
    check_known(plan, 0, "a", "72.80");
    check_known(plan, 1, "b", "26.1");
    assert_string_equal(text_at(plan, "runs.1.published_epochs"), "80");
    // The ladder has no rung for the epochs, but the published runs differ in them.
    assert_int_equal(yaml_get(plan, "runs.1.published_factors")->count, 2);
    assert_string_equal(text_at(plan, "runs.1.published_factors.1"), "epochs");
    check_known(plan, 2, NULL, NULL);
    yaml_free(plan);
    plan = ladder_between(file_a, file_b, batch, 1);
    check_names(plan, "00-a 01-epochs");
    check_known(plan, 0, NULL, NULL);
    check_known(plan, 1, NULL, NULL);
    yaml_free(plan);
}

// The ladder's purpose: R004's own figures for its loader workers appear between its ends.
static void the_projects_ladder_finds_the_loader_study(void **state) {
    (void)state;
    const char *const a = "experiments/R004/mnist-single-w0.yaml",
                      *const b = "experiments/R004/mnist-ddp8.yaml";
    if (access(a, R_OK) != 0) skip();
    yaml_node *plan = ladder_between(a, b, NULL, 0);
    check_known(plan, 1, "mnist-single-w4", "18.47");
    check_known(plan, 3, "mnist-ddp8", "26.113313526380807");
    assert_string_equal(text_at(plan, "runs.1.published_factors.0"), "loader-workers");
    assert_string_equal(text_at(plan, "runs.3.published_factors.0"), "world-size");
    yaml_free(plan);
}

// The ingredients of airbench94 change in the order of its paper, so that each rung is one of its
// files, which have the published numbers of epochs.
static void the_ladder_of_airbench_is_the_published_one(void **state) {
    (void)state;
    static const char *const rungs[][2] = {
        {"airbench-plain", "45"},  {"airbench-whiten", "21"},    {"airbench-dirac", "18"},
        {"airbench-bias", "13.5"}, {"airbench-lookahead", "12"}, {"airbench-views", "10.8"},
        {"airbench94", "9.9"},
    };
    const char *const epochs[] = {"epochs=9.9"};
    yaml_node *plan = ladder_between("experiments/airbench/airbench-plain.yaml",
                                     "experiments/airbench/airbench94.yaml", epochs, 1);
    check_names(plan, "00-airbench-plain 01-tensors.whiten.weight 02-tensors.conv.weight "
                      "03-tensors.norm.bias 04-averaged-weights 05-test-views 06-augment");
    for (size_t i = 0; i < sizeof rungs / sizeof *rungs; i++) {
        const yaml_node *run = yaml_find(plan, "runs")->items[i];
        assert_string_equal(text_at(run, "same_as"), rungs[i][0]);
        assert_string_equal(text_at(run, "published_epochs"), rungs[i][1]);
    }
    assert_string_equal(text_at(plan, "runs.0.published.0.accuracy"), "94");
    assert_string_equal(text_at(plan, "runs.6.published.0.accuracy"), "94.01");
    yaml_free(plan);
}

static void equal_experiments_are_refused(void **state) {
    (void)state;
    yaml_node *plan;
    error err = {0};
    const char *const epochs[] = {"epochs=3"};
    write_file(file_a, BASE);
    write_file(file_b,
               HEAD "name: b\ntitle: other\nglobal_batch: 64\nepochs: 20\nrepeats: 3\n" SGD);
    assert_int_equal(plan_ladder(file_a, file_b, epochs, 1, &plan, &err), STATUS_USAGE);
    assert_non_null(strstr(err.message, "they would run the same"));
    assert_null(plan);
    const char *const bad[] = {"epochs=0"};
    assert_int_equal(plan_ladder(file_a, file_b, bad, 1, &plan, &err), STATUS_USAGE);
    // If they do, there are as many repeats as the larger of the two numbers.
    experiment e;
    plan = ladder_between(file_a, file_b, NULL, 0);
    read_run(plan, 0, &e);
    assert_int_equal(e.repeats, 3);
    experiment_release(&e);
    yaml_free(plan);
}

// Reads the project's catalogue; skips the test outside the source tree.
static void read_project(catalog *c) {
    error err;
    if (access("experiments", R_OK)) skip();
    if (catalog_read(c, "experiments", &err) != STATUS_OK) fail_msg("%s", err.message);
}

// Checks that the ladder from a to b ends at b, or that there is none if they are the same.
static void check_way(const char *a, const char *b) {
    yaml_node *plan;
    error err = {0};
    status rc = plan_ladder(a, b, NULL, 0, &plan, &err);
    if (rc == STATUS_USAGE && strstr(err.message, "would run the same")) return;
    if (rc != STATUS_OK) fail_msg("%s", err.message);
    check_arrival(plan, b, NULL, 0);
    check_bits(plan);
    yaml_free(plan);
}

// Between any two experiments of the project there is a ladder, and it ends at the second one.
// Where few cases are asked for, still fewer: each experiment is a first and a second one.
static void every_pair_of_experiments(void **state) {
    const size_t one_of = few_cases() ? 3 * one_case_of() : 1;
    (void)state;
    catalog c;
    read_project(&c);
    for (size_t a = 0; a < c.count; a++)
        for (size_t b = 0; b < c.count; b++)
            if (catalog_is_experiment(&c.items[a]) && catalog_is_experiment(&c.items[b]) &&
                (a + b) % one_of == 0)
                check_way(c.items[a].path, c.items[b].path);
    catalog_release(&c);
}

// ---- Studies ----

static void study_refuses(const char *text, const char *message) {
    yaml_node *plan;
    error err = {0};
    char expected[1024];
    write_file(file_study, text);
    assert_int_equal(plan_study(file_study, NULL, 0, &plan, &err), STATUS_INPUT);
    snprintf(expected, sizeof expected, "%s:%s", file_study, message);
    assert_string_equal(err.message, expected);
    assert_null(plan);
}

#define STUDY "schema: lockstep.study/1\nname: s\nbase: a\n"

static void a_study_is_a_grid(void **state) {
    (void)state;
    yaml_node *plan;
    error err = {0};
    experiment e;
    const char *const epochs[] = {"epochs=3"};
    write_file(file_a, BASE);
    write_claim("  - {name: base, experiment: a, accuracy: 65}\n");
    // A speed-up's base is the variant, not the experiment for the same row.
    write_file("studies/claim.yaml",
               "schema: lockstep.claim/1\nname: R3\ncommon: {over: one, source: none}\nrows:\n"
               "  - {name: one, experiment: [a, s/strategy-single--world_size-1]}\n"
               "  - {name: four, experiment: s/strategy-ddp--world_size-4, speed_up: ~1.8}\n");
    write_file(file_study,
               STUDY "vary: {virtual_shards: [4], strategy: [ddp, single], world_size: [1, 4]}\n");
    if (plan_study(file_study, epochs, 1, &plan, &err) != STATUS_OK) fail_msg("%s", err.message);
    check_names(plan, "strategy-ddp--world_size-1 strategy-ddp--world_size-4 "
                      "strategy-single--world_size-1 strategy-single--world_size-4");
    assert_string_equal(text_at(plan, "experiment"), file_a);
    assert_int_equal(yaml_get(plan, "vary")->count, 2);
    assert_string_equal(text_at(plan, "runs.1.values.world_size"), "4");
    read_run(plan, 1, &e);
    assert_int_equal(e.virtual_shards, 4);
    assert_int_equal(e.world_size, 4);
    assert_int_equal(e.epochs, 3);
    assert_string_equal(e.name, "strategy-ddp--world_size-4");
    experiment_release(&e);
    assert_string_equal(text_at(plan, "runs.1.published.0.speed_up"), "~1.8");
    assert_string_equal(text_at(plan, "runs.1.published.0.over"), "strategy-single--world_size-1");
    assert_string_equal(text_at(plan, "runs.1.published.0.note"), "quoted without a source");
    assert_null(yaml_get(plan, "runs.0.published"));
    yaml_free(plan);
    unlink(file_claim);
    char path[FILE_PATH_SIZE];
    snprintf(path, sizeof path, "%s/studies/claim.yaml", folder);
    assert_int_equal(unlink(path), 0);
}

static void a_value_without_a_name_is_numbered(void **state) {
    (void)state;
    yaml_node *plan;
    error err = {0};
    write_file(file_a, BASE);
    write_file(file_study, STUDY "vary: {augment: [[], [{horizontal_flip: {p: 0.5}}]]}\n");
    if (plan_study(file_study, NULL, 0, &plan, &err) != STATUS_OK) fail_msg("%s", err.message);
    check_names(plan, "augment-1 augment-2");
    yaml_free(plan);
}

static void bad_studies_are_refused_with_their_place(void **state) {
    (void)state;
    write_file(file_a, BASE);
    study_refuses(
        STUDY "vary: {epochs: [3, 4]}\npublished: [{epochs: 3}]\n",
        "5:12: 'published': published figures belong in a claim: a row of claim.yaml with "
        "'experiment: s/VARIANT' (docs/formats.md, Claims)");
    study_refuses(STUDY "vary: {}\n", "4:7: 'vary': expected 1 to 8 keys with their values");
    study_refuses(STUDY "vary: {epochs: 3}\n", "4:16: 'vary.epochs': expected a list of values");
    study_refuses(STUDY "vary: {epochs: [3]}\n", "4:7: 'vary': nothing varies");
    study_refuses(STUDY "vary: {epochs: [3, 3]}\n", "4:20: 'vary.epochs': the same value twice");
    study_refuses(STUDY "vary: {epocs: [3, 4]}\n",
                  "4:7: variant 'epocs-3': --set 'epocs=3': unknown key 'epocs': did you mean "
                  "'epochs'?");
    study_refuses(STUDY "vary: {virtual_shards: [2, 3]}\n",
                  "4:7: variant 'virtual_shards-3': --set 'virtual_shards=3': 'virtual_shards' is "
                  "3: it must divide 'global_batch', which is 64");
    study_refuses(STUDY "vray: {epochs: [3, 4]}\n",
                  "4:1: unknown key 'vray': did you mean 'vary'?");
    study_refuses("schema: lockstep.experiment/1\nname: s\nbase: a\nvary: {epochs: [3, 4]}\n",
                  "1:9: 'schema': expected lockstep.study/1, got 'lockstep.experiment/1'");
    yaml_node *plan;
    error err = {0};
    write_file(file_study,
               "schema: lockstep.study/1\nname: s\nbase: none\nvary: {epochs: [3, 4]}\n");
    assert_int_equal(plan_study(file_study, NULL, 0, &plan, &err), STATUS_INPUT);
    assert_non_null(strstr(err.message, "cannot find experiment: 'none': "));
}

static void every_study_of_the_project(void **state) {
    (void)state;
    catalog c;
    size_t studies = 0;
    read_project(&c);
    for (size_t i = 0; i < c.count; i++) {
        yaml_node *plan;
        error err = {0};
        if (!catalog_is_study(&c.items[i])) continue;
        if (plan_study(c.items[i].path, NULL, 0, &plan, &err) != STATUS_OK)
            fail_msg("%s", err.message);
        yaml_free(plan);
        studies++;
    }
    assert_true(studies >= 2);
    catalog_release(&c);
}

// A study's fixed settings can be replaced by given ones; its varied settings cannot.
static void settings_of_a_study_can_be_replaced(void **state) {
    (void)state;
    yaml_node *plan;
    error err = {0};
    experiment e;
    const char *const given[] = {"epochs=3", "seed=7"};
    write_file(file_a, BASE);
    write_file(file_study, STUDY "vary: {epochs: [5], seed: [1, 2]}\n");
    if (plan_study(file_study, given, 2, &plan, &err) != STATUS_OK) fail_msg("%s", err.message);
    read_run(plan, 1, &e);
    assert_int_equal(e.epochs, 3);
    assert_int_equal(e.seed, 2);
    experiment_release(&e);
    yaml_free(plan);
}

// ---- Reproductions ----

// Every run of every list is an experiment, and a quick one is shorter.
static void every_reproduction_of_the_project(void **state) {
    (void)state;
    glob_t found;
    if (glob("experiments/reproductions/*.yaml", 0, NULL, &found)) skip();
    for (size_t i = 0; i < 2 * found.gl_pathc; i++) {
        const char *path = found.gl_pathv[i / 2];
        yaml_node *plan;
        error err = {0};
        if (plan_reproduction(path, i % 2, NULL, 0, &plan, &err) != STATUS_OK)
            fail_msg("%s", err.message);
        const yaml_node *runs = yaml_find(plan, "runs");
        assert_int_equal(yaml_find(plan, "reports")->count, 5);
        for (size_t k = 0; k < runs->count; k++) {
            const yaml_node *run = runs->items[k];
            experiment e;
            if (plan_experiment(text_at(run, "experiment"), yaml_find(run, "set"), &e, &err) !=
                STATUS_OK)
                fail_msg("%s: %s", text_at(run, "name"), err.message);
            assert_string_equal(e.name, text_at(run, "name"));
            if (i % 2) assert_true(e.epochs < atoi(text_at(run, "full_epochs")));
            experiment_release(&e);
        }
        yaml_free(plan);
    }
    globfree(&found);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_factor_at_a_time_in_order),
        cmocka_unit_test(training_options_are_rungs_of_their_own),
        cmocka_unit_test(shards_come_first_if_ranks_need_them),
        cmocka_unit_test(shards_stay_while_ranks_change),
        cmocka_unit_test(factors_that_need_each_other_change_together),
        cmocka_unit_test(an_unscaled_rate_gets_a_control),
        cmocka_unit_test(other_differences_are_one_last_step),
        cmocka_unit_test(every_pattern_of_tensors_is_a_factor),
        cmocka_unit_test(patterns_that_cannot_change_one_by_one),
        cmocka_unit_test(published_figures_stay_with_their_runs),
        cmocka_unit_test(published_figures_have_units),
        cmocka_unit_test(published_figures_are_numbers),
        cmocka_unit_test(rungs_that_are_files_show_their_figures),
        cmocka_unit_test(with_batch_norm_virtual_shards_are_a_factor),
        cmocka_unit_test(settings_do_not_change_published_figures),
        cmocka_unit_test(the_projects_ladder_finds_the_loader_study),
        cmocka_unit_test(the_ladder_of_airbench_is_the_published_one),
        cmocka_unit_test(equal_experiments_are_refused),
        cmocka_unit_test(every_pair_of_experiments),
        cmocka_unit_test(a_study_is_a_grid),
        cmocka_unit_test(a_value_without_a_name_is_numbered),
        cmocka_unit_test(bad_studies_are_refused_with_their_place),
        cmocka_unit_test(every_study_of_the_project),
        cmocka_unit_test(settings_of_a_study_can_be_replaced),
        cmocka_unit_test(every_reproduction_of_the_project),
    };
    return cmocka_run_group_tests(tests, make_files, remove_folder);
}
