// SPDX-License-Identifier: MIT
// Settings of the pipeline, lists of strings, names of folders, and descriptions of changed runs.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/strvec.h"
#include "base/yaml_tree.h"
#include "pipeline/change.h"
#include "pipeline/run_names.h"
#include "pipeline/settings.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

// ---- Words ----

static void words_form_an_argv(void **state) {
    (void)state;
    strvec w = {0}, more = {0};
    strvec_add(&w, "train");
    strvec_format(&w, "--shards=%d", 4);
    strvec_add_option(&w, "--device", NULL);
    assert_int_equal(w.count, 2);
    strvec_add_option(&w, "--device", "");
    strvec_add(&more, "a b");
    strvec_add_all(&w, &more);
    assert_int_equal(w.count, 5);
    assert_string_equal(w.items[3], "");
    assert_null(w.items[5]);
    assert_true(strvec_has(&w, "a b"));
    assert_false(strvec_has(&w, "a"));
    strvec_release(&more);
    strvec_release(&w);
    assert_null(w.items);
}

// Checks that `text` cut at `separators` is `expected`, its parts joined by '|'.
static void expect_split(const char *text, const char *separators, const char *expected) {
    strvec w = {0};
    char joined[256] = "";
    strvec_split(&w, text, separators);
    for (size_t i = 0; i < w.count; i++) {
        strcat(joined, i ? "|" : "");
        strcat(joined, w.items[i]);
    }
    assert_string_equal(joined, expected);
    strvec_release(&w);
}

static void texts_are_split(void **state) {
    (void)state;
    expect_split(NULL, ";", "");
    expect_split("", ";", "");
    expect_split(" ;; ", ";", "");
    expect_split("epochs=1; optimizer.lr=0.5 ;", ";", "epochs=1|optimizer.lr=0.5");
    expect_split("augment=[a, b];title=a b", ";", "augment=[a, b]|title=a b");
    expect_split(" a\tb\nc ", " \t\n", "a|b|c");
    expect_split("$(touch x)", ";", "$(touch x)");
}

// ---- Settings ----

// For the tests: clears the environment that settings are read from.
static void clear_environment(void) {
    static const char *const names[] = {
        "EXP",     "EXPS",      "A",           "B",      "LIST",    "RUNS",     "SET",
        "SEED",    "DATA",      "EPOCHS",      "WHOLE",  "TIME",    "RESUME",   "QUICK",
        "DRY_RUN", "ARTIFACTS", "MODEL_LIMIT", "DEVICE", "THREADS", "LAUNCHER", "REPORT_FLAGS"};
    for (size_t i = 0; i < COUNT(names); i++) unsetenv(names[i]);
}

static int clear(void **state) {
    (void)state;
    clear_environment();
    return 0;
}

static status read_words(settings *s, pipeline_command command, const char *line, strvec *given,
                         error *err) {
    *given = (strvec){0};
    strvec_split(given, line, "|");
    return settings_read(s, command, (const char *const *)given->items, given->count, err);
}

// Checks that the words, separated by '|', are refused with a message that contains `part`.
static void expect_refusal(pipeline_command command, const char *line, const char *part) {
    settings s;
    strvec given;
    error err = {0};
    assert_int_equal(read_words(&s, command, line, &given, &err), STATUS_USAGE);
    if (!strstr(err.message, part)) fail_msg("'%s' lacks '%s'", err.message, part);
    assert_int_equal(s.names.count, 0);
    assert_null(s.names.items);
    strvec_release(&given);
}

static void known_settings(void **state) {
    (void)state;
    settings s;
    strvec given;
    error err = {0};
    assert_int_equal(read_words(&s, COMMAND_SUBMISSION,
                                "EXPS=a  ./b.yaml|SET=optimizer.lr=0.5; title=x y|EPOCHS=3|SEED=7|"
                                "WHOLE=1|RESUME=0|MODEL_LIMIT=0|DRY_RUN=1|BIN=somewhere|DEVICE=",
                                &given, &err),
                     STATUS_OK);
    assert_int_equal(s.names.count, 2);
    assert_string_equal(s.names.items[0], "a");
    assert_string_equal(s.names.items[1], "./b.yaml");
    // Later ones win in --set: SET, EPOCHS, SEED.
    assert_int_equal(s.assignments.count, 4);
    assert_string_equal(s.assignments.items[0], "optimizer.lr=0.5");
    assert_string_equal(s.assignments.items[1], "title=x y");
    assert_string_equal(s.assignments.items[2], "epochs=3");
    assert_string_equal(s.assignments.items[3], "seed=7");
    assert_true(s.whole);
    assert_int_equal(s.time, TIME_IF_DUE);
    assert_false(s.resume);
    assert_true(s.dry_run);
    assert_int_equal(s.model_limit, 0);
    assert_null(s.values[SETTING_DEVICE]); // an empty value is none
    settings_release(&s);
    strvec_release(&given);
}

static void default_settings(void **state) {
    (void)state;
    settings s;
    strvec given;
    assert_int_equal(read_words(&s, COMMAND_EXPERIMENT, "ddp4", &given, NULL), STATUS_OK);
    assert_string_equal(s.names.items[0], "ddp4");
    assert_int_equal(s.assignments.count, 0);
    assert_int_equal(s.time, TIME_IF_DUE);
    assert_false(s.whole);
    assert_true(s.resume);
    assert_false(s.quick || s.dry_run);
    assert_int_equal(s.model_limit, 4);
    settings_release(&s);
    strvec_release(&given);
}

static void misspelt_settings(void **state) {
    (void)state;
    expect_refusal(COMMAND_EXPERIMENT, "EXP=x|EPOCH=3",
                   "unknown setting: 'EPOCH=3': did you mean EPOCHS?");
    expect_refusal(COMMAND_EXPERIMENT, "EXP=x|epochs=3", "did you mean EPOCHS?");
    expect_refusal(COMMAND_EXPERIMENT, "EXP=x|LR=0.01", "SET=\"KEY=VALUE\"");
    expect_refusal(COMMAND_EXPERIMENT, "EXP=x|CIFAR_FROM=y", "did you mean CIFAR10_FROM?");
    expect_refusal(COMMAND_EXPERIMENT, "EXP=x|optimizer.lr=0.01",
                   "unknown setting: 'optimizer.lr=0.01'");
    expect_refusal(COMMAND_RUNS, "EPOCHS=3", "runs does not accept EPOCHS");
}

static void settings_of_other_commands(void **state) {
    (void)state;
    expect_refusal(COMMAND_COMPARE, "EXP=x", "compare does not accept EXP: expected EXPS=");
    expect_refusal(COMMAND_EXPERIMENT, "EXPS=x",
                   "experiment does not accept EXPS: expected EXP=NAME");
    expect_refusal(COMMAND_EXPERIMENT, "EXP=x|QUICK=1", "experiment does not accept QUICK");
    expect_refusal(COMMAND_CLEAN_RUNS, "RUNS=abc|SEED=1", "clean-runs does not accept SEED");
}

static void settings_with_bad_values(void **state) {
    (void)state;
    static const struct {
        pipeline_command command;
        const char *name, *refused[2];
    } ranges[] = {{COMMAND_EXPERIMENT, "EPOCHS", {"0", "2501"}},
                  {COMMAND_EXPERIMENT, "SEED", {"-1", "9223372036854775808"}},
                  {COMMAND_EXPERIMENT, "THREADS", {"0", "1025"}},
                  {COMMAND_EXPERIMENT, "STATES", {"1", "1001"}},
                  {COMMAND_EXPERIMENT, "WHOLE", {"-1", "2"}},
                  {COMMAND_EXPERIMENT, "TIME", {"-1", "2"}},
                  {COMMAND_EXPERIMENT, "RESUME", {"-1", "2"}},
                  {COMMAND_EXPERIMENT, "DRY_RUN", {"-1", "2"}},
                  {COMMAND_REPRODUCE, "QUICK", {"-1", "2"}},
                  {COMMAND_VERIFY, "SEGMENTS", {"0", "1001"}},
                  {COMMAND_SUBMISSION, "MODEL_LIMIT", {"-1", "1048577"}}};
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
        for (int k = 0; k < 2; k++) {
            char given[80], message[80];
            snprintf(given, sizeof given, "x|%s=%s", ranges[i].name, ranges[i].refused[k]);
            snprintf(message, sizeof message, "%s: '%s'", ranges[i].name, ranges[i].refused[k]);
            expect_refusal(ranges[i].command, given, message);
        }
    expect_refusal(COMMAND_EXPERIMENT, "EXP=x|THREADS=0",
                   "THREADS: '0': expected a whole number from 1 to 1024");
    expect_refusal(COMMAND_EXPERIMENT, "EXP=x|THREADS=2x", "THREADS: '2x'");
    expect_refusal(COMMAND_EXPERIMENT, "EXP=x|TIME=0|WHOLE=1", "TIME=0 times nothing");
    expect_refusal(COMMAND_EXPERIMENT, "EXP=x|EXECUTIONS=3",
                   "unknown setting: 'EXECUTIONS=3': WHOLE=1 times whole trainings");
    expect_refusal(COMMAND_EXPERIMENT, "EXP=x|SEED=-1", "SEED: '-1'");
    expect_refusal(COMMAND_EXPERIMENT, "EXP=x|SEED=99999999999999999999", "SEED: '9999");
    expect_refusal(COMMAND_EXPERIMENT, "EXP=x|RESUME=yes", "RESUME: 'yes'");
    expect_refusal(COMMAND_REPRODUCE, "QUICK=2", "QUICK: '2'");
}

static void missing_names(void **state) {
    (void)state;
    expect_refusal(COMMAND_EXPERIMENT, "", "experiment: a name is missing: expected EXP=NAME");
    expect_refusal(COMMAND_EXPERIMENT, "EXP=", "a name is missing");
    expect_refusal(COMMAND_EXPERIMENT, "a|b", "too many names");
    expect_refusal(COMMAND_EXPLAIN, "A=x", "explain: B is missing");
    expect_refusal(COMMAND_EXPLAIN, "B=x", "explain: A is missing");
    expect_refusal(COMMAND_COMPARE, "", "compare: a name is missing");
    expect_refusal(COMMAND_COMPARE, "RUNS=abc", "a second name is missing: expected RUNS=");
    expect_refusal(COMMAND_COMPARE, "EXPS=abc", "a second name is missing: expected EXPS=");
    expect_refusal(COMMAND_COMPARE, "EXPS=a|RUNS=abc abd", "EXPS or RUNS, not both");
    expect_refusal(COMMAND_CLEAN_RUNS, "", "a name is missing");
    expect_refusal(COMMAND_EXPERIMENT, "a|EXP=b", "names are given twice: as 'a' and in EXP='b'");
}

static void the_environment(void **state) {
    (void)state;
    settings s;
    strvec given;
    setenv("EXP", "from-there", 1);
    setenv("SEED", "5", 1);
    setenv("EPOCHS", "9", 1);
    setenv("RUNS", "abc", 1);
    setenv("TIME", "%E", 1); // of the program `time`
    // A word wins; without one, a name is used; other commands' settings have no effect.
    assert_int_equal(read_words(&s, COMMAND_EXPERIMENT, "EPOCHS=2", &given, NULL), STATUS_OK);
    assert_string_equal(s.names.items[0], "from-there");
    assert_string_equal(s.values[SETTING_SEED], "5");
    assert_string_equal(s.values[SETTING_EPOCHS], "2");
    assert_null(s.values[SETTING_RUNS]);
    settings_release(&s);
    strvec_release(&given);
    assert_int_equal(read_words(&s, COMMAND_COMPARE, "x|y", &given, NULL), STATUS_OK);
    assert_int_equal(s.names.count, 2);
    assert_null(s.values[SETTING_RUNS]);
    assert_int_equal(s.time, TIME_IF_DUE);
    settings_release(&s);
    strvec_release(&given);
    setenv("TIME", "0", 1);
    assert_int_equal(read_words(&s, COMMAND_COMPARE, "x|y", &given, NULL), STATUS_OK);
    assert_int_equal(s.time, TIME_NOTHING);
    settings_release(&s);
    strvec_release(&given);
    clear_environment();
}

// A path may contain '=' after a '/', and a name may contain anything.
static void words_that_are_not_settings(void **state) {
    (void)state;
    settings s;
    strvec given;
    assert_int_equal(
        read_words(&s, COMMAND_SUBMISSION, "/tmp/a=b/x.yaml|=x|a b=c|$(touch x)", &given, NULL),
        STATUS_OK);
    assert_int_equal(s.names.count, 4);
    assert_string_equal(s.names.items[2], "a b=c");
    settings_release(&s);
    strvec_release(&given);
}

static void commands(void **state) {
    (void)state;
    error err = {0};
    pipeline_command command;
    for (int c = 0; c < COMMANDS; c++) {
        const char *name = settings_commands[c].name;
        assert_int_equal(settings_find_command(name, &command, NULL), STATUS_OK);
        assert_int_equal(command, c);
    }
    assert_int_equal(settings_find_command("comparre", &command, &err), STATUS_USAGE);
    assert_non_null(strstr(err.message, "did you mean 'compare'?"));
}

// ---- Folders ----

// Checks that `line`, as an experiment's settings, gives folders and reports these suffixes.
static void expect_suffix(const char *line, const char *expected, const char *of_report) {
    settings s;
    strvec given;
    assert_int_equal(read_words(&s, COMMAND_EXPERIMENT, line, &given, NULL), STATUS_OK);
    char *suffix = run_names_suffix(&s), *seeds = run_names_report_suffix(&s, true);
    assert_string_equal(suffix, expected);
    assert_string_equal(seeds, of_report);
    free(seeds);
    free(suffix);
    settings_release(&s);
    strvec_release(&given);
}

static char *suffix_of(const char *line) {
    settings s;
    strvec given;
    assert_int_equal(read_words(&s, COMMAND_EXPERIMENT, line, &given, NULL), STATUS_OK);
    char *suffix = run_names_suffix(&s), *seeds = run_names_report_suffix(&s, true);
    char *both = malloc(strlen(suffix) + strlen(seeds) + 1);
    assert_non_null(both);
    stpcpy(stpcpy(both, suffix), seeds);
    free(seeds);
    free(suffix);
    settings_release(&s);
    strvec_release(&given);
    return both;
}

// Checks that two settings have two folders, whose names are safe and short.
static void expect_two_folders(const char *one, const char *two) {
    char *a = suffix_of(one), *b = suffix_of(two);
    assert_string_not_equal(a, b);
    assert_true(strlen(a) < 50 && strlen(b) < 50);
    assert_null(strpbrk(a, " /;'\"$()\n"));
    free(a);
    free(b);
}

static void folders_of_settings(void **state) {
    (void)state;
    char longer[400];
    expect_suffix("x", "", "");
    expect_suffix("x|DEVICE=cpu|TIME=0|MATH=exact", "", ""); // the same runs
    expect_suffix("x|THREADS=3|EPOCHS=3|MATH=fast", "-epochs=3,threads=3,math=fast", "");
    expect_suffix("x|REPORT_FLAGS=--lang zh", "", "-lang=zh");
    expect_suffix("x|EPOCHS=3|SEED=1", "-epochs=3", "-seed=1");
    expect_suffix("x|SET=optimizer.lr=0.5; repeats = 3; seed_x=1", "-optimizer.lr=0.5,seed_x=1",
                  "-repeats=3-4d05e5");
    expect_suffix("x|DATA=/a/flowers/", "-data=flowers", "");
    expect_two_folders("x|SET=title=a b", "x|SET=title=a_b");
    expect_two_folders("x|SET=title=$(touch x)", "x|SET=title=\"(touch x)");
    expect_two_folders("x|EPOCHS=1|DATA=d", "x|EPOCHS=1");
    snprintf(longer, sizeof longer, "x|SET=title=%0300d", 1);
    char *other = strdup(longer);
    assert_non_null(other);
    other[strlen(other) - 1] = '2';
    expect_two_folders(longer, other);
    free(other);
}

static void long_names(void **state) {
    (void)state;
    char a[301], b[301];
    memset(a, 'n', 300);
    memset(b, 'n', 300);
    b[299] = 'm';
    a[300] = b[300] = 0;
    char *one = run_names_shortened(strdup(a)), *two = run_names_shortened(strdup(b));
    assert_true(strlen(one) < 131 && strlen(two) < 131);
    assert_string_not_equal(one, two);
    free(one);
    free(two);
    one = run_names_shortened(strdup("compare-it's a")); // short enough: unchanged
    assert_string_equal(one, "compare-it's a");
    free(one);
}

static void names_of_files(void **state) {
    (void)state;
    static const char *const cases[][2] = {
        {"a/b/vgg.yaml", "vgg"}, {"vgg", "vgg"}, {".yaml", ".yaml"}, {"a.yaml/b.yml", "b.yml"}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        char *name = run_names_base(cases[i][0]);
        assert_string_equal(name, cases[i][1]);
        free(name);
    }
}

// ---- Changes ----

static yaml_node *tree(const char *text) {
    yaml_node *root = NULL;
    error err = {0};
    if (yaml_read_text(text, strlen(text), "test", &root, &err) != STATUS_OK)
        fail_msg("%s", err.message);
    return root;
}

static void expect_change(const char *before, const char *now, size_t count, const char *expected) {
    char text[400];
    yaml_node *a = tree(before), *b = tree(now);
    assert_int_equal(change_keys(a, b, text, sizeof text), count);
    assert_string_equal(text, expected);
    yaml_free(a);
    yaml_free(b);
}

static void changes(void **state) {
    (void)state;
    expect_change("{epochs: 3}", "{epochs: 3}", 0, "");
    expect_change("{epochs: 3}", "{epochs: 1}", 1, "epochs 3 → 1");
    expect_change("{optimizer: {kind: sgd, lr: 0.1}}", "{optimizer: {kind: sgd, lr: 0.2}}", 1,
                  "optimizer.lr 0.1 → 0.2");
    expect_change("{epochs: 3}", "{epochs: 3, target: x}", 1, "target none → x");
    expect_change("{a: 1, epochs: 3}", "{epochs: 4}", 2, "a 1 → none, epochs 3 → 4");
    expect_change("{architecture: {name: a, layers: [relu]}}",
                  "{architecture: {name: a, layers: []}}", 1, "model a changed");
    expect_change("{augment: []}", "{augment: [flip, {crop: 4}]}", 1,
                  "augment [] → [\"flip\",{\"crop\":4}]");
    // Only displayed values, and the seed, which the folder names.
    expect_change("{name: a, title: a, seed: 1}", "{name: b, title: b, seed: 2}", 0, "");
    expect_change("{architecture: {name: a, layers: [relu]}}",
                  "{architecture: {name: b, layers: []}}", 1, "model a → b");
    expect_change("{a: 1, b: 1, c: 1, d: 1, e: 1}", "{a: 2, b: 2, c: 2, d: 2, e: 2}", 5,
                  "a 1 → 2, b 1 → 2, c 1 → 2, …");
}

// However little room there is, the text is terminated.
static void changes_in_a_small_buffer(void **state) {
    (void)state;
    yaml_node *a = tree("{first: 1111111111, second: 1, third: 1}"),
              *b = tree("{first: 2, second: 2, third: 2}");
    for (size_t size = 1; size < 60; size++) {
        char *text = malloc(size);
        assert_non_null(text);
        assert_int_equal(change_keys(a, b, text, size), 3);
        assert_true(strlen(text) < size);
        free(text);
    }
    yaml_free(a);
    yaml_free(b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_form_an_argv),
        cmocka_unit_test(texts_are_split),
        cmocka_unit_test_setup(known_settings, clear),
        cmocka_unit_test_setup(default_settings, clear),
        cmocka_unit_test_setup(misspelt_settings, clear),
        cmocka_unit_test_setup(settings_of_other_commands, clear),
        cmocka_unit_test_setup(settings_with_bad_values, clear),
        cmocka_unit_test_setup(missing_names, clear),
        cmocka_unit_test_setup(the_environment, clear),
        cmocka_unit_test_setup(words_that_are_not_settings, clear),
        cmocka_unit_test(commands),
        cmocka_unit_test_setup(folders_of_settings, clear),
        cmocka_unit_test(long_names),
        cmocka_unit_test(names_of_files),
        cmocka_unit_test(changes),
        cmocka_unit_test(changes_in_a_small_buffer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
