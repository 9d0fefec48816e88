// SPDX-License-Identifier: MIT
#include "train/checkpoint.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/memory.h"
#include "experiment/experiment.h"
#include "train/model_file.h"

static const char SCHEMA[] = "lockstep.state/1";

static const char ACCURACIES[] = "epochs.accuracy";
static const char MODEL_PREFIX[] = "model.", AVERAGE_PREFIX[] = "average.", BEST_PREFIX[] = "best.";

status checkpoint_init(checkpoint *c, const model *m, optimizer_kind kind, int epochs,
                       uint64_t steps, error *err) {
    size_t n = m->program.parameters;
    *c = (checkpoint){.model = m, .kind = kind, .epochs = epochs};
    c->parameters = memory_try_new_aligned(n, sizeof(float), err);
    c->buffers = memory_try_new_aligned(m->program.buffers, sizeof(float), err);
    c->optimizer = memory_try_new_aligned(n * (size_t)optimizer_states(kind), sizeof(float), err);
    c->accuracy = memory_new((size_t)epochs, sizeof *c->accuracy);
    c->execution = yaml_new(YAML_SEQUENCE);
    for (int e = 0; e < epochs; e++) c->accuracy[e] = NAN;
    timeline_init(&c->timeline, steps);
    if (c->parameters && c->buffers && c->optimizer) return STATUS_OK;
    checkpoint_release(c);
    return STATUS_FAILED;
}

status checkpoint_begin_best(checkpoint *c, error *err) {
    c->best = memory_try_new_aligned(c->model->program.parameters, sizeof(float), err);
    c->best_buffers = memory_try_new_aligned(c->model->program.buffers, sizeof(float), err);
    return c->best && c->best_buffers ? STATUS_OK : STATUS_FAILED;
}

// The first of equals: only a better one replaces it.
void checkpoint_keep_best(checkpoint *c, int epoch) {
    const program *p = &c->model->program;
    if (!c->best || isnan(c->accuracy[epoch])) return;
    if (c->best_epoch && !(c->accuracy[epoch] > c->accuracy[c->best_epoch - 1])) return;
    const float *buffers, *parameters = checkpoint_model(c, &buffers);
    c->best_epoch = epoch + 1;
    memcpy(c->best, parameters, p->parameters * sizeof(float));
    if (p->buffers) memcpy(c->best_buffers, buffers, p->buffers * sizeof(float));
}

status checkpoint_begin_average(checkpoint *c, bool is_model, error *err) {
    const size_t n = c->model->program.parameters, buffers = c->model->program.buffers;
    c->average = memory_try_new_aligned(n, sizeof(float), err);
    c->average_buffers = memory_try_new_aligned(buffers, sizeof(float), err);
    if (!c->average || !c->average_buffers) return STATUS_FAILED;
    memcpy(c->average, c->parameters, n * sizeof *c->average);
    if (buffers) memcpy(c->average_buffers, c->buffers, buffers * sizeof *c->average_buffers);
    c->average_is_model = is_model;
    return STATUS_OK;
}

void checkpoint_begin_losses(checkpoint *c) {
    c->losses = memory_new((size_t)c->epochs, sizeof *c->losses);
    for (int e = 0; e < c->epochs; e++) c->losses[e] = NAN;
}

void checkpoint_release(checkpoint *c) {
    free(c->best);
    free(c->best_buffers);
    free(c->average);
    free(c->average_buffers);
    free(c->parameters);
    free(c->buffers);
    free(c->optimizer);
    free(c->accuracy);
    free(c->losses);
    timeline_release(&c->timeline);
    yaml_free(c->execution);
    memset(c, 0, sizeof *c);
}

// ---- Values ----

static bool find_bad_tensor(const model *m, const char *prefix, const float *parameters,
                            const float *buffers, bool variances, bad_place *bad) {
    for (int i = 0; i < m->tensor_count; i++) {
        const model_tensor *t = &m->tensors[i];
        const float *arena = t->is_buffer ? buffers : parameters;
        const bool negative_too = variances || model_is_variance(m, t);
        *bad = (bad_place){.prefix = prefix, .tensor = t};
        if (arena && values_find_bad(arena + t->offset, t->count, negative_too, &bad->value))
            return true;
    }
    return false;
}

bool checkpoint_find_bad(const checkpoint *c, bad_place *bad) {
    const model *m = c->model;
    const optimizer_state *state = optimizer_kind_traits[c->kind].states;
    if (find_bad_tensor(m, MODEL_PREFIX, c->parameters, c->buffers, false, bad)) return true;
    if (c->best && find_bad_tensor(m, BEST_PREFIX, c->best, c->best_buffers, false, bad))
        return true;
    if (c->average &&
        find_bad_tensor(m, AVERAGE_PREFIX, c->average, c->average_buffers, false, bad))
        return true;
    for (int a = 0; a < optimizer_states(c->kind); a++)
        if (find_bad_tensor(m, state[a].prefix, c->optimizer + (size_t)a * m->program.parameters,
                            NULL, state[a].never_negative, bad))
            return true;
    return false;
}

// Those that were measured are from 0 to `most`, and finite. `values` may be NULL.
static status check_epochs(const checkpoint *c, const char *name, const double *values, double most,
                           const char *path, error *err) {
    for (int e = 0; values && e < c->epochs; e++)
        if (!isnan(values[e]) && !(values[e] >= 0 && values[e] <= most && isfinite(values[e])))
            return error_set(err, STATUS_INPUT,
                             "cannot resume: '%s': tensor '%s' holds %g at epoch %d: "
                             "train without --resume (make: RESUME=0) to start again",
                             path, name, values[e], e + 1);
    return STATUS_OK;
}

// Training would accept such values, and end in a model that looks valid.
static status check_values(const checkpoint *c, const char *path, error *err) {
    bad_place bad;
    bad_value loss;
    if (checkpoint_find_bad(c, &bad))
        return error_set(err, STATUS_INPUT,
                         "cannot resume: '%s': tensor '%s%s' holds %g (element %zu of %zu): "
                         "train without --resume (make: RESUME=0) to start again",
                         path, bad.prefix, bad.tensor->name, bad.value.value, bad.value.element,
                         bad.tensor->count);
    if (values_find_bad(c->timeline.loss, c->step, false, &loss))
        return error_set(err, STATUS_INPUT,
                         "cannot resume: '%s': tensor 'steps.loss' holds %g at step %zu: train "
                         "without --resume (make: RESUME=0) to start again",
                         path, loss.value, loss.element);
    status rc = check_epochs(c, ACCURACIES, c->accuracy, 1, path, err);
    return rc == STATUS_OK ? check_epochs(c, CHECKPOINT_LOSSES, c->losses, HUGE_VAL, path, err)
                           : rc;
}

int64_t checkpoint_restarts(const checkpoint *c) {
    int64_t sum = 0;
    for (size_t i = 0; i < c->execution->count; i++) {
        const yaml_node *restarts = yaml_find(c->execution->items[i], CHECKPOINT_RESTARTS);
        if (restarts && restarts->text) sum += strtol(restarts->text, NULL, 10);
    }
    return sum;
}

// ---- Writing ----

static void add_number(tensor_file *f, const char *key, uint64_t value) {
    char text[32];
    snprintf(text, sizeof text, "%" PRIu64, value);
    tensor_file_add_metadata(f, key, text);
}

static void add_tree(tensor_file *f, const char *key, const yaml_node *tree) {
    char *text = json_from_yaml(tree);
    tensor_file_add_metadata(f, key, text);
    free(text);
}

static void add_metadata(const checkpoint *c, const run_identity *run, tensor_file *f) {
    tensor_file_add_metadata(f, "schema", SCHEMA);
    tensor_file_add_metadata(f, "data", run->data);
    tensor_file_add_metadata(f, "init", run->init);
    add_tree(f, "parameters", run->parameters);
    add_tree(f, "execution", c->execution);
    add_number(f, "bits", (uint64_t)run->bits);
    add_number(f, "step", c->step);
    add_number(f, "total_ns", c->total_ns);
}

void checkpoint_store_epochs(const checkpoint *c, tensor_file *f) {
    const int64_t epochs[1] = {c->epochs};
    tensor_file_add(f, ACCURACIES, TENSOR_F64, 1, epochs, c->accuracy);
    if (c->losses) tensor_file_add(f, CHECKPOINT_LOSSES, TENSOR_F64, 1, epochs, c->losses);
}

status checkpoint_write(const checkpoint *c, const run_identity *run, const char *path,
                        tensor_file *written, error *err) {
    tensor_file own = {0}, *f = written ? written : &own;
    add_metadata(c, run, f);
    model_file_store(c->model, MODEL_PREFIX, c->parameters, c->buffers, f);
    for (int a = 0; a < optimizer_states(c->kind); a++)
        model_file_store(c->model, optimizer_kind_traits[c->kind].states[a].prefix,
                         c->optimizer + (size_t)a * c->model->program.parameters, NULL, f);
    if (c->best_epoch) {
        add_number(f, "best_epoch", (uint64_t)c->best_epoch);
        model_file_store(c->model, BEST_PREFIX, c->best, c->best_buffers, f);
    }
    if (c->average) model_file_store(c->model, AVERAGE_PREFIX, c->average, c->average_buffers, f);
    timeline_store(&c->timeline, "steps.", f);
    checkpoint_store_epochs(c, f);
    const status rc = tensor_file_write(path, f, err);
    tensor_file_release(&own);
    return rc;
}

// ---- Reading ----

static status read_metadata(const tensor_file *f, const char *path, const char *key,
                            const char **text, error *err) {
    *text = tensor_file_metadata(f, key);
    if (*text) return STATUS_OK;
    return error_set(err, STATUS_INPUT,
                     "cannot resume: '%s': not a training state: no '%s' in its metadata", path,
                     key);
}

static status read_number(const tensor_file *f, const char *path, const char *key, uint64_t max,
                          uint64_t *value, error *err) {
    const char *text;
    char *end;
    NEED(read_metadata(f, path, key, &text, err));
    *value = strtoull(text, &end, 10);
    if (*text >= '0' && *text <= '9' && !*end && *value <= max) return STATUS_OK;
    return error_set(err, STATUS_INPUT,
                     "cannot resume: '%s': '%s' in its metadata is '%s': expected 0 to %" PRIu64,
                     path, key, text, max);
}

status checkpoint_check_bits(int mine, int64_t theirs, const char *path, error *err) {
    static const char way_out[] =
        "resume with the version that wrote it, or train without --resume "
        "(make: RESUME=0) to start again";
    if (theirs == mine) return STATUS_OK;
    if (theirs == 0)
        return error_set(err, STATUS_INPUT,
                         "cannot resume: '%s': it does not record the revision of the arithmetic "
                         "('bits') of its steps; this version has revision %d: %s",
                         path, mine, way_out);
    return error_set(err, STATUS_INPUT,
                     "cannot resume: '%s': its steps have revision %lld of the arithmetic "
                     "('bits'), this version has %d: %s",
                     path, (long long)theirs, mine, way_out);
}

status checkpoint_check_parameters(const yaml_node *mine, const yaml_node *theirs, const char *path,
                                   error *err) {
    char why[256];
    if (!experiment_continues(theirs, mine, why)) return STATUS_OK;
    return error_set(
        err, STATUS_INPUT,
        "cannot resume: '%s': %s; train without --resume (make: RESUME=0) to start again", path,
        why);
}

// What follows the hash: the patterns of --init-except.
static const char *after_hash(const char *text) {
    return strlen(text) < SHA256_TEXT_BYTES ? "" : text + SHA256_TEXT_BYTES - 1;
}

static status check_hash(const tensor_file *f, const char *path, const char *key, const char *what,
                         const char *mine, error *err) {
    const char *theirs;
    status rc = read_metadata(f, path, key, &theirs, err);
    if (rc != STATUS_OK || strcmp(mine, theirs) == 0) return rc;
    return error_set(
        err, STATUS_INPUT,
        "cannot resume: '%s': it is from a run with %s of content '%.12s%.200s', not '%.12s%.200s'",
        path, what, *theirs ? theirs : "(none)", after_hash(theirs), *mine ? mine : "(none)",
        after_hash(mine));
}

// States written before this key existed have no revision.
static status check_bits(const run_identity *run, const tensor_file *f, const char *path,
                         error *err) {
    uint64_t bits = 0;
    status rc = STATUS_OK;
    if (tensor_file_metadata(f, "bits")) rc = read_number(f, path, "bits", INT32_MAX, &bits, err);
    return rc == STATUS_OK ? checkpoint_check_bits(run->bits, (int64_t)bits, path, err) : rc;
}

static status check_identity(const run_identity *run, const tensor_file *f, const char *path,
                             error *err) {
    const char *text;
    char *json = NULL;
    yaml_node *mine = NULL, *theirs = NULL;
    status rc;
    TRY(read_metadata(f, path, "schema", &text, err));
    if (strcmp(text, SCHEMA) != 0) {
        rc = error_set(err, STATUS_INPUT, "cannot resume: '%s': schema '%s' instead of '%s'", path,
                       text, SCHEMA);
        goto out;
    }
    TRY(check_bits(run, f, path, err));
    TRY(read_metadata(f, path, "parameters", &text, err));
    TRY(json_to_yaml(text, path, &theirs, err));
    // JSON and YAML print numbers differently (1e-05, 1.0e-05): convert both sides the same way.
    json = json_from_yaml(run->parameters);
    TRY(json_to_yaml(json, path, &mine, err));
    TRY(checkpoint_check_parameters(mine, theirs, path, err));
    TRY(check_hash(f, path, "data", "training data", run->data, err));
    TRY(check_hash(f, path, "init", "an --init checkpoint", run->init, err));
out:
    free(json);
    yaml_free(mine);
    yaml_free(theirs);
    return rc;
}

static status read_execution(checkpoint *c, const tensor_file *f, const char *path, error *err) {
    const char *text;
    yaml_node *list = NULL;
    status rc = read_metadata(f, path, "execution", &text, err);
    if (rc == STATUS_OK) rc = json_to_yaml(text, path, &list, err);
    if (rc != STATUS_OK) return rc;
    yaml_free(c->execution);
    c->execution = list;
    if (list->kind == YAML_SEQUENCE) return STATUS_OK;
    return error_set(err, STATUS_INPUT, "cannot resume: '%s': 'execution' in it is not a list",
                     path);
}

// Before the first epoch ends there is no best one.
static status read_best(checkpoint *c, const tensor_file *f, const char *path, error *err) {
    uint64_t epoch;
    if (!c->best || !tensor_file_metadata(f, "best_epoch")) return STATUS_OK;
    NEED(read_number(f, path, "best_epoch", (uint64_t)c->epochs, &epoch, err));
    NEED(model_file_load(c->model, BEST_PREFIX, c->best, c->best_buffers, f, path, err));
    c->best_epoch = (int)epoch;
    return STATUS_OK;
}

// The state may be of fewer epochs.
static status read_epochs(const checkpoint *c, const tensor_file *f, const char *path,
                          const char *name, double *values, error *err) {
    const int64_t any[1] = {-1};
    const tensor *found;
    NEED(tensor_file_require(f, path, name, TENSOR_F64, 1, any, &found, err));
    if (found->shape[0] > c->epochs)
        return error_set(err, STATUS_INPUT,
                         "cannot resume: '%s': '%s' has %lld epochs, more than %d", path, name,
                         (long long)found->shape[0], c->epochs);
    memcpy(values, found->data, found->bytes);
    return STATUS_OK;
}

status checkpoint_read(checkpoint *c, const run_identity *run, const char *path, error *err) {
    tensor_file f = {0};
    status rc;
    TRY(tensor_file_read(path, TENSOR_FILE_DEFAULT_MAX, &f, err));
    TRY(check_identity(run, &f, path, err));
    TRY(read_number(&f, path, "step", c->timeline.capacity, &c->step, err));
    TRY(read_number(&f, path, "total_ns", UINT64_MAX, &c->total_ns, err));
    TRY(read_execution(c, &f, path, err));
    TRY(model_file_load(c->model, MODEL_PREFIX, c->parameters, c->buffers, &f, path, err));
    for (int a = 0; a < optimizer_states(c->kind); a++)
        TRY(model_file_load(c->model, optimizer_kind_traits[c->kind].states[a].prefix,
                            c->optimizer + (size_t)a * c->model->program.parameters, NULL, &f, path,
                            err));
    TRY(read_best(c, &f, path, err));
    if (c->average)
        TRY(model_file_load(c->model, AVERAGE_PREFIX, c->average, c->average_buffers, &f, path,
                            err));
    TRY(timeline_load(&c->timeline, "steps.", c->step, &f, path, err));
    TRY(read_epochs(c, &f, path, ACCURACIES, c->accuracy, err));
    if (c->losses) TRY(read_epochs(c, &f, path, CHECKPOINT_LOSSES, c->losses, err));
    TRY(check_values(c, path, err));
out:
    tensor_file_release(&f);
    return rc;
}
