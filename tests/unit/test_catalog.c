// SPDX-License-Identifier: MIT
// The catalogue: the files that it finds, their names, and the files that it refuses.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "experiment/catalog.h"

#include "temporary_folder.h"

#define EXPERIMENT "schema: lockstep.experiment/1\n"

static int make_files(void **state) {
    if (make_folder(state)) return -1;
    write_file("b.yaml", "# why\n\nschema:  'lockstep.experiment/1'  # of today\nname: b\n");
    write_file("R1/a.yaml", EXPERIMENT);
    write_file("R1/deep/d.yaml", "\xef\xbb\xbf" EXPERIMENT);
    write_file("R1/claim.yaml", "schema: lockstep.claim/1\n");
    write_file("R2/claim.yaml", "schema: lockstep.claim/1\n");
    write_file("R2/workers.yaml", "schema: lockstep.study/1\nbase: b\n");
    write_file("models/b.yaml", "schema: lockstep.model/1\n");
    write_file("expected/b.yaml", "accuracy: [0, 1]\n");
    write_file("R1/.hidden/b.yaml", EXPERIMENT);
    write_file("R1/notes.txt", EXPERIMENT);
    return 0;
}

static void read_all(catalog *c) {
    error err;
    if (catalog_read(c, folder, &err) != STATUS_OK) fail_msg("%s", err.message);
}

static void finds_files_in_every_folder(void **state) {
    (void)state;
    static const struct {
        const char *name, *path, *schema;
    } expected[] = {{"a", "R1/a.yaml", "lockstep.experiment/1"},
                    {"claim", "R1/claim.yaml", "lockstep.claim/1"},
                    {"d", "R1/deep/d.yaml", "lockstep.experiment/1"},
                    {"claim", "R2/claim.yaml", "lockstep.claim/1"},
                    {"workers", "R2/workers.yaml", "lockstep.study/1"},
                    {"b", "b.yaml", "lockstep.experiment/1"},
                    {"b", "expected/b.yaml", ""},
                    {"b", "models/b.yaml", "lockstep.model/1"}};
    catalog c;
    read_all(&c);
    assert_int_equal(c.count, sizeof expected / sizeof *expected);
    for (size_t i = 0; i < c.count; i++) {
        assert_string_equal(c.items[i].name, expected[i].name);
        assert_string_equal(c.items[i].path + strlen(folder) + 1, expected[i].path);
        assert_string_equal(c.items[i].schema, expected[i].schema);
    }
    catalog_release(&c);
}

static void finds_experiments_and_studies_by_name(void **state) {
    (void)state;
    error err;
    const catalog_entry *found;
    catalog c;
    read_all(&c);
    assert_int_equal(catalog_find(&c, "b", &found, &err), STATUS_OK);
    assert_string_equal(found->path + strlen(folder), "/b.yaml");
    assert_true(catalog_is_experiment(found) && !catalog_is_study(found));
    assert_int_equal(catalog_find(&c, "workers", &found, &err), STATUS_OK);
    assert_true(catalog_is_study(found) && !catalog_is_experiment(found));
    assert_int_equal(catalog_find(&c, "claim", &found, &err), STATUS_INPUT);
    assert_null(found);
    catalog_release(&c);
}

static void refuses(const catalog *c, const char *name, const char *message) {
    error err = {0};
    const catalog_entry *found;
    assert_int_equal(catalog_find(c, name, &found, &err), STATUS_INPUT);
    assert_null(strchr(err.message, '\n'));
    if (!strstr(err.message, message)) fail_msg("'%s' lacks '%s'", err.message, message);
}

static void unknown_names_get_suggestions(void **state) {
    (void)state;
    catalog c;
    read_all(&c);
    refuses(&c, "wrokers", "cannot find experiment: 'wrokers': did you mean 'workers'? '");
    refuses(&c, "zzz", "' has these: a b d workers");
    refuses(&c, "", "cannot find experiment: ''");
    refuses(&c, "a b", "cannot find experiment: 'a b'");
    refuses(&c, "it's \"$(x)\"", "cannot find experiment: 'it's \"$(x)\"'");
    refuses(&c, "a\nb\x01", "cannot find experiment: 'a?b?'");
    refuses(&c, "../b", "cannot find experiment: '../b'");
    char longest[5000];
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = 0;
    refuses(&c, longest, "has these: a b d workers");
    catalog_release(&c);
}

static void one_name_in_two_folders_is_refused(void **state) {
    (void)state;
    error err;
    catalog c;
    char path[2 * FILE_PATH_SIZE];
    write_file("R2/a.yaml", "schema: lockstep.study/1\n");
    assert_int_equal(catalog_read(&c, folder, &err), STATUS_INPUT);
    assert_null(c.items);
    snprintf(path, sizeof path, "two experiments are called 'a': '%s/R1/a.yaml' and '%s/R2/a.yaml'",
             folder, folder);
    if (!strstr(err.message, path)) fail_msg("'%s' lacks '%s'", err.message, path);
    snprintf(path, sizeof path, "%s/R2/a.yaml", folder);
    assert_int_equal(unlink(path), 0);
}

static void a_loop_of_links_ends(void **state) {
    (void)state;
    char path[160];
    catalog c;
    snprintf(path, sizeof path, "%s/R1/loop", folder);
    assert_int_equal(symlink(folder, path), 0);
    read_all(&c);
    assert_int_equal(c.count, 8);
    catalog_release(&c);
    assert_int_equal(unlink(path), 0);
}

static void a_missing_folder(void **state) {
    (void)state;
    error err;
    catalog c;
    assert_int_equal(catalog_read(&c, "/nonexistent", &err), STATUS_INPUT);
    assert_string_equal(err.message,
                        "cannot read the folder '/nonexistent': No such file or directory");
}

// Paths do not contain the current folder.
static void the_current_folder(void **state) {
    (void)state;
    catalog c;
    error err;
    const catalog_entry *found;
    char before[4096];
    assert_non_null(getcwd(before, sizeof before));
    assert_int_equal(chdir(folder), 0);
    assert_int_equal(catalog_read(&c, ".", &err), STATUS_OK);
    assert_int_equal(catalog_find(&c, "a", &found, &err), STATUS_OK);
    assert_string_equal(found->path, "R1/a.yaml");
    catalog_release(&c);
    assert_int_equal(chdir(before), 0);
}

// The project's experiments, if the test runs in the source tree.
static void names_of_the_project_are_unique(void **state) {
    (void)state;
    catalog c;
    error err;
    if (access("experiments", R_OK)) skip();
    if (catalog_read(&c, "experiments", &err) != STATUS_OK) fail_msg("%s", err.message);
    size_t experiments = 0;
    for (size_t i = 0; i < c.count; i++) experiments += catalog_is_experiment(&c.items[i]);
    assert_true(experiments >= 20);
    catalog_release(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_files_in_every_folder),
        cmocka_unit_test(finds_experiments_and_studies_by_name),
        cmocka_unit_test(unknown_names_get_suggestions),
        cmocka_unit_test(one_name_in_two_folders_is_refused),
        cmocka_unit_test(a_loop_of_links_ends),
        cmocka_unit_test(a_missing_folder),
        cmocka_unit_test(the_current_folder),
        cmocka_unit_test(names_of_the_project_are_unique),
    };
    return cmocka_run_group_tests(tests, make_files, remove_folder);
}
