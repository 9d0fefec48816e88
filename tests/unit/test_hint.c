// SPDX-License-Identifier: MIT
// Answers to unknown words: slips, other libraries' words, and words for something else.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/hint.h"
#include "compute/layer_kinds.h"
#include "experiment/experiment.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

#define WORD_OF(to, KIND, word, ...) #word,
static const char *const layers[] = {LAYERS(WORD_OF, ) "global_avg_pool", "residual"};
static const char *const optimizers[] = {"sgd", "adam", "adamw", "adadelta"};
static const char *const schedules[] = {"constant", "multistep", "cosine",
                                        "linear",   "one_cycle", "plateau"};
static const char *const augmentations[] = {"random_crop", "horizontal_flip",     "random_affine",
                                            "cutout",      "random_resized_crop", "color_jitter"};
static const char *const inits[] = {"default",        "kaiming_normal", "kaiming_uniform",
                                    "xavier_uniform", "zero",           "one",
                                    "dirac",          "whiten"};

// Checks each of the words, which are separated by blanks: `meant` NULL for none of ours.
static void expect(const char *words, const char *const *known, size_t count, const char *meant) {
    char word[64];
    const char *note;
    for (; *words; words += strcspn(words, " "), words += *words == ' ') {
        snprintf(word, sizeof word, "%.*s", (int)strcspn(words, " "), words);
        const char *near = hint_find(word, known, count, HINT_FUNCTIONS, &note);
        if (!near != !meant || (near && strcmp(near, meant) != 0))
            fail_msg("%s: %s, not %s", word, near ? near : "none", meant ? meant : "none");
    }
}

// No name of another function is a spelling of one of ours.
static void other_functions_are_no_slips(void **state) {
    (void)state;
    expect("selu SELU prelu PReLU rrelu crelu glu Softsign softmax Softmax2d gelu_new "
           "dropout1d alpha_dropout dropblock "
           "adaptive_max_pool global_max_pool lp_pool min_pool "
           "max_unpool MaxPool3d conv1d Conv3d conv_transpose ConvTranspose2d deconv "
           "rms_norm batch_renorm BatchNorm3d weight_norm denseblock Inception lstm gru "
           "attention embedding bilinear sub relu2 reglu linear2 conv4d "
           "MaxPooling1D GlobalAveragePooling3D maxpool2",
           layers, COUNT(layers), NULL);
    expect("adamax Adamax radam nadam rmsprop RMSprop adagrad lion lamb lars adams adamp "
           "adafactor lookahead sgdw sgdm2 adamw2 nadamw",
           optimizers, COUNT(optimizers), NULL);
    expect("CosineAnnealingWarmRestarts polynomial ExponentialLR cyclic lambda "
           "cosine2",
           schedules, COUNT(schedules), NULL);
    expect("vertical_flip RandomVerticalFlip center_crop random_erasing cutmix "
           "trivial_augment",
           augmentations, COUNT(augmentations), NULL);
    expect("xavier_normal kaiming he_normal trunc_normal normal uniform orthogonal constant", inits,
           COUNT(inits), NULL);
}

static void slips_get_an_answer(void **state) {
    (void)state;
    expect("rleu reluu ReLU nn.ReLU rel", layers, COUNT(layers), "relu");
    expect("drpout dropuot Dropout", layers, COUNT(layers), "dropout");
    expect("Dropout2d nn.Dropout2d spatial_dropout2d", layers, COUNT(layers), "dropout2d");
    expect("batchnorm batch-norm btach_norm BatchNorm2d batch_nrm", layers, COUNT(layers),
           "batch_norm");
    expect("Concat cat Concatenate skip_concat", layers, COUNT(layers), "concat");
    expect("ChannelShuffle shufle", layers, COUNT(layers), "shuffle");
    expect("split chunk slce", layers, COUNT(layers), "slice");
    expect("convv cnov Conv2d", layers, COUNT(layers), "conv");
    expect("adma Adam adamm", optimizers, COUNT(optimizers), "adam");
    expect("AdamW admaw", optimizers, COUNT(optimizers), "adamw");
    expect("cosin CosineAnnealingLR", schedules, COUNT(schedules), "cosine");
    expect("ReduceLROnPlateau platau", schedules, COUNT(schedules), "plateau");
    expect("StepLR step MultiStepLR multi_step", schedules, COUNT(schedules), "multistep");
    const char *note;
    assert_null(hint_find("LambdaLR", schedules, COUNT(schedules), HINT_FUNCTIONS, &note));
    assert_non_null(strstr(note, "'linear' takes a function"));
    expect("RandomHorizontalFlip horizontl_flip", augmentations, COUNT(augmentations),
           "horizontal_flip");
    expect("RandomResizedCrop resized_crop", augmentations, COUNT(augmentations),
           "random_resized_crop");
    expect("ColorJitter colour_jitter", augmentations, COUNT(augmentations), "color_jitter");
    expect("kaiming_normal_ kaimng_normal", inits, COUNT(inits), "kaiming_normal");
}

// Other libraries' words for keys.
static void words_of_other_libraries(void **state) {
    (void)state;
    static const struct {
        const char *theirs, *ours;
    } rows[] = {
        {"batch_size", "global_batch"},
        {"per_device_train_batch_size", "global_batch"},
        {"num_workers", "loader_workers"},
        {"learning_rate", "optimizer.lr"},
        {"lr", "optimizer.lr"},
        {"optimizer.learning_rate", "optimizer.lr"},
        {"optimizer.type", "optimizer.kind"},
        {"schedule.name", "schedule.kind"},
        {"optimizer.gamma", "schedule.gamma"},
        {"stopping_threshold", "stop_at.accuracy"},
        {"weight_decay", "optimizer.weight_decay"},
        {"max_epochs", "epochs"},
        {"num_train_epochs", "epochs"},
        {"random_state", "seed"},
        {"manual_seed", "seed"},
        {"momentum", "optimizer.momentum"},
        {"gradient_clip_val", "optimizer.clip_norm"},
        {"step_size", "schedule.milestones"},
        {"warmup_steps", "schedule.warmup_epochs"},
        {"lr_lambda", "schedule.points"},
        {"optimizer.patience", NULL}, // early stopping's, or a schedule's
        {"early_stopping.patiens", "early_stopping.patience"},
        {"schedule.threshold_mode", NULL},
        {"schedule.eps", NULL},
        {"eps", "optimizer.eps"},
        {"optimizer", "optimizer.kind"},
        {"scheduler", "schedule.kind"},
        {"label_smoothing_factor", "label_smoothing"},
        {"T_max", NULL},
        {"shuffle", NULL},
        {"dampening", NULL},
        {"epocs", "epochs"},
        {"opt", "optimizer.kind"},
        {"sched", "schedule.kind"},
        {"V", "virtual_shards"},
        {"b", "global_batch"},
        {"gpu", NULL},
        {"backend", NULL},
        {"qqq", NULL},
    };
    const char *keys[EXPERIMENT_MOST_KEYS], *note;
    const size_t count = experiment_keys(keys);
    for (size_t i = 0; i < COUNT(rows); i++) {
        const char *near = hint_find(rows[i].theirs, keys, count, HINT_KEYS, &note);
        if (!near != !rows[i].ours || (near && strcmp(near, rows[i].ours) != 0))
            fail_msg("%s: %s", rows[i].theirs, near ? near : "none");
    }
    hint_find("batch_size", keys, count, HINT_KEYS, &note);
    assert_non_null(strstr(note, "all devices together"));
    static const char *const balance[] = {"class_weights", "sampler", "WeightedRandomSampler",
                                          "oversampling"};
    for (size_t i = 0; i < COUNT(balance); i++) {
        assert_null(hint_find(balance[i], keys, count, HINT_KEYS, &note));
        assert_non_null(strstr(note, "every training image counts alike"));
    }
}

// Options of other training programs, asked of a train tool.
static void options_of_other_programs(void **state) {
    (void)state;
    static const char *const options[] = {
        "experiment",     "train",           "test", "out",    "set",         "device",
        "loader-workers", "world-size",      "init", "resume", "keep-states", "checkpoint-every",
        "print-key",      "print-parameters"};
    static const struct {
        const char *theirs, *ours; // NULL: a note only
    } rows[] = {
        {"gpu", "device"},
        {"gpu-id", "device"},
        {"no-cuda", "device"},
        {"dist-url", NULL},
        {"dist-backend", NULL},
        {"rank", NULL},
        {"rdzv_endpoint", NULL},
        {"nnodes", NULL},
        {"print-freq", NULL},
        {"save-model", NULL},
        {"evaluate", NULL},
        {"val", NULL},
        {"states", "keep-states"},
        {"ckpt_path", "resume"},
        {"j", "loader-workers"},
        {"local_rank", NULL},
        {"save-every", "checkpoint-every"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        const char *note,
            *near = hint_find(rows[i].theirs, options, COUNT(options), HINT_KEYS, &note);
        if (!near != !rows[i].ours || (near && strcmp(near, rows[i].ours) != 0) || !(near || note))
            fail_msg("%s: %s", rows[i].theirs, near ? near : "none");
    }
}

// The same word has another answer in another place.
static void the_place_decides(void **state) {
    (void)state;
    static const char *const conv[] = {"name",   "from",    "out", "kernel",
                                       "stride", "padding", "bias"};
    static const char *const pool[] = {"name", "from", "size", "stride", "padding"};
    char text[HINT_BYTES];
    assert_string_equal(hint_about("kernel_size", conv, COUNT(conv), HINT_KEYS, text),
                        ": did you mean 'kernel'?");
    assert_string_equal(hint_about("kernel_size", pool, COUNT(pool), HINT_KEYS, text),
                        ": did you mean 'size'?");
    assert_string_equal(hint_about("kernel", pool, COUNT(pool), HINT_KEYS, text),
                        ": did you mean 'size'?");
    assert_string_equal(hint_about("out_channels", conv, COUNT(conv), HINT_KEYS, text),
                        ": did you mean 'out'?");
    assert_string_equal(hint_about("in_channels", conv, COUNT(conv), HINT_KEYS, text),
                        ": leave it out: the size of an input is that of the layer before");
    assert_string_equal(hint_about("zzz", pool, COUNT(pool), HINT_KEYS, text), "");
    hint_list("the keys are", pool, COUNT(pool), text);
    assert_string_equal(text, ": the keys are: name, from, size, stride, padding");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(other_functions_are_no_slips),
        cmocka_unit_test(slips_get_an_answer),
        cmocka_unit_test(words_of_other_libraries),
        cmocka_unit_test(options_of_other_programs),
        cmocka_unit_test(the_place_decides),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
