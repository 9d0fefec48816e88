// SPDX-License-Identifier: MIT
// Settings of tensors: reading them from experiments, initial values, groups of an update.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compute/backend.h"
#include "experiment/experiment.h"
#include "nn/initial_values.h"
#include "nn/whitening.h"
#include "train/clipping.h"

#include "temporary_folder.h"

#define MODEL                                                                                 \
    "schema: lockstep.model/1\nname: small\ninput: [3, 8, 8]\nlayers:\n"                      \
    "  [conv: {out: 8, kernel: 2}, batch_norm, relu, conv: {out: 4, kernel: 3, padding: 1}, " \
    "batch_norm, flatten, linear: {out: 10}]\n"
// Lines 1 to 8; `tensors` follows.
#define HEAD                                                                   \
    "schema: lockstep.experiment/1\nname: x\ndataset: cifar10\nmodel: small\n" \
    "virtual_shards: 4\nglobal_batch: 64\nepochs: 10\noptimizer: {kind: sgd, lr: 0.001}\n"

static char path[FILE_PATH_SIZE];

static int make_files(void **state) {
    if (make_folder(state)) return -1;
    snprintf(path, sizeof path, "%s/x.yaml", folder);
    write_file("models/small.yaml", MODEL);
    return 0;
}

static void must_load(const char *text, experiment *e) {
    error err = {0};
    write_file("x.yaml", text);
    if (experiment_read(e, path, NULL, 0, &err) != STATUS_OK) fail_msg("%s", err.message);
}

// The message must be "PATH:" followed by `message`.
static void refuses(const char *tensors, const char *message) {
    experiment e;
    error err = {0};
    char expected[2048], text[2048];
    snprintf(text, sizeof text, HEAD "tensors: %s\n", tensors);
    write_file("x.yaml", text);
    if (experiment_read(&e, path, NULL, 0, &err) == STATUS_OK) fail_msg("accepted: %s", tensors);
    assert_int_equal(err.code, STATUS_INPUT);
    snprintf(expected, sizeof expected, "%s:%s", path, message);
    if (strcmp(err.message, expected) != 0) fail_msg("'%s'\n is not '%s'", err.message, expected);
}

static const tensor_settings *settings_of(const experiment *e, const char *name) {
    const model_tensor *t = model_find(&e->model, name);
    assert_non_null(t);
    return &e->tensors[t - e->model.tensors];
}

// ---- Reading ----

static void the_last_pattern_that_gives_a_setting_counts(void **state) {
    (void)state;
    experiment e;
    must_load(HEAD "tensors:\n  \"*.weight\": {lr_factor: 2, weight_decay: 0.25}\n"
                   "  conv?.weight: {lr_factor: 3, init: kaiming_normal}\n"
                   "  bn1.*: {trained_epochs: 0}\n  conv1.weight: {init: whiten}\n",
              &e);
    const tensor_settings *first = settings_of(&e, "conv1.weight");
    assert_true(first->lr_factor == 3 && first->has_weight_decay && first->weight_decay == 0.25);
    assert_int_equal(first->init, INIT_WHITEN);
    assert_int_equal(first->trained_epochs, TRAINED_ALWAYS);
    assert_int_equal(settings_of(&e, "conv2.weight")->init, INIT_KAIMING_NORMAL);
    assert_int_equal(settings_of(&e, "bn1.weight")->trained_epochs, 0);
    assert_true(settings_of(&e, "bn1.weight")->lr_factor == 2);
    assert_false(settings_of(&e, "bn1.bias")->has_weight_decay);
    assert_true(settings_of(&e, "conv1.bias")->lr_factor == 1);
    // A list, because order counts: a mapping has none in a key.
    const yaml_node *list = yaml_find(e.resolved, "tensors");
    assert_int_equal(list->kind, YAML_SEQUENCE);
    assert_string_equal(list->items[1]->keys[0], "conv?.weight");
    experiment_release(&e);
}

static void nothing_is_written_if_nothing_is_set(void **state) {
    (void)state;
    static const char *const none[] = {HEAD, HEAD "tensors: {}\n", HEAD "tensors: []\n"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        experiment e;
        must_load(none[i], &e);
        assert_null(yaml_find(e.resolved, "tensors"));
        assert_null(e.tensors);
        assert_null(e.parameter_groups.of_line);
        experiment_release(&e);
    }
}

static void a_resolved_list_reads_as_the_mapping(void **state) {
    (void)state;
    experiment a, b;
    char *text;
    error err;
    must_load(HEAD "tensors: {\"bn*\": {lr_factor: 0.1}, bn1.bias: {weight_decay: 2.078e-5}}\n",
              &a);
    yaml_node *tree = yaml_copy(a.resolved);
    yaml_remove(tree, "architecture");
    assert_int_equal(yaml_write_text(tree, &text, NULL, &err), STATUS_OK);
    must_load(text, &b);
    assert_true(yaml_equal(a.resolved, b.resolved));
    free(text);
    yaml_free(tree);
    experiment_release(&a);
    experiment_release(&b);
}

static void another_order_is_another_experiment(void **state) {
    (void)state;
    experiment a, b;
    char key[64];
    must_load(HEAD "tensors: {\"bn*\": {lr_factor: 2}, \"*.bias\": {lr_factor: 3}}\n", &a);
    must_load(HEAD "tensors: {\"*.bias\": {lr_factor: 3}, \"bn*\": {lr_factor: 2}}\n", &b);
    assert_true(settings_of(&a, "bn1.bias")->lr_factor == 3);
    assert_true(settings_of(&b, "bn1.bias")->lr_factor == 2);
    assert_string_equal(experiment_difference(a.resolved, b.resolved, key), "tensors");
    experiment_release(&a);
    experiment_release(&b);
}

static void bad_settings_are_refused_by_name(void **state) {
    (void)state;
    refuses("{conf1.weight: {init: zero}}",
            "9:25: 'tensors': no trained tensor of model 'small' matches 'conf1.weight': did you "
            "mean 'conv1.weight'?");
    refuses("{bn1.running_var: {init: one}}",
            "9:28: 'tensors': 'bn1.running_var' is not trained: it holds running statistics");
    refuses("{conv1.weight: {}}", "9:25: 'tensors': 'conv1.weight' sets nothing");
    refuses("{conv1.weight: 2}", "9:25: 'tensors': 'conv1.weight': expected a mapping");
    refuses("{conv1.weight: {lr_facter: 2}}",
            "9:26: unknown key 'lr_facter': did you mean 'lr_factor'?");
    refuses("{conv1.weight: {lr_factor: 0}}",
            "9:37: 'lr_factor': expected a number above 0 and at most 1e+06, got 0");
    refuses("{conv1.weight: {weight_decay: -1}}",
            "9:40: 'weight_decay': expected a number of at least 0 and at most 1e+06, got -1");
    refuses("{conv1.weight: {trained_epochs: 1.5}}",
            "9:42: 'trained_epochs': expected an integer, got '1.5'");
    refuses("{conv1.weight: {init: kaiming}}",
            "9:32: 'init': expected one of default, kaiming_normal, kaiming_uniform, "
            "xavier_uniform, zero, one, dirac, whiten, got 'kaiming'");
    refuses("{fc1.weight: {init: dirac}}",
            "9:30: 'init': 'dirac' cannot be for 'fc1.weight': it needs the weight of a "
            "convolution");
    refuses("{conv2.weight: {init: whiten}}",
            "9:32: 'init': 'whiten' cannot be for 'conv2.weight': it needs the weight of a "
            "convolution of the input, without padding");
    refuses("{\"*.weight\": {init: xavier_uniform}}",
            "9:30: 'init': 'xavier_uniform' cannot be for 'bn1.weight': it needs the weight of a "
            "convolution or of a linear layer");
    refuses("3", "9:10: 'tensors': expected a mapping of patterns");
    refuses("[{a: {}, b: {}}]", "9:11: 'tensors': expected PATTERN: {...}");
    refuses("[conv1.bias: {init: one}, conv1.bias: {init: one}]",
            "9:48: 'tensors': 'conv1.bias' is there twice");
}

// A wide filter bank has no eigenvectors for all of its outputs.
static void whitening_needs_enough_eigenvectors(void **state) {
    (void)state;
    write_file("models/small.yaml", "schema: lockstep.model/1\nname: small\ninput: [3, 8, 8]\n"
                                    "layers: [conv: {out: 25, kernel: 2}, flatten, linear: {out: "
                                    "10}]\n");
    refuses("{conv1.weight: {init: whiten}}",
            "9:32: 'init': 'whiten' cannot be for 'conv1.weight': it needs a convolution with at "
            "most two outputs for each value of its patches");
    write_file("models/small.yaml", MODEL);
}

// ---- Groups ----

static void tensors_that_are_trained_alike_share_a_group(void **state) {
    (void)state;
    experiment e;
    parameter_group rule[PARAMETER_GROUPS - 1];
    must_load(HEAD "tensors: {\"*.bias\": {lr_factor: 64, weight_decay: 0.5}, bn1.weight: "
                   "{trained_epochs: 3}, bn2.weight: {trained_epochs: 3}, conv2.bias: {lr_factor: "
                   "1}, fc1.bias: {trained_epochs: 0}, fc1.weight: {trained_epochs: 0}}\n",
              &e);
    const parameter_groups *g = &e.parameter_groups;
    static const struct {
        const char *tensor;
        int group;
    } expected[] = {{"conv1.weight", 0}, {"conv1.bias", 1}, {"bn1.weight", 2}, {"bn1.bias", 1},
                    {"conv2.weight", 0}, {"conv2.bias", 3}, {"bn2.weight", 2}, {"bn2.bias", 1},
                    {"fc1.weight", 4},   {"fc1.bias", 4}};
    assert_int_equal(g->count, 5);
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        const model_tensor *t = model_find(&e.model, expected[i].tensor);
        for (size_t k = 0; k < t->count; k++)
            assert_int_equal(g->of_line[(t->offset + k) / ARENA_ALIGNMENT], expected[i].group);
    }
    parameter_groups_rule(g, 0.1, 0.25, 14, 5, rule);
    assert_true(rule[0].lr == (float)(0.1 * 64) && rule[0].weight_decay == 0.5f);
    assert_true(rule[1].lr == 0.1f && rule[1].weight_decay == 0.25f && !rule[1].frozen);
    assert_true(rule[2].weight_decay == 0.5f && !rule[2].frozen && rule[3].frozen);
    parameter_groups_rule(g, 0.1, 0.25, 15, 5, rule);
    assert_true(rule[1].frozen && !rule[0].frozen && !rule[2].frozen);
    experiment_release(&e);
}

// Frozen first, then trained, then frozen again; and at the same time from the start on.
static void tensors_are_frozen_in_the_first_epochs(void **state) {
    (void)state;
    experiment e;
    parameter_group rule[PARAMETER_GROUPS - 1];
    must_load(HEAD "tensors: {\"*\": {frozen_epochs: 2}, fc1.*: {trained_epochs: 4}, bn1.*: "
                   "{trained_epochs: 0}, bn2.*: {frozen_epochs: 0}}\n",
              &e);
    static const bool frozen[][3] = {{true, true, true},   {true, true, true},
                                     {false, false, true}, {false, false, true},
                                     {false, true, true},  {false, true, true}};
    const parameter_groups *g = &e.parameter_groups;
    assert_int_equal(g->count, 4); // with group 0, that of bn2
    for (uint64_t step = 0; step < 18; step++) {
        parameter_groups_rule(g, 0.1, 0, step, 3, rule);
        const bool is[3] = {rule[0].frozen, rule[2].frozen, rule[1].frozen};
        assert_memory_equal(is, frozen[step / 3], sizeof is);
        assert_int_equal(rule[0].first_step, 6);
    }
    experiment_release(&e);
}

// As PyTorch, where a frozen tensor has no gradient.
static void a_norm_leaves_out_frozen_tensors(void **state) {
    (void)state;
    experiment e;
    clipping c;
    parameter_group groups[PARAMETER_GROUPS - 1];
    update_rule rule = {.clip_norm = 1, .groups = groups};
    const int32_t samples[] = {3, 1};
    const batch b = {.shards = 2, .count = samples};
    must_load(HEAD "tensors: {\"*\": {trained_epochs: 0}, fc1.bias: {trained_epochs: 1}}\n", &e);
    float *record = calloc(e.model.program.parameters, sizeof *record);
    assert_non_null(record);
    record[model_find(&e.model, "conv1.weight")->offset] = 1000;
    for (size_t i = 0; i < 9; i++) record[model_find(&e.model, "fc1.bias")->offset + i] = 8;
    clipping_init(&c, &e.model, e.parameter_groups.of_line);
    parameter_groups_rule(&e.parameter_groups, 0.1, 0, 0, 1, groups);
    clipping_apply(&c, record, &b, &rule);
    assert_true(rule.factor == 1 / (6 + 1e-6)); // nine times 8, of 4 samples
    parameter_groups_rule(&e.parameter_groups, 0.1, 0, 1, 1, groups);
    clipping_apply(&c, record, &b, &rule);
    assert_true(rule.factor == 1);
    clipping_release(&c);
    free(record);
    experiment_release(&e);
}

// ---- Normal numbers ----

static double by_libm(const random_stream *s, uint64_t element) {
    const double pi = 3.14159265358979323846;
    const double u = (random_bits(s, element & ~UINT64_C(1)) + 0.5) / 0x1p32;
    const double angle = 2 * pi * (random_bits(s, element | 1) / 0x1p32);
    return sqrt(-2 * log(u)) * (element & 1 ? sin(angle) : cos(angle));
}

static void normal_numbers_are_those_of_the_mathematical_library(void **state) {
    (void)state;
    enum { N = 200000 };
    const random_stream s = {.seed = 5, .purpose = RANDOM_INIT, .layer = 3};
    double sum = 0, squares = 0;
    for (uint64_t i = 0; i < N; i++) {
        const double x = normal_number(&s, i), y = by_libm(&s, i);
        if (!(fabs(x - y) <= 4e-15 * (1 + fabs(y)))) fail_msg("%.17g, not %.17g", x, y);
        sum += x;
        squares += x * x;
    }
    assert_true(fabs(sum / N) < 5 / sqrt(N) && fabs(squares / N - 1) < 5 * sqrt(2.0 / N));
}

// The bits that every machine must give.
static void normal_numbers_have_these_bits(void **state) {
    (void)state;
    const random_stream s = {.seed = 5, .purpose = RANDOM_INIT, .layer = 3};
    uint64_t sum = 0;
    for (uint64_t i = 0; i < 10000; i++) {
        const double x = normal_number(&s, i);
        uint64_t bits;
        memcpy(&bits, &x, sizeof bits);
        sum = sum * UINT64_C(6364136223846793005) + bits;
    }
    if (sum != UINT64_C(0x25b488aff907868b)) fail_msg("0x%llx", (unsigned long long)sum);
}

// ---- Initial values ----

static void initial_values_come_from_the_documented_stream(void **state) {
    (void)state;
    experiment e;
    must_load(HEAD "tensors: {conv1.weight: {init: kaiming_uniform}, fc1.weight: {init: "
                   "kaiming_normal}, conv2.weight: {init: dirac}, bn1.bias: {init: one}}\n",
              &e);
    const size_t n = e.model.program.parameters;
    float *p = calloc(n, sizeof *p), *q = calloc(n, sizeof *q);
    float *b = calloc(e.model.program.buffers, sizeof *b);
    assert_true(p && q && b);
    model_init_parameters(&e.model, 9, p, b);
    memcpy(q, p, n * sizeof *p);
    tensor_settings_init(&e.model, e.tensors, 9, q);
    const model_tensor *t = model_find(&e.model, "conv1.weight");
    random_stream s = {.seed = layer_seed(&e.model.program.layers[t->layer], 9),
                       .purpose = RANDOM_INIT};
    assert_true(q[t->offset + 7] == (float)sqrt(0.5) * (2 * random_uniform(&s, 7) - 1));
    t = model_find(&e.model, "fc1.weight");
    s.seed = layer_seed(&e.model.program.layers[t->layer], 9);
    assert_true(q[t->offset + 7] == (float)(sqrt(2.0 / 196) * normal_number(&s, 7)));
    // Of four filters for eight channels each passes on its own; no default value is left.
    t = model_find(&e.model, "conv2.weight");
    for (size_t i = 0; i < t->count; i++)
        assert_true(q[t->offset + i] == (i % 9 == 4 && i / 9 % 8 == i / 72 ? 1.0f : 0.0f));
    t = model_find(&e.model, "bn1.bias");
    for (size_t i = 0; i < t->count; i++) assert_true(q[t->offset + i] == 1);
    t = model_find(&e.model, "fc1.bias");
    assert_memory_equal(p + t->offset, q + t->offset, t->count * sizeof *p);
    free(p), free(q), free(b);
    experiment_release(&e);
}

// ---- Whitening ----

enum {
    IMAGES = 40,
    SIDE = 9,
    CHANNELS = 2,
    VALUES = CHANNELS * 2 * 3,
    BYTES = CHANNELS * SIDE * SIDE
};

// Smooth noise: neighbours are alike, so that eigenvalues differ.
static void draw_images(uint8_t images[IMAGES][BYTES]) {
    const random_stream s = {.seed = 2, .purpose = RANDOM_SYNTHETIC};
    for (int i = 0; i < IMAGES; i++) {
        double level = 128;
        for (int k = 0; k < BYTES; k++) {
            level += 0.3 * (128 - level) +
                     60 * ((double)random_uniform(&s, (uint64_t)(i * BYTES + k)) - 0.5);
            images[i][k] = (uint8_t)(level < 0 ? 0 : level > 255 ? 255 : level);
        }
    }
}

// Second moments of the patches, the slow and obvious way.
static void find_moments(uint8_t images[IMAGES][BYTES], const float *mean, const float *std,
                         double moments[VALUES][VALUES]) {
    enum { PLACES = IMAGES * (SIDE - 1) * (SIDE - 2) };
    for (int at = 0; at < PLACES; at++) {
        const int x = at % (SIDE - 2), y = at / (SIDE - 2) % (SIDE - 1);
        const uint8_t *image = images[at / (SIDE - 2) / (SIDE - 1)];
        double patch[VALUES];
        for (int k = 0; k < VALUES; k++) {
            const int c = k / 6, row = y + k / 3 % 2, column = x + k % 3;
            patch[k] = (image[(c * SIDE + row) * SIDE + column] / 255.0 - (double)mean[c]) /
                       (double)std[c];
        }
        for (int a = 0; a < VALUES; a++)
            for (int b = 0; b < VALUES; b++) moments[a][b] += patch[a] * patch[b] / PLACES;
    }
}

// With filters W and moments E, W E Wᵀ is diagonal: λ / (λ + 5e-4), in the order of λ.
static void filters_decorrelate_patches(void **state) {
    (void)state;
    static uint8_t images[IMAGES][BYTES];
    static const float mean[] = {0.5f, 0.4f}, std[] = {0.2f, 0.3f};
    const uint8_t *pixels[IMAGES];
    double moments[VALUES][VALUES] = {{0}};
    float w[2 * VALUES][VALUES], other[2 * VALUES - 5][VALUES];
    draw_images(images);
    find_moments(images, mean, std, moments);
    for (int i = 0; i < IMAGES; i++) pixels[i] = images[i];
    const whitening_images in = {pixels, IMAGES, CHANNELS, SIDE, SIDE, mean, std};
    whitening_filters(&in, 2, 3, 2 * VALUES, &w[0][0]);
    double before = INFINITY;
    for (int i = 0; i < VALUES; i++) {
        double norm = 0;
        for (int k = 0; k < VALUES; k++) norm += (double)w[i][k] * (double)w[i][k];
        const double value = 1 / norm - 5e-4; // the eigenvalue
        assert_true(value > 0 && value <= before);
        before = value;
        for (int j = 0; j < VALUES; j++) {
            double sum = 0;
            for (int a = 0; a < VALUES; a++)
                for (int b = 0; b < VALUES; b++)
                    sum += (double)w[i][a] * moments[a][b] * (double)w[j][b];
            assert_true(fabs(sum - (i == j ? value / (value + 5e-4) : 0)) < 1e-5);
        }
        for (int k = 0; k < VALUES; k++) assert_true(w[VALUES + i][k] == -w[i][k]);
    }
    uint64_t bits = 0;
    for (int i = 0; i < VALUES * VALUES; i++) {
        uint32_t value;
        memcpy(&value, &w[i / VALUES][i % VALUES], sizeof value);
        bits = bits * UINT64_C(6364136223846793005) + value;
    }
    if (bits != UINT64_C(0xec7133531e067637)) fail_msg("0x%llx", (unsigned long long)bits);
    // The order of the images makes no difference to a bit; fewer outputs are the first ones.
    for (int i = 0; i < IMAGES; i++) pixels[i] = images[(7 * i + 3) % IMAGES];
    whitening_filters(&in, 2, 3, 2 * VALUES - 5, &other[0][0]);
    assert_memory_equal(w, other, sizeof other);
}

// Images of one value have a moment of rank 1: the other eigenvalues are 0, or just below.
static void images_without_contrast_have_filters(void **state) {
    (void)state;
    static const uint8_t image[27];
    static const float mean[] = {0.5f, 0.4f, 0.3f}, std[] = {0.2f, 0.3f, 0.1f};
    const uint8_t *pixels[] = {image};
    float w[24 * 12];
    const whitening_images in = {pixels, 1, 3, 3, 3, mean, std};
    whitening_filters(&in, 2, 2, 24, w);
    for (size_t i = 0; i < sizeof w / sizeof *w; i++) assert_true(isfinite(w[i]));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_last_pattern_that_gives_a_setting_counts),
        cmocka_unit_test(nothing_is_written_if_nothing_is_set),
        cmocka_unit_test(a_resolved_list_reads_as_the_mapping),
        cmocka_unit_test(another_order_is_another_experiment),
        cmocka_unit_test(bad_settings_are_refused_by_name),
        cmocka_unit_test(whitening_needs_enough_eigenvectors),
        cmocka_unit_test(tensors_that_are_trained_alike_share_a_group),
        cmocka_unit_test(tensors_are_frozen_in_the_first_epochs),
        cmocka_unit_test(a_norm_leaves_out_frozen_tensors),
        cmocka_unit_test(normal_numbers_are_those_of_the_mathematical_library),
        cmocka_unit_test(normal_numbers_have_these_bits),
        cmocka_unit_test(initial_values_come_from_the_documented_stream),
        cmocka_unit_test(filters_decorrelate_patches),
        cmocka_unit_test(images_without_contrast_have_filters),
    };
    return cmocka_run_group_tests(tests, make_files, remove_folder);
}
