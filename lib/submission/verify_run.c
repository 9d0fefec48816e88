// SPDX-License-Identifier: MIT
// Checks one run of a submission: its settings, its data, its model and its training.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/paths.h"
#include "data/manifest.h"
#include "data/recorded.h"
#include "data/tensor/tensor_file.h"
#include "data/tta.h"
#include "pipeline/stage.h"
#include "pipeline/store.h"
#include "pipeline/tool.h"
#include "submission/replay.h"
#include "submission/verify_internal.h"

typedef struct checked_run {
    pipeline *p;
    const planned_run *r;
    const planned_seed *seed;
    const char *name; // "single/seed-42", for messages
    const char *key;  // of the run, according to plan.yaml
    char *model;      // the execution whose model is packed; NULL: none
    char *states;     // likewise with its states
    yaml_node *train, *evaluate;
    double accuracy; // that the packed model gives; NAN: it was not tested again
    verification *v;
} checked_run;

static void add(checked_run *c, check_subject s, check_outcome o, const char *text) {
    verification_add(c->v, s, o, "%s: %s", c->name, text);
}

// ---- The packed files of the run ----

static bool exists(const char *folder, const char *task, const char *name) {
    return paths_allow(R_OK, "%s/%s/%s", folder, task, name);
}

static status read_once(yaml_node **root, const char *folder, const char *task, error *err) {
    if (*root || !exists(folder, task, "manifest.yaml")) return STATUS_OK;
    return manifest_read_in(root, err, "%s/%s", folder, task);
}

// An execution with another key, which its settings give, does not belong to the run.
static status check_key(checked_run *c, const char *folder, error *err) {
    yaml_node *train = NULL;
    status rc = read_once(&train, folder, "train", err);
    if (rc == STATUS_OK && train && strcmp(yaml_text_at(train, "key"), c->key) != 0)
        rc = error_set(err, STATUS_INPUT, "its execution %s is one of another run",
                       strrchr(folder, '/') + 1);
    yaml_free(train);
    return rc;
}

static status look_at_execution(const char *folder, void *context, error *err) {
    checked_run *c = context;
    NEED(check_key(c, folder, err));
    NEED(read_once(&c->train, folder, "train", err));
    NEED(read_once(&c->evaluate, folder, tta_folder(c->r->e.tta), err));
    if (!c->model && exists(folder, "train", "model.st.zst")) c->model = memory_string(folder);
    if (!c->states && exists(folder, "train", "state.st.zst")) c->states = memory_string(folder);
    return STATUS_OK;
}

// ---- The experiment ----

// Returns the first key of `a` that `b` lacks or that has another value there; NULL if there is
// none.
static const char *find_other(const yaml_node *a, const yaml_node *b) {
    for (size_t i = 0; i < a->count; i++) {
        const yaml_node *theirs = yaml_find(b, a->keys[i]);
        if (!theirs || !yaml_equal(a->items[i], theirs)) return a->keys[i];
    }
    return NULL;
}

// The settings that determine the bits, but for the device: of the experiment with this seed, and
// of the run.
static void read_settings(const checked_run *c, yaml_node **own, yaml_node **recorded) {
    const yaml_node *parameters = yaml_find(c->train, "parameters");
    *own = manifest_key_parameters(c->r->e.resolved);
    *recorded = manifest_key_parameters(parameters);
    yaml_remove(*recorded, "backend");
    yaml_put(*own, "seed", yaml_new_integer((int64_t)c->seed->seed));
}

static void check_experiment(checked_run *c) {
    yaml_node *own = NULL, *recorded = NULL;
    const char *other;
    read_settings(c, &own, &recorded);
    other = find_other(own, recorded);
    if (!other) other = find_other(recorded, own);
    if (other)
        verification_add(c->v, CHECK_EXPERIMENT, CHECK_DIFFERENT,
                         "%s: its '%s' is not that of experiments/%s.yaml", c->name, other,
                         c->r->name);
    else
        add(c, CHECK_EXPERIMENT, CHECK_EQUAL, "it has the settings of its experiment");
    yaml_free(own);
    yaml_free(recorded);
}

// ---- The data ----

// The content of an input as a whole file, whether it was read whole or as shards.
static const char *input_content(const yaml_node *root, size_t at) {
    const yaml_node *inputs = yaml_find(root, "inputs");
    const yaml_node *input = inputs && at < inputs->count ? inputs->items[at] : NULL;
    const char *source = yaml_text_at(input, "source");
    return *source ? source : yaml_text_at(input, "content");
}

static bool has_input(const yaml_node *root, const char *content) {
    const yaml_node *inputs = yaml_find(root, "inputs");
    for (size_t i = 0; inputs && i < inputs->count; i++)
        if (strcmp(input_content(root, i), content) == 0) return true;
    return false;
}

// The file is read if its manifest may no longer describe it.
static status content_of(const char *path, char content[SHA256_TEXT_BYTES], error *err) {
    tensor_file f = {0};
    recorded_content(path, content);
    status rc = STATUS_OK;
    if (!*content) {
        rc = tensor_file_read(path, TENSOR_FILE_DEFAULT_MAX, &f, err);
        snprintf(content, SHA256_TEXT_BYTES, "%s", f.content);
    }
    tensor_file_release(&f);
    return rc;
}

static status content_of_data(const checked_run *c, const char *name,
                              char content[SHA256_TEXT_BYTES], error *err) {
    char *path = memory_format("%s/%s", c->r->data, name);
    status rc = content_of(path, content, err);
    free(path);
    return rc;
}

static status check_data(checked_run *c, bool *equal, error *err) {
    char train[SHA256_TEXT_BYTES], test[SHA256_TEXT_BYTES], weights[SHA256_TEXT_BYTES];
    const char *path = c->r->e.weights_path;
    NEED(content_of_data(c, "train.st.zst", train, err));
    NEED(content_of_data(c, "test.st.zst", test, err));
    if (path) NEED(content_of(path, weights, err));
    const bool same_train = strcmp(input_content(c->train, 0), train) == 0;
    const bool same_weights = !path || has_input(c->train, weights);
    *equal = same_train && same_weights && has_input(c->evaluate, test);
    if (!same_weights)
        add(c, CHECK_DATA, CHECK_DIFFERENT, "its initial weights are not those that are packed");
    else if (*equal)
        add(c, CHECK_DATA, CHECK_EQUAL, "trained and tested with the data set");
    else
        add(c, CHECK_DATA, CHECK_DIFFERENT,
            same_train ? "its test data are not those of the data set"
                       : "its training data are not those of the data set");
    return STATUS_OK;
}

// ---- The model ----

static status evaluate_again(const checked_run *c, const char *out, yaml_node **root, error *err) {
    strvec command = {0};
    planned_run_evaluation(c->r, c->model, out, &command);
    strvec_add(&command, "-q");
    stage_add_devices(&command, c->evaluate, NULL);
    status rc = tool_run_quietly(c->p, NULL, &command, err);
    if (rc == STATUS_OK) rc = manifest_read_in(root, err, "%s", out);
    strvec_release(&command);
    return rc;
}

// What was edited, or the model that does not belong to the record; "": nothing.
static char *find_edited(const checked_run *c, const yaml_node *again) {
    static const char file[] = "predictions.st.zst", figure[] = "results.accuracy";
    const yaml_node *there = c->evaluate;
    if (strcmp(manifest_output_content(again, file), manifest_output_content(there, file)) != 0)
        return memory_string("not the recorded predictions");
    if (!has_input(there, manifest_output_content(c->train, "model.st.zst")))
        return memory_string("its recorded predictions, which the manifest says are of another "
                             "model than that of the training");
    if (strcmp(yaml_text_at(again, figure), yaml_text_at(there, figure)) != 0)
        return memory_format("its recorded predictions, but the manifest says an accuracy of "
                             "%.2f %%",
                             100 * yaml_number_at(there, figure));
    return memory_string("");
}

static void compare_predictions(checked_run *c, const yaml_node *again) {
    char *edited = find_edited(c, again);
    c->accuracy = yaml_number_at(again, "results.accuracy");
    verification_add(c->v, CHECK_TEST, *edited ? CHECK_DIFFERENT : CHECK_EQUAL,
                     "%s: the packed model gives %.2f %%, and %s", c->name, 100 * c->accuracy,
                     *edited ? edited : "the recorded predictions");
    free(edited);
}

static status check_test(checked_run *c, error *err) {
    yaml_node *again = NULL;
    error why = {0};
    if (!c->model) {
        add(c, CHECK_TEST, CHECK_NOT_SHOWN, "its model is not packed");
        return STATUS_OK;
    }
    char *out = memory_format("%s/test-again/%s", c->p->work.path, c->name);
    status rc = evaluate_again(c, out, &again, &why);
    if (rc == STATUS_OK)
        compare_predictions(c, again);
    else
        rc = verification_add_failure(c->v, CHECK_TEST, rc, c->name, &why, err);
    yaml_free(again);
    free(out);
    return rc;
}

// ---- The training ----

// Adds a check, and sets *equal to false, if it is not the model that the training ended with.
static status check_model(checked_run *c, const replay *r, bool *equal, error *err) {
    replay_difference d;
    status rc = replay_compare_model(r, &d, err);
    *equal = rc == STATUS_OK && !d.differs;
    if (rc != STATUS_OK || *equal) return rc;
    verification_add(c->v, CHECK_TRAINING, CHECK_DIFFERENT,
                     "%s: its model is not that of its last state: '%s' differs", c->name,
                     d.tensor);
    return STATUS_OK;
}

static status replay_parts(checked_run *c, const replay *r, error *err) {
    const replay_settings how = {.bin = c->p->bin,
                                 .tool = "train-single",
                                 .threads = c->p->settings->values[SETTING_THREADS]};
    char where[REPLAY_TEXT_BYTES];
    size_t chosen = 0;
    uint64_t steps = 0;
    for (size_t i = 0; i < r->count; i++) {
        replay_difference d;
        if (!r->segments[i].chosen) continue;
        NEED(replay_segment(r, i, &how, &d, err));
        replay_describe(&d, where);
        if (d.differs) {
            verification_add(c->v, CHECK_TRAINING, CHECK_DIFFERENT,
                             "%s: part %zu of %zu differs, %s", c->name, i + 1, r->count, where);
            return STATUS_OK;
        }
        chosen++;
        steps += r->segments[i].end - r->segments[i].first;
    }
    verification_add(c->v, CHECK_TRAINING, CHECK_EQUAL,
                     "%s: %zu of %zu parts trained again, %.3g %% of the steps; one forged "
                     "part would be found with a probability of %.3g %%; %s",
                     c->name, chosen, r->count, 100 * (double)steps / (double)r->steps,
                     100 * replay_probability(r->count, chosen, 1), replay_describe_model(r));
    return STATUS_OK;
}

static status check_training(checked_run *c, error *err) {
    const settings *s = c->p->settings;
    replay r = {0};
    error why = {0};
    bool equal = false;
    char *folder;
    status rc;
    if (!c->states) {
        add(c, CHECK_TRAINING, CHECK_NOT_SHOWN, "its states are not packed (STATES=10 packs them)");
        return STATUS_OK;
    }
    folder = memory_format("%s/train", c->states);
    rc = replay_open(&r, folder, c->r->train, c->r->e.weights_path, &why);
    if (rc == STATUS_OK) rc = replay_check_files(&r, &why);
    if (rc == STATUS_OK) replay_choose(&r, (size_t)s->segments, c->v->choice);
    if (rc == STATUS_OK) rc = check_model(c, &r, &equal, &why);
    if (rc == STATUS_OK && equal) rc = replay_parts(c, &r, &why);
    rc = verification_add_failure(c->v, CHECK_TRAINING, rc, c->name, &why, err);
    replay_release(&r);
    free(folder);
    return rc;
}

// ---- All of it ----

static void without_data(checked_run *c) {
    static const check_subject subjects[] = {CHECK_DATA, CHECK_TEST, CHECK_TRAINING};
    for (size_t i = 0; i < sizeof subjects / sizeof *subjects; i++)
        add(c, subjects[i], CHECK_NOT_SHOWN, "the data set is not here");
}

static status check_all(checked_run *c, bool data, error *err) {
    bool equal = false;
    check_experiment(c);
    if (!data) {
        without_data(c);
        return STATUS_OK;
    }
    NEED(check_data(c, &equal, err));
    if (!equal) return STATUS_OK; // the others would differ for this reason
    NEED(check_test(c, err));
    return check_training(c, err);
}

status submission_check_run(pipeline *p, const char *folder, const planned_run *r,
                            const planned_seed *seed, const char *key, bool data, verification *v,
                            error *err) {
    checked_run c = {
        .p = p, .r = r, .seed = seed, .name = seed->own, .key = key, .accuracy = NAN, .v = v};
    error why = {0};
    if (!key) {
        add(&c, CHECK_EXPERIMENT, CHECK_DIFFERENT, "it is not in plan.yaml");
        return STATUS_OK;
    }
    char *own = store_folder(folder, key);
    status rc = submission_each_folder(own, "0123456789", look_at_execution, &c, &why);
    if (rc != STATUS_OK)
        rc = verification_add_failure(v, CHECK_EXPERIMENT, rc, c.name, &why, err);
    else if (!c.train || !c.evaluate)
        add(&c, CHECK_EXPERIMENT, CHECK_DIFFERENT, "its run is not packed");
    else
        rc = check_all(&c, data, err);
    const double recorded = yaml_number_at(c.evaluate, "results.accuracy");
    if (!isnan(c.accuracy) || !isnan(recorded))
        verification_add_accuracy(v, isnan(c.accuracy) ? recorded : c.accuracy, !isnan(c.accuracy));
    yaml_free(c.train);
    yaml_free(c.evaluate);
    free(c.model);
    free(c.states);
    free(own);
    return rc;
}
