// SPDX-License-Identifier: MIT
// Keys of experiments: settings that differ in a number's last bit have different keys; different
// spellings of the same settings have the same key.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "data/manifest.h"
#include "experiment/experiment_fields.h"

#include "temporary_folder.h"

static char path[FILE_PATH_SIZE];

#define MODEL_LAYERS(eps, p)                                                       \
    "input: [3, 8, 8]\nlayers: [conv: {out: 4, kernel: 3}, batch_norm: {eps: " eps \
    "}, relu, flatten, dropout: {p: " p "}, linear: {out: 10}]\n"
#define MODEL(name, eps, p) "schema: lockstep.model/1\nname: " name "\n" MODEL_LAYERS(eps, p)

static int make_files(void **state) {
    if (make_folder(state)) return -1;
    snprintf(path, sizeof path, "%s/x.yaml", folder);
    write_file("models/small.yaml", MODEL("small", "0.00001", "0.5"));
    write_file("x.yaml", "schema: lockstep.experiment/1\nname: x\ndataset: cifar10\nmodel: small\n"
                         "virtual_shards: 4\nglobal_batch: 64\nepochs: 10\n"
                         "optimizer: {kind: sgd, lr: 0.001}\n");
    return 0;
}

#define MUST(call)                                            \
    do {                                                      \
        if ((call) != STATUS_OK) fail_msg("%s", err.message); \
    } while (0)

// Begins a manifest of the experiment with up to three assignments; release both.
static void begin(const char *const set[3], experiment *e, manifest *m) {
    char *argv[] = {(char *)"x", NULL};
    size_t count = 0;
    error err;
    while (count < 3 && set[count]) count++;
    MUST(experiment_read(e, path, set, count, &err));
    MUST(manifest_begin(m, "train", 1, 1, argv, &err));
    yaml_put(m->root, "parameters", yaml_copy(e->resolved));
}

static void key_now(const manifest *m, char key[SHA256_TEXT_BYTES]) {
    error err;
    MUST(manifest_key(m, key, &err));
}

static void key_of(const char *a, const char *b, const char *c, char key[SHA256_TEXT_BYTES]) {
    const char *const set[3] = {a, b, c};
    experiment e;
    manifest m;
    begin(set, &e, &m);
    key_now(&m, key);
    manifest_release(&m);
    experiment_release(&e);
}

// Checks that the keys of `format` with the two values, in all digits, differ. `setting` is set
// first.
static void differ(const char *format, double one, double other, const char *setting) {
    char first[256], second[256], keys[2][SHA256_TEXT_BYTES];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    snprintf(first, sizeof first, format, one);
    snprintf(second, sizeof second, format, other);
#pragma GCC diagnostic pop
    key_of("validation={samples: 9}", setting, first, keys[0]);
    key_of("validation={samples: 9}", setting, second, keys[1]);
    if (!strcmp(keys[0], keys[1])) fail_msg("%s and %s have the same key", first, second);
}

static uint64_t drawn_bits = 1;

static double draw(double min, double max) {
    drawn_bits = drawn_bits * 6364136223846793005u + 1442695040888963407u;
    return min + (double)(drawn_bits >> 11) / (double)(1ull << 53) * (max - min);
}

// The settings of other keys in its group that make a field apply. Valid until the next call.
static const char *setting_for(const field *f) {
    static char set[64];
    const char *key = f->path;
    if (f->hyper) {
        unsigned kind = 0;
        while (!experiment_field_applies(f, kind)) kind++;
        const char *word = optimizer_kind_traits[kind].word;
        snprintf(set, sizeof set, "optimizer={kind: %s, lr: 0.1}", word);
        return set;
    }
    if (strstr(key, "average")) return "average={kind: ema, decay: 0.25}";
    if (strstr(key, "pct_start") || strstr(key, "div_factor")) return "schedule.kind=one_cycle";
    if (strstr(key, "gamma")) return "schedule={kind: multistep, milestones: [3]}";
    if (strstr(key, ".factor") || strstr(key, "threshold") || strstr(key, "min_lr"))
        return "schedule.kind=plateau";
    if (strstr(key, "min_delta")) return "early_stopping={patience: 1}";
    return "title=x";
}

static void neighbours_of_every_number_have_different_keys(void **state) {
    (void)state;
    int fields = 0;
    for (size_t i = 0; i < experiment_field_count; i++) {
        const field *f = &experiment_fields[i];
        char format[80];
        if (f->type != FIELD_NUMBER || !strcmp(f->path, "target_accuracy")) continue;
        fields++;
        snprintf(format, sizeof format, "%s=%%.17g", f->path);
        for (int k = 0; k < 20; k++) {
            const double value = draw(f->min, f->max < 1 ? f->max : 1);
            differ(format, value, nextafter(value, 0), setting_for(f));
            if (value < 0.999) differ(format, value, nextafter(value, 1), setting_for(f));
        }
    }
    assert_true(fields >= 5);
}

// A value's possible neighbour depends on the other keys. Seeds have digits that no double holds.
static const struct {
    const char *path, *one, *other, *setting;
} integers[] = {
    {"world_size", "2", "1", "title=x"},
    {"virtual_shards", "2", "1", "title=x"},
    {"shard_seed", "9007199254740992", "9007199254740993", "title=x"},
    {"global_batch", "64", "68", "title=x"},
    {"seed", "9223372036854775806", "9223372036854775807", "title=x"},
    {"loader_workers", "1", "2", "title=x"},
    {"schedule.warmup_epochs", "1", "2", "title=x"},
    {"schedule.patience", "1", "2", "schedule={kind: plateau}"},
    {"schedule.cooldown", "1", "2", "schedule={kind: plateau}"},
    {"average.every", "5", "6", "average={kind: ema, decay: 0.5}"},
    {"average.ramp", "2", "3", "average={kind: lookahead, decay: 0.5}"},
    {"lr_scaling.base_batch", "64", "65", "lr_scaling={kind: linear, base_batch: 1}"},
    {"validation.samples", "9", "10", "title=x"},
    {"validation.seed", "1", "2", "validation={samples: 9}"},
    {"early_stopping.patience", "1", "2", "validation={samples: 9}"},
};
enum { INTEGERS = sizeof integers / sizeof *integers };

static void neighbours_of_every_integer_have_different_keys(void **state) {
    (void)state;
    size_t fields = 0;
    for (size_t i = 0; i < experiment_field_count; i++) {
        const field *f = &experiment_fields[i];
        if (f->type != FIELD_INTEGER && f->type != FIELD_SEED) continue;
        if (!strcmp(f->path, "repeats")) continue; // the number of runs, not their contents
        size_t k = 0;
        while (k < INTEGERS && strcmp(integers[k].path, f->path)) k++;
        if (k == INTEGERS) fail_msg("'%s' has no pair in the table", f->path);
        char assignment[2][80], keys[2][SHA256_TEXT_BYTES];
        snprintf(assignment[0], sizeof assignment[0], "%s=%s", f->path, integers[k].one);
        snprintf(assignment[1], sizeof assignment[1], "%s=%s", f->path, integers[k].other);
        for (int n = 0; n < 2; n++) key_of(integers[k].setting, assignment[n], NULL, keys[n]);
        if (!strcmp(keys[0], keys[1])) fail_msg("%s and %s", assignment[0], assignment[1]);
        fields++;
    }
    assert_int_equal(fields, INTEGERS);
}

static void neighbours_in_lists_have_different_keys(void **state) {
    (void)state;
    static const char adam[] = "optimizer={kind: adam, lr: 0.1}";
    static const char deviations[] = "normalize.std=[1, 1, 1]";
    static const char means[] = "normalize.mean=[1, 1, 1]";
    for (int k = 0; k < 20; k++) {
        const double value = draw(0.1, 0.9), next = nextafter(value, 1);
        differ("optimizer.betas=[0.5, %.17g]", value, next, adam);
        differ("normalize.mean=[0.5, %.17g, 0.5]", value, next, deviations);
        differ("normalize.std=[0.5, %.17g, 0.5]", value, next, means);
        differ("augment=[horizontal_flip: {p: %.17g}]", value, next, "title=x");
        differ("augment=[random_affine: {degrees: %.17g}]", value, next, "title=x");
        differ("augment=[random_affine: {degrees: 1, translate: [0, %.17g]}]", value, next,
               "title=x");
        differ("augment=[random_affine: {degrees: 1, scale: [%.17g, 1]}]", value, next, "title=x");
        differ("augment=[random_affine: {degrees: 1, scale: [0.01, %.17g]}]", value, next,
               "title=x");
        differ("augment=[random_affine: {degrees: 1, translate: [%.17g, 0]}]", value, next,
               "title=x");
        differ("augment=[random_resized_crop: {scale: [%.17g, 1]}]", value, next, "title=x");
        differ("augment=[random_resized_crop: {ratio: [%.17g, 1]}]", value, next, "title=x");
        differ("augment=[color_jitter: {hue: %.17g}]", value / 2, next / 2, "title=x");
        differ("optimizer.betas=[%.17g, 0.5]", value, next, adam);
    }
    differ("augment=[random_crop: {padding: %.0f}]", 3, 4, "title=x");
    differ("augment=[cutout: {size: %.0f}]", 3, 4, "title=x");
    differ("tensors={fc1.bias: {lr_factor: %.17g}}", 0.1, nextafter(0.1, 1), "title=x");
    differ("tensors={fc1.bias: {weight_decay: %.17g}}", 0.1, nextafter(0.1, 1), "title=x");
    differ("tensors={fc1.bias: {trained_epochs: %.0f}}", 3, 4, "title=x");
    differ("tensors={fc1.bias: {frozen_epochs: %.0f}}", 3, 4, "title=x");
    differ("schedule={kind: multistep, milestones: [1, %.0f]}", 3, 4, "title=x");
    differ("schedule={kind: linear, points: [[0, 0.2], [%.17g, 1]]}", 2.277, nextafter(2.277, 3),
           "title=x");
    differ("schedule={kind: linear, points: [[0, 0.2], [2, %.17g]]}", 0.07, nextafter(0.07, 1),
           "title=x");
}

static void two_rates_that_once_shared_a_key(void **state) {
    (void)state;
    differ("optimizer.lr=%.17g", 0.09999999776, 0.09999999777, "title=x");
}

static void one_value_has_one_key(void **state) {
    (void)state;
    static const char *const rates[] = {"optimizer.lr=0.001", "optimizer.lr=1e-3",
                                        "optimizer.lr=1.0E-03", "optimizer.lr=.001"};
    static const char *const large[] = {"optimizer.lr=1e6", "optimizer.lr=1000000",
                                        "optimizer.lr=1e+06"};
    char keys[2][SHA256_TEXT_BYTES];
    key_of(NULL, NULL, NULL, keys[0]);
    for (size_t i = 0; i < 4; i++) {
        key_of(rates[i], NULL, NULL, keys[1]);
        assert_string_equal(keys[0], keys[1]);
    }
    key_of(large[0], NULL, NULL, keys[0]);
    for (size_t i = 0; i < 3; i++) {
        key_of(large[i], NULL, NULL, keys[1]);
        assert_string_equal(keys[0], keys[1]);
    }
    key_of("optimizer.weight_decay=0", NULL, NULL, keys[0]);
    key_of("optimizer.weight_decay=-0.0", NULL, NULL, keys[1]);
    assert_string_equal(keys[0], keys[1]);
}

// The last pattern counts, so their order does.
static void the_order_of_patterns_is_in_the_key(void **state) {
    (void)state;
    char keys[2][SHA256_TEXT_BYTES];
    key_of("tensors={\"fc1.*\": {lr_factor: 2}, \"*.bias\": {lr_factor: 3}}", NULL, NULL, keys[0]);
    key_of("tensors={\"*.bias\": {lr_factor: 3}, \"fc1.*\": {lr_factor: 2}}", NULL, NULL, keys[1]);
    assert_string_not_equal(keys[0], keys[1]);
    key_of(NULL, NULL, NULL, keys[0]);
    key_of("tensors={}", NULL, NULL, keys[1]);
    assert_string_equal(keys[0], keys[1]);
}

// Keys that were added later are not in a resolved experiment that does not use them, so that the
// keys of earlier runs stay valid.
static void an_option_at_its_default_is_not_in_the_key(void **state) {
    (void)state;
    static const char *const defaults[] = {"label_smoothing=0",     "mixup.alpha=0",
                                           "average.kind=none",     "average={kind: none}",
                                           "optimizer.clip_norm=0", "drop_last=false"};
    char keys[2][SHA256_TEXT_BYTES];
    key_of(NULL, NULL, NULL, keys[0]);
    for (size_t i = 0; i < sizeof defaults / sizeof *defaults; i++) {
        key_of(defaults[i], NULL, NULL, keys[1]);
        assert_string_equal(keys[0], keys[1]);
    }
}

static void names_and_titles_share_a_key(void **state) {
    (void)state;
    char keys[2][SHA256_TEXT_BYTES];
    key_of(NULL, NULL, NULL, keys[0]);
    key_of("name=other", "title=Another one", "target_accuracy=0.5", keys[1]);
    assert_string_equal(keys[0], keys[1]);
    key_of("repeats=3", NULL, NULL, keys[1]);
    assert_string_equal(keys[0], keys[1]);
}

// The description counts, with the name stored in model.st.zst; the file's name and folder do not.
static void a_model_is_identified_by_its_description(void **state) {
    (void)state;
    char keys[2][SHA256_TEXT_BYTES];
    key_of(NULL, NULL, NULL, keys[0]);
    write_file("models/copy.yaml", MODEL("small", "1e-5", "5e-1"));
    key_of("model=copy", NULL, NULL, keys[1]);
    assert_string_equal(keys[0], keys[1]);
    write_file("elsewhere.yaml", MODEL("small", "0.000010", "0.50"));
    char assignment[160];
    snprintf(assignment, sizeof assignment, "model=%s/elsewhere.yaml", folder);
    key_of(assignment, NULL, NULL, keys[1]);
    assert_string_equal(keys[0], keys[1]);
    write_file("models/eps.yaml", MODEL("small", "0.000010000000001", "0.5"));
    key_of("model=eps", NULL, NULL, keys[1]);
    assert_string_not_equal(keys[0], keys[1]);
    write_file("models/drop.yaml", MODEL("small", "0.00001", "0.50000000000001"));
    key_of("model=drop", NULL, NULL, keys[1]);
    assert_string_not_equal(keys[0], keys[1]);
}

static void neighbours_in_models_have_different_keys(void **state) {
    (void)state;
    static const char *const formats[] = {"batch_norm: {eps: %.17g}",
                                          "batch_norm: {momentum: %.17g}", "dropout: {p: %.17g}"};
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        for (int k = 0; k < 10; k++) {
            const double value = draw(0.1, 0.9);
            char text[400], line[80], keys[2][SHA256_TEXT_BYTES];
            for (int n = 0; n < 2; n++) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
                snprintf(line, sizeof line, formats[i], n ? nextafter(value, 0) : value);
#pragma GCC diagnostic pop
                snprintf(text, sizeof text,
                         "schema: lockstep.model/1\nname: small\ninput: [3, 8, 8]\n"
                         "layers: [flatten, linear: {out: 4}, %s, linear: {out: 10}]\n",
                         line);
                write_file("models/near.yaml", text);
                key_of("model=near", NULL, NULL, keys[n]);
            }
            if (!strcmp(keys[0], keys[1])) fail_msg("%s and its neighbour have the same key", line);
        }
}

// ---- Excluded from a key ----

static bool is_only_shown(const char *where, const char *key) {
    static const char *const shown[] = {"name",      "title", "repeats", "target_accuracy",
                                        "published", "tta"};
    if (!strcmp(where, ".initial_weights")) return !strcmp(key, "file");
    if (*where) return false;
    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++)
        if (!strcmp(key, shown[i])) return true;
    return false;
}

static void compare(const manifest *m, const char *whole, bool shown, const char *what,
                    const char *where) {
    char key[SHA256_TEXT_BYTES];
    key_now(m, key);
    if (strcmp(key, whole) == 0 && !shown) fail_msg("%s: %s is not part of the key", where, what);
    if (strcmp(key, whole) != 0 && shown) fail_msg("%s: %s is part of the key", where, what);
}

// Changes each value below `node`, and leaves out each key, one at a time.
static void change_each(manifest *m, yaml_node *node, bool shown, const char *where,
                        const char *whole) {
    static char other[] = "another";
    if (node->kind == YAML_SCALAR) {
        char *text = node->text;
        node->text = other;
        compare(m, whole, shown, "the value", where);
        node->text = text;
        return;
    }
    for (size_t i = 0; i < node->count; i++) {
        char below[256];
        const char *key = node->keys ? node->keys[i] : "item";
        const bool hidden = shown || (node->keys && is_only_shown(where, key));
        snprintf(below, sizeof below, "%.180s.%.60s", where, key);
        change_each(m, node->items[i], hidden, below, whole);
        if (!node->keys) continue;
        const size_t last = --node->count;
        char *last_key = node->keys[last];
        yaml_node *item = node->items[i], *last_item = node->items[last];
        char *own_key = node->keys[i];
        node->keys[i] = last_key, node->items[i] = last_item;
        compare(m, whole, hidden, "being there", below);
        node->keys[i] = own_key, node->items[i] = item;
        node->keys[last] = last_key, node->items[last] = last_item;
        node->count++;
    }
}

static void all_but_displayed_values_are_in_the_key(void **state) {
    (void)state;
    static const char *const sets[][3] = {
        {"optimizer={kind: sgd, lr: 0.1, momentum: 0.9, nesterov: true, weight_decay: 0.1}",
         "schedule={kind: multistep, milestones: [3, 5], gamma: 0.5, warmup_epochs: 1}",
         "augment=[random_crop: {padding: 2}, horizontal_flip, random_affine: {degrees: 3}]"},
        {"optimizer={kind: adamw, lr: 0.1}", "lr_scaling={kind: sqrt, base_batch: 32}",
         "normalize={mean: [0.1, 0.2, 0.3], std: [1, 0.5, 0.25]}"},
        {"target_accuracy=0.5", "repeats=3", "stages=[fc1]"},
        {"augment=[random_crop: {padding: 2, padding_mode: reflect}, horizontal_flip: {alternate: "
         "true}, cutout: {size: 3, fill: mean}]",
         "tta=mirror"},
        {"validation={samples: 9, seed: 1}", "keep=best",
         "early_stopping={patience: 3, min_delta: 0.5}"},
        {"tensors={fc1.bias: {lr_factor: 2, weight_decay: 0.1}, \"*.weight\": {trained_epochs: "
         "3, frozen_epochs: 1}}"},
        {"label_smoothing=0.2", "drop_last=true",
         "schedule={kind: linear, points: [[0, 1], [2.5, 0.5]]}"},
        {"schedule={kind: plateau, factor: 0.5, patience: 2, threshold: 0.1, cooldown: 1, min_lr: "
         "0.1}"},
        {"mixup={alpha: 0.5}", "schedule={kind: cosine, by_epoch: true}",
         "augment=[random_resized_crop: {scale: [0.5, 1], ratio: [1, 2]}, color_jitter: "
         "{brightness: 0.1, contrast: 0.2, saturation: 0.3, hue: 0.4}]"},
        {"validation={samples: 9}", "stop_at={accuracy: 0.5}",
         "initial_weights={file: a, except: [fc1.*]}"},
        {"schedule={kind: one_cycle, anneal: linear}",
         "average={kind: lookahead, decay: 0.95, every: 5, ramp: 3}"},
    };
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        char whole[SHA256_TEXT_BYTES];
        experiment e;
        manifest m;
        begin(sets[i], &e, &m);
        key_now(&m, whole);
        change_each(&m, manifest_parameters(&m), false, "", whole);
        yaml_node *bits = (yaml_node *)yaml_find(m.root, "bits");
        change_each(&m, bits, false, "bits", whole);
        change_each(&m, (yaml_node *)yaml_find(m.root, "tool"), false, "tool", whole);
        manifest_release(&m);
        experiment_release(&e);
    }
}

// ---- Round trips of a number's text ----

// Checks one number of an experiment, found at `at` in the resolved one.
static void reads_again(const char *format, double value, const char *at, const char *setting) {
    char assignment[256], first[64], keys[2][SHA256_TEXT_BYTES];
    error err;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    snprintf(assignment, sizeof assignment, format, value);
#pragma GCC diagnostic pop
    for (int n = 0; n < 2; n++) {
        const char *const set[3] = {"validation={samples: 9}", setting, assignment};
        experiment e;
        manifest m;
        double read;
        begin(set, &e, &m);
        const yaml_node *node = yaml_get(e.resolved, at);
        assert_non_null(node);
        MUST(yaml_number(node, at, &read, &err));
        if (read != value) fail_msg("%s is %.17g, not %.17g", node->text, read, value);
        if (n && strcmp(first, node->text)) fail_msg("%s becomes %s", first, node->text);
        snprintf(first, sizeof first, "%s", node->text);
        key_now(&m, keys[n]);
        const char *hole = strstr(format, "%.17g");
        snprintf(assignment, sizeof assignment, "%.*s%s%s", (int)(hole - format), format, first,
                 hole + strlen("%.17g"));
        manifest_release(&m);
        experiment_release(&e);
    }
    assert_string_equal(keys[0], keys[1]);
}

static void a_resolved_number_reads_back_exactly(void **state) {
    (void)state;
    static const double some[] = {1e-30, 1e-8, 1e-7, 0.001,      0.1, 1.0 / 3,
                                  0.5,   1,    1000, 123456.789, 1e6};
    for (size_t i = 0; i < experiment_field_count; i++) {
        const field *f = &experiment_fields[i];
        char format[80];
        if (f->type != FIELD_NUMBER) continue;
        snprintf(format, sizeof format, "%s=%%.17g", f->path);
        for (size_t k = 0; k < sizeof some / sizeof *some; k++)
            if (some[k] < f->max) reads_again(format, some[k], f->path, setting_for(f));
        for (int k = 0; k < 20; k++)
            reads_again(format, pow(10, draw(-12, 0)), f->path, setting_for(f));
    }
    for (int k = 0; k < 20; k++) {
        const double value = pow(10, draw(-6, 0));
        reads_again("normalize.mean=[0.5, %.17g, 0.5]", value, "normalize.mean.1",
                    "normalize.std=[1, 1, 1]");
        reads_again("optimizer.betas=[%.17g, 0.5]", value * 0.999, "optimizer.betas.0",
                    "optimizer={kind: adam, lr: 0.1}");
        reads_again("augment=[random_affine: {degrees: %.17g}]", value,
                    "augment.0.random_affine.degrees", "title=x");
    }
}

// Numbers of keys, resolved experiments and metadata: through YAML and JSON, and back.
static void a_number_has_one_text(void **state) {
    (void)state;
    static const double some[] = {0,    -0.0, 1e9,     1e-9,   999999999999999,        1e15,
                                  1e16, 1e22, 1e23,    5e-324, 1.7976931348623157e308, 0.1,
                                  0.3,  -2.5, 2e-7 / 3};
    for (size_t i = 0; i < sizeof some / sizeof *some; i++) {
        double read;
        char *json[2];
        error err;
        yaml_node *first = yaml_new_number(some[i]), *back;
        MUST(yaml_number(first, "first", &read, &err));
        assert_true(read == some[i]);
        yaml_node *second = yaml_new_number(read);
        assert_string_equal(first->text, second->text);
        json[0] = json_from_yaml(first);
        char list[64];
        snprintf(list, sizeof list, "[%s]", json[0]);
        MUST(json_to_yaml(list, "list", &back, &err));
        json[1] = json_from_yaml(back->items[0]);
        assert_string_equal(json[0], json[1]);
        yaml_free(first), yaml_free(second), yaml_free(back);
        free(json[0]), free(json[1]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(neighbours_of_every_number_have_different_keys),
        cmocka_unit_test(neighbours_of_every_integer_have_different_keys),
        cmocka_unit_test(neighbours_in_lists_have_different_keys),
        cmocka_unit_test(neighbours_in_models_have_different_keys),
        cmocka_unit_test(two_rates_that_once_shared_a_key),
        cmocka_unit_test(one_value_has_one_key),
        cmocka_unit_test(the_order_of_patterns_is_in_the_key),
        cmocka_unit_test(an_option_at_its_default_is_not_in_the_key),
        cmocka_unit_test(names_and_titles_share_a_key),
        cmocka_unit_test(a_model_is_identified_by_its_description),
        cmocka_unit_test(all_but_displayed_values_are_in_the_key),
        cmocka_unit_test(a_resolved_number_reads_back_exactly),
        cmocka_unit_test(a_number_has_one_text),
    };
    return cmocka_run_group_tests(tests, make_files, remove_folder);
}
