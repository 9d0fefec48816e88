// SPDX-License-Identifier: MIT
#include "data/labels.h"

#include <stdlib.h>

#include "base/json.h"
#include "base/memory.h"

enum { NARROW_CLASSES = 256 };

status labels_require(const tensor_file *f, const char *path, int64_t samples, const tensor **found,
                      error *err) {
    const tensor *t = tensor_file_find(f, "labels");
    const tensor_type type = t && t->type == TENSOR_U32 ? TENSOR_U32 : TENSOR_U8;
    return tensor_file_require(f, path, "labels", type, 1, &samples, found, err);
}

status labels_copy(const tensor *labels, const char *what, const char *path, int classes,
                   uint32_t *to, error *err) {
    const size_t count = (size_t)labels->shape[0];
    const uint8_t *narrow = labels->type == TENSOR_U8 ? labels->data : NULL;
    const uint32_t *wide = labels->data;
    for (size_t i = 0; i < count; i++) {
        to[i] = narrow ? narrow[i] : wide[i];
        if (to[i] >= (uint32_t)classes)
            return error_set(err, STATUS_INPUT,
                             "cannot read %s: '%s': label %u of sample %zu: there are %d classes",
                             what, path, to[i], i, classes);
    }
    return STATUS_OK;
}

status labels_add(tensor_file *f, const uint32_t *labels, int64_t samples, int classes,
                  error *err) {
    if (classes > NARROW_CLASSES)
        return tensor_file_add(f, "labels", TENSOR_U32, 1, &samples, labels, true, err);
    uint8_t *narrow = memory_new((size_t)samples, 1, err);
    if (!narrow) return STATUS_FAILED;
    for (int64_t i = 0; i < samples; i++) narrow[i] = (uint8_t)labels[i];
    status rc = tensor_file_add(f, "labels", TENSOR_U8, 1, &samples, narrow, true, err);
    free(narrow);
    return rc;
}

yaml_node *labels_names(const char *text, int classes) {
    yaml_node *names = NULL;
    if (!text || json_to_yaml(text, "classes", &names, NULL) != STATUS_OK) return NULL;
    bool fits = names->kind == YAML_SEQUENCE && names->count == (size_t)classes;
    for (size_t i = 0; fits && i < names->count; i++) fits = names->items[i]->kind == YAML_SCALAR;
    if (fits) return names;
    yaml_free(names);
    return NULL;
}
