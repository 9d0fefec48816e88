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
#include "base/text.h"

// ---- Memory ----

static void *allocate(size_t bytes) {
    void *memory = malloc(bytes);
    if (!memory) memory_die(bytes);
    return memory;
}

static void set_allocation(void) {
    json_set_alloc_funcs(allocate, free);
}

void json_begin(void) {
    static pthread_once_t begun = PTHREAD_ONCE_INIT;
    (void)pthread_once(&begun, set_allocation);
}

// ---- Canonical text ----

// Quotation mark, backslash and control characters are escaped, by their short form if they have
// one.
static void put_string(text *b, const char *string) {
    static const char escaped[] = "\"\\\b\f\n\r\t", letters[] = "\"\\bfnrt";
    const unsigned end = printable_is_utf8(string) ? 0x100 : 0x80;
    text_append(b, "\"");
    while (*string) {
        size_t plain = 0;
        while ((unsigned char)string[plain] >= 0x20 && (unsigned char)string[plain] < end &&
               string[plain] != '"' && string[plain] != '\\')
            plain++;
        text_bytes(b, string, plain);
        string += plain;
        if (!*string) break;
        const char *place = strchr(escaped, *string);
        if (place)
            text_format(b, "\\%c", letters[place - escaped]);
        else if ((unsigned char)*string >= end)
            text_append(b, "?");
        else
            text_format(b, "\\u%04X", (unsigned)(unsigned char)*string);
        string++;
    }
    text_append(b, "\"");
}

// An integer keeps all its digits; "+1" and "-0" are not JSON and not canonical.
static void put_integer(text *b, const yaml_node *node) {
    const char *digits = node->text + (*node->text == '+' || *node->text == '-');
    bool negative = *node->text == '-' && strcmp(digits, "0") != 0;
    text_format(b, "%s%s", negative ? "-" : "", digits);
}

static void put_number(text *b, const yaml_node *node) {
    double value = strtod(node->text, NULL);
    char digits[NUMBER_TEXT_BYTES];
    if (!isfinite(value)) {
        put_string(b, node->text);
        return;
    }
    number_text(value, digits);
    text_append(b, digits);
}

static void put_scalar(text *b, const yaml_node *node) {
    switch (yaml_scalar_type(node)) {
    case YAML_NULL: text_append(b, "null"); break;
    case YAML_BOOLEAN:
        text_append(b, *node->text == 't' || *node->text == 'T' ? "true" : "false");
        break;
    case YAML_INTEGER: put_integer(b, node); break;
    case YAML_NUMBER: put_number(b, node); break;
    case YAML_STRING: put_string(b, node->text); break;
    }
}

static void put_node(text *b, const yaml_node *node);

static void put_sequence(text *b, const yaml_node *node) {
    text_append(b, "[");
    for (size_t i = 0; i < node->count; i++) {
        if (i) text_append(b, ",");
        put_node(b, node->items[i]);
    }
    text_append(b, "]");
}

typedef struct member {
    const char *key;
    const yaml_node *value;
} member;

static int by_key(const void *a, const void *b) {
    return strcmp(((const member *)a)->key, ((const member *)b)->key);
}

static void put_mapping(text *b, const yaml_node *node) {
    member *members = memory_new(node->count, sizeof *members);
    for (size_t i = 0; i < node->count; i++) members[i] = (member){node->keys[i], node->items[i]};
    qsort(members, node->count, sizeof *members, by_key);
    text_append(b, "{");
    for (size_t i = 0; i < node->count; i++) {
        if (i) text_append(b, ",");
        put_string(b, members[i].key);
        text_append(b, ":");
        put_node(b, members[i].value);
    }
    text_append(b, "}");
    free(members);
}

static void put_node(text *b, const yaml_node *node) {
    switch (node->kind) {
    case YAML_SCALAR: put_scalar(b, node); break;
    case YAML_SEQUENCE: put_sequence(b, node); break;
    case YAML_MAPPING: put_mapping(b, node); break;
    }
}

char *json_from_yaml(const yaml_node *node) {
    text t = {0};
    put_node(&t, node);
    return text_take(&t);
}

// ---- Printing for --json ----

status json_print(const yaml_node *node, error *err) {
    text line = {0};
    put_node(&line, node);
    text_append(&line, "\n");
    const status rc = output_write_file("-", text_string(&line), line.length, err);
    text_release(&line);
    return rc;
}

status json_answer(yaml_node *answer, error *err) {
    const status rc = json_print(answer, err);
    yaml_free(answer);
    return rc;
}

yaml_node *json_new_number(double value) {
    if (isfinite(value)) return yaml_new_number(value);
    yaml_node *null = yaml_new_string("null");
    null->quoted = false;
    return null;
}

yaml_node *json_new_string(const char *string) {
    char *copy = memory_string(string);
    const bool utf8 = printable_is_utf8(copy);
    for (char *c = copy; !utf8 && *c; c++)
        if ((unsigned char)*c >= 0x80) *c = '?';
    yaml_node *node = yaml_new_string(copy);
    node->quoted = true;
    free(copy);
    return node;
}

yaml_node *json_new_count(int64_t value) {
    return value < 0 ? json_new_number((double)NAN) : yaml_new_integer(value);
}

yaml_node *json_new_text(const char *string) {
    return string && *string ? json_new_string(string) : json_new_number((double)NAN);
}

yaml_node *json_new_lines(const char *string) {
    yaml_node *list = yaml_new(YAML_SEQUENCE);
    while (*string) {
        const size_t length = strcspn(string, "\n");
        char *line = memory_format("%.*s", (int)length, string);
        yaml_append(list, json_new_string(line));
        free(line);
        string += length + (string[length] == '\n');
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
    yaml_node *mapping = yaml_new(YAML_MAPPING);
    void *i = json_object_iter((json_t *)object);
    for (; i; i = json_object_iter_next((json_t *)object, i)) {
        yaml_node *item = convert(json_object_iter_value(i), depth + 1, name, err);
        if (!item) {
            yaml_free(mapping);
            return NULL;
        }
        yaml_put(mapping, json_object_iter_key(i), item);
    }
    return mapping;
}

static yaml_node *convert_items(const json_t *array, int depth, const char *name, error *err) {
    yaml_node *sequence = yaml_new(YAML_SEQUENCE);
    for (size_t i = 0; i < json_array_size(array); i++) {
        yaml_node *item = convert(json_array_get(array, i), depth + 1, name, err);
        if (!item) {
            yaml_free(sequence);
            return NULL;
        }
        yaml_append(sequence, item);
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
    case JSON_INTEGER: return yaml_new_integer(json_integer_value(value));
    case JSON_REAL: return yaml_new_number(json_real_value(value));
    case JSON_TRUE: return yaml_new_boolean(true);
    case JSON_FALSE: return yaml_new_boolean(false);
    case JSON_STRING:
        node = yaml_new_string(json_string_value(value));
        node->quoted = true;
        return node;
    case JSON_NULL: break;
    }
    node = yaml_new_string("null");
    node->quoted = false;
    return node;
}

status json_to_yaml(const char *string, const char *name, yaml_node **root, error *err) {
    *root = NULL;
    size_t bytes = strlen(string);
    if (bytes > YAML_MAX_BYTES)
        return error_set(err, STATUS_INPUT, "%s: JSON is longer than %d bytes", name,
                         YAML_MAX_BYTES);
    json_error_t problem;
    json_begin();
    json_t *value = json_loadb(string, bytes, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &problem);
    if (!value)
        return error_set(err, STATUS_INPUT, "%s:%d:%d: %s", name, problem.line, problem.column,
                         problem.text);
    *root = convert(value, 0, name, err);
    json_decref(value);
    if (!*root) return STATUS_INPUT;
    yaml_set_origin(*root, name, ERROR_IN_FILE, 0);
    return STATUS_OK;
}

const char *json_library_version(void) {
    return jansson_version_str();
}
