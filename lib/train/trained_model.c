// SPDX-License-Identifier: MIT
#include "train/trained_model.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/memory.h"
#include "compute/backend.h"
#include "data/labels.h"
#include "train/model_import.h"

// ---- Options ----

// "0.5,0.5,0.5" into `values`; returns the count, or -1.
static int parse_list(const char *text, float *values) {
    int count = 0;
    for (;;) {
        char *end;
        double value = strtod(text, &end);
        if (end == text || count == ENGINE_MAX_CHANNELS || !(value > -1e6 && value < 1e6))
            return -1;
        values[count++] = (float)value;
        if (!*end) return count;
        if (*end != ',') return -1;
        text = end + 1;
    }
}

static status refuse_list(const char *option, const char *text, error *err) {
    return error_set(err, STATUS_USAGE,
                     "cannot normalise: '--%s %s': expected comma-separated numbers", option, text);
}

static status parse_normalization(const model_source *s, normalization *n, error *err) {
    const int deviations = parse_list(s->std, n->std);
    n->channels = parse_list(s->mean, n->mean);
    if (n->channels < 0) return refuse_list("mean", s->mean, err);
    if (deviations < 0) return refuse_list("std", s->std, err);
    if (deviations != n->channels)
        return error_set(err, STATUS_USAGE,
                         "cannot normalise: '--std %s': expected as many numbers as --mean has",
                         s->std);
    char why[NORMALIZATION_WHY_BYTES];
    if (normalization_check(n, why)) return STATUS_OK;
    return error_set(err, STATUS_USAGE, "cannot normalise: '--mean %s --std %s': %s", s->mean,
                     s->std, why);
}

static status check_options(const model_source *s, normalization *n, error *err) {
    if (!s->mean != !s->std)
        return error_set(err, STATUS_USAGE,
                         "cannot normalise: '--%s': give --mean and --std together",
                         s->mean ? "mean" : "std");
    return s->mean ? parse_normalization(s, n, err) : STATUS_OK;
}

// ---- The checkpoint ----

// Finds the model and the normalisation, from the options or the checkpoint's metadata.
static status describe(trained_model *t, const model_source *s, error *err) {
    NEED(model_import_check(&t->checkpoint, s->path, err));
    if (s->architecture)
        NEED(model_read(&t->model, s->architecture, err));
    else
        NEED(model_import_architecture(&t->checkpoint, s->path, &t->model, err));
    if (!s->mean) NEED(model_import_normalization(&t->checkpoint, s->path, &t->normalization, err));
    const int channels = t->model.program.input.channels;
    if (t->normalization.channels != channels)
        return error_set(
            err, STATUS_INPUT,
            "cannot normalise: '%s': %d channels of mean and standard deviation, images of %d",
            s->path, t->normalization.channels, channels);
    return STATUS_OK;
}

status trained_model_describe(trained_model *t, const model_source *s, error *err) {
    *t = (trained_model){0};
    NEED(check_options(s, &t->normalization, err));
    NEED(tensor_file_read_header(s->path, &t->checkpoint, err));
    return describe(t, s, err);
}

status trained_model_read(trained_model *t, const model_source *s, error *err) {
    status rc;
    *t = (trained_model){0};
    TRY(check_options(s, &t->normalization, err));
    TRY(tensor_file_read(s->path, s->max_bytes, &t->checkpoint, err));
    TRY(describe(t, s, err));
    const program *p = &t->model.program;
    rc = STATUS_FAILED;
    t->parameters = memory_try_new_aligned(p->parameters, sizeof *t->parameters, err);
    t->buffers = memory_try_new_aligned(p->buffers, sizeof *t->buffers, err);
    if (!t->parameters || !t->buffers) goto out;
    TRY(model_import(&t->model, t->parameters, t->buffers, &t->checkpoint, s->path, NULL, s->log,
                     err));
out:
    return rc;
}

void trained_model_release(trained_model *t) {
    model_release(&t->model);
    tensor_file_release(&t->checkpoint);
    free(t->parameters);
    free(t->buffers);
    *t = (trained_model){0};
}

yaml_node *trained_model_classes(const trained_model *t) {
    return labels_names(tensor_file_metadata(&t->checkpoint, "classes"), t->model.program.classes);
}

char *trained_model_class_list(const trained_model *t) {
    yaml_node *names = trained_model_classes(t), *list = yaml_new(YAML_SEQUENCE);
    for (size_t i = 0; names && i < names->count; i++)
        yaml_append(list, json_new_string(names->items[i]->text));
    char *text = names ? json_from_yaml(list) : NULL;
    yaml_free(names);
    yaml_free(list);
    return text;
}

// ---- Computing ----

status trained_model_open(const trained_model *t, const devices *on, int threads, const char *isa,
                          engine **e, error *err) {
    const backend *b = devices_backend(on, 0);
    engine_options options = {.threads = devices_threads(on, threads),
                              .spin = true,
                              .isa = isa,
                              .device = devices_index(on, 0),
                              .exact = devices_exact(on),
                              .shards = 1,
                              .local_shards = 1,
                              .shard_samples = GROUP};
    memcpy(options.mean, t->normalization.mean, sizeof options.mean);
    memcpy(options.std, t->normalization.std, sizeof options.std);
    status rc = b->open(&t->model.program, &options, OPTIMIZER_SGD, e, err);
    if (rc == STATUS_OK) b->write(*e, t->parameters, t->buffers, NULL);
    return rc;
}
