// SPDX-License-Identifier: MIT
// The claims of the published reports: every row and statement names its place in the report, and
// the experiment for a row exists.
#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "audit/claim.h"
#include "experiment/lookup.h"
#include "experiment/plan.h"

static void each_claim(void (*check)(const claim *c, const char *path)) {
    glob_t found;
    error err = {0};
    assert_int_equal(glob("experiments/*/claim.yaml", 0, NULL, &found), 0);
    assert_true(found.gl_pathc >= 5);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        claim c;
        if (claim_read(found.gl_pathv[i], &c, &err) != STATUS_OK) fail_msg("%s", err.message);
        check(&c, found.gl_pathv[i]);
        claim_release(&c);
    }
    globfree(&found);
}

static void check_places(const claim *c, const char *path) {
    for (size_t i = 0; i < c->row_count; i++)
        if (!*c->rows[i].where) fail_msg("%s: '%s' has no place", path, c->rows[i].name);
    for (size_t i = 0; i < c->statement_count; i++)
        if (!*c->statements[i].where)
            fail_msg("%s: a statement '%s' has no place", path,
                     statement_name(c->statements[i].kind));
}

static void rows_and_statements_name_their_place(void **state) {
    (void)state;
    each_claim(check_places);
}

// NAME, or STUDY/VARIANT.
static void check_run(const char *path, const char *name) {
    const char *slash = strchr(name, '/');
    char word[128], *file;
    yaml_node *plan = NULL;
    bool found = !slash;
    error err = {0};
    snprintf(word, sizeof word, "%.*s", (int)strcspn(name, "/"), name);
    if (lookup_run(path, "", word, &file, &err) != STATUS_OK) fail_msg("%s: %s", path, err.message);
    if (slash && plan_study(file, NULL, 0, &plan, &err) != STATUS_OK) fail_msg("%s", err.message);
    const yaml_node *runs = slash ? yaml_find(plan, "runs") : NULL;
    for (size_t i = 0; runs && i < runs->count; i++)
        found = found || !strcmp(yaml_find(runs->items[i], "name")->text, slash + 1);
    if (!found) fail_msg("%s: the study '%s' has no variant '%s'", path, word, slash + 1);
    yaml_free(plan);
    free(file);
}

static void check_experiments(const claim *c, const char *path) {
    const yaml_node *rows = yaml_find(c->root, "rows");
    for (size_t i = 0; i < rows->count; i++) {
        const yaml_node *names = yaml_find(rows->items[i], "experiment");
        if (!names) fail_msg("%s: no experiment for '%s'", path, c->rows[i].name);
        if (names->kind == YAML_SCALAR) check_run(path, names->text);
        for (size_t k = 0; k < names->count; k++) check_run(path, names->items[k]->text);
    }
}

static void experiments_for_rows_exist(void **state) {
    (void)state;
    each_claim(check_experiments);
}

// A band that excludes the published figure would call the published result wrong.
static void check_band(const claim_row *row, const char *path, const char *name) {
    char file[256];
    yaml_node *bands;
    double low, high;
    error err = {0};
    const stated *accuracy = &row->values[QUANTITY_ACCURACY];
    snprintf(file, sizeof file, "%.*sexpected/%s.yaml", lookup_folder_length(path), path, name);
    if (access(file, R_OK) != 0 || !accuracy->given) return;
    assert_int_equal(yaml_read_file(file, &bands, &err), STATUS_OK);
    assert_int_equal(yaml_number(yaml_get(bands, "accuracy.0"), "low", &low, &err), STATUS_OK);
    assert_int_equal(yaml_number(yaml_get(bands, "accuracy.1"), "high", &high, &err), STATUS_OK);
    if (accuracy->range.high < 100 * low || accuracy->range.low > 100 * high)
        fail_msg("%s excludes the published %s", file, accuracy->text);
    yaml_free(bands);
}

static void check_bands(const claim *c, const char *path) {
    const yaml_node *rows = yaml_find(c->root, "rows");
    for (size_t i = 0; i < rows->count; i++) {
        const yaml_node *names = yaml_find(rows->items[i], "experiment");
        if (names->kind == YAML_SCALAR) check_band(&c->rows[i], path, names->text);
        for (size_t k = 0; k < names->count; k++)
            check_band(&c->rows[i], path, names->items[k]->text);
    }
}

static void bands_contain_the_published_figures(void **state) {
    (void)state;
    each_claim(check_bands);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_and_statements_name_their_place),
        cmocka_unit_test(experiments_for_rows_exist),
        cmocka_unit_test(bands_contain_the_published_figures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
