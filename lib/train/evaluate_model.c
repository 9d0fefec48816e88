// SPDX-License-Identifier: MIT
#include "train/evaluate_model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/memory.h"
#include "compute/backend.h"
#include "data/labels.h"
#include "data/recorded.h"
#include "train/evaluation.h"
#include "train/train_manifest.h"

// ---- Reading and checking ----

static status check_fit(const evaluate_model *e, error *err) {
    const model *m = &e->model.model;
    const shape *in = &m->program.input;
    const dataset *d = &e->data;
    const char *path = e->settings->data;
    if (d->channels != in->channels || d->height != in->height || d->width != in->width)
        return error_set(err, STATUS_INPUT,
                         "cannot use dataset: '%s': its images are %d×%d×%d, model '%s' takes "
                         "%d×%d×%d",
                         path, d->channels, d->height, d->width, m->name, in->channels, in->height,
                         in->width);
    if (d->classes != m->program.classes)
        return error_set(err, STATUS_INPUT,
                         "cannot use dataset: '%s': it has %d classes, model '%s' has %d: pass "
                         "data with the classes that it was trained on",
                         path, d->classes, m->name, m->program.classes);
    if (!tta_fits(e->settings->tta, *in))
        return error_set(err, STATUS_USAGE,
                         "cannot evaluate: '--tta %s': images of %d×%d pixels cannot be shifted",
                         tta_word(e->settings->tta), in->height, in->width);
    return STATUS_OK;
}

// Absent without views: so were the keys of evaluations before there were any.
static void put_views(const evaluate_settings *s, yaml_node *parameters) {
    if (s->tta == TTA_NONE) return;
    yaml_put(parameters, "views", yaml_new_string(tta_word(s->tta)));
}

static status put_parameters(const evaluate_model *e, manifest *m, error *err) {
    yaml_node *parameters = manifest_parameters(m), *normalize;
    char *text = model_file_normalization_text(&e->model.normalization);
    status rc;
    TRY(json_to_yaml(text, "normalize", &normalize, err));
    yaml_put(parameters, "normalize", normalize);
    yaml_put(parameters, "architecture", yaml_copy(e->model.model.description));
    train_manifest_backend(m, devices_arithmetic(e->settings->devices));
    put_views(e->settings, parameters);
out:
    free(text);
    return rc;
}

status evaluate_model_init(evaluate_model *e, const evaluate_settings *s, manifest *m, error *err) {
    *e = (evaluate_model){.settings = s};
    NEED(trained_model_read(&e->model, &s->model, err));
    NEED(dataset_read(s->data, &e->data, err));
    NEED(check_fit(e, err));
    NEED(put_parameters(e, m, err));
    train_manifest_input(m, s->model.path, &e->model.checkpoint);
    train_manifest_dataset(m, &e->data);
    return STATUS_OK;
}

status evaluate_model_describe(const evaluate_settings *s, manifest *m, error *err) {
    evaluate_model e = {.settings = s};
    status rc;
    TRY(trained_model_describe(&e.model, &s->model, err));
    TRY(put_parameters(&e, m, err));
    TRY(recorded_add_input(m, s->model.path, err));
    TRY(recorded_add_input(m, s->data, err));
out:
    evaluate_model_release(&e);
    return rc;
}

void evaluate_model_release(evaluate_model *e) {
    trained_model_release(&e->model);
    dataset_release(&e->data);
    evaluation_release(&e->result);
    free(e->logits);
    memset(e, 0, sizeof *e);
}

// ---- Computing ----

typedef struct inference {
    const backend *backend;
    engine *engine;
} inference;

static status infer(void *context, const uint8_t *const *pixels, size_t samples, float *logits,
                    error *err) {
    inference *i = context;
    return i->backend->infer(i->engine, pixels, samples, logits, err);
}

status evaluate_model_compute(evaluate_model *e, error *err) {
    const devices *on = e->settings->devices;
    inference i = {.backend = devices_backend(on, 0)};
    tta_inference mean = {infer, &i, e->settings->tta, e->model.model.program.input,
                          e->data.classes};
    const uint64_t begin = clock_now();
    progress shown;
    bool done;
    status rc = STATUS_FAILED;
    e->logits =
        memory_try_new((size_t)e->data.samples * (size_t)e->data.classes, sizeof *e->logits, err);
    if (!e->logits) return rc;
    progress_begin(&shown, e->settings->log, "evaluating", "images");
    TRY(trained_model_open(&e->model, on, e->settings->threads, e->settings->isa, &i.engine, err));
    TRY(evaluation_infer(tta_infer, &mean, &e->data, e->logits, &shown, &done, err));
    TRY(evaluation_init(&e->result, &e->data, e->logits, err));
    e->compute_seconds = (double)(clock_now() - begin) / 1e9;
    snprintf(e->isa, sizeof e->isa, "%s", i.backend->describe(i.engine).isa);
out:
    progress_end(&shown);
    if (i.engine) i.backend->close(i.engine);
    return rc;
}

// ---- Writing ----

static status write_predictions(const evaluate_model *e, const char *path, manifest *m,
                                error *err) {
    const dataset *d = &e->data;
    const int64_t logits[2] = {d->samples, d->classes}, samples[1] = {d->samples};
    const char *classes = tensor_file_metadata(&d->files[0], "classes");
    tensor_file f = {0};
    status rc = STATUS_OK;
    if (classes) tensor_file_add_metadata(&f, "classes", classes);
    if (e->settings->tta != TTA_NONE)
        tensor_file_add_metadata(&f, "views", tta_word(e->settings->tta));
    tensor_file_add(&f, "logits", TENSOR_F32, 2, logits, e->logits);
    TRY(labels_add(&f, d->labels, samples[0], d->classes, err));
    tensor_file_add(&f, "ids", TENSOR_U32, 1, samples, d->ids);
    TRY(tensor_file_write(path, &f, err));
    train_manifest_output(m, path, &f);
out:
    tensor_file_release(&f);
    return rc;
}

static void append_class(yaml_node *list, const evaluation *v, int label, const yaml_node *names) {
    const uint64_t *row = v->confusion + (size_t)label * (size_t)v->classes;
    uint64_t count = 0;
    for (int k = 0; k < v->classes; k++) count += row[k];
    double accuracy = evaluation_class_accuracy(v, label);
    yaml_node *node = yaml_new(YAML_MAPPING);
    node->flow = true;
    yaml_put(node, "class", yaml_new_integer(label));
    if (names) yaml_put(node, "name", yaml_copy(names->items[label]));
    yaml_put(node, "count", yaml_new_integer((int64_t)count));
    yaml_put(node, "right", yaml_new_integer((int64_t)row[label]));
    yaml_put(node, "accuracy", yaml_new_number(accuracy));
    yaml_append(list, node);
}

static void append_row(yaml_node *list, const evaluation *v, int label) {
    yaml_node *row = yaml_new(YAML_SEQUENCE);
    row->flow = true;
    for (int k = 0; k < v->classes; k++) {
        int64_t count = (int64_t)v->confusion[(size_t)label * (size_t)v->classes + (size_t)k];
        yaml_append(row, yaml_new_integer(count));
    }
    yaml_append(list, row);
}

// A manifest is at most YAML_MAX_BYTES long; the matrix of 1,000 classes would be longer.
enum { CONFUSION_MAX = 256 };

static void put_confusion(const evaluation *v, yaml_node *results) {
    if (v->classes > CONFUSION_MAX) return;
    yaml_node *rows = yaml_new(YAML_SEQUENCE);
    yaml_put(results, "confusion", rows);
    for (int k = 0; k < v->classes; k++) append_row(rows, v, k);
}

static void put_classes(const evaluate_model *e, yaml_node *results) {
    const char *text = tensor_file_metadata(&e->data.files[0], "classes");
    yaml_node *names = labels_names(text, e->data.classes);
    yaml_node *classes = yaml_new(YAML_SEQUENCE);
    yaml_put(results, "per_class", classes);
    for (int k = 0; k < e->result.classes; k++) append_class(classes, &e->result, k, names);
    yaml_free(names);
    put_confusion(&e->result, results);
}

static void put_execution(const evaluate_model *e, manifest *m) {
    const evaluate_settings *s = e->settings;
    const int threads = devices_threads(s->devices, s->threads);
    yaml_node *execution = yaml_new(YAML_MAPPING);
    yaml_put(execution, "tool", yaml_new_string("evaluate"));
    yaml_put(execution, "devices", train_manifest_device_list(s->devices));
    yaml_put(execution, "threads", yaml_new_integer(threads));
    yaml_put(execution, "isa", yaml_new_string(e->isa));
    train_manifest_gpus(m, s->devices);
    yaml_put(manifest_run(m), "execution", execution);
}

status evaluate_model_write(evaluate_model *e, const char *folder, manifest *m, error *err) {
    yaml_node *results = manifest_results(m);
    double accuracy = evaluation_accuracy(&e->result);
    char *predictions = memory_format("%s/predictions.st.zst", folder);
    status rc;
    TRY(manifest_remove_old(m, folder, err));
    TRY(write_predictions(e, predictions, m, err));
    yaml_put(results, "accuracy", yaml_new_number(accuracy));
    yaml_put(results, "loss", yaml_new_number(e->result.loss));
    yaml_put(results, "samples", yaml_new_integer((int64_t)e->result.samples));
    yaml_put(results, "compute_seconds", yaml_new_number(e->compute_seconds));
    put_classes(e, results);
    put_execution(e, m);
    TRY(manifest_write_in(m, folder, err));
out:
    free(predictions);
    return rc;
}
