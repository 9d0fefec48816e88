// SPDX-License-Identifier: MIT
#include "base/json.h"

#include <jansson.h>
#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/number_text.h"
#include "base/output.h"
#include "base/printable.h"

// ---- Memory ----

static _Thread_local bool memory_failed;
static pthread_once_t watching = PTHREAD_ONCE_INIT;

static void *allocate(size_t bytes) {
    void *memory = malloc(bytes);
    memory_failed |= !memory;
    return memory;
}

static void watch(void) {
    json_set_alloc_funcs(allocate, free);
}

void json_memory_watch(void) {
    (void)pthread_once(&watching, watch);
    memory_failed = false;
}

bool json_memory_failed(void) {
    return memory_failed;
}

// ---- Canonical text ----

typedef struct text_buffer {
    char *text;
    size_t bytes, capacity;
} text_buffer;

static status put_bytes(text_buffer *b, const char *text, size_t length, error *err) {
    void *grown = b->text;
    status rc = memory_grow(&grown, &b->capacity, b->bytes + length + 1, 1, err);
    b->text = grown;
    if (rc != STATUS_OK) return rc;
    memcpy(b->text + b->bytes, text, length);
    b->bytes += length;
    b->text[b->bytes] = 0;
    return STATUS_OK;
}

static status put(text_buffer *b, const char *text, error *err) {
    return put_bytes(b, text, strlen(text), err);
}

// Quotation mark, backslash and control characters are escaped, by their short form if they have
// one.
static status put_string(text_buffer *b, const char *text, error *err) {
    static const char escaped[] = "\"\\\b\f\n\r\t", letters[] = "\"\\bfnrt";
    status rc;
    if (!printable_is_utf8(text))
        return error_set(err, STATUS_INPUT, "cannot write JSON: a string is not valid UTF-8");
    TRY(put(b, "\"", err));
    while (*text) {
        size_t plain = 0;
        while ((unsigned char)text[plain] >= 0x20 && text[plain] != '"' && text[plain] != '\\')
            plain++;
        TRY(put_bytes(b, text, plain, err));
        text += plain;
        if (!*text) break;
        char code[8];
        const char *place = strchr(escaped, *text);
        if (place)
            snprintf(code, sizeof code, "\\%c", letters[place - escaped]);
        else
            snprintf(code, sizeof code, "\\u%04X", (unsigned)(unsigned char)*text);
        TRY(put(b, code, err));
        text++;
    }
    TRY(put(b, "\"", err));
out:
    return rc;
}

// An integer keeps all its digits; "+1" and "-0" are not JSON and not canonical.
static status put_integer(text_buffer *b, const yaml_node *node, error *err) {
    const char *digits = node->text + (*node->text == '+' || *node->text == '-');
    bool negative = *node->text == '-' && strcmp(digits, "0") != 0;
    status rc = negative ? put(b, "-", err) : STATUS_OK;
    return rc == STATUS_OK ? put(b, digits, err) : rc;
}

static status put_number(text_buffer *b, const yaml_node *node, error *err) {
    double value = strtod(node->text, NULL);
    if (!isfinite(value)) return put_string(b, node->text, err);
    char text[NUMBER_TEXT_BYTES];
    number_text(value, text);
    return put(b, text, err);
}

static status put_scalar(text_buffer *b, const yaml_node *node, error *err) {
    switch (yaml_scalar_type(node)) {
    case YAML_NULL: return put(b, "null", err);
    case YAML_BOOLEAN:
        return put(b, *node->text == 't' || *node->text == 'T' ? "true" : "false", err);
    case YAML_INTEGER: return put_integer(b, node, err);
    case YAML_NUMBER: return put_number(b, node, err);
    case YAML_STRING: break;
    }
    return put_string(b, node->text, err);
}

static status put_node(text_buffer *b, const yaml_node *node, error *err);

static status put_sequence(text_buffer *b, const yaml_node *node, error *err) {
    status rc = STATUS_OK;
    TRY(put(b, "[", err));
    for (size_t i = 0; i < node->count; i++) {
        if (i) TRY(put(b, ",", err));
        TRY(put_node(b, node->items[i], err));
    }
    TRY(put(b, "]", err));
out:
    return rc;
}

typedef struct member {
    const char *key;
    const yaml_node *value;
} member;

static int by_key(const void *a, const void *b) {
    return strcmp(((const member *)a)->key, ((const member *)b)->key);
}

static status put_mapping(text_buffer *b, const yaml_node *node, error *err) {
    status rc = STATUS_FAILED;
    member *members = memory_new(node->count, sizeof *members, err);
    if (!members) goto out;
    for (size_t i = 0; i < node->count; i++) members[i] = (member){node->keys[i], node->items[i]};
    qsort(members, node->count, sizeof *members, by_key);
    TRY(put(b, "{", err));
    for (size_t i = 0; i < node->count; i++) {
        if (i) TRY(put(b, ",", err));
        TRY(put_string(b, members[i].key, err));
        TRY(put(b, ":", err));
        TRY(put_node(b, members[i].value, err));
    }
    TRY(put(b, "}", err));
out:
    free(members);
    return rc;
}

static status put_node(text_buffer *b, const yaml_node *node, error *err) {
    switch (node->kind) {
    case YAML_SCALAR: return put_scalar(b, node, err);
    case YAML_SEQUENCE: return put_sequence(b, node, err);
    case YAML_MAPPING: break;
    }
    return put_mapping(b, node, err);
}

status json_from_yaml(const yaml_node *node, char **text, error *err) {
    text_buffer buffer = {0};
    status rc = put_node(&buffer, node, err);
    if (rc != STATUS_OK) {
        free(buffer.text);
        buffer.text = NULL;
    }
    *text = buffer.text;
    return rc;
}

// ---- Printing for --json ----

status json_print(const yaml_node *node, error *err) {
    char *text = NULL;
    output *out = NULL;
    status rc;
    TRY(json_from_yaml(node, &text, err));
    TRY(output_open("-", &out, err));
    TRY(output_format(out, err, "%s\n", text));
    TRY(output_commit(out, err));
out:
    output_free(out);
    free(text);
    return rc;
}

yaml_node *json_new_number(double value, error *err) {
    if (isfinite(value)) return yaml_new_number(value, err);
    yaml_node *null = yaml_new_string("null", err);
    if (null) null->quoted = false;
    return null;
}

yaml_node *json_new_string(const char *text, error *err) {
    char *copy = memory_string(text, err);
    if (!copy) return NULL;
    const bool utf8 = printable_is_utf8(copy);
    for (char *c = copy; !utf8 && *c; c++)
        if ((unsigned char)*c >= 0x80) *c = '?';
    yaml_node *node = yaml_new_string(copy, err);
    if (node) node->quoted = true;
    free(copy);
    return node;
}

yaml_node *json_new_lines(const char *text, error *err) {
    yaml_node *list = yaml_new(YAML_SEQUENCE, err);
    while (list && *text) {
        const size_t length = strcspn(text, "\n");
        char *line = memory_format(err, "%.*s", (int)length, text);
        const status rc = line ? yaml_append(list, json_new_string(line, err), err) : STATUS_FAILED;
        free(line);
        if (rc != STATUS_OK) {
            yaml_free(list);
            return NULL;
        }
        text += length + (text[length] == '\n');
    }
    return list;
}

// ---- Reading ----

// More members than any description has; bounds the time that adding them takes.
enum { MAX_MEMBERS = 4096 };

static yaml_node *convert(const json_t *value, int depth, const char *name, error *err);

static yaml_node *convert_members(const json_t *object, int depth, const char *name, error *err) {
    if (json_object_size(object) > MAX_MEMBERS) {
        error_set(err, STATUS_INPUT, "%s: a JSON object has more than %d members", name,
                  MAX_MEMBERS);
        return NULL;
    }
    yaml_node *mapping = yaml_new(YAML_MAPPING, err);
    void *i = mapping ? json_object_iter((json_t *)object) : NULL;
    for (; i; i = json_object_iter_next((json_t *)object, i)) {
        yaml_node *item = convert(json_object_iter_value(i), depth + 1, name, err);
        if (yaml_put(mapping, json_object_iter_key(i), item, err) == STATUS_OK) continue;
        yaml_free(mapping);
        return NULL;
    }
    return mapping;
}

static yaml_node *convert_items(const json_t *array, int depth, const char *name, error *err) {
    yaml_node *sequence = yaml_new(YAML_SEQUENCE, err);
    for (size_t i = 0; sequence && i < json_array_size(array); i++) {
        yaml_node *item = convert(json_array_get(array, i), depth + 1, name, err);
        if (yaml_append(sequence, item, err) == STATUS_OK) continue;
        yaml_free(sequence);
        return NULL;
    }
    return sequence;
}

static yaml_node *convert(const json_t *value, int depth, const char *name, error *err) {
    yaml_node *node;
    if ((json_is_object(value) || json_is_array(value)) && depth == YAML_MAX_DEPTH) {
        error_set(err, STATUS_INPUT, "%s: JSON is nested deeper than %d levels", name,
                  YAML_MAX_DEPTH);
        return NULL;
    }
    switch (json_typeof(value)) {
    case JSON_OBJECT: return convert_members(value, depth, name, err);
    case JSON_ARRAY: return convert_items(value, depth, name, err);
    case JSON_INTEGER: return yaml_new_integer(json_integer_value(value), err);
    case JSON_REAL: return yaml_new_number(json_real_value(value), err);
    case JSON_TRUE: return yaml_new_boolean(true, err);
    case JSON_FALSE: return yaml_new_boolean(false, err);
    case JSON_STRING:
        node = yaml_new_string(json_string_value(value), err);
        if (node) node->quoted = true;
        return node;
    case JSON_NULL: break;
    }
    node = yaml_new_string("null", err);
    if (node) node->quoted = false;
    return node;
}

status json_to_yaml(const char *text, const char *name, yaml_node **root, error *err) {
    *root = NULL;
    size_t bytes = strlen(text);
    if (bytes > YAML_MAX_BYTES)
        return error_set(err, STATUS_INPUT, "%s: JSON is longer than %d bytes", name,
                         YAML_MAX_BYTES);
    json_error_t problem;
    json_memory_watch();
    json_t *value = json_loadb(text, bytes, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &problem);
    if (json_memory_failed()) {
        json_decref(value);
        return error_set(err, STATUS_FAILED, "out of memory: cannot parse JSON");
    }
    if (!value)
        return error_set(err, STATUS_INPUT, "%s:%d:%d: %s", name, problem.line, problem.column,
                         problem.text);
    error local = {.code = STATUS_FAILED}; // convert has no status of its own: the error holds it
    yaml_node *tree = convert(value, 0, name, &local);
    json_decref(value);
    status rc = tree ? yaml_set_origin(tree, name, ERROR_IN_FILE, 0, &local) : local.code;
    if (rc != STATUS_OK) {
        yaml_free(tree);
        return error_pass(&local, err);
    }
    *root = tree;
    return STATUS_OK;
}

const char *json_library_version(void) {
    return jansson_version_str();
}
