#include "train/model_file.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/memory.h"

static const char BATCHES_TRACKED[] = ".num_batches_tracked";

status model_file_store(const model *m, const char *prefix, const float *parameters,
                        const float *buffers, tensor_file *f, error *err) {
    for (int i = 0; i < m->tensor_count; i++) {
        const model_tensor *t = &m->tensors[i];
        const float *arena = t->is_buffer ? buffers : parameters;
        if (!arena) continue;
        char *name = memory_format(err, "%s%s", prefix, t->name);
        if (!name) return STATUS_FAILED;
        status rc =
            tensor_file_add(f, name, TENSOR_F32, t->rank, t->shape, arena + t->offset, false, err);
        free(name);
        if (rc != STATUS_OK) return rc;
    }
    return STATUS_OK;
}

status model_file_load(const model *m, const char *prefix, float *parameters, float *buffers,
                       const tensor_file *f, const char *path, error *err) {
    if (parameters) memset(parameters, 0, m->program.parameters * sizeof *parameters);
    if (buffers) memset(buffers, 0, m->program.buffers * sizeof *buffers);
    for (int i = 0; i < m->tensor_count; i++) {
        const model_tensor *t = &m->tensors[i];
        const tensor *found;
        float *arena = t->is_buffer ? buffers : parameters;
        if (!arena) continue;
        char *name = memory_format(err, "%s%s", prefix, t->name);
        if (!name) return STATUS_FAILED;
        status rc = tensor_file_require(f, path, name, TENSOR_F32, t->rank, t->shape, &found, err);
        free(name);
        if (rc != STATUS_OK) return rc;
        memcpy(arena + t->offset, found->data, found->bytes);
    }
    return STATUS_OK;
}

static bool ends_with(const char *text, const char *end) {
    size_t length = strlen(text), tail = strlen(end);
    return length >= tail && strcmp(text + length - tail, end) == 0;
}

status model_file_load_all(const model *m, float *parameters, float *buffers, const tensor_file *f,
                           const char *path, error *err) {
    for (size_t i = 0; i < f->count; i++)
        if (!model_find(m, f->tensors[i].name) && !ends_with(f->tensors[i].name, BATCHES_TRACKED))
            return error_set(err, STATUS_INPUT,
                             "cannot use checkpoint: '%s': tensor '%s' is unknown to model '%s'",
                             path, f->tensors[i].name, m->name);
    return model_file_load(m, "", parameters, buffers, f, path, err);
}

static yaml_node *number_list(const float *values, int count, error *err) {
    yaml_node *list = yaml_new(YAML_SEQUENCE, err);
    for (int i = 0; list && i < count; i++)
        if (yaml_append(list, yaml_new_float(values[i], err), err) != STATUS_OK) {
            yaml_free(list);
            return NULL;
        }
    return list;
}

status model_file_normalization_text(const normalization *n, char **text, error *err) {
    status rc = STATUS_FAILED;
    yaml_node *tree = yaml_new(YAML_MAPPING, err);
    if (!tree) return rc;
    TRY(yaml_put(tree, "mean", number_list(n->mean, n->channels, err), err));
    TRY(yaml_put(tree, "std", number_list(n->std, n->channels, err), err));
    TRY(json_from_yaml(tree, text, err));
out:
    yaml_free(tree);
    return rc;
}

status model_file_write(const char *path, const model *m, const float *parameters,
                        const float *buffers, const normalization *n, const char *classes,
                        tensor_file *f, error *err) {
    status rc;
    char *normalize = NULL;
    TRY(model_file_normalization_text(n, &normalize, err));
    TRY(tensor_file_add_metadata(f, "model", m->canonical, err));
    TRY(tensor_file_add_metadata(f, "normalize", normalize, err));
    if (classes) TRY(tensor_file_add_metadata(f, "classes", classes, err));
    TRY(model_file_store(m, "", parameters, buffers, f, err));
    TRY(tensor_file_write(path, f, err));
out:
    free(normalize);
    return rc;
}

static status metadata_tree(const tensor_file *f, const char *path, const char *key,
                            const char *options, yaml_node **tree, error *err) {
    const char *text = tensor_file_metadata(f, key);
    if (!text)
        return error_set(err, STATUS_INPUT,
                         "cannot use checkpoint: '%s': it has no '%s' in its metadata; give %s",
                         path, key, options);
    return json_to_yaml(text, path, tree, err);
}

status model_file_architecture(const tensor_file *f, const char *path, model *m, error *err) {
    yaml_node *tree = NULL;
    status rc;
    TRY(metadata_tree(f, path, "model", "--architecture MODEL.yaml", &tree, err));
    TRY(model_from_yaml(m, tree, err));
out:
    yaml_free(tree);
    return rc;
}

static status read_numbers(const yaml_node *tree, const char *path, const char *key, int channels,
                           float *values, error *err) {
    const yaml_node *list = yaml_find(tree, key);
    if (!list || list->kind != YAML_SEQUENCE || list->count != (size_t)channels)
        return error_set(err, STATUS_INPUT,
                         "cannot use checkpoint: '%s': its 'normalize' has no list '%s' of %d "
                         "numbers",
                         path, key, channels);
    for (int c = 0; c < channels; c++) {
        double value;
        status rc = yaml_number(list->items[c], key, &value, err);
        if (rc != STATUS_OK) return rc;
        values[c] = (float)value;
    }
    return STATUS_OK;
}

status model_file_normalization(const tensor_file *f, const char *path, normalization *n,
                                error *err) {
    yaml_node *tree = NULL;
    status rc;
    TRY(metadata_tree(f, path, "normalize", "--mean and --std", &tree, err));
    const yaml_node *mean = tree->kind == YAML_MAPPING ? yaml_find(tree, "mean") : NULL;
    if (!mean || mean->count < 1 || mean->count > ENGINE_MAX_CHANNELS) {
        rc = error_set(err, STATUS_INPUT,
                       "cannot use checkpoint: '%s': 'normalize' in its metadata is not "
                       "{mean: [...], std: [...]} of 1 to %d channels",
                       path, ENGINE_MAX_CHANNELS);
        goto out;
    }
    n->channels = (int)mean->count;
    TRY(read_numbers(tree, path, "mean", n->channels, n->mean, err));
    TRY(read_numbers(tree, path, "std", n->channels, n->std, err));
    for (int c = 0; c < n->channels; c++)
        if (!(n->std[c] > 0)) {
            rc = error_set(err, STATUS_INPUT,
                           "cannot use checkpoint: '%s': a standard deviation of %g", path,
                           (double)n->std[c]);
            goto out;
        }
out:
    yaml_free(tree);
    return rc;
}
