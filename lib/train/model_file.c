// SPDX-License-Identifier: MIT
#include "train/model_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/memory.h"

bool normalization_check(const normalization *n, char why[NORMALIZATION_WHY_BYTES]) {
    for (int c = 0; c < n->channels; c++) {
        if (!pixel_mean_is_possible((double)n->mean[c], why) ||
            !pixel_deviation_is_possible((double)n->std[c], why))
            return false;
        if (engine_can_normalise(n->mean[c], n->std[c])) continue;
        snprintf(why, NORMALIZATION_WHY_BYTES, "a standard deviation of %g is too small",
                 (double)n->std[c]);
        return false;
    }
    return true;
}

void model_file_store(const model *m, const char *prefix, const float *parameters,
                      const float *buffers, tensor_file *f) {
    for (int i = 0; i < m->tensor_count; i++) {
        const model_tensor *t = &m->tensors[i];
        const float *arena = t->is_buffer ? buffers : parameters;
        if (!arena) continue;
        char *name = memory_format("%s%s", prefix, t->name);
        tensor_file_add(f, name, TENSOR_F32, t->rank, t->shape, arena + t->offset);
        free(name);
    }
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
        char *name = memory_format("%s%s", prefix, t->name);
        status rc = tensor_file_require(f, path, name, TENSOR_F32, t->rank, t->shape, &found, err);
        free(name);
        if (rc != STATUS_OK) return rc;
        memcpy(arena + t->offset, found->data, found->bytes);
    }
    return STATUS_OK;
}

static yaml_node *number_list(const float *values, int count) {
    yaml_node *list = yaml_new(YAML_SEQUENCE);
    for (int i = 0; i < count; i++) yaml_append(list, yaml_new_float(values[i]));
    return list;
}

char *model_file_normalization_text(const normalization *n) {
    yaml_node *tree = yaml_new(YAML_MAPPING);
    yaml_put(tree, "mean", number_list(n->mean, n->channels));
    yaml_put(tree, "std", number_list(n->std, n->channels));
    char *text = json_from_yaml(tree);
    yaml_free(tree);
    return text;
}

void model_file_describe(const model *m, const float *parameters, const float *buffers,
                         const normalization *n, const char *classes, tensor_file *f) {
    char *normalize = model_file_normalization_text(n);
    tensor_file_add_metadata(f, "model", m->canonical);
    tensor_file_add_metadata(f, "normalize", normalize);
    if (classes) tensor_file_add_metadata(f, "classes", classes);
    model_file_store(m, "", parameters, buffers, f);
    free(normalize);
}

status model_file_write(const char *path, const model *m, const float *parameters,
                        const float *buffers, const normalization *n, const char *classes,
                        tensor_file *f, error *err) {
    model_file_describe(m, parameters, buffers, n, classes, f);
    return tensor_file_write(path, f, err);
}
