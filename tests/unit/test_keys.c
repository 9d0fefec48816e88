// Keys of experiments: settings that differ in the last bit of a number have keys that differ, and
// what is written otherwise but means the same has the same key.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "data/manifest.h"
#include "experiment/fields.h"

#include "temporary_folder.h"

static char path[FILE_PATH_SIZE];

#define LAYERS(eps, p)                                                             \
    "input: [3, 8, 8]\nlayers: [conv: {out: 4, kernel: 3}, batch_norm: {eps: " eps \
    "}, relu, flatten, dropout: {p: " p "}, linear: {out: 10}]\n"
#define MODEL(name, eps, p) "schema: lockstep.model/1\nname: " name "\n" LAYERS(eps, p)

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

// The key of the experiment with up to three assignments.
static void key_of(const char *a, const char *b, const char *c, char key[SHA256_TEXT_BYTES]) {
    const char *set[] = {a, b, c};
    char *argv[] = {(char *)"x", NULL};
    size_t count = 0;
    error err;
    experiment e;
    manifest m;
    while (count < 3 && set[count]) count++;
    MUST(experiment_read(&e, path, set, count, &err));
    MUST(manifest_begin(&m, "train", 1, 1, argv, &err));
    MUST(yaml_put(m.root, "parameters", yaml_copy(e.resolved, &err), &err));
    MUST(manifest_key(&m, key, &err));
    manifest_release(&m);
    experiment_release(&e);
}

// Have `format` with the two values, written with all digits, keys that differ, after `setting`?
static void differ(const char *format, double one, double other, const char *setting) {
    char first[256], second[256], keys[2][SHA256_TEXT_BYTES];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    snprintf(first, sizeof first, format, one);
    snprintf(second, sizeof second, format, other);
#pragma GCC diagnostic pop
    key_of(setting, first, NULL, keys[0]);
    key_of(setting, second, NULL, keys[1]);
    if (!strcmp(keys[0], keys[1])) fail_msg("%s and %s have one key", first, second);
}

static uint64_t drawn_bits = 1;

static double draw(double min, double max) {
    drawn_bits = drawn_bits * 6364136223846793005u + 1442695040888963407u;
    return min + (double)(drawn_bits >> 11) / (double)(1ull << 53) * (max - min);
}

// What the other keys of its group must say for a field to apply.
static const char *setting_for(const char *key) {
    if (strstr(key, "eps") || strstr(key, "betas")) return "optimizer={kind: adam, lr: 0.1}";
    if (strstr(key, "gamma")) return "schedule={kind: multistep, milestones: [3]}";
    return "title=x";
}

static void neighbours_of_every_number_have_keys_that_differ(void **state) {
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
            differ(format, value, nextafter(value, 0), setting_for(f->path));
        }
    }
    assert_true(fields >= 5);
}

static void neighbours_in_lists_have_keys_that_differ(void **state) {
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
    }
}

static void the_two_rates_of_old(void **state) {
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

static void names_and_titles_share_a_key(void **state) {
    (void)state;
    char keys[2][SHA256_TEXT_BYTES];
    key_of(NULL, NULL, NULL, keys[0]);
    key_of("name=other", "title=Another one", "target_accuracy=0.5", keys[1]);
    assert_string_equal(keys[0], keys[1]);
    key_of("repeats=3", NULL, NULL, keys[1]);
    assert_string_equal(keys[0], keys[1]);
}

// The description counts, with the name that model.st.zst carries; neither the file's name nor its
// folder does.
static void a_model_counts_by_its_description(void **state) {
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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(neighbours_of_every_number_have_keys_that_differ),
        cmocka_unit_test(neighbours_in_lists_have_keys_that_differ),
        cmocka_unit_test(the_two_rates_of_old),
        cmocka_unit_test(one_value_has_one_key),
        cmocka_unit_test(names_and_titles_share_a_key),
        cmocka_unit_test(a_model_counts_by_its_description),
    };
    return cmocka_run_group_tests(tests, make_files, remove_folder);
}
