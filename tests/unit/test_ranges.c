// SPDX-License-Identifier: MIT
// Every numeric key of experiments and models: a value beside each end of its range is refused by
// name. The keys come from the tables and from the messages that list them, so a new one fails
// here until its range is known.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "../ops/engine_cases.h"
#include "experiment/experiment.h"
#include "experiment/experiment_fields.h"
#include "nn/layer_types.h"

#include "temporary_folder.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static char path[FILE_PATH_SIZE];

static int make_files(void **state) {
    if (make_folder(state)) return -1;
    snprintf(path, sizeof path, "%s/x.yaml", folder);
    write_file("models/small.yaml", "schema: lockstep.model/1\nname: small\ninput: [3, 8, 8]\n"
                                    "layers: [conv: {out: 4, kernel: 3}, flatten, linear: {out: "
                                    "10}]\n");
    write_file("x.yaml", "schema: lockstep.experiment/1\nname: x\ndataset: cifar10\nmodel: small\n"
                         "global_batch: 64\nepochs: 10\noptimizer: {kind: sgd, lr: 0.1}\n");
    return 0;
}

// ---- Single numbers ----

enum { MOST_SETS = 8, SET_BYTES = 128 };

typedef struct assignments {
    char text[MOST_SETS][SET_BYTES];
    const char *list[MOST_SETS];
    size_t count;
} assignments;

static void add(assignments *a, const char *key, const char *value) {
    snprintf(a->text[a->count], SET_BYTES, "%s=%s", key, value);
    a->list[a->count] = a->text[a->count];
    a->count++;
}

// Sets the kind for which the field is, and the keys that this kind needs.
static void prepare(assignments *a, const field *f) {
    static const char *const needed[][2] = {{"schedule.milestones", "[1]"},
                                            {"schedule.points", "[[0, 1]]"},
                                            {"lr_scaling.base_batch", "8"},
                                            {"average.decay", "0.5"}};
    unsigned kind = 0;
    a->count = 0;
    while (!experiment_field_applies(f, kind)) kind++;
    for (size_t i = 0; (f->kinds || f->hyper) && i < experiment_field_count; i++) {
        const field *other = &experiment_fields[i];
        if (other->type == FIELD_CHOICE && other->place == f->kind)
            add(a, other->path, other->words[kind]);
        for (size_t k = 0; k < COUNT(needed); k++)
            if (!strcmp(needed[k][0], other->path) && other->kind == f->kind &&
                experiment_field_applies(other, kind))
                add(a, needed[k][0], needed[k][1]);
    }
}

// Is the value refused because of its range, by name?
static bool is_refused(const field *f, double value) {
    assignments a;
    char text[40], named[64];
    experiment e;
    error err = {0};
    prepare(&a, f);
    snprintf(text, sizeof text, f->type == FIELD_NUMBER ? "%.17g" : "%.0f", value);
    add(&a, f->path, text);
    const status rc = experiment_read(&e, path, a.list, a.count, &err);
    if (rc == STATUS_OK) experiment_release(&e);
    snprintf(named, sizeof named, "'%s': expected", f->path);
    return rc == STATUS_USAGE && strstr(err.message, named) && strstr(err.message, text);
}

static void every_number_has_a_range(void **state) {
    (void)state;
    int tried = 0;
    for (size_t i = 0; i < experiment_field_count; i++) {
        const field *f = &experiment_fields[i];
        const bool whole = f->type == FIELD_INTEGER;
        if (f->type == FIELD_SEED && !is_refused(f, -1)) fail_msg("%s: -1", f->path);
        if (!whole && f->type != FIELD_NUMBER) continue;
        const double below = f->above ? f->min : whole ? f->min - 1 : nextafter(f->min, -INFINITY);
        const double above = f->below ? f->max : whole ? f->max + 1 : nextafter(f->max, INFINITY);
        if (!(f->min < f->max)) fail_msg("%s: no range", f->path);
        if (!is_refused(f, below)) fail_msg("%s: %.17g", f->path, below);
        if (!is_refused(f, above)) fail_msg("%s: %.17g", f->path, above);
        if (!f->above && is_refused(f, f->min)) fail_msg("%s: %g is refused", f->path, f->min);
        if (!f->below && is_refused(f, f->max)) fail_msg("%s: %g is refused", f->path, f->max);
        tried++;
    }
    assert_true(tried > 25);
}

// ---- Numbers inside lists and mappings ----

// The values are beside the ends of the range of `key`, which the message names.
typedef struct row {
    const char *set; // with %s for the value
    const char *key;
    const char *refused[4]; // ends with NULL
} row;

// A NULL key: not a number.
static const row custom[] = {
    {"normalize={mean: [%s, 0, 0], std: [1, 1, 1]}",
     "normalize.mean",
     {"-0.0001", "1.0001", "125.3"}},
    {"normalize={mean: [0, 0, 0], std: [%s, 1, 1]}", "normalize.std", {"0", "-1", "1.0001", "63"}},
    {"optimizer={kind: adam, lr: 1, betas: [%s, 0.9]}", "optimizer.betas", {"-0.0001", "1"}},
    {"optimizer={kind: adam, lr: 1, betas: [0.9, %s]}", "optimizer.betas", {"-0.0001", "1"}},
    {"schedule={kind: multistep, milestones: [%s]}", "schedule.milestones", {"0", "2501"}},
    {"schedule={kind: linear, points: [[%s, 1]]}", "schedule.points", {"-0.1", "2500.1"}},
    {"schedule={kind: linear, points: [[0, %s]]}", "schedule.points", {"-0.1", "1000001"}},
    {"", "augment", {NULL}}, // below
    {"", "tensors", {NULL}},
};
static const char *const words[] = {"name",
                                    "title",
                                    "dataset",
                                    "model",
                                    "stages",
                                    "published",
                                    "initial_weights.file",
                                    "initial_weights.except"};

static const row augmentations[] = {
    {"augment=[random_crop: {padding: %s}]", "padding", {"-1", "129"}},
    {"augment=[random_crop: {padding: 8, padding_mode: %s}]", "padding", {"reflect"}},
    {"augment=[horizontal_flip: {p: %s}]", "p", {"-0.01", "1.01"}},
    {"augment=[random_affine: {degrees: %s}]", "degrees", {"-1", "180.1"}},
    {"augment=[random_affine: {degrees: 1, translate: [%s, 0]}]", "translate", {"-0.1", "1.1"}},
    {"augment=[random_affine: {degrees: 1, scale: [%s, 1]}]", "scale", {"0", "100.1"}},
    {"augment=[random_affine: {degrees: 1, scale: [1, %s]}]", "scale", {"0.5", "100.1"}},
    {"augment=[cutout: {size: %s}]", "size", {"0", "9"}},
    {"augment=[random_resized_crop: {scale: [%s, 1]}]", "scale", {"0", "1.1"}},
    {"augment=[random_resized_crop: {scale: [0.5, %s]}]", "scale", {"0.4", "1.1"}},
    {"augment=[random_resized_crop: {ratio: [%s, 2]}]", "ratio", {"0", "2.1"}},
    {"augment=[random_resized_crop: {ratio: [1, %s]}]", "ratio", {"0.5", "101"}},
    {"augment=[color_jitter: {brightness: %s}]", "brightness", {"-0.1", "100.1"}},
    {"augment=[color_jitter: {contrast: %s}]", "contrast", {"-0.1", "100.1"}},
    {"augment=[color_jitter: {saturation: %s}]", "saturation", {"-0.1", "100.1"}},
    {"augment=[color_jitter: {hue: %s}]", "hue", {"-0.1", "0.6"}},
};
static const row settings_of_tensors[] = {
    {"tensors={'*': {lr_factor: %s}}", "lr_factor", {"0", "-1", "1000001"}},
    {"tensors={'*': {weight_decay: %s}}", "weight_decay", {"-1", "1000001"}},
    {"tensors={'*': {trained_epochs: %s}}", "trained_epochs", {"-1", "2501"}},
    {"tensors={'*': {frozen_epochs: %s}}", "frozen_epochs", {"-1", "2501"}},
};

static void try_rows(const row *rows, size_t count) {
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < COUNT(rows[i].refused) && rows[i].refused[k]; k++) {
            char set[128], named[64];
            const char *list = set;
            experiment e;
            error err = {0};
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
            snprintf(set, sizeof set, rows[i].set, rows[i].refused[k]);
#pragma GCC diagnostic pop
            snprintf(named, sizeof named, "'%s'", rows[i].key);
            if (experiment_read(&e, path, &list, 1, &err) == STATUS_OK) fail_msg("%s", set);
            if (!strstr(err.message, named)) fail_msg("%s: %s", set, err.message);
        }
}

static bool has_row(const row *rows, size_t count, const char *key) {
    for (size_t i = 0; i < count; i++)
        if (!strcmp(rows[i].key, key)) return true;
    return false;
}

static bool is_word(const char *key, const char *const *list, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (!strcmp(list[i], key)) return true;
    return false;
}

// Checks that there is a row for each key that a message lists.
static void check_listed(const char *message, const row *rows, size_t count,
                         const char *const *others, size_t other_count) {
    const char *p = strstr(message, "the keys are: ");
    char key[64];
    if (!p) fail_msg("%s", message);
    for (p += strlen("the keys are: "); *p; p += strspn(p, ", ")) {
        snprintf(key, sizeof key, "%.*s", (int)strcspn(p, ","), p);
        if (!has_row(rows, count, key) && !is_word(key, others, other_count))
            fail_msg("no range for '%s': %s", key, message);
        p += strlen(key);
    }
}

static void check_keys(const char *set, const row *rows, size_t count, const char *const *others,
                       size_t other_count) {
    experiment e;
    error err = {0};
    assert_int_equal(experiment_read(&e, path, &set, 1, &err), STATUS_USAGE);
    check_listed(err.message, rows, count, others, other_count);
}

static void numbers_in_lists_and_mappings(void **state) {
    (void)state;
    static const char *const unknown[] = {
        "augment=[random_crop: {zzzzzz: 1}]",         "augment=[horizontal_flip: {zzzzzz: 1}]",
        "augment=[random_affine: {zzzzzz: 1}]",       "augment=[cutout: {zzzzzz: 1}]",
        "augment=[random_resized_crop: {zzzzzz: 1}]", "augment=[color_jitter: {zzzzzz: 1}]"};
    static const char *const words_of_augment[] = {"padding_mode", "alternate", "interpolation",
                                                   "fill"};
    static const char *const words_of_tensors[] = {"init"};
    experiment e;
    error err = {0};
    const char *none = "augment=[zzzzzz]";
    for (size_t i = 0; i < experiment_field_count; i++) {
        const field *f = &experiment_fields[i];
        if ((f->type != FIELD_CUSTOM && f->type != FIELD_PAIR) ||
            is_word(f->path, words, COUNT(words)))
            continue;
        if (!has_row(custom, COUNT(custom), f->path)) fail_msg("no range for '%s'", f->path);
    }
    try_rows(custom, COUNT(custom));
    // A new augmentation needs a row above.
    assert_int_equal(experiment_read(&e, path, &none, 1, &err), STATUS_USAGE);
    assert_non_null(strstr(err.message, "augmentations are: random_crop, horizontal_flip, "
                                        "random_affine, cutout, random_resized_crop, "
                                        "color_jitter"));
    assert_string_equal(strrchr(err.message, ' '), " color_jitter");
    for (size_t i = 0; i < COUNT(unknown); i++)
        check_keys(unknown[i], augmentations, COUNT(augmentations), words_of_augment,
                   COUNT(words_of_augment));
    try_rows(augmentations, COUNT(augmentations));
    check_keys("tensors={'*': {zzzzzz: 1}}", settings_of_tensors, COUNT(settings_of_tensors),
               words_of_tensors, COUNT(words_of_tensors));
    try_rows(settings_of_tensors, COUNT(settings_of_tensors));
}

// ---- Options of layers ----

// Reads a model that ends with this layer.
static void read_model(const char *word, const char *given, error *err) {
    char text[512], set[FILE_PATH_SIZE + 32];
    const char *list = set;
    experiment e;
    const bool of_vector = strcmp(word, "linear") == 0 || strcmp(word, "unflatten") == 0;
    snprintf(text, sizeof text,
             "schema: lockstep.model/1\nname: m\ninput: [4, 8, 8]\nlayers:\n%s- %s: {%s}\n",
             of_vector ? "- flatten\n" : "", word, given);
    write_file("other.yaml", text);
    snprintf(set, sizeof set, "model=%s/other.yaml", folder);
    assert_int_equal(experiment_read(&e, path, &list, 1, err), STATUS_INPUT);
}

// Gives the layer one value, and what else its example has.
static void try_option(const layer_type *type, const char *key, const char *value) {
    const bool own = !strcmp(type->word, layer_kind_traits[type->kind].word);
    const char *example = own ? layer_examples[type->kind] : NULL; // no abbreviation has one
    char given[96], named[32];
    error err = {0};
    int used = snprintf(given, sizeof given, "%s: %s", key, value);
    while (example) {
        const bool list = strcspn(example, "[") < strcspn(example, ",");
        const int length = (int)(list ? strcspn(example, "]") + 1 : strcspn(example, ","));
        if (strncmp(example, key, strlen(key)) != 0 || example[strlen(key)] != ':')
            used += snprintf(given + used, sizeof given - (size_t)used, ", %.*s", length, example);
        example = example[length] ? example + length + 2 : NULL;
    }
    read_model(type->word, given, &err);
    snprintf(named, sizeof named, "'%s'", key);
    if (!strstr(err.message, named)) fail_msg("%s: {%s}: %s", type->word, given, err.message);
}

// The ends of the range, or what is beyond them.
static void try_number(const layer_type *type, const layer_number *n) {
    char value[32];
    snprintf(value, sizeof value, "%.9g", n->above ? n->low : n->low - 0.0001);
    try_option(type, n->key, value);
    snprintf(value, sizeof value, "%.9g", n->below ? n->high : n->high + 0.0001);
    try_option(type, n->key, value);
}

static void options_of_layers(void **state) {
    (void)state;
    enum { OTHERS = 3, OPTIONS = COUNT(refused_options) };
    const char *known[OTHERS + OPTIONS + LAYER_NUMBERS] = {"name", "from", "with"};
    for (size_t i = 0; i < OPTIONS; i++) known[OTHERS + i] = refused_options[i].key;
    for (int k = 0; k < LAYER_TYPES; k++) {
        const layer_type *type = &layer_types[k];
        error err = {0};
        read_model(type->word, "zzzzzz: 1", &err);
        const layer_number *numbers = layer_kind_traits[type->kind].numbers;
        size_t count = OTHERS + OPTIONS;
        for (int n = 0; n < LAYER_NUMBERS && numbers[n].key; n++) {
            known[count++] = numbers[n].key;
            if (k < LAYER_KINDS) try_number(type, &numbers[n]);
        }
        check_listed(err.message, NULL, 0, known, count);
        for (int o = 0; o < LAYER_OPTIONS && type->options[o]; o++)
            for (size_t i = 0; i < OPTIONS; i++)
                for (int v = 0; v < 4 && refused_options[i].values[v]; v++)
                    if (!strcmp(refused_options[i].key, type->options[o]))
                        try_option(type, type->options[o], refused_options[i].values[v]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_number_has_a_range),
        cmocka_unit_test(numbers_in_lists_and_mappings),
        cmocka_unit_test(options_of_layers),
    };
    return cmocka_run_group_tests(tests, make_files, remove_folder);
}
