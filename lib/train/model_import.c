// SPDX-License-Identifier: MIT
#include "train/model_import.h"

#include <fnmatch.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/memory.h"
#include "base/spelling.h"
#include "data/tensor/tensor_half.h"
#include "data/tensor/tensor_text.h"
#include "nn/model_values.h"

// ---- Names ----

static const char BATCHES_TRACKED[] = ".num_batches_tracked";
static const char *const prefixes[] = {"module.", "_orig_mod."};
enum {
    PREFIXES = sizeof prefixes / sizeof *prefixes,
    WRAPPER_MAX = 128,
    REMEDY_BYTES = 256,
    PATTERN_MAX = 128,
    CHANGES_BYTES = 512
};

// The state of importing one checkpoint into a model.
typedef struct import {
    const model *m;
    const char *path;
    const import_exceptions *except; // NULL: the tool takes none
    char wrapper[WRAPPER_MAX];       // "model.": a prefix that is removed
    bool knows_any;                  // the model has a name of the file
    const tensor **source;           // for each tensor of the model; NULL: not found yet
    bool *kept;                      // for each tensor of the model: not taken from the file
    bool taken_off[PREFIXES];        // other prefixes, removed from some tensor
    bool converted[TENSOR_TYPES];    // types converted from; F32 does not count
} import;

static bool ends_with(const char *text, const char *end) {
    size_t length = strlen(text), suffix = strlen(end);
    return length >= suffix && strcmp(text + length - suffix, end) == 0;
}

// The model's tensor for `name`, or NULL; sets taken_off[] (NULL: not wanted). A layer may itself
// be called "module".
static const model_tensor *find(const model *m, const char *name, bool *taken_off) {
    const model_tensor *found;
    while (!(found = model_find(m, name))) {
        int p = 0;
        while (p < PREFIXES && strncmp(name, prefixes[p], strlen(prefixes[p])) != 0) p++;
        if (p == PREFIXES) return NULL;
        if (taken_off) taken_off[p] = true;
        name += strlen(prefixes[p]);
    }
    return found;
}

static bool is_excepted(const import *i, const char *name) {
    for (size_t k = 0; i->except && k < i->except->patterns->count; k++)
        if (fnmatch(i->except->patterns->items[k], name, 0) == 0) return true;
    return false;
}

static bool is_wrapped(const import *i, const char *name) {
    return strncmp(name, i->wrapper, strlen(i->wrapper)) == 0;
}

// The name without the wrapper's prefix.
static const char *bare(const import *i, const char *name) {
    return is_wrapped(i, name) ? name + strlen(i->wrapper) : name;
}

static size_t count_known(const import *i, const tensor_file *f) {
    size_t known = 0;
    for (size_t t = 0; t < f->count; t++) {
        const char *name = f->tensors[t].name;
        known += is_wrapped(i, name) && find(i->m, bare(i, name), NULL);
    }
    return known;
}

// Writes to i->wrapper what is before a name that the model knows; false if it knows none.
static bool wrapper_of(import *i, const char *name) {
    for (size_t p = 0; p < WRAPPER_MAX && name[p]; p++) {
        if ((p && name[p - 1] != '.') || !find(i->m, name + p, NULL)) continue;
        snprintf(i->wrapper, sizeof i->wrapper, "%.*s", (int)p, name);
        return true;
    }
    return false;
}

// A wrapper puts the network into a module of its own, whose name begins all names: "model.",
// "net.". Chooses the one without which the model knows most names. Equal names lie side by side,
// so few differ from the one before.
static void choose_wrapper(import *i, const tensor_file *f) {
    enum { TRIES = 16 };
    char best[WRAPPER_MAX] = "", last[WRAPPER_MAX] = "";
    size_t most = 0;
    for (size_t t = 0, tries = 0; t < f->count && tries < TRIES; t++) {
        const char *name = f->tensors[t].name;
        if (is_excepted(i, name) || !wrapper_of(i, name)) continue;
        if (tries && strcmp(i->wrapper, last) == 0) continue;
        const size_t known = count_known(i, f);
        memcpy(last, i->wrapper, sizeof last);
        if (known > most) memcpy(best, last, sizeof best);
        if (known > most) most = known;
        tries++;
    }
    memcpy(i->wrapper, best, sizeof best);
    i->knows_any = most > 0;
}

// ---- Tensors that are not taken from the file ----

static bool any_matches(const import *i, const char *pattern, const tensor_file *f) {
    for (int t = 0; t < i->m->tensor_count; t++)
        if (fnmatch(pattern, i->m->tensors[t].name, 0) == 0) return true;
    for (size_t t = 0; t < f->count; t++)
        if (fnmatch(pattern, f->tensors[t].name, 0) == 0 ||
            fnmatch(pattern, bare(i, f->tensors[t].name), 0) == 0)
            return true;
    return false;
}

static status refuse_pattern(const import *i, const char *pattern, const tensor_file *f,
                             error *err) {
    const size_t room = (size_t)i->m->tensor_count + f->count;
    const char **names = memory_new(room, sizeof *names);
    char *whole = memory_format("%s.*", pattern);
    status rc = STATUS_OK;
    size_t count = 0;
    for (int t = 0; t < i->m->tensor_count; t++) names[count++] = i->m->tensors[t].name;
    for (size_t t = 0; t < f->count; t++) names[count++] = bare(i, f->tensors[t].name);
    const char *near = any_matches(i, whole, f) ? whole : spelling_nearest(pattern, names, count);
    rc = error_set(err, i->except->fault,
                   "cannot use checkpoint: '%s': '%s %.200s' matches no tensor of model '%s' or of "
                   "the file%s%.200s%s",
                   i->path, i->except->written_as, pattern, i->m->name,
                   near ? ": did you mean '" : "", near ? near : "", near ? "'?" : "");
    free(whole);
    free(names);
    return rc;
}

static status apply_except(import *i, const tensor_file *f, error *err) {
    for (size_t k = 0; i->except && k < i->except->patterns->count; k++)
        if (!any_matches(i, i->except->patterns->items[k], f))
            return refuse_pattern(i, i->except->patterns->items[k], f, err);
    for (int t = 0; t < i->m->tensor_count; t++) i->kept[t] = is_excepted(i, i->m->tensors[t].name);
    return STATUS_OK;
}

// Writes what to pass so that `length` letters of a tensor's name, and what follows, do not count.
static const char *remedy(const import *i, const char *name, size_t length, const char *what,
                          char text[REMEDY_BYTES]) {
    text[0] = '\0';
    if (i->except)
        snprintf(text, REMEDY_BYTES, "; %s '%.*s%s' %s", i->except->written_as,
                 (int)(length < PATTERN_MAX ? length : PATTERN_MAX), name, name[length] ? ".*" : "",
                 what);
    return text;
}

static size_t length_of_layer(const char *name) {
    const char *dot = strrchr(name, '.');
    return dot ? (size_t)(dot - name) : strlen(name);
}

status model_import_check(const tensor_file *f, const char *path, error *err) {
    static const struct {
        const char *tensors[2], *what;
    } others[] = {
        {{"images", "labels"}, "a data set"},
        {{"logits", "labels"}, "predictions"},
        {{"loss", "digest"}, "the steps of a run"},
        {{"steps.loss", "steps.digest"}, "the state of a run, for --resume"},
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (tensor_file_find(f, others[i].tensors[0]) && tensor_file_find(f, others[i].tensors[1]))
            return error_set(err, STATUS_INPUT,
                             "cannot use checkpoint: '%s': it is %s, not a model: pass a run's "
                             "model.st.zst",
                             path, others[i].what);
    return STATUS_OK;
}

// What is beside the wrapped network is left out as a whole: "criterion.*".
static status refuse_unknown(const import *i, const tensor_file *f, const tensor *t, error *err) {
    char have[TENSOR_SHAPE_TEXT_BYTES], way[REMEDY_BYTES];
    const char *name = bare(i, t->name);
    const size_t length = is_wrapped(i, t->name) ? length_of_layer(name) : strcspn(name, ".");
    const status rc = model_import_check(f, i->path, err);
    if (rc != STATUS_OK) return rc;
    tensor_shape_text(have, t->type, t->rank, t->shape);
    if (!i->knows_any)
        return error_set(err, STATUS_INPUT,
                         "cannot use checkpoint: '%s': tensor '%s' (%s) is unknown to model '%s', "
                         "and so are all others: give the layers these names, by 'name:'",
                         i->path, t->name, have, i->m->name);
    return error_set(err, STATUS_INPUT,
                     "cannot use checkpoint: '%s': tensor '%s' (%s) is unknown to model '%s'%s",
                     i->path, t->name, have, i->m->name,
                     remedy(i, name, length, "leaves it out", way));
}

static int count_kept(const import *i) {
    int kept = 0;
    for (int k = 0; k < i->m->tensor_count; k++) kept += i->kept[k];
    return kept;
}

static status match_tensor(import *i, const tensor_file *f, const tensor *t, error *err) {
    const char *name = bare(i, t->name);
    if (ends_with(name, BATCHES_TRACKED)) return STATUS_OK;
    const model_tensor *found = find(i->m, name, i->taken_off);
    const ptrdiff_t at = found ? found - i->m->tensors : -1;
    if (is_excepted(i, t->name) || is_excepted(i, name)) {
        if (found) i->kept[at] = true;
        return STATUS_OK;
    }
    if (!found) return refuse_unknown(i, f, t, err);
    if (i->source[at])
        return error_set(err, STATUS_INPUT,
                         "cannot use checkpoint: '%s': tensors '%s' and '%s' are both '%s'",
                         i->path, i->source[at]->name, t->name, found->name);
    i->source[at] = t;
    return STATUS_OK;
}

// ---- Shapes and elements ----

static bool is_float(tensor_type type) {
    return type == TENSOR_F32 || type == TENSOR_F64 || type == TENSOR_F16 || type == TENSOR_BF16;
}

// Evaluation needs the statistics that training kept.
static status refuse_without_statistics(const import *i, const model_tensor *want, error *err) {
    static const char begins[] = "begins the statistics at their initial values, for training";
    char way[REMEDY_BYTES];
    return error_set(err, STATUS_INPUT,
                     "cannot use checkpoint: '%s': it has no tensor '%s': a batch norm with "
                     "track_running_stats=False is not supported, because the result of a test "
                     "image would depend on its batch%s",
                     i->path, want->name, remedy(i, "*.running_*", 11, begins, way));
}

static status check_shape(const import *i, const model_tensor *want, const tensor *t, error *err) {
    static const char begins[] = "begins it at its initial values";
    char expected[TENSOR_SHAPE_TEXT_BYTES], have[TENSOR_SHAPE_TEXT_BYTES], way[REMEDY_BYTES];
    tensor_shape_text(expected, TENSOR_F32, want->rank, want->shape);
    remedy(i, want->name, length_of_layer(want->name), begins, way);
    if (!t && want->is_buffer) return refuse_without_statistics(i, want, err);
    if (!t)
        return error_set(err, STATUS_INPUT,
                         "cannot use checkpoint: '%s': it has no tensor '%s' (expected %s)%s",
                         i->path, want->name, expected, way);
    bool fits = is_float(t->type) && t->rank == want->rank;
    for (int d = 0; fits && d < t->rank; d++) fits = t->shape[d] == want->shape[d];
    if (fits) return STATUS_OK;
    tensor_shape_text(have, t->type, t->rank, t->shape);
    return error_set(err, STATUS_INPUT,
                     "cannot use checkpoint: '%s': tensor '%s' is %s, expected %s%s", i->path,
                     t->name, have, expected, way);
}

static float element(const tensor *t, int64_t i) {
    switch (t->type) {
    case TENSOR_F64: return (float)((const double *)t->data)[i];
    case TENSOR_F16: return float_from_f16(((const uint16_t *)t->data)[i]);
    case TENSOR_BF16: return float_from_bf16(((const uint16_t *)t->data)[i]);
    case TENSOR_F32: return ((const float *)t->data)[i];
    case TENSOR_U8:
    case TENSOR_U32:
    case TENSOR_U64:
    case TENSOR_I64: break; // is_float
    }
    return NAN;
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

static status refuse_nothing(const import *i, error *err) {
    return error_set(err, i->except->fault,
                     "cannot use checkpoint: '%s': %s matches all tensors of model '%s': name "
                     "fewer, or begin without the file",
                     i->path, i->except->written_as, i->m->name);
}

static status copy_all(import *i, float *parameters, float *buffers, error *err) {
    const model *m = i->m;
    const bool all = !i->except || i->except->patterns->count == 0;
    if (all) memset(parameters, 0, m->program.parameters * sizeof *parameters);
    if (all && m->program.buffers) memset(buffers, 0, m->program.buffers * sizeof *buffers);
    for (int k = 0; k < m->tensor_count; k++) {
        const model_tensor *want = &m->tensors[k];
        const tensor *t = i->source[k];
        if (i->kept[k]) continue;
        status rc = check_shape(i, want, t, err);
        if (rc == STATUS_OK)
            rc = copy(i, t, want, (want->is_buffer ? buffers : parameters) + want->offset, err);
        if (rc != STATUS_OK) return rc;
        i->converted[t->type] = true;
    }
    return STATUS_OK;
}

// ---- The whole checkpoint ----

static void append(char text[CHANGES_BYTES], const char *format, const char *word) {
    size_t used = strlen(text);
    used += (size_t)snprintf(text + used, CHANGES_BYTES - used, "%s", used ? ", " : "");
    snprintf(text + used, CHANGES_BYTES - used, format, word);
}

static void log_changes(const import *i, const logger *log) {
    char text[CHANGES_BYTES] = "", count[16];
    const int kept = count_kept(i);
    snprintf(count, sizeof count, "%d", kept);
    if (*i->wrapper) append(text, "prefix '%s' is removed from the names", i->wrapper);
    for (int p = 0; p < PREFIXES; p++)
        if (i->taken_off[p]) append(text, "prefix '%s' is removed from the names", prefixes[p]);
    for (unsigned t = 0; t < TENSOR_TYPES; t++)
        if (i->converted[t] && t != TENSOR_F32)
            append(text, t == TENSOR_F64 ? "%s is rounded to F32" : "%s is converted to F32",
                   tensor_type_name((tensor_type)t));
    if (kept)
        append(text,
               kept == 1 ? "%s tensor begins at its initial values"
                         : "%s tensors begin at their initial values",
               count);
    if (*text) log_info(log, "'%s': %s", i->path, text);
}

status model_import(const model *m, float *parameters, float *buffers, const tensor_file *f,
                    const char *path, const import_exceptions *except, const logger *log,
                    error *err) {
import i = {.m = m, .path = path, .except = except };
    i.source = memory_new((size_t)m->tensor_count, sizeof *i.source);
    i.kept = memory_new((size_t)m->tensor_count, sizeof *i.kept);
    status rc = STATUS_OK;
    choose_wrapper(&i, f);
    TRY(apply_except(&i, f, err));
    for (size_t t = 0; t < f->count; t++) TRY(match_tensor(&i, f, &f->tensors[t], err));
    if (count_kept(&i) == m->tensor_count) TRY(refuse_nothing(&i, err));
    TRY(copy_all(&i, parameters, buffers, err));
    log_changes(&i, log);
out:
    free(i.kept);
    free(i.source);
    return rc;
}

// ---- The model and the normalisation in the metadata ----

typedef status reader(const yaml_node *tree, void *target, error *err);

// Reads the JSON of a key. Other programs use keys of these names, too. `options` can be given
// instead.
static status read_key(const tensor_file *f, const char *path, const char *key, const char *options,
                       reader *read, void *target, error *err) {
    const char *text = tensor_file_metadata(f, key);
    yaml_node *tree = NULL;
    error why = {0};
    if (!text)
        return error_set(err, STATUS_INPUT,
                         "cannot use checkpoint: '%s': it has no '%s' in its metadata; give %s",
                         path, key, options);
    status rc = json_to_yaml(text, key, &tree, &why);
    if (rc == STATUS_OK) rc = read(tree, target, &why);
    yaml_free(tree);
    if (rc == STATUS_INPUT)
        return error_set(err, rc,
                         "cannot use checkpoint: '%s': the key '%s' in its metadata, '%.60s', was "
                         "not written by this program (%s); give %s",
                         path, key, text, why.message, options);
    return rc == STATUS_OK ? rc : error_set(err, rc, "%s", why.message);
}

static status read_model(const yaml_node *tree, void *target, error *err) {
    return model_from_yaml(target, tree, err);
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
        NEED(yaml_number(list->items[c], key, &value, err));
        values[c] = (float)value;
    }
    return STATUS_OK;
}

static status read_normalization(const yaml_node *tree, void *target, error *err) {
    normalization *n = target;
    char why[NORMALIZATION_WHY_BYTES];
    int deviations;
    NEED(read_numbers(tree, "mean", &n->channels, n->mean, err));
    NEED(read_numbers(tree, "std", &deviations, n->std, err));
    if (deviations != n->channels)
        return error_set(err, STATUS_INPUT, "%d means, %d standard deviations", n->channels,
                         deviations);
    if (!normalization_check(n, why)) return error_set(err, STATUS_INPUT, "%s", why);
    return STATUS_OK;
}

status model_import_architecture(const tensor_file *f, const char *path, model *m, error *err) {
    return read_key(f, path, "model", "--architecture MODEL.yaml", read_model, m, err);
}

status model_import_normalization(const tensor_file *f, const char *path, normalization *n,
                                  error *err) {
    return read_key(f, path, "normalize", "--mean and --std", read_normalization, n, err);
}
