// SPDX-License-Identifier: MIT
#include "data/labels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/memory.h"
#include "base/spelling.h"

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
    if (classes > NARROW_CLASSES) {
        tensor_file_add(f, "labels", TENSOR_U32, 1, &samples, labels);
        return STATUS_OK;
    }
    uint8_t *narrow = memory_try_new((size_t)samples, 1, err);
    if (!narrow) return STATUS_FAILED;
    for (int64_t i = 0; i < samples; i++) narrow[i] = (uint8_t)labels[i];
    tensor_file_give(f, "labels", TENSOR_U8, 1, &samples, narrow);
    return STATUS_OK;
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

// ---- Chosen classes ----

yaml_node *labels_split(const char *text) {
    yaml_node *names = yaml_new(YAML_SEQUENCE);
    for (const char *at = text; at; at = *at ? at + 1 : NULL) {
        const char *begin = at + strspn(at, " ");
        at += strcspn(at, ",");
        size_t length = at > begin ? (size_t)(at - begin) : 0;
        while (length && begin[length - 1] == ' ') length--;
        char *name = memory_format("%.*s", (int)length, begin);
        yaml_append(names, yaml_new_string(name));
        free(name);
    }
    return names;
}

static status no_such_class(const char *name, const char *const *names, size_t count, error *err) {
    enum { LISTED = 20 };
    const char *near = spelling_nearest(name, names, count);
    char list[1024] = "";
    for (size_t i = 0, used = 0; i < count && i < LISTED && used < sizeof list; i++)
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", names[i]);
    return error_set(err, STATUS_USAGE, "bad value of --classes: '%s': the classes are %s%s%s%s%s",
                     name, list, count > LISTED ? ", …" : "", near ? "; did you mean '" : "",
                     near ? near : "", near ? "'?" : "");
}

status labels_choose(const yaml_node *wanted, const char *const *names, size_t count,
                     size_t *chosen, error *err) {
    if (wanted->count < 2)
        return error_set(err, STATUS_USAGE,
                         "bad value of --classes: expected two or more names, as in cat,dog");
    for (size_t i = 0; i < wanted->count; i++) {
        const char *name = wanted->items[i]->text;
        size_t k = 0;
        while (k < count && strcmp(names[k], name) != 0) k++;
        if (k == count) return no_such_class(name, names, count, err);
        for (size_t before = 0; before < i; before++)
            if (chosen[before] == k)
                return error_set(err, STATUS_USAGE, "bad value of --classes: '%s' occurs twice",
                                 name);
        chosen[i] = k;
    }
    return STATUS_OK;
}
