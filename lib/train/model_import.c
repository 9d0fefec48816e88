// SPDX-License-Identifier: MIT
#include "train/model_import.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/memory.h"
#include "data/tensor/tensor_half.h"
#include "data/tensor/tensor_text.h"
#include "nn/model_values.h"

// ---- Names ----

static const char BATCHES_TRACKED[] = ".num_batches_tracked";
static const char *const prefixes[] = {"module.", "_orig_mod."};
enum { PREFIXES = sizeof prefixes / sizeof *prefixes };

// The state of importing one checkpoint into a model.
typedef struct import {
    const model *m;
    const char *path;
    const tensor **source;        // for each tensor of the model; NULL: not found yet
    bool taken_off[PREFIXES];     // prefixes removed from some tensor
    bool converted[TENSOR_TYPES]; // types converted from; F32 does not count
} import;

static bool ends_with(const char *text, const char *end) {
    size_t length = strlen(text), suffix = strlen(end);
    return length >= suffix && strcmp(text + length - suffix, end) == 0;
}

// The model's tensor for `name`, or NULL. A layer may itself be called "module".
static const model_tensor *find(import *i, const char *name) {
    const model_tensor *found;
    while (!(found = model_find(i->m, name))) {
        int p = 0;
        while (p < PREFIXES && strncmp(name, prefixes[p], strlen(prefixes[p])) != 0) p++;
        if (p == PREFIXES) return NULL;
        i->taken_off[p] = true;
        name += strlen(prefixes[p]);
    }
    return found;
}

static status refuse_unknown(const import *i, const tensor *t, error *err) {
    char have[TENSOR_SHAPE_TEXT_BYTES];
    tensor_shape_text(have, t->type, t->rank, t->shape);
    return error_set(err, STATUS_INPUT,
                     "cannot use checkpoint: '%s': tensor '%s' (%s) is unknown to model '%s'",
                     i->path, t->name, have, i->m->name);
}

static status match_tensor(import *i, const tensor *t, error *err) {
    if (ends_with(t->name, BATCHES_TRACKED)) return STATUS_OK;
    const model_tensor *found = find(i, t->name);
    if (!found) return refuse_unknown(i, t, err);
    const tensor **source = &i->source[found - i->m->tensors];
    if (*source)
        return error_set(err, STATUS_INPUT,
                         "cannot use checkpoint: '%s': tensors '%s' and '%s' are both '%s'",
                         i->path, (*source)->name, t->name, found->name);
    *source = t;
    return STATUS_OK;
}

// ---- Shapes and elements ----

static bool is_float(tensor_type type) {
    return type == TENSOR_F32 || type == TENSOR_F64 || type == TENSOR_F16 || type == TENSOR_BF16;
}

static status check_shape(const import *i, const model_tensor *want, const tensor *t, error *err) {
    char expected[TENSOR_SHAPE_TEXT_BYTES], have[TENSOR_SHAPE_TEXT_BYTES];
    tensor_shape_text(expected, TENSOR_F32, want->rank, want->shape);
    if (!t)
        return error_set(err, STATUS_INPUT,
                         "cannot use checkpoint: '%s': it has no tensor '%s' (expected %s)",
                         i->path, want->name, expected);
    bool fits = is_float(t->type) && t->rank == want->rank;
    for (int d = 0; fits && d < t->rank; d++) fits = t->shape[d] == want->shape[d];
    if (fits) return STATUS_OK;
    tensor_shape_text(have, t->type, t->rank, t->shape);
    return error_set(err, STATUS_INPUT,
                     "cannot use checkpoint: '%s': tensor '%s' is %s, expected %s", i->path,
                     t->name, have, expected);
}

static float element(const tensor *t, int64_t i) {
    switch (t->type) {
    case TENSOR_F64: return (float)((const double *)t->data)[i];
    case TENSOR_F16: return float_from_f16(((const uint16_t *)t->data)[i]);
    case TENSOR_BF16: return float_from_bf16(((const uint16_t *)t->data)[i]);
    default: return ((const float *)t->data)[i];
    }
}

static status refuse_value(const import *i, const tensor *t, const model_tensor *want,
                           const bad_value *bad, error *err) {
    return error_set(err, STATUS_INPUT,
                     "cannot use checkpoint: '%s': tensor '%s' holds %g (element %zu of %zu): %s",
                     i->path, t->name, bad->value, bad->element, want->count,
                     isfinite(bad->value) ? "a variance cannot be below 0"
                                          : "the value must be finite");
}

static status copy(const import *i, const tensor *t, const model_tensor *want, float *to,
                   error *err) {
    const int64_t count = tensor_elements(t);
    for (int64_t e = 0; e < count; e++) {
        to[e] = element(t, e);
        if (t->type == TENSOR_F64 && !isfinite(to[e]) && isfinite(((const double *)t->data)[e]))
            return error_set(err, STATUS_INPUT,
                             "cannot use checkpoint: '%s': tensor '%s' holds %g, too large for F32",
                             i->path, t->name, ((const double *)t->data)[e]);
    }
    bad_value bad;
    if (values_find_bad(to, want->count, model_is_variance(i->m, want), &bad))
        return refuse_value(i, t, want, &bad, err);
    return STATUS_OK;
}

static status copy_all(import *i, float *parameters, float *buffers, error *err) {
    const model *m = i->m;
    memset(parameters, 0, m->program.parameters * sizeof *parameters);
    if (m->program.buffers) memset(buffers, 0, m->program.buffers * sizeof *buffers);
    for (int k = 0; k < m->tensor_count; k++) {
        const model_tensor *want = &m->tensors[k];
        const tensor *t = i->source[k];
        status rc = check_shape(i, want, t, err);
        if (rc == STATUS_OK)
            rc = copy(i, t, want, (want->is_buffer ? buffers : parameters) + want->offset, err);
        if (rc != STATUS_OK) return rc;
        i->converted[t->type] = true;
    }
    return STATUS_OK;
}

// ---- The whole checkpoint ----

static void append(char text[256], const char *separator, const char *format, const char *word) {
    size_t used = strlen(text);
    used += (size_t)snprintf(text + used, 256 - used, "%s", used ? separator : "");
    snprintf(text + used, 256 - used, format, word);
}

static void log_changes(const import *i, const logger *log) {
    char text[256] = "";
    for (int p = 0; p < PREFIXES; p++)
        if (i->taken_off[p])
            append(text, ", ", "prefix '%s' is removed from the names", prefixes[p]);
    for (unsigned t = 0; t < TENSOR_TYPES; t++)
        if (i->converted[t] && t != TENSOR_F32)
            append(text, ", ", t == TENSOR_F64 ? "%s is rounded to F32" : "%s is converted to F32",
                   tensor_type_name((tensor_type)t));
    if (*text) log_info(log, "'%s': %s", i->path, text);
}

status model_import(const model *m, float *parameters, float *buffers, const tensor_file *f,
                    const char *path, const logger *log, error *err) {
import i = {.m = m, .path = path };
    i.source = memory_new((size_t)m->tensor_count, sizeof *i.source, err);
    if (!i.source) return STATUS_FAILED;
    status rc = STATUS_OK;
    for (size_t t = 0; t < f->count; t++) TRY(match_tensor(&i, &f->tensors[t], err));
    TRY(copy_all(&i, parameters, buffers, err));
    log_changes(&i, log);
out:
    free(i.source);
    return rc;
}

// ---- Metadata ----

// Other programs use keys of these names, too.
static status refuse_metadata(const char *path, const char *key, const char *text,
                              const char *options, const error *why, error *err) {
    return error_set(err, STATUS_INPUT,
                     "cannot use checkpoint: '%s': the key '%s' in its metadata, '%.60s', was not "
                     "written by this program (%s); give %s",
                     path, key, text, why->message, options);
}

static status read_metadata(const tensor_file *f, const char *path, const char *key,
                            const char *options, const char **text, error *err) {
    *text = tensor_file_metadata(f, key);
    if (*text) return STATUS_OK;
    return error_set(err, STATUS_INPUT,
                     "cannot use checkpoint: '%s': it has no '%s' in its metadata; give %s", path,
                     key, options);
}

status model_import_architecture(const tensor_file *f, const char *path, model *m, error *err) {
    static const char key[] = "model", options[] = "--architecture MODEL.yaml";
    const char *text;
    yaml_node *tree = NULL;
    error why = {0};
    status rc = read_metadata(f, path, key, options, &text, err);
    if (rc != STATUS_OK) return rc;
    rc = json_to_yaml(text, key, &tree, &why);
    if (rc == STATUS_OK) rc = model_from_yaml(m, tree, &why);
    yaml_free(tree);
    if (rc == STATUS_INPUT) return refuse_metadata(path, key, text, options, &why, err);
    return rc == STATUS_OK ? rc : error_set(err, rc, "%s", why.message);
}

static status read_numbers(const yaml_node *tree, const char *key, int *count,
                           float values[ENGINE_MAX_CHANNELS], error *err) {
    const yaml_node *list = tree->kind == YAML_MAPPING ? yaml_find(tree, key) : NULL;
    if (!list || list->kind != YAML_SEQUENCE || list->count < 1 ||
        list->count > ENGINE_MAX_CHANNELS)
        return error_set(err, STATUS_INPUT, "it has no list '%s' of 1 to %d numbers", key,
                         ENGINE_MAX_CHANNELS);
    *count = (int)list->count;
    for (int c = 0; c < *count; c++) {
        double value;
        status rc = yaml_number(list->items[c], key, &value, err);
        if (rc != STATUS_OK) return rc;
        values[c] = (float)value;
    }
    return STATUS_OK;
}

static status read_normalization(const yaml_node *tree, normalization *n, error *err) {
    int deviations;
    status rc;
    TRY(read_numbers(tree, "mean", &n->channels, n->mean, err));
    TRY(read_numbers(tree, "std", &deviations, n->std, err));
    if (deviations != n->channels)
        return error_set(err, STATUS_INPUT, "%d means, %d standard deviations", n->channels,
                         deviations);
    char why[NORMALIZATION_WHY_BYTES];
    if (!normalization_check(n, why)) return error_set(err, STATUS_INPUT, "%s", why);
out:
    return rc;
}

status model_import_normalization(const tensor_file *f, const char *path, normalization *n,
                                  error *err) {
    static const char key[] = "normalize", options[] = "--mean and --std";
    const char *text;
    yaml_node *tree = NULL;
    error why = {0};
    status rc = read_metadata(f, path, key, options, &text, err);
    if (rc != STATUS_OK) return rc;
    rc = json_to_yaml(text, key, &tree, &why);
    if (rc == STATUS_OK) rc = read_normalization(tree, n, &why);
    yaml_free(tree);
    if (rc == STATUS_INPUT) return refuse_metadata(path, key, text, options, &why, err);
    return rc == STATUS_OK ? rc : error_set(err, rc, "%s", why.message);
}
