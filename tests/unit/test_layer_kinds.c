// SPDX-License-Identifier: MIT
// Every kind of layer has its rows: a word and a reader, a role in units, a place in each export.
//
// There is one test per kind. That a kind has operations, test_engine.c and
// test_reference_gradients.c check.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../ops/engine_cases.h"
#include "compute/plan/units.h"
#include "nn/layer_types.h"
#include "temporary_folder.h"
#include "train/export/onnx.h"
#include "train/export/torch.h"

static void load_example(layer_kind kind, model *m) {
    char text[EXAMPLE_BYTES];
    error err;
    yaml_node *root = NULL;
    write_example(kind, text);
    status rc = yaml_read_text(text, strlen(text), "m.yaml", &root, &err);
    if (rc == STATUS_OK) rc = model_from_yaml(m, root, &err);
    yaml_free(root);
    if (rc != STATUS_OK) fail_msg("%s", err.message);
}

static void check_words(layer_kind kind) {
    const layer_type *t = &layer_types[kind];
    assert_non_null(t->word);
    assert_int_equal(t->kind, kind);
}

static void check_units(const program *p) {
    error err;
    unit_list units;
    if (units_init(&units, p, false, true, &err) != STATUS_OK) fail_msg("%s", err.message);
    units_release(&units);
}

// Fails unless the file contains the text.
static void check_contains(const char *path, const char *wanted) {
    static char content[1 << 16];
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    const size_t size = fread(content, 1, sizeof content, f);
    fclose(f);
    if (!memmem(content, size, wanted, strlen(wanted))) fail_msg("no '%s' in %s", wanted, path);
}

static void check_exports(const model *m, const layer *l) {
    float values[4000] = {0};
    error err;
    char wanted[160], file[FILE_PATH_SIZE];
    trained_model t = {.model = *m,
                       .normalization = {.channels = 4, .std = {1, 1, 1, 1}},
                       .parameters = values,
                       .buffers = values};
    assert_true(m->program.parameters <= 4000);
    if (torch_write(&t, "m", folder, &err) != STATUS_OK) fail_msg("%s", err.message);
    snprintf(file, sizeof file, "%s/model.py", folder);
    snprintf(wanted, sizeof wanted, "put(self, \"%s\", ", l->name);
    check_contains(file, wanted);
    snprintf(file, sizeof file, "%s/m.onnx", folder);
    if (onnx_write(&t, "m", file, &err) != STATUS_OK) fail_msg("%s", err.message);
    // A layer that drops does nothing there.
    if (layer_traits_of(l)->drops == DROPS_NOTHING) check_contains(file, l->name);
}

static void test_kind(void **state) {
    const layer_kind kind = *(const layer_kind *)*state;
    model m;
    const layer *found = NULL;
    check_words(kind);
    load_example(kind, &m);
    for (int i = 1; i < m.program.count && !found; i++)
        if (m.program.layers[i].kind == kind) found = &m.program.layers[i];
    assert_non_null(found);
    check_units(&m.program);
    check_exports(&m, found);
    model_release(&m);
}

int main(void) {
    static layer_kind kinds[LAYER_KINDS];
    struct CMUnitTest tests[LAYER_KINDS];
    for (int k = 0; k < LAYER_KINDS; k++) {
        const char *word = layer_types[k].word;
        kinds[k] = (layer_kind)k;
        tests[k] = (struct CMUnitTest){.name = word ? word : "a kind without a word",
                                       .test_func = test_kind,
                                       .setup_func = make_folder,
                                       .teardown_func = remove_folder,
                                       .initial_state = &kinds[k]};
    }
    return cmocka_run_group_tests_name("kinds of layers", tests, NULL, NULL);
}
