// SPDX-License-Identifier: MIT
#include "train/train_start.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "nn/whitening.h"
#include "train/kept_states.h"
#include "train/model_import.h"
#include "train/train_manifest.h"

static const char MANIFEST[] = "manifest.yaml";

char *train_start_path(const char *folder, const char *name) {
    return memory_format("%s/%s", folder, name);
}

run_identity train_start_identity(const train_run *r) {
    return (run_identity){r->experiment->resolved, r->data.train.source,
                          r->first_weights ? r->first_weights : "", TRAIN_BITS};
}

// ---- The images of the smallest ids, for whitening ----

typedef struct numbered_image {
    uint32_t id;
    const uint8_t *pixels;
    size_t bytes;
} numbered_image;

// Images that share an id are ordered by their pixels: then equal ones alone may change places.
static int compare_images(const void *a, const void *b) {
    const numbered_image *x = a, *y = b;
    if (x->id != y->id) return x->id < y->id ? -1 : 1;
    return memcmp(x->pixels, y->pixels, x->bytes);
}

// Writes the pixels of the first WHITENING_IMAGES images that are not left out, in the order of
// their ids, to a list; free() it.
static status first_images(const dataset *d, const holdout *left, const uint8_t ***list,
                           size_t *count, error *err) {
    const size_t bytes = dataset_sample_bytes(d);
    size_t images = 0;
    numbered_image *all = memory_try_new(d->samples, sizeof *all, err);
    if (!all) return STATUS_FAILED;
    *list = memory_new(WHITENING_IMAGES, sizeof **list);
    for (size_t i = 0; i < d->samples; i++)
        if (!left->out || !left->out[i])
            all[images++] = (numbered_image){d->ids[i], d->pixels[i], bytes};
    qsort(all, images, sizeof *all, compare_images);
    *count = images < WHITENING_IMAGES ? images : WHITENING_IMAGES;
    for (size_t i = 0; i < *count; i++) (*list)[i] = all[i].pixels;
    free(all);
    return STATUS_OK;
}

// ---- The model before the first step ----

static status whiten(const model *m, const model_tensor *t, const dataset *d, const holdout *left,
                     const normalization *n, float *parameters, error *err) {
    const uint8_t **pixels;
    size_t count;
    status rc = first_images(d, left, &pixels, &count, err);
    if (rc != STATUS_OK) return rc;
    const whitening_images images = {.pixels = pixels,
                                     .count = count,
                                     .channels = d->channels,
                                     .height = d->height,
                                     .width = d->width,
                                     .mean = n->mean,
                                     .std = n->std};
    const layer *l = &m->program.layers[t->layer];
    whitening_filters(&images, l->kernel_h, l->kernel_w, l->out.channels, parameters + t->offset);
    free(pixels);
    return rc;
}

// Fills both arenas: PyTorch's default distributions, and the `init` of the experiment's `tensors`.
// Whitening takes the WHITENING_IMAGES images of the smallest ids that are not in `left`, without
// augmentation, so that the order of the images and their division into shards do not matter. If
// only the header of the data was read, it leaves the default.
static status initial_model(const experiment *e, const dataset *train, const holdout *left,
                            const normalization *n, float *parameters, float *buffers, error *err) {
    const model *m = &e->model;
    status rc = STATUS_OK;
    model_init_parameters(m, e->seed, parameters, buffers);
    if (!e->tensors) return rc;
    tensor_settings_init(m, e->tensors, e->seed, parameters);
    for (int i = 0; rc == STATUS_OK && train->pixels && i < m->tensor_count; i++)
        if (e->tensors[i].init == INIT_WHITEN)
            rc = whiten(m, &m->tensors[i], train, left, n, parameters, err);
    return rc;
}

// Does the experiment set the initial values of any tensor?
static bool initial_model_is_set(const experiment *e) {
    for (int i = 0; e->tensors && i < e->model.tensor_count; i++)
        if (e->tensors[i].init != INIT_DEFAULT) return true;
    return false;
}

// The content hash of the checkpoint, and the patterns of --init-except.
static void describe_init(train_run *r, const char *content) {
    const cli_list *except = &r->settings->init_except;
    char *text = memory_string(content);
    for (size_t k = 0; k < except->count; k++) {
        char *longer = memory_format("%s%s %s", text, k ? "" : " except", except->items[k]);
        free(text);
        text = longer;
    }
    r->first_weights = text;
}

static status read_init(train_run *r, error *err) {
    const train_settings *s = r->settings;
    checkpoint *c = &r->checkpoint;
    tensor_file f = {0};
    status rc;
    const import_exceptions of_experiment = {&s->init_except, "initial_weights.except",
                                             STATUS_INPUT};
    const import_exceptions of_option = {&s->init_except, "--init-except", STATUS_USAGE};
    TRY(tensor_file_read(s->init, TENSOR_FILE_DEFAULT_MAX, &f, err));
    TRY(model_import(c->model, c->parameters, c->buffers, &f, s->init,
                     r->experiment->weights_path ? &of_experiment : &of_option,
                     train_settings_lead(s) ? s->log : NULL, err));
    train_manifest_input(r->manifest, s->init, &f);
    describe_init(r, f.content);
out:
    tensor_file_release(&f);
    return rc;
}

status train_start_model(train_run *r, error *err) {
    const train_settings *s = r->settings;
    checkpoint *c = &r->checkpoint;
    status rc = STATUS_OK;
    if (!s->init || s->init_except.count)
        rc = initial_model(r->experiment, &r->data.train, &r->data.left_out, &r->data.normalization,
                           c->parameters, c->buffers, err);
    if (rc != STATUS_OK || !s->init) return rc;
    if (!s->init_except.count && initial_model_is_set(r->experiment) && train_settings_lead(s))
        log_info(s->log, "'%s' gives all initial values: 'init' of 'tensors' has no effect",
                 s->init);
    return read_init(r, err);
}

// ---- Finding where to begin ----

static status check_bits(const yaml_node *root, const char *path, error *err) {
    const yaml_node *node = yaml_find(root, "bits");
    int64_t bits = 0;
    status rc = node ? yaml_integer(node, "bits", 1, INT32_MAX, &bits, err) : STATUS_OK;
    return rc == STATUS_OK ? checkpoint_check_bits(TRAIN_BITS, bits, path, err) : rc;
}

static status check_manifest(yaml_node *root, const char *path, const experiment *e, bool *longer,
                             error *err) {
    yaml_node *parameters = (yaml_node *)yaml_find(root, "parameters");
    status rc = check_bits(root, path, err);
    if (rc != STATUS_OK) return rc;
    if (!parameters)
        return error_set(err, STATUS_INPUT, "cannot resume: '%s': it has no 'parameters'", path);
    yaml_remove(parameters, "published");
    yaml_remove(parameters, "backend");
    yaml_remove(parameters, "reduce");
    yaml_remove(parameters, INIT_EXCEPT);
    rc = checkpoint_check_parameters(e->resolved, parameters, path, err);
    if (rc == STATUS_OK) *longer = experiment_epochs_of(parameters) < e->epochs;
    return rc;
}

status train_run_finished(const char *out, const experiment *e, bool *finished, error *err) {
    char *path = train_start_path(out, MANIFEST);
    yaml_node *root = NULL;
    bool longer = false;
    status rc = STATUS_OK;
    *finished = false;
    if (access(path, F_OK) != 0) goto out;
    TRY(manifest_read(path, &root, err));
    TRY(check_manifest(root, path, e, &longer, err));
    *finished = !longer;
out:
    yaml_free(root);
    free(path);
    return rc;
}

static status read_saved(train_run *r, error *err) {
    const run_identity run = train_start_identity(r);
    char *path = train_start_path(r->settings->out, TRAIN_STATE);
    status rc = STATUS_OK;
    r->resumed = access(path, F_OK) == 0;
    if (r->resumed) rc = checkpoint_read(&r->checkpoint, &run, path, err);
    free(path);
    return rc;
}

// Otherwise a finished run without its state would be removed and trained from the beginning.
static status check_resumable(const train_run *r, error *err) {
    char *path = train_start_path(r->settings->out, MANIFEST);
    status rc = STATUS_OK;
    if (!r->resumed && access(path, F_OK) == 0)
        rc =
            error_set(err, STATUS_INPUT,
                      "cannot resume: '%s/%s': it is missing, and the run there is finished; train "
                      "without --resume (make: RESUME=0) to start again",
                      r->settings->out, TRAIN_STATE);
    free(path);
    return rc;
}

status train_start_find(train_run *r, error *err) {
    const train_settings *s = r->settings;
    status rc = manifest_check_folder(r->manifest, s->out, err);
    if (rc != STATUS_OK || !s->resume) return rc;
    rc = read_saved(r, err);
    if (rc == STATUS_OK) rc = check_resumable(r, err);
    if (rc == STATUS_OK && r->resumed && train_settings_lead(s))
        log_info(s->log, "resuming from step %" PRIu64 " of '%s/%s'", r->checkpoint.step, s->out,
                 TRAIN_STATE);
    return rc;
}

// ---- Clearing ----

static status remove_file(const char *folder, const char *name, error *err) {
    char *path = train_start_path(folder, name);
    status rc = STATUS_OK;
    if (unlink(path) != 0 && errno != ENOENT)
        rc = error_system(err, STATUS_FAILED, errno, "cannot remove old output: '%s'", path);
    free(path);
    return rc;
}

// Removes the manifest first: without it the run is not finished, whatever else the folder holds. A
// resumed run keeps the model of fewer epochs until it writes its own.
status train_start_clear(train_run *r, error *err) {
    static const char *const names[] = {"model.st.zst", "steps.st.zst", TRAIN_STATE};
    const char *out = r->settings->out;
    if (*r->cleared) return STATUS_OK; // a restart: already cleared
    NEED(manifest_remove_old(r->manifest, out, err));
    for (size_t i = 0; !r->resumed && i < sizeof names / sizeof *names; i++)
        NEED(remove_file(out, names[i], err));
    if (!r->resumed) NEED(kept_states_clear(out, err));
    *r->cleared = true;
    return STATUS_OK;
}

// Until the folder is cleared, a state in it may be that of an earlier run, not to be resumed.
status train_start_again(train_run *r, int64_t restarts, error *err) {
    if (*r->cleared) NEED(read_saved(r, err));
    const int64_t untold = restarts - checkpoint_restarts(&r->checkpoint);
    yaml_remove(r->segment, CHECKPOINT_RESTARTS);
    yaml_put(r->segment, CHECKPOINT_RESTARTS, yaml_new_integer(untold));
    return STATUS_OK;
}

// ---- Describing ----

// As devices_arithmetic.
static const char *arithmetic_of(const yaml_node *segment) {
    const yaml_node *list = yaml_find(segment, "devices"), *math = yaml_find(segment, "math");
    const bool on_gpus = list && list->count > 0 && list->items[0]->text &&
                         strncmp(list->items[0]->text, "cuda", 4) == 0;
    const bool exact = math && math->text && strcmp(math->text, "exact") == 0;
    return on_gpus && !exact ? "cuda" : "cpu";
}

// Were the steps so far computed with the arithmetic of the rest?
static const char *backend_of(const train_run *r) {
    const yaml_node *before = r->checkpoint.execution;
    const char *now = devices_arithmetic(&r->settings->devices);
    for (size_t i = 0; i < before->count; i++)
        if (strcmp(arithmetic_of(before->items[i]), now) != 0) return "mixed";
    return now;
}

static void describe_backend(const train_run *r, bool lead) {
    const char *kind = backend_of(r);
    if (lead && strcmp(kind, "mixed") == 0)
        log_info(r->settings->log, "the steps so far ran on another kind of device: the model will "
                                   "match neither bit for bit");
    train_manifest_backend(r->manifest, kind);
}

// Were the steps so far reduced in the order in which the rest will be?
static bool same_reduction(const train_settings *s, const yaml_node *segment) {
    const yaml_node *reduce = yaml_find(segment, "reduce"), *tool = yaml_find(segment, "tool");
    const yaml_node *size = yaml_find(segment, "world_size");
    const bool fast = reduce && reduce->text && strcmp(reduce->text, "fast") == 0;
    if (!fast || !s->reduce_fast) return fast == s->reduce_fast;
    return tool && tool->text && strcmp(tool->text, s->tool) == 0 && size && size->text &&
           strtol(size->text, NULL, 10) == s->world.size;
}

static void describe_reduction(const train_run *r, bool lead) {
    const train_settings *s = r->settings;
    const yaml_node *before = r->checkpoint.execution;
    for (size_t i = 0; i < before->count; i++) {
        if (same_reduction(s, before->items[i])) continue;
        if (lead)
            log_info(s->log, "the steps so far were reduced in another order: no other run will "
                             "give the same bits");
        train_manifest_reduce(r->manifest, "mixed", 0);
        return;
    }
    if (s->reduce_fast) train_manifest_reduce(r->manifest, "fast", s->world.size);
}

void train_start_describe(const train_run *r) {
    const bool lead = train_settings_lead(r->settings);
    describe_backend(r, lead);
    describe_reduction(r, lead);
}
