// SPDX-License-Identifier: MIT
// Experiment files: defaults, --set, and refusals, with file, line and column.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "experiment/catalog.h"
#include "experiment/experiment.h"

#include "temporary_folder.h"

#define MODEL                                                                            \
    "schema: lockstep.model/1\nname: small\ninput: [3, 8, 8]\nlayers:\n"                 \
    "  [conv: {out: 4, kernel: 3}, batch_norm, relu, flatten, linear: {out: 8}, relu,\n" \
    "   linear: {out: 10}]\n"

// Lines 1 to 8 of most files below.
#define HEAD                                                                   \
    "schema: lockstep.experiment/1\nname: x\ndataset: cifar10\nmodel: small\n" \
    "virtual_shards: 4\nglobal_batch: 64\nepochs: 10\noptimizer: {kind: sgd, lr: 0.001}\n"

#define AUGMENTATIONS                                                          \
    "augmentations are: random_crop, horizontal_flip, random_affine, cutout, " \
    "random_resized_crop, color_jitter"
#define KEYS                                                                                  \
    "title, dataset, model, strategy, world_size, virtual_shards, shard_seed, global_batch, " \
    "epochs, seed, repeats, normalize, augment, loader_workers, optimizer, schedule, "        \
    "lr_scaling, initial_weights, tensors, sync_batch_norm, label_smoothing, mixup, "         \
    "validation, keep, early_stopping, stop_at, tta, stages, drop_last, average, "            \
    "target_accuracy, published"

static char path[FILE_PATH_SIZE];

static int make_files(void **state) {
    if (make_folder(state)) return -1;
    snprintf(path, sizeof path, "%s/x.yaml", folder);
    write_file("models/small.yaml", MODEL);
    return 0;
}

static status load_set(const char *text, experiment *e, error *err, const char *const *set,
                       size_t count) {
    write_file("x.yaml", text);
    return experiment_read(e, path, set, count, err);
}

static void must_load(const char *text, experiment *e) {
    error err = {0};
    if (load_set(text, e, &err, NULL, 0) != STATUS_OK) fail_msg("%s", err.message);
}

// The message must be "PATH:" followed by `message`.
static void refuses(const char *text, const char *message) {
    experiment e;
    error err = {0};
    char expected[2048];
    status rc = load_set(text, &e, &err, NULL, 0);
    if (rc == STATUS_OK) fail_msg("accepted: %s", text);
    assert_int_equal(rc, STATUS_INPUT);
    snprintf(expected, sizeof expected, "%s:%s", path, message);
    if (strcmp(err.message, expected) != 0) fail_msg("'%s'\n is not '%s'", err.message, expected);
    assert_null(e.resolved);
    assert_null(e.model.tensors);
}

static void refuses_set(const char *assignment, const char *message) {
    experiment e;
    error err = {0};
    status rc = load_set(HEAD, &e, &err, &assignment, 1);
    if (rc == STATUS_OK) fail_msg("accepted: %s", assignment);
    if (strcmp(err.message, message) != 0) fail_msg("'%s'\n is not '%s'", err.message, message);
    assert_int_equal(rc, STATUS_USAGE);
    assert_int_equal(err.code, STATUS_USAGE);
}

static void defaults_are_filled_in(void **state) {
    (void)state;
    experiment e;
    must_load("schema: lockstep.experiment/1\nname: x\ndataset: mnist\nmodel: small\n"
              "global_batch: 64\nepochs: 10\noptimizer: {kind: sgd, lr: 0.001}\n",
              &e);
    assert_string_equal(e.name, "x");
    assert_string_equal(e.title, "x");
    assert_string_equal(e.dataset, "mnist");
    assert_int_equal(e.strategy, STRATEGY_SINGLE);
    assert_int_equal(e.world_size, 1);
    assert_int_equal(e.virtual_shards, 1);
    assert_int_equal(e.shard_seed, 0);
    assert_int_equal(e.seed, 42);
    assert_int_equal(e.repeats, 1);
    assert_false(e.has_normalize);
    assert_int_equal(e.loader_workers, 0);
    assert_int_equal(e.optimizer.kind, OPTIMIZER_SGD);
    assert_true(e.optimizer.hyper[HYPER_MOMENTUM] == 0 && e.optimizer.hyper[HYPER_NESTEROV] == 0 &&
                e.optimizer.weight_decay == 0);
    assert_int_equal(e.schedule.kind, SCHEDULE_CONSTANT);
    assert_int_equal(e.lr_scaling.kind, LR_SCALING_NONE);
    assert_false(e.sync_batch_norm);
    assert_string_equal(e.model.name, "small");
    static const char *const expected[][2] = {{"virtual_shards", "1"},
                                              {"optimizer.momentum", "0"},
                                              {"optimizer.nesterov", "false"},
                                              {"schedule.kind", "constant"},
                                              {"lr_scaling.kind", "none"},
                                              {"seed", "42"},
                                              {"model", "small"},
                                              {"architecture.name", "small"}};
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
        assert_string_equal(yaml_get(e.resolved, expected[i][0])->text, expected[i][1]);
    assert_int_equal(yaml_find(e.resolved, "augment")->count, 0);
    assert_null(yaml_find(e.resolved, "normalize"));
    assert_null(yaml_find(e.resolved, "stages"));
    assert_null(yaml_find(e.resolved, "tta"));
    experiment_release(&e);
}

// A key that came later is in the resolved experiment only with another value than its default.
static void silent_keys(void **state) {
    (void)state;
    experiment e;
    must_load(HEAD "tta: none\n", &e);
    assert_int_equal(e.tta, TTA_NONE);
    assert_null(yaml_find(e.resolved, "tta"));
    experiment_release(&e);
    must_load(HEAD "tta: mirror-shift\n", &e);
    assert_int_equal(e.tta, TTA_MIRROR_SHIFT);
    assert_string_equal(yaml_find(e.resolved, "tta")->text, "mirror-shift");
    experiment_release(&e);
    must_load(HEAD "validation: {samples: 50, seed: 0}\nkeep: best\n"
                   "early_stopping: {patience: 3}\n",
              &e);
    assert_true(e.validation.samples == 50 && e.keep == KEEP_BEST);
    assert_true(e.early_stopping.patience == 3 && e.early_stopping.min_delta == 0);
    assert_string_equal(yaml_get(e.resolved, "validation.samples")->text, "50");
    assert_null(yaml_get(e.resolved, "validation.seed"));
    assert_null(yaml_get(e.resolved, "early_stopping.min_delta"));
    assert_string_equal(yaml_find(e.resolved, "keep")->text, "best");
    experiment_release(&e);
    must_load(HEAD "validation: {samples: 0}\nkeep: last\nearly_stopping: {patience: 0}\n", &e);
    assert_null(yaml_find(e.resolved, "validation"));
    assert_null(yaml_find(e.resolved, "keep"));
    assert_null(yaml_find(e.resolved, "early_stopping"));
    experiment_release(&e);
    refuses(HEAD "keep: best\n",
            "9:7: 'keep: best' needs 'validation': the best epoch is that with "
            "the best accuracy on validation samples");
    refuses(HEAD "early_stopping: {patience: 2}\n",
            "9:28: 'early_stopping' needs 'validation': it ends training by the accuracy on "
            "validation samples");
    refuses(HEAD "stop_at: {accuracy: 0.95}\n",
            "9:21: 'stop_at' needs 'validation': it ends training by the accuracy on validation "
            "samples; test data must not choose the number of epochs");
    refuses(HEAD "validation: {samples: 9}\nearly_stopping: {min_delta: 0.1}\n",
            "10:29: 'early_stopping.min_delta' needs 'early_stopping.patience'");
    refuses(HEAD "validation: {seed: 9}\n", "9:20: 'validation.seed' needs 'validation.samples'");
    refuses(HEAD "mixup: {alpha: 4.5}\n",
            "9:16: 'mixup.alpha': expected a number of at least 0 and at most 4, got 4.5");
    refuses("schema: lockstep.experiment/1\nname: x\ndataset: cifar10\nmodel: small\n"
            "global_batch: 8\nvirtual_shards: 8\nepochs: 1\noptimizer: {kind: sgd, lr: 1}\n"
            "mixup: {alpha: 0.2}\n",
            "9:16: 'mixup' needs two samples or more in a shard: it blends each with another one "
            "of its shard, and 'global_batch' / 'virtual_shards' is 1");
    refuses(HEAD "tta: mirrors\n", "9:6: 'tta': expected one of none, mirror, mirror-shift, got "
                                   "'mirrors': did you mean 'mirror'?");
}

static const char whole[] =
    "schema: lockstep.experiment/1\nname: whole\ntitle: All keys\ndataset: cifar10\n"
    "model: small\nstrategy: ddp\nworld_size: 2\nvirtual_shards: 4\nshard_seed: 9\n"
    "global_batch: 64\nepochs: 30\nseed: 123456789012\nrepeats: 3\n"
    "normalize: {mean: [0.5, 0.25, 0.125], std: [1, 0.5, 0.25]}\n"
    "augment:\n  - random_crop: {padding: 4}\n  - horizontal_flip\n"
    "  - random_affine: {degrees: 10, translate: [0.1, 0.1], scale: [0.9, 1.1]}\n"
    "loader_workers: 4\n"
    "optimizer: {kind: sgd, lr: 0.1, momentum: 0.9, nesterov: true, weight_decay: 5e-4}\n"
    "schedule: {kind: multistep, milestones: [10, 20], gamma: 0.5, warmup_epochs: 1}\n"
    "lr_scaling: {kind: linear, base_batch: 32}\nsync_batch_norm: true\n"
    "stages: [fc1, fc2]\ntarget_accuracy: 0.6\n";

static void every_key_is_read(void **state) {
    (void)state;
    experiment e;
    must_load(whole, &e);
    assert_string_equal(e.title, "All keys");
    assert_int_equal(e.strategy, STRATEGY_DDP);
    assert_int_equal(e.world_size, 2);
    assert_int_equal(e.shard_seed, 9);
    assert_true(e.seed == 123456789012);
    assert_int_equal(e.repeats, 3);
    assert_true(e.has_normalize);
    assert_int_equal(e.normalize_channels, 3);
    assert_true(e.mean[2] == 0.125f && e.std[1] == 0.5f);
    assert_int_equal(e.loader_workers, 4);
    assert_true(e.optimizer.hyper[HYPER_MOMENTUM] == 0.9 &&
                e.optimizer.hyper[HYPER_NESTEROV] == 1 && e.optimizer.weight_decay == 5e-4);
    assert_int_equal(e.schedule.kind, SCHEDULE_MULTISTEP);
    assert_int_equal(e.schedule.milestone_count, 2);
    assert_int_equal(e.schedule.milestones[1], 20);
    assert_true(e.schedule.gamma == 0.5);
    assert_int_equal(e.schedule.warmup_epochs, 1);
    assert_int_equal(e.lr_scaling.kind, LR_SCALING_LINEAR);
    assert_int_equal(e.lr_scaling.base_batch, 32);
    assert_true(e.sync_batch_norm);
    assert_true(e.target_accuracy == 0.6);
    assert_string_equal(yaml_get(e.resolved, "augment.1.horizontal_flip.p")->text, "0.5");
    assert_string_equal(yaml_get(e.resolved, "augment.2.random_affine.interpolation")->text,
                        "nearest");
    assert_int_equal(e.augment.count, 3);
    assert_int_equal(e.augment.items[0].kind, AUGMENT_RANDOM_CROP);
    assert_int_equal(e.augment.items[0].padding, 4);
    assert_int_equal(e.augment.items[1].kind, AUGMENT_HORIZONTAL_FLIP);
    assert_true(e.augment.items[1].p == 0.5);
    assert_int_equal(e.augment.items[2].kind, AUGMENT_RANDOM_AFFINE);
    assert_true(e.augment.items[2].degrees == 10 && e.augment.items[2].scale[1] == 1.1);
    assert_string_equal(yaml_get(e.resolved, "stages.1")->text, "fc2");
    experiment_release(&e);
}

// A resolved experiment is itself an experiment, except for `architecture`, and resolves to itself.
static void resolving_is_idempotent(void **state) {
    (void)state;
    experiment first, second;
    char *text;
    error err;
    must_load(whole, &first);
    yaml_node *tree = yaml_copy(first.resolved);
    yaml_remove(tree, "architecture");
    assert_int_equal(yaml_write_text(tree, &text, NULL, &err), STATUS_OK);
    must_load(text, &second);
    assert_true(yaml_equal(first.resolved, second.resolved));
    free(text);
    yaml_free(tree);
    experiment_release(&first);
    experiment_release(&second);
}

// A number of epochs is written as it always was if it is whole.
static void epochs_need_not_be_whole(void **state) {
    (void)state;
    static const struct {
        const char *set, *text;
        uint64_t steps_per_epoch, steps;
        int epochs;
    } cases[] = {
        {"epochs=10", "10", 48, 480, 10},
        {"epochs=10.0", "10", 48, 480, 10},
        {"epochs=9.9", "9.9", 48, 476, 10},
        {"epochs=1.1", "1.1", 10, 11, 2},
        {"epochs=0.5", "0.5", 3, 2, 1},
        {"epochs=1e-9", "1.0e-09", 48, 1, 1},
        {"epochs=2500", "2500", 7, 17500, 2500},
        {"epochs=2.9999", "2.9999", 10, 30, 3},
        {"epochs=2.00000000000001", "2.00000000000001", 10, 20, 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        experiment e;
        error err;
        assert_int_equal(load_set(HEAD, &e, &err, &cases[i].set, 1), STATUS_OK);
        assert_string_equal(yaml_get(e.resolved, "epochs")->text, cases[i].text);
        assert_int_equal(experiment_steps(&e, cases[i].steps_per_epoch), cases[i].steps);
        assert_int_equal(experiment_epochs(&e, cases[i].steps_per_epoch), cases[i].epochs);
        experiment_release(&e);
    }
}

static void other_optimizers(void **state) {
    (void)state;
    experiment e;
    error err;
    static const char *const adam[] = {"optimizer={kind: adamw, lr: 1e-3, betas: [0.8, 0.99]}",
                                       "schedule.kind=cosine"};
    assert_int_equal(load_set(HEAD, &e, &err, adam, 2), STATUS_OK);
    assert_int_equal(e.optimizer.kind, OPTIMIZER_ADAMW);
    assert_true(e.optimizer.hyper[HYPER_BETA1] == 0.8 && e.optimizer.hyper[HYPER_BETA2] == 0.99 &&
                e.optimizer.hyper[HYPER_EPS] == 1e-8);
    assert_int_equal(e.schedule.kind, SCHEDULE_COSINE);
    assert_string_equal(yaml_get(e.resolved, "optimizer.eps")->text, "1.0e-08");
    assert_null(yaml_get(e.resolved, "optimizer.momentum"));
    experiment_release(&e);
    static const char *const plain = "optimizer={kind: adam, lr: 1e-3}";
    assert_int_equal(load_set(HEAD, &e, &err, &plain, 1), STATUS_OK);
    assert_true(e.optimizer.hyper[HYPER_BETA1] == 0.9 && e.optimizer.hyper[HYPER_BETA2] == 0.999);
    assert_string_equal(yaml_get(e.resolved, "optimizer.betas.1")->text, "0.999");
    experiment_release(&e);
}

// What an entry did before it had options is not written out, so that its key stays.
static void augmentation_options(void **state) {
    (void)state;
    experiment e;
    must_load(HEAD "augment:\n  - random_crop: {padding: 2, padding_mode: reflect}\n"
                   "  - horizontal_flip: {alternate: true}\n  - cutout: {size: 3}\n"
                   "  - cutout: {size: 8, fill: mean}\n"
                   "  - random_crop: {padding: 2, padding_mode: constant}\n"
                   "  - horizontal_flip: {alternate: false}\n"
                   "  - random_resized_crop: {scale: [0.25, 1]}\n"
                   "  - color_jitter: {contrast: 0.25, hue: 0.5}\n",
              &e);
    const augmentation *a = e.augment.items;
    assert_int_equal(e.augment.count, 8);
    assert_true(a[0].reflect && a[0].padding == 2 && a[1].alternate && a[1].p == 0.5);
    assert_true(a[2].kind == AUGMENT_CUTOUT && a[2].size == 3 && !a[2].mean);
    assert_true(a[3].size == 8 && a[3].mean && !a[4].reflect && !a[5].alternate);
    assert_true(a[6].kind == AUGMENT_RESIZED_CROP && a[6].scale[0] == 0.25 && a[6].scale[1] == 1);
    for (int i = 0; i < 2; i++) {
        assert_true(a[6].ratio[i] == (i ? 4.0 / 3 : 3.0 / 4));
        assert_true(fabs(a[6].log_ratio[i] - log(a[6].ratio[i])) < 1e-15);
    }
    assert_int_equal(a[7].kind, AUGMENT_COLOR_JITTER);
    assert_true(a[7].jitter[COLOR_CONTRAST] == 0.25 && a[7].jitter[COLOR_HUE] == 0.5);
    assert_true(a[7].jitter[COLOR_BRIGHTNESS] == 0 && a[7].jitter[COLOR_SATURATION] == 0);
    const yaml_node *list = yaml_find(e.resolved, "augment");
    assert_string_equal(yaml_get(list, "0.random_crop.padding_mode")->text, "reflect");
    assert_string_equal(yaml_get(list, "1.horizontal_flip.alternate")->text, "true");
    assert_string_equal(yaml_get(list, "2.cutout.fill")->text, "0");
    assert_string_equal(yaml_get(list, "3.cutout.fill")->text, "mean");
    assert_null(yaml_get(list, "4.random_crop.padding_mode"));
    assert_null(yaml_get(list, "5.horizontal_flip.alternate"));
    assert_string_equal(yaml_get(list, "6.random_resized_crop.ratio.1")->text,
                        "1.3333333333333333");
    assert_string_equal(yaml_get(list, "7.color_jitter.brightness")->text, "0");
    experiment_release(&e);
}

static void unknown_keys(void **state) {
    (void)state;
    refuses(HEAD "global_bach: 64\n",
            "9:1: unknown key 'global_bach': did you mean 'global_batch'?");
    refuses(HEAD "schedule: {kid: constant}\n", "9:12: unknown key 'kid': did you mean 'kind'?");
    refuses(HEAD "schedule: constant\n",
            "9:11: 'schedule': expected a mapping, such as {kind: constant}");
    refuses(HEAD "threads: 4\n",
            "9:1: unknown key 'threads': it is the option --threads of the train tools");
    refuses(HEAD "architecture: {}\n", "9:1: unknown key 'architecture': did you mean 'model'?");
    refuses(HEAD "augment: [random_crop: {pading: 4}]\n",
            "9:25: unknown key 'pading': did you mean 'padding'?");
    refuses("- 1\n", "1:1: expected an experiment: a mapping");
}

static void wrong_types_and_ranges(void **state) {
    (void)state;
    refuses(HEAD "seed: x\n", "9:7: 'seed': expected an integer, got 'x'");
    refuses(HEAD "seed: -1\n", "9:7: 'seed': expected an integer of at least 0, got '-1'");
    refuses("schema: lockstep.experiment/1\nname: x\ndataset: cifar10\nmodel: small\n"
            "global_batch: 64\nepochs: 2501\noptimizer: {kind: sgd, lr: 0.001}\n",
            "6:9: 'epochs': expected a number above 0 and at most 2500, got 2501");
    refuses(HEAD "repeats: 0\n",
            "9:10: 'repeats': expected an integer between 1 and 1000, got '0'");
    refuses(HEAD "repeats: 1.0\n", "9:10: 'repeats': expected an integer, got '1.0'");
    refuses(HEAD "title: [a]\n", "9:8: 'title': expected a string, got a list");
    refuses(HEAD "strategy: dpp\n", "9:11: 'strategy': expected one of single, dp, ddp, mp, got "
                                    "'dpp': did you mean 'dp'?");
    refuses(HEAD "sync_batch_norm: 1\n",
            "9:18: 'sync_batch_norm': expected true or false, got '1'");
    refuses(HEAD "target_accuracy: 64\n", "9:18: 'target_accuracy': expected a number of at least "
                                          "0 and at most 1, got 64; 64 % is 0.64");
    refuses(HEAD "normalize: {mean: [0, 0, 0]}\n", "9:12: 'normalize' needs both 'mean' and 'std'");
    refuses(HEAD "normalize: {mean: [0], std: [1]}\n",
            "9:19: 'normalize.mean': expected 3 numbers, got 1");
    refuses(
        HEAD "normalize: {mean: [125.3, 123.0, 113.9], std: [63.0, 62.1, 66.7]}\n",
        "9:20: 'normalize.mean': a mean of pixels from 0 to 1 is at most 1, got 125.3; if it is of "
        "bytes: 125.3 / 255 = 0.4914");
    refuses(HEAD "normalize: {mean: [0.5, -0.48, 0], std: [1, 1, 1]}\n",
            "9:25: 'normalize.mean': a mean of pixels from 0 to 1 is at least 0, got -0.48; it is "
            "subtracted, so give 0.48");
    refuses(
        HEAD "normalize: {mean: [0.5, 0, 0], std: [1, 63.0, 1]}\n",
        "9:41: 'normalize.std': a standard deviation of pixels from 0 to 1 is at most 1, got 63; "
        "if it is of bytes: 63 / 255 = 0.2471");
    refuses(HEAD "normalize: {mean: [0, 0, 0], std: [1, 0, 1]}\n",
            "9:39: 'normalize.std': a standard deviation must be above 0, got 0");
    refuses(HEAD "schedule: {kind: multistep}\n", "9:11: 'schedule.milestones' is missing");
    refuses(HEAD "schedule: {kind: multistep, milestones: [5, 5]}\n",
            "9:45: 'schedule.milestones' must increase, got 5 after 5");
    refuses(HEAD "schedule: {kind: constant, gamma: 0.1}\n",
            "9:35: 'schedule.gamma' does not apply to this kind");
    refuses(HEAD "schedule: {warmup_epochs: 11}\n",
            "9:27: 'schedule.warmup_epochs' is 11: more than the 10 epochs");
    refuses(HEAD "schedule: {kind: linear}\n", "9:11: 'schedule.points' is missing");
    refuses(HEAD "schedule: {kind: linear, points: []}\n",
            "9:34: 'schedule.points': expected 1 to 64 pairs [epoch, factor], got 0");
    refuses(HEAD "schedule: {kind: linear, points: [1, 2]}\n",
            "9:35: 'schedule.points': expected a list");
    refuses(HEAD "schedule: {kind: linear, points: [[0, 1, 2]]}\n",
            "9:35: 'schedule.points': expected 2 numbers, got 3");
    refuses(HEAD "schedule: {kind: linear, points: [[2, 1], [2, 0.5]]}\n",
            "9:44: 'schedule.points' must increase, got epoch 2 after 2");
    refuses(HEAD "schedule: {kind: linear, points: [[-1, 1]]}\n",
            "9:36: 'schedule.points': expected an epoch from 0 to 2500, got -1");
    refuses(HEAD "schedule: {kind: linear, points: [[0, -1]]}\n",
            "9:39: 'schedule.points': expected a factor from 0 to 1e+06, got -1");
    refuses(HEAD "schedule: {kind: linear, points: [[0, 1]], warmup_epochs: 1}\n",
            "9:59: 'schedule.warmup_epochs' does not apply to this kind");
    refuses(HEAD "schedule: {kind: one_cycl}\n",
            "9:18: 'schedule.kind': expected one of constant, multistep, cosine, linear, "
            "one_cycle, plateau, got 'one_cycl': did you mean 'one_cycle'?");
    refuses(HEAD "schedule: {kind: one_cycle, div_factor: 0}\n",
            "9:41: 'schedule.div_factor': expected a number above 0 and at most 1e+09, got 0");
    refuses(HEAD "average: {kind: ema}\n", "9:10: 'average.decay' is missing");
    refuses(HEAD "average: {kind: ema, decay: 1}\n",
            "9:29: 'average.decay': expected a number of at least 0 and below 1, got 1");
    refuses(HEAD "average: {kind: ema, decay: 0.9, ramp: 3}\n",
            "9:40: 'average.ramp' does not apply to this kind");
    refuses(HEAD "average: {kind: lookahead, decay: 0.9, every: 0}\n",
            "9:47: 'average.every': expected an integer between 1 and 1000000, got '0'");
    refuses(HEAD "lr_scaling: {kind: sqrt}\n", "9:13: 'lr_scaling.base_batch' is missing");
    refuses(HEAD "augment: [rotate]\n", "9:11: unknown augmentation 'rotate': did you mean "
                                        "'random_affine'? 'degrees' alone rotates. "
                                        "The " AUGMENTATIONS);
    refuses(HEAD "augment: [random_crop]\n", "9:11: 'random_crop' needs 'padding'");
    refuses(HEAD "augment: [random_affine: {degrees: 5, scale: [2, 1]}]\n",
            "9:46: 'scale': expected [smallest, largest]");
    refuses(HEAD "augment: {a: 1}\n", "9:10: 'augment': expected a list");
    refuses(HEAD "augment: [random_crop: {padding: 2, padding_mode: edge}]\n",
            "9:51: 'padding_mode': expected constant or reflect");
    refuses(HEAD "augment: [random_crop: {padding: 8, padding_mode: reflect}]\n",
            "9:34: 'padding' is 8: to reflect, it must be below the height and the width of the "
            "images, which are 8×8");
    refuses(HEAD "augment: [horizontal_flip: {alternate: 1}]\n",
            "9:40: 'alternate': expected true or false, got '1'");
    refuses(HEAD "augment: [cutout]\n", "9:11: 'cutout' needs 'size'");
    refuses(HEAD "augment: [cutout: {size: 9}]\n",
            "9:26: 'size': expected an integer between 1 and 8, got '9'");
    refuses(HEAD "augment: [cutout: {size: 4, fill: grey}]\n", "9:35: 'fill': expected 0 or mean");
    refuses(HEAD "augment: [random_resized_crop: {ratio: 1}]\n", "9:40: 'ratio': expected a list");
    refuses(HEAD "augment: [random_resized_crop, horizontal_flip, random_resized_crop]\n",
            "9:49: 'random_resized_crop' is there twice");
    refuses(HEAD "augment: [color_jitter]\n",
            "9:11: 'color_jitter' needs 'brightness', 'contrast', "
            "'saturation' or 'hue'");
    refuses(HEAD "augment: [cut_out: {size: 4}]\n",
            "9:11: unknown augmentation 'cut_out': did you mean 'cutout'? The " AUGMENTATIONS);
    refuses(HEAD "stages: [conv2]\n", "9:10: 'stages': model 'small' has no layer 'conv2'");
    refuses(HEAD "stages: [fc1, relu1]\n", "9:15: 'stages': 'relu1' must come after the first "
                                           "layer of the previous stage");
    refuses(HEAD "published: [{source: R, accuracy: 1}]\n",
            "9:12: 'published': published figures belong in a claim: a row of claim.yaml with "
            "'experiment: x' (docs/formats.md, Claims)");
}

// Numbers that training uses in single precision are within their range in it, too: Adam's betas of
// 1 with its eps of 0 give a model of NaNs.
static void ranges_in_single_precision(void **state) {
    (void)state;
    static const struct {
        const char *set, *message; // NULL: fine
    } cases[] = {
        {"optimizer={kind: adam, lr: 1e-3, betas: [0.9, 0.99999999]}",
         "'optimizer.betas' must be below 1 in single precision, where 0.99999999 rounds to 1"},
        {"optimizer={kind: adamw, lr: 1e-3, betas: [0.999999999, 0.9]}",
         "'optimizer.betas' must be below 1 in single precision, where 0.999999999 rounds to 1"},
        {"optimizer={kind: adam, lr: 1e-3, betas: [0.9, 0.9999999]}", NULL},
        {"optimizer={kind: adam, lr: 1e-3, eps: 1e-60}",
         "'optimizer.eps': expected a number above 0 in single precision, got 1e-60, which rounds "
         "to 0"},
        {"optimizer={kind: adam, lr: 1e-3, eps: 1e-30}", NULL},
        {"optimizer.lr=1e-60", "'optimizer.lr': expected a number above 0 in single precision, got "
                               "1e-60, which rounds to 0"},
        {"optimizer.momentum=0.99999999",
         "'optimizer.momentum': expected a number below 1 in single precision, got 0.99999999, "
         "which rounds to 1"},
        {"optimizer.momentum=0.9999999", NULL},
        {"normalize={mean: [0, 0, 0], std: [1, 1e-60, 1]}",
         "'normalize.std': a standard deviation must be above 0, got 0"},
        {"normalize={mean: [0, 0, 0], std: [1, 1e-44, 1]}",
         "'normalize': with mean 0 and standard deviation 9.80909e-45 pixels are not finite"},
        {"normalize={mean: [0, 1e60, 0], std: [1, 1, 1]}",
         "'normalize.mean': a mean of pixels from 0 to 1 is at most 1, got 1e+60"},
        {"normalize={mean: [0, 1, 0], std: [1, 1e-30, 1]}", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        experiment e;
        error err = {0};
        const status rc = load_set(HEAD, &e, &err, &cases[i].set, 1);
        if (!cases[i].message) {
            if (rc != STATUS_OK) fail_msg("%s", err.message);
            experiment_release(&e);
            continue;
        }
        assert_int_equal(rc, STATUS_USAGE);
        if (!strstr(err.message, cases[i].message))
            fail_msg("'%s' is not in '%s'", cases[i].message, err.message);
    }
}

// Each is named in docs/formats.md.
static void limits(void **state) {
    (void)state;
    refuses("schema: lockstep.experiment/1\nname: x\ndataset: cifar10\nmodel: small\n"
            "virtual_shards: 2048\nglobal_batch: 2048\nepochs: 1\noptimizer: {kind: sgd, lr: 1}\n",
            "5:17: 'virtual_shards': expected an integer between 1 and 1024, got '2048'");
    refuses(
        "schema: lockstep.experiment/1\nname: x\ndataset: cifar10\nmodel: small\n"
        "virtual_shards: 1\nglobal_batch: 16385\nepochs: 1\noptimizer: {kind: sgd, lr: 1}\n",
        "6:15: 'global_batch' is 16385: at most 16384 samples per virtual shard, of which there "
        "are 1");
    refuses(HEAD "strategy: mp\nworld_size: 4\n",
            "10:13: 'world_size' is 4: model 'small' can be cut into at most 3 stages: each begins "
            "with a convolution or a linear layer, and there are at most 63");
    refuses(HEAD "stages: [relu1]\n",
            "9:10: 'stages': 'relu1': a stage begins with a convolution or a linear layer, and not "
            "within a residual block");
}

static void required_keys(void **state) {
    (void)state;
    refuses("schema: lockstep.experiment/1\nname: x\n", "1:1: 'dataset' is missing");
    refuses("name: x\n", "1:1: 'schema' is missing: add 'schema: lockstep.experiment/1'");
    refuses("schema: lockstep.model/1\nname: x\n",
            "1:9: 'schema': expected lockstep.experiment/1, got 'lockstep.model/1'");
    refuses("schema: lockstep.experiment/1\nname: ../x\n",
            "2:7: 'name': expected letters, digits, '.', '_' and '-', not beginning with '.' or "
            "'-', got '../x'");
    refuses("schema: lockstep.experiment/1\nname: x\ndataset: my flowers\n",
            "3:10: 'dataset': expected letters, digits, '.', '_' and '-', not beginning with '.' "
            "or '-', got 'my flowers'");
    refuses(
        "schema: lockstep.experiment/1\nname: x\ndataset: a-name-that-is-longer-than-31-bytes\n",
        "3:10: 'dataset': expected at most 31 characters, got 35");
}

static void shards_must_divide(void **state) {
    (void)state;
    refuses(HEAD "world_size: 3\n",
            "5:17: 'virtual_shards' is 4: it must be a multiple of 'world_size', which is 3");
    static const char text[] =
        "schema: lockstep.experiment/1\nname: x\ndataset: cifar10\nmodel: small\n"
        "virtual_shards: 12\nglobal_batch: 64\nepochs: 10\noptimizer: {kind: sgd, lr: 0.001}\n";
    refuses(text, "5:17: 'virtual_shards' is 12: it must divide 'global_batch', which is 64");
    refuses_set("global_batch=66", "--set 'global_batch=66': 'virtual_shards' is 4: it must divide "
                                   "'global_batch', which is 66");
    refuses_set("world_size=3", "--set 'world_size=3': 'virtual_shards' is 4: it must be a "
                                "multiple of 'world_size', which is 3");
    // A mistake in the file remains one, whatever else was set.
    experiment e;
    error err;
    static const char *const other = "seed=1";
    assert_int_equal(load_set(text, &e, &err, &other, 1), STATUS_INPUT);
    // Without virtual_shards, they follow world_size.
    static const char *const world[] = {"virtual_shards=null", "world_size=8"};
    assert_int_equal(load_set(HEAD, &e, &err, world, 2), STATUS_OK);
    assert_int_equal(e.virtual_shards, 8);
    experiment_release(&e);
}

static void set_replaces_whole_values(void **state) {
    (void)state;
    experiment e;
    error err;
    static const char *const set[] = {"optimizer.lr=0.01",
                                      "optimizer.momentum=0.5",
                                      "augment=[]",
                                      "schedule.warmup_epochs=1",
                                      "title=a=b",
                                      "seed=7",
                                      "seed=8",
                                      "normalize={mean: [0, 0, 0], std: [1, 1, 1]}"};
    if (load_set(HEAD "augment: [horizontal_flip]\n", &e, &err, set, 8) != STATUS_OK)
        fail_msg("%s", err.message);
    assert_true(e.optimizer.lr == 0.01);
    assert_true(e.optimizer.hyper[HYPER_MOMENTUM] == 0.5);
    assert_int_equal(yaml_find(e.resolved, "augment")->count, 0);
    assert_int_equal(e.schedule.warmup_epochs, 1);
    assert_string_equal(e.title, "a=b");
    assert_int_equal(e.seed, 8);
    assert_true(e.has_normalize);
    experiment_release(&e);
    static const char *const away = "normalize=null";
    assert_int_equal(
        load_set(HEAD "normalize: {mean: [0, 0, 0], std: [1, 1, 1]}\n", &e, &err, &away, 1),
        STATUS_OK);
    assert_false(e.has_normalize);
    experiment_release(&e);
}

static void bad_assignments_are_usage_errors(void **state) {
    (void)state;
    refuses_set("optimizer.lrr=1", "--set 'optimizer.lrr=1': unknown key 'optimizer.lrr': did you "
                                   "mean 'optimizer.lr'?");
    refuses_set("optimzer.lr=1", "--set 'optimzer.lr=1': unknown key 'optimzer.lr': did you mean "
                                 "'optimizer.lr'?");
    refuses_set("zzzzz=1",
                "--set 'zzzzz=1': unknown key 'zzzzz': the keys are: schema, name, " KEYS);
    refuses_set("lr_scaling.zzzzz=1",
                "--set 'lr_scaling.zzzzz=1': unknown key 'lr_scaling.zzzzz': the keys are: kind, "
                "base_batch");
    refuses_set("epochs", "--set 'epochs': expected KEY=VALUE");
    refuses_set("epochs=", "--set 'epochs=': expected KEY=VALUE");
    refuses_set("=1", "--set '=1': expected KEY=VALUE");
    refuses_set("epochs=x", "--set 'epochs=x': 'epochs': expected a number, got 'x'");
    refuses_set("optimizer.lr=0", "--set 'optimizer.lr=0': 'optimizer.lr': expected a number above "
                                  "0 and at most 1e+06, got 0");
    refuses_set("augment=[spin]",
                "--set 'augment=[spin]': unknown augmentation 'spin': the " AUGMENTATIONS);
    refuses_set("optimizer={kind: sgd}",
                "--set 'optimizer={kind: sgd}': 'optimizer.lr' is missing");
    refuses_set("optimizer={knd: sgd}",
                "--set 'optimizer={knd: sgd}': unknown key 'knd': did you mean 'kind'?");
    refuses_set("optimizer.nesterov=true",
                "--set 'optimizer.nesterov=true': 'optimizer.nesterov' needs a momentum above 0");
    char message[256];
    snprintf(message, sizeof message,
             "--set 'model=absent': 'model': there is no model 'absent': '%s/models/absent.yaml' "
             "does not exist",
             folder);
    refuses_set("model=absent", message);
    experiment e;
    error err;
    static const char *const broken = "augment=[1";
    assert_int_equal(load_set(HEAD, &e, &err, &broken, 1), STATUS_USAGE);
    assert_non_null(strstr(err.message, "--set 'augment=[1': value:1:1: this '['"));
}

static void models_are_found_by_name_and_path(void **state) {
    (void)state;
    experiment e;
    error err;
    char set[200];
    const char *assignment = set;
    write_file("other.yaml", MODEL);
    assert_int_equal(load_set("schema: lockstep.experiment/1\nname: x\ndataset: cifar10\n"
                              "model: other.yaml\nglobal_batch: 64\nepochs: 10\n"
                              "optimizer: {kind: sgd, lr: 0.001}\n",
                              &e, &err, NULL, 0),
                     STATUS_OK);
    assert_string_equal(yaml_find(e.resolved, "model")->text, "small");
    experiment_release(&e);
    snprintf(set, sizeof set, "model=%s/other.yaml", folder);
    assert_int_equal(load_set(HEAD, &e, &err, &assignment, 1), STATUS_OK);
    experiment_release(&e);
    // A mistake in the model's file is reported at its own place.
    write_file("other.yaml",
               "schema: lockstep.model/1\nname: m\ninput: [3, 8, 8]\nlayers: [rel]\n");
    assert_int_equal(load_set(HEAD, &e, &err, &assignment, 1), STATUS_INPUT);
    assert_non_null(strstr(err.message, "/other.yaml:4:10: unknown layer 'rel'"));
}

// A pipeline's stages do not divide the shards; ranks and replicas do.
static void stages_need_no_shards(void **state) {
    (void)state;
    experiment e;
    must_load(
        "schema: lockstep.experiment/1\nname: x\ndataset: cifar10\nmodel: small\nstrategy: mp\n"
        "world_size: 3\nvirtual_shards: 1\nglobal_batch: 64\nepochs: 1\n"
        "optimizer: {kind: sgd, lr: 0.001}\n",
        &e);
    assert_int_equal(e.world_size, 3);
    assert_int_equal(e.virtual_shards, 1);
    experiment_release(&e);
}
static void difference(const char *assignment, const char *expected) {
    experiment a, b;
    error err;
    char key[64];
    must_load(whole, &a);
    if (load_set(whole, &b, &err, &assignment, 1) != STATUS_OK) fail_msg("%s", err.message);
    const char *found = experiment_difference(a.resolved, b.resolved, key);
    if (expected && found)
        assert_string_equal(found, expected);
    else if (expected || found)
        fail_msg("%s: found %s, expected %s", assignment, found, expected);
    found = experiment_difference(b.resolved, a.resolved, key);
    assert_int_equal(!found, !expected);
    experiment_release(&a);
    experiment_release(&b);
}

// Checks whether the run of `whole` with `now` may continue the one with `before`. `expected`: part
// of the reason why not.
static void continues(const char *rates, const char *before, const char *now,
                      const char *expected) {
    const char *const first[] = {rates, before}, *const second[] = {rates, now};
    experiment a, b;
    error err = {0};
    char why[256];
    if (load_set(whole, &a, &err, first, 2) != STATUS_OK) fail_msg("%s", err.message);
    if (load_set(whole, &b, &err, second, 2) != STATUS_OK) fail_msg("%s", err.message);
    const char *found = experiment_continues(a.resolved, b.resolved, why);
    if (!found != !expected || (found && !strstr(found, expected)))
        fail_msg("%s, %s: %s", before, now, found ? found : "continues");
    experiment_release(&a);
    experiment_release(&b);
}

static void more_epochs_continue_if_the_first_ones_are_unchanged(void **state) {
    (void)state;
    static const char constant[] = "schedule={kind: constant, warmup_epochs: 1}",
                      multistep[] = "schedule={kind: multistep, milestones: [10]}",
                      cosine[] = "schedule={kind: cosine}";
    continues(constant, "name=x", "epochs=31", NULL);
    continues(multistep, "epochs=1", "epochs=31", NULL);
    continues("schedule={kind: plateau}", "name=x", "epochs=31", NULL);
    continues(multistep, "epochs=31", "name=y", "more 'epochs': 31, not 30");
    continues(cosine, "name=x", "name=y", NULL);
    continues(cosine, "name=x", "epochs=31", "a cosine schedule");
    continues(constant, "name=x", "seed=1", "'seed'");
    continues(multistep, "name=x", "schedule.warmup_epochs=1", "'schedule.warmup_epochs'");
}

static void early_stopping_waits_for_its_patience(void **state) {
    (void)state;
    static const double accuracy[] = {0.1, 0.5, 0.5, 0.52, 0.4, 0.51, 0.52};
    const early_stopping never = {0, 0, 0}, one = {1, 0, 0}, two = {2, 0, 0}, three = {3, 0, 0},
                         coarse = {2, 0.05, 0}, at = {.stop_at = 0.52}, at_0 = {.stop_at = 0.53},
                         both = {.patience = 2, .stop_at = 0.5};
    for (int n = 1; n <= 7; n++) {
        assert_false(early_stopping_is_due(&never, accuracy, n));
        assert_int_equal(early_stopping_is_due(&one, accuracy, n), n == 3 || n >= 5);
        assert_int_equal(early_stopping_is_due(&two, accuracy, n), n >= 6);
        assert_int_equal(early_stopping_is_due(&three, accuracy, n), n == 7);
        assert_int_equal(early_stopping_is_due(&coarse, accuracy, n), n >= 4);
        assert_int_equal(early_stopping_is_due(&at, accuracy, n), n == 4 || n == 7);
        assert_false(early_stopping_is_due(&at_0, accuracy, n));
        assert_int_equal(early_stopping_is_due(&both, accuracy, n), n >= 2 && n != 5);
    }
}

// Which keys nothing reads in `whole` with these assignments: the first words, with commas.
static void idles(const char *first, const char *second, strategy_kind strategy,
                  const char *expected) {
    const char *const set[] = {first, second};
    experiment e;
    error err = {0};
    char found[200] = "";
    if (load_set(whole, &e, &err, set, 2) != STATUS_OK) fail_msg("%s", err.message);
    yaml_node *idle = experiment_idle(&e, strategy);
    for (size_t i = 0; i < idle->count; i++) {
        const size_t used = strlen(found);
        snprintf(found + used, sizeof found - used, "%s%.*s", used ? "," : "",
                 (int)strcspn(idle->items[i]->text, " "), idle->items[i]->text);
    }
    assert_string_equal(found, expected);
    yaml_free(idle);
    experiment_release(&e);
}

static void keys_that_nothing_reads_are_listed(void **state) {
    (void)state;
    experiment e;
    idles("epochs=1", "seed=1", STRATEGY_DDP, "'stages'");
    idles("virtual_shards=1", "world_size=1", STRATEGY_SINGLE, "'sync_batch_norm','stages'");
    idles("sync_batch_norm=false", "seed=1", STRATEGY_MP, "");
    idles("sync_batch_norm=false", "stages=null", STRATEGY_DP, "");
    idles("sync_batch_norm=false", "stages=null", STRATEGY_SINGLE, "'world_size'");
    idles("world_size=4", "sync_batch_norm=null", STRATEGY_SINGLE, "'stages'"); // of V's default
    must_load("schema: lockstep.experiment/1\nname: x\ndataset: mnist\nmodel: small\n"
              "global_batch: 64\nepochs: 10\nstrategy: ddp\nstages: [fc1]\n"
              "optimizer: {kind: sgd, lr: 0.001}\n",
              &e);
    yaml_node *idle = experiment_idle(&e, e.strategy);
    assert_string_equal(idle->items[0]->text,
                        "'stages' has no effect here: strategy 'mp' alone reads it");
    yaml_free(idle);
    experiment_release(&e);
}

static void differences_that_change_bits_are_named(void **state) {
    (void)state;
    difference("optimizer.lr=0.2", "optimizer.lr");
    difference("seed=1", "seed");
    difference("virtual_shards=8", "virtual_shards");
    difference("augment=[]", "augment");
    difference("tta=mirror", NULL); // of the evaluation
    difference("validation={samples: 9}", "validation");
    difference("normalize=null", "normalize");
    difference("schedule={kind: constant}", "schedule.kind");
    difference("epochs=31", "epochs");
    difference("name=y", NULL);
    difference("title=y", NULL);
    difference("repeats=1", NULL);
    difference("strategy=dp", NULL);
    difference("world_size=4", NULL);
    difference("loader_workers=0", NULL);
    difference("target_accuracy=0.7", NULL);
    difference("stages=[fc2]", NULL);
    difference("optimizer.lr=1.0e-1", NULL);
    write_file("other.yaml", "schema: lockstep.model/1\nname: o\ninput: [3, 8, 8]\n"
                             "layers: [flatten, {relu: {name: relu1}}, linear: {out: 1}, "
                             "linear: {out: 10}]\n");
    char set[FILE_PATH_SIZE];
    snprintf(set, sizeof set, "model=%s/other.yaml", folder);
    difference(set, "model");
}

static void shipped_experiments_are_valid(void **state) {
    (void)state;
    catalog c;
    experiment e;
    error err;
    if (access("experiments", R_OK)) skip(); // not run from the source tree
    if (catalog_read(&c, "experiments", &err) != STATUS_OK) fail_msg("%s", err.message);
    for (size_t i = 0; i < c.count; i++) {
        if (!catalog_is_experiment(&c.items[i])) continue;
        if (experiment_read(&e, c.items[i].path, NULL, 0, &err) != STATUS_OK)
            fail_msg("%s", err.message);
        assert_string_equal(e.name, c.items[i].name); // found by its own name
        yaml_node *idle = experiment_idle(&e, e.strategy);
        if (idle->count) fail_msg("%s: %s", c.items[i].path, idle->items[0]->text);
        yaml_free(idle);
        experiment_release(&e);
    }
    catalog_release(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_are_filled_in),
        cmocka_unit_test(every_key_is_read),
        cmocka_unit_test(resolving_is_idempotent),
        cmocka_unit_test(epochs_need_not_be_whole),
        cmocka_unit_test(other_optimizers),
        cmocka_unit_test(augmentation_options),
        cmocka_unit_test(silent_keys),
        cmocka_unit_test(early_stopping_waits_for_its_patience),
        cmocka_unit_test(unknown_keys),
        cmocka_unit_test(wrong_types_and_ranges),
        cmocka_unit_test(ranges_in_single_precision),
        cmocka_unit_test(required_keys),
        cmocka_unit_test(limits),
        cmocka_unit_test(shards_must_divide),
        cmocka_unit_test(set_replaces_whole_values),
        cmocka_unit_test(bad_assignments_are_usage_errors),
        cmocka_unit_test(models_are_found_by_name_and_path),
        cmocka_unit_test(stages_need_no_shards),
        cmocka_unit_test(keys_that_nothing_reads_are_listed),
        cmocka_unit_test(differences_that_change_bits_are_named),
        cmocka_unit_test(more_epochs_continue_if_the_first_ones_are_unchanged),
        cmocka_unit_test(shipped_experiments_are_valid),
    };
    return cmocka_run_group_tests(tests, make_files, remove_folder);
}
