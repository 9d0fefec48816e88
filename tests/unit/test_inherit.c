// SPDX-License-Identifier: MIT
// Experiments based on others: the values that they inherit, where mistakes are reported, and the
// names by which bases and models are found.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "experiment/experiment.h"
#include "experiment/plan.h"

#include "temporary_folder.h"

#define SCHEMA "schema: lockstep.experiment/1\n"
#define MODEL_LAYERS \
    "input: [3, 8, 8]\nlayers: [conv: {out: 4, kernel: 3}, relu, flatten, linear: {out: 10}]\n"
#define BASE                                                                          \
    SCHEMA "name: base\ntitle: The base\ndataset: cifar10\nmodel: small\n"            \
           "virtual_shards: 4\nglobal_batch: 64\nepochs: 10\nloader_workers: 2\n"     \
           "optimizer: {kind: sgd, lr: 0.001, momentum: 0.9, weight_decay: 0.0005}\n" \
           "schedule: {warmup_epochs: 1}\nrepeats: 3\n"
#define CHILD SCHEMA "name: child\nbase: base\n"

// Every test starts in a new folder.
static int make_files(void **state) {
    if (enter_folder(state)) return -1;
    write_file("models/small.yaml", "schema: lockstep.model/1\nname: small\n" MODEL_LAYERS);
    write_file("base.yaml", BASE);
    return 0;
}

static void load(const char *name, experiment *e) {
    error err;
    if (experiment_read(e, name, NULL, 0, &err) != STATUS_OK) fail_msg("%s", err.message);
}

static void refuses(const char *text, const char *message) {
    experiment e;
    error err;
    write_file("child.yaml", text);
    assert_int_equal(experiment_read(&e, "child.yaml", NULL, 0, &err), STATUS_INPUT);
    if (!strstr(err.message, message)) fail_msg("'%s' lacks '%s'", err.message, message);
}

// ---- Inherited values ----

static void a_file_states_only_differences(void **state) {
    (void)state;
    experiment e;
    write_file("child.yaml", CHILD "epochs: 20\n");
    load("child.yaml", &e);
    assert_string_equal(e.name, "child");
    assert_string_equal(e.title, "child");
    assert_int_equal(e.epochs, 20);
    assert_int_equal(e.global_batch, 64);
    assert_int_equal(e.repeats, 3);
    assert_true(e.optimizer.hyper[HYPER_MOMENTUM] == 0.9);
    assert_string_equal(e.model.name, "small");
    assert_null(yaml_find(e.resolved, "base"));
    experiment_release(&e);
}

static void groups_are_inherited_key_by_key(void **state) {
    (void)state;
    experiment e;
    write_file("child.yaml", CHILD "optimizer: {lr: 0.5}\nschedule: {kind: constant}\n");
    load("child.yaml", &e);
    assert_true(e.optimizer.lr == 0.5);
    assert_true(e.optimizer.hyper[HYPER_MOMENTUM] == 0.9);
    assert_true(e.optimizer.weight_decay == 0.0005);
    assert_int_equal(e.schedule.warmup_epochs, 1); // constant, like the base's schedule
    experiment_release(&e);
}

static void another_kind_inherits_nothing(void **state) {
    (void)state;
    experiment e;
    write_file("child.yaml", CHILD "optimizer: {kind: adam, lr: 0.5}\nschedule: {kind: cosine}\n");
    load("child.yaml", &e);
    assert_int_equal(e.optimizer.kind, OPTIMIZER_ADAM);
    assert_true(e.optimizer.weight_decay == 0);
    assert_int_equal(e.schedule.warmup_epochs, 0);
    experiment_release(&e);
    refuses(CHILD "optimizer: {kind: adam}\n", "child.yaml:4:12: 'optimizer.lr' is missing");
}

static void null_removes_a_key(void **state) {
    (void)state;
    experiment e;
    write_file("child.yaml", CHILD "loader_workers: null\noptimizer: {momentum: null}\n"
                                   "schedule: null\nlr_scaling: null\n");
    load("child.yaml", &e);
    assert_int_equal(e.loader_workers, 0);
    assert_true(e.optimizer.hyper[HYPER_MOMENTUM] == 0 && e.optimizer.lr == 0.001);
    assert_int_equal(e.schedule.warmup_epochs, 0);
    experiment_release(&e);
    refuses(CHILD "epochs: null\n", "child.yaml:1:1: 'epochs' is missing");
}

// A file is beside the one that names it, which may be the base; in --set in the current folder.
static void initial_weights_are_found(void **state) {
    (void)state;
    static const char *const set = "initial_weights.file=own/mine.st";
    experiment e;
    error err;
    write_file("far/far.yaml", BASE "initial_weights: {file: ../w/theirs.st, except: [fc1.*]}\n");
    write_file("child.yaml", SCHEMA "name: child\nbase: far/far.yaml\n");
    load("child.yaml", &e);
    assert_string_equal(e.weights_path, "far/../w/theirs.st");
    assert_int_equal(e.weights_except->count, 1);
    assert_string_equal(e.weights_except->items[0]->text, "fc1.*");
    assert_string_equal(yaml_get(e.resolved, "initial_weights.file")->text, "theirs.st");
    experiment_release(&e);
    assert_int_equal(experiment_read(&e, "child.yaml", &set, 1, &err), STATUS_OK);
    assert_string_equal(e.weights_path, "own/mine.st");
    assert_int_equal(e.weights_except->count, 1);
    experiment_release(&e);
    write_file("child.yaml", SCHEMA "name: child\nbase: far/far.yaml\n"
                                    "initial_weights: {file: /a/b.st, except: []}\n");
    load("child.yaml", &e);
    assert_string_equal(e.weights_path, "/a/b.st");
    assert_null(e.weights_except);
    assert_null(yaml_get(e.resolved, "initial_weights.except"));
    experiment_release(&e);
    write_file("child.yaml", SCHEMA "name: child\nbase: far/far.yaml\ninitial_weights: null\n");
    load("child.yaml", &e);
    assert_null(e.weights_path);
    assert_null(yaml_find(e.resolved, "initial_weights"));
    experiment_release(&e);
    refuses(CHILD "initial_weights: kaiming\n",
            "child.yaml:4:18: 'initial_weights': expected a mapping, such as {file: kaiming}");
    refuses(CHILD "initial_weights: {except: [a]}\n",
            "child.yaml:4:27: 'initial_weights.except' needs 'initial_weights.file'");
    refuses(CHILD "initial_weights: {file: x/}\n", "4:25: 'initial_weights.file': expected a file");
    refuses(CHILD "initial_weights: {file: x, except: a}\n",
            "4:36: 'initial_weights.except': expected a list");
}

static void bases_have_bases(void **state) {
    (void)state;
    experiment e;
    write_file("middle.yaml", SCHEMA "name: middle\nbase: base\nepochs: 20\nseed: 7\n"
                                     "loader_workers: null\noptimizer: {lr: 0.5}\n");
    write_file("child.yaml", SCHEMA "name: child\nbase: middle\nepochs: 30\n");
    load("child.yaml", &e);
    assert_int_equal(e.epochs, 30);
    assert_int_equal(e.seed, 7);
    assert_int_equal(e.loader_workers, 0);
    assert_true(e.optimizer.lr == 0.5 && e.optimizer.hyper[HYPER_MOMENTUM] == 0.9);
    experiment_release(&e);
}

static void assignments_come_last(void **state) {
    (void)state;
    experiment e;
    error err;
    const char *const set[] = {"optimizer.lr=0.25", "loader_workers=null"};
    write_file("child.yaml", CHILD "optimizer: {lr: 0.5}\n");
    assert_int_equal(experiment_read(&e, "child.yaml", set, 2, &err), STATUS_OK);
    assert_true(e.optimizer.lr == 0.25 && e.optimizer.hyper[HYPER_MOMENTUM] == 0.9);
    assert_int_equal(e.loader_workers, 0);
    experiment_release(&e);
    const char *const base[] = {"base=other"};
    assert_int_equal(experiment_read(&e, "child.yaml", base, 1, &err), STATUS_USAGE);
}

// A complete file with the same values gives the same experiment.
static void the_long_form_is_the_same(void **state) {
    (void)state;
    experiment brief, whole;
    write_file("child.yaml", CHILD "epochs: 20\noptimizer: {lr: 0.5}\ntitle: t\n");
    write_file("whole.yaml", SCHEMA "name: child\ntitle: t\ndataset: cifar10\nmodel: small\n"
                                    "virtual_shards: 4\nglobal_batch: 64\nepochs: 20\n"
                                    "loader_workers: 2\nrepeats: 3\nschedule: {warmup_epochs: 1}\n"
                                    "optimizer: {kind: sgd, lr: 0.5, momentum: 0.9, "
                                    "weight_decay: 0.0005}\n");
    load("child.yaml", &brief);
    load("whole.yaml", &whole);
    assert_true(yaml_equal(brief.resolved, whole.resolved));
    experiment_release(&brief);
    experiment_release(&whole);
}

// ---- Faults ----

static void faults_are_reported_at_the_value(void **state) {
    (void)state;
    refuses(CHILD "epochs: none\n", "child.yaml:4:9: 'epochs': expected a number");
    refuses(CHILD "optimizer: {momentun: 0.5}\n",
            "child.yaml:4:13: unknown key 'momentun': did you mean 'momentum'?");
    refuses(SCHEMA "name: child\nbsae: base\n",
            "child.yaml:3:1: unknown key 'bsae': did you mean 'base'?");
    refuses(CHILD "world_size: 3\n",
            "child.yaml:4:13: 'virtual_shards' is 4: it must be a multiple of 'world_size'");
    write_file("base.yaml", BASE "seed: -1\n");
    refuses(CHILD, "base.yaml:13:7: 'seed': expected an integer of at least 0, got '-1'");
    write_file("base.yaml", BASE "sede: 1\n");
    refuses(CHILD, "base.yaml:13:1: unknown key 'sede': did you mean 'seed'?");
    write_file("base.yaml", BASE "optimizer: {kind: sgd}\n");
    refuses(CHILD, "base.yaml:13:1: ");
    write_file("base.yaml", BASE "normalize: {mean: [1, 2]}\n");
    refuses(CHILD, "base.yaml:13:12: 'normalize' needs both 'mean' and 'std'");
}

static void cycles_are_refused(void **state) {
    (void)state;
    refuses(SCHEMA "name: child\nbase: child\n",
            "child.yaml:3:7: 'base': 'child.yaml' is this file, or based on it");
    write_file("middle.yaml", SCHEMA "name: middle\nbase: ./child.yaml\n");
    refuses(SCHEMA "name: child\nbase: middle\n",
            "middle.yaml:3:7: 'base': './child.yaml' is this file, or based on it");
}

static void chains_have_a_limit(void **state) {
    (void)state;
    char name[24], text[160];
    experiment e;
    error err;
    for (int i = 1; i <= 9; i++) {
        snprintf(name, sizeof name, "e%d.yaml", i);
        if (i == 1)
            snprintf(text, sizeof text, SCHEMA "name: e1\nbase: base\n");
        else
            snprintf(text, sizeof text, SCHEMA "name: e%d\nbase: e%d\n", i, i - 1);
        write_file(name, text);
    }
    load("e8.yaml", &e);
    experiment_release(&e);
    assert_int_equal(experiment_read(&e, "e9.yaml", NULL, 0, &err), STATUS_INPUT);
    assert_string_equal(err.message,
                        "e1.yaml:3:7: 'base': more than 8 files, each based on the next");
}

static void bad_bases_are_refused(void **state) {
    (void)state;
    refuses(SCHEMA "name: child\nbase: none\n",
            "child.yaml:3:7: 'base': cannot read YAML file: 'none.yaml': No such file");
    refuses(SCHEMA "name: child\nbase: ./none.yaml\n",
            "child.yaml:3:7: 'base': cannot read YAML file: './none.yaml': No such file");
    refuses(SCHEMA "name: child\nbase: models/small.yaml\n",
            "child.yaml:3:7: 'base': 'models/small.yaml' is not an experiment");
    refuses(SCHEMA "name: child\nbase: [base]\n", "child.yaml:3:7: 'base': expected a string");
    write_file("base.yaml", "a: [\n");
    refuses(CHILD, "base.yaml:2:1: ");
}

// ---- Names ----

// experiments/R1/child.yaml, with its base and model in other folders of the catalogue.
static void names_are_found_in_the_catalogue(void **state) {
    (void)state;
    experiment e;
    write_file("experiments/models/net.yaml", "schema: lockstep.model/1\nname: top\n" MODEL_LAYERS);
    write_file("experiments/R1/models/own.yaml",
               "schema: lockstep.model/1\nname: own\n" MODEL_LAYERS);
    write_file("experiments/R2/other.yaml", BASE "strategy: single\n");
    write_file("experiments/R1/child.yaml", SCHEMA "name: child\nbase: other\nmodel: net\n");
    load("experiments/R1/child.yaml", &e);
    assert_string_equal(e.model.name, "top");
    assert_string_equal(e.model_path, "experiments/models/net.yaml");
    experiment_release(&e);
    write_file("experiments/R1/child.yaml", SCHEMA "name: child\nbase: other\nmodel: own\n");
    load("experiments/R1/child.yaml", &e);
    assert_string_equal(e.model.name, "own");
    experiment_release(&e);
    // From inside, and from elsewhere.
    assert_int_equal(chdir("experiments/R1"), 0);
    load("child.yaml", &e);
    experiment_release(&e);
    assert_int_equal(chdir("../R2"), 0);
    load("../R1/child.yaml", &e);
    experiment_release(&e);
    char whole[160];
    snprintf(whole, sizeof whole, "%s/experiments/R1/child.yaml", folder);
    load(whole, &e);
    experiment_release(&e);
    assert_int_equal(chdir(folder), 0);
    // A file in the same folder comes first.
    write_file("experiments/R1/other.yaml", BASE "seed: 5\n");
    load("experiments/R1/child.yaml", &e);
    assert_int_equal(e.seed, 5);
    experiment_release(&e);
}

static void the_model_of_a_base_is_relative_to_the_base(void **state) {
    (void)state;
    experiment e;
    write_file("elsewhere/near.yaml", "schema: lockstep.model/1\nname: near\n" MODEL_LAYERS);
    write_file("elsewhere/base.yaml",
               SCHEMA "name: b\ndataset: cifar10\nmodel: ./near.yaml\nglobal_batch: 8\nepochs: 1\n"
                      "optimizer: {kind: sgd, lr: 1}\n");
    write_file("child.yaml", SCHEMA "name: child\nbase: elsewhere/base.yaml\n");
    load("child.yaml", &e);
    assert_string_equal(e.model.name, "near");
    experiment_release(&e);
}

static void unknown_names_in_a_catalogue(void **state) {
    (void)state;
    experiment e;
    error err;
    write_file("experiments/R2/other.yaml", BASE);
    write_file("experiments/R1/child.yaml", SCHEMA "name: child\nbase: othre\n");
    assert_int_equal(experiment_read(&e, "experiments/R1/child.yaml", NULL, 0, &err), STATUS_INPUT);
    assert_string_equal(err.message,
                        "experiments/R1/child.yaml:3:7: 'base': cannot find experiment: 'othre': "
                        "did you mean 'other'? 'experiments' has these: child other");
}

static void studies_find_their_base(void **state) {
    (void)state;
    yaml_node *plan;
    error err;
    write_file("experiments/models/small.yaml", "schema: lockstep.model/1\nname: s\n" MODEL_LAYERS);
    write_file("experiments/R1/first.yaml", BASE);
    write_file("experiments/R2/grid.yaml", "schema: lockstep.study/1\nname: grid\nbase: first\n"
                                           "vary: {epochs: [1, 2]}\n");
    if (plan_study("experiments/R2/grid.yaml", NULL, 0, &plan, &err) != STATUS_OK)
        fail_msg("%s", err.message);
    assert_string_equal(yaml_find(plan, "experiment")->text, "experiments/R1/first.yaml");
    yaml_free(plan);
}

// ---- Files that are called like the messages about others ----

static void a_name_is_no_assignment(void **state) {
    (void)state;
    experiment e;
    error err;
    write_file("--set 'epochs=x': .yaml", SCHEMA "name: child\nbase: base\nepocs: 2\n");
    assert_int_equal(experiment_read(&e, "--set 'epochs=x': .yaml", NULL, 0, &err), STATUS_INPUT);
    assert_int_equal(err.origin, ERROR_IN_FILE);
    assert_string_equal(error_reason(&err), "unknown key 'epocs': did you mean 'epochs'?");
    const char *const set[] = {"seed=7", "epocs=2"};
    assert_int_equal(experiment_read(&e, "base.yaml", set, 2, &err), STATUS_USAGE);
    assert_int_equal(err.origin, ERROR_IN_ASSIGNMENT);
    assert_int_equal(err.assignment, 1);
    assert_string_equal(error_reason(&err), "unknown key 'epocs': did you mean 'epochs'?");
}

static void a_base_with_a_fault_is_there(void **state) {
    (void)state;
    experiment e;
    error err;
    write_file("cannot read.yaml", BASE "seed: &x 2\n");
    write_file("child.yaml", SCHEMA "name: child\nbase: cannot read.yaml\n");
    assert_int_equal(experiment_read(&e, "child.yaml", NULL, 0, &err), STATUS_INPUT);
    if (strncmp(err.message, "cannot read.yaml:1", 18) != 0) fail_msg("%s", err.message);
}

static void a_report_with_a_fault_is_there(void **state) {
    (void)state;
    yaml_node *plan;
    error err;
    write_file("cannot read.yaml", "schema: lockstep.report/1\nsource: p\nruns: 3\n");
    write_file("list.yaml", "schema: lockstep.reproduction/1\nname: list\n"
                            "reports: [cannot read.yaml]\n");
    assert_int_equal(plan_reproduction("list.yaml", false, NULL, 0, &plan, &err), STATUS_INPUT);
    assert_string_equal(err.message, "cannot read.yaml:3:7: 'runs': expected a list");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_files, remove_folder)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_file_states_only_differences),
        TEST(groups_are_inherited_key_by_key),
        TEST(another_kind_inherits_nothing),
        TEST(null_removes_a_key),
        TEST(initial_weights_are_found),
        TEST(bases_have_bases),
        TEST(assignments_come_last),
        TEST(the_long_form_is_the_same),
        TEST(faults_are_reported_at_the_value),
        TEST(cycles_are_refused),
        TEST(chains_have_a_limit),
        TEST(bad_bases_are_refused),
        TEST(names_are_found_in_the_catalogue),
        TEST(the_model_of_a_base_is_relative_to_the_base),
        TEST(unknown_names_in_a_catalogue),
        TEST(studies_find_their_base),
        TEST(a_name_is_no_assignment),
        TEST(a_base_with_a_fault_is_there),
        TEST(a_report_with_a_fault_is_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
