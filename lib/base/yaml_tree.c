// SPDX-License-Identifier: MIT
// The tree in memory: nodes, looking up, scalars and values. Nothing here uses libyaml.
#include "base/yaml_tree.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/hint.h"
#include "base/memory.h"
#include "base/number_text.h"
#include "base/printable.h"
#include "base/yaml_tree_internal.h"

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

// ---- Nodes ----

yaml_node *yaml_new(yaml_kind kind) {
    yaml_node *node = memory_new(1, sizeof *node);
    node->kind = kind;
    return node;
}

yaml_node *yaml_new_scalar(const char *text, bool quoted) {
    yaml_node *node = yaml_new(YAML_SCALAR);
    node->quoted = quoted;
    node->text = memory_string(text);
    return node;
}

// Recursive: every way to make a tree bounds its depth (reading by YAML_MAX_DEPTH, building by the
// caller's source).
void yaml_node_free(yaml_node *node) {
    if (!node) return;
    for (size_t i = 0; i < node->count; i++) {
        if (node->keys) free(node->keys[i]);
        yaml_free(node->items[i]);
    }
    free(node->keys);
    free(node->items);
    free(node->text);
    free(node->file_storage);
    free(node);
}

static void grow(yaml_node *c) {
    size_t room = c->capacity;
    if (c->kind == YAML_MAPPING)
        c->keys = memory_grow(c->keys, &room, c->count + 1, sizeof *c->keys);
    c->items = memory_grow(c->items, &c->capacity, c->count + 1, sizeof *c->items);
}

void yaml_append(yaml_node *sequence, yaml_node *item) {
    grow(sequence);
    sequence->items[sequence->count++] = item;
}

void yaml_add(yaml_node *mapping, const char *key, yaml_node *item) {
    grow(mapping);
    mapping->keys[mapping->count] = memory_string(key);
    mapping->items[mapping->count++] = item;
}

static bool find_index(const yaml_node *mapping, const char *key, size_t length, size_t *index) {
    if (!mapping || mapping->kind != YAML_MAPPING) return false;
    for (size_t i = 0; i < mapping->count; i++) {
        if (strncmp(mapping->keys[i], key, length) || mapping->keys[i][length]) continue;
        *index = i;
        return true;
    }
    return false;
}

void yaml_put(yaml_node *mapping, const char *key, yaml_node *item) {
    size_t i;
    if (!find_index(mapping, key, strlen(key), &i)) {
        yaml_add(mapping, key, item);
        return;
    }
    yaml_free(mapping->items[i]);
    mapping->items[i] = item;
}

void yaml_remove(yaml_node *mapping, const char *key) {
    size_t i;
    if (!find_index(mapping, key, strlen(key), &i)) return;
    free(mapping->keys[i]);
    yaml_free(mapping->items[i]);
    mapping->count--;
    memmove(mapping->keys + i, mapping->keys + i + 1, (mapping->count - i) * sizeof(char *));
    memmove(mapping->items + i, mapping->items + i + 1, (mapping->count - i) * sizeof(yaml_node *));
}

// Copies `node`; `from` and `to` are the file names of the original's and the copy's parent, so
// that a name is stored once per tree.
static yaml_node *copy_below(const yaml_node *node, const char *from, const char *to) {
    yaml_node *copy = yaml_new(node->kind);
    copy->quoted = node->quoted;
    copy->flow = node->flow;
    copy->line = node->line;
    copy->column = node->column;
    copy->key_line = node->key_line;
    copy->key_column = node->key_column;
    copy->origin = node->origin;
    copy->assignment = node->assignment;
    copy->file = node->file == from ? to : NULL;
    if (node->file && node->file != from)
        copy->file = copy->file_storage = memory_string(node->file);
    if (node->kind == YAML_SCALAR) copy->text = memory_string(node->text);
    for (size_t i = 0; i < node->count; i++) {
        yaml_node *item = copy_below(node->items[i], node->file, copy->file);
        if (node->kind == YAML_MAPPING)
            yaml_add(copy, node->keys[i], item);
        else
            yaml_append(copy, item);
    }
    return copy;
}

yaml_node *yaml_copy(const yaml_node *node) {
    return copy_below(node, NULL, NULL);
}

static void set_below(yaml_node *node, const char *name, error_origin origin, int assignment) {
    for (size_t i = 0; i < node->count; i++) set_below(node->items[i], name, origin, assignment);
    free(node->file_storage);
    node->file_storage = NULL;
    node->file = name;
    node->line = node->column = node->key_line = node->key_column = 0;
    node->origin = origin;
    node->assignment = assignment;
}

void yaml_set_origin(yaml_node *root, const char *name, error_origin origin, int assignment) {
    char *copy = memory_string(name);
    set_below(root, copy, origin, assignment);
    root->file_storage = copy;
}

bool yaml_equal(const yaml_node *a, const yaml_node *b) {
    if (!a || !b) return a == b;
    if (a->kind != b->kind) return false;
    if (a->kind == YAML_SCALAR) return !strcmp(a->text, b->text);
    if (a->count != b->count) return false;
    for (size_t i = 0; i < a->count; i++) {
        const yaml_node *other = a->kind == YAML_MAPPING ? yaml_find(b, a->keys[i]) : b->items[i];
        if (!other || !yaml_equal(a->items[i], other)) return false;
    }
    return true;
}

// ---- Looking up ----

const yaml_node *yaml_find(const yaml_node *mapping, const char *key) {
    size_t i;
    return find_index(mapping, key, strlen(key), &i) ? mapping->items[i] : NULL;
}

static const yaml_node *item_at(const yaml_node *sequence, const char *digits, size_t length) {
    size_t index = 0;
    if (!length || length > 9) return NULL;
    for (size_t i = 0; i < length; i++) {
        if (!is_digit(digits[i])) return NULL;
        index = index * 10 + (size_t)(digits[i] - '0');
    }
    return index < sequence->count ? sequence->items[index] : NULL;
}

const yaml_node *yaml_get(const yaml_node *node, const char *path) {
    while (node) {
        size_t length = strcspn(path, "."), i;
        if (node->kind == YAML_SEQUENCE)
            node = item_at(node, path, length);
        else
            node = find_index(node, path, length, &i) ? node->items[i] : NULL;
        if (!path[length]) return node;
        path += length + 1;
    }
    return NULL;
}

// ---- Scalars ----

static bool is_one_of(const char *text, const char *const *words) {
    for (; *words; words++)
        if (!strcmp(text, *words)) return true;
    return false;
}

static const char *skip_digits(const char *p) {
    while (is_digit(*p)) p++;
    return p;
}

// [-+]? ( . digits | digits ( . digits? )? ) ( e [-+]? digits )?
static bool is_number(const char *p, bool *integer) {
    if (*p == '-' || *p == '+') p++;
    const char *whole = p;
    p = skip_digits(p);
    size_t digits = (size_t)(p - whole);
    *integer = digits && !*p && (digits == 1 || *whole != '0');
    if (*p == '.') {
        const char *fraction = p + 1;
        p = skip_digits(fraction);
        digits += (size_t)(p - fraction);
    }
    if (!digits) return false;
    if (*p == 'e' || *p == 'E') {
        p++;
        if (*p == '-' || *p == '+') p++;
        const char *exponent = p;
        p = skip_digits(p);
        if (p == exponent) return false;
    }
    return !*p;
}

yaml_type yaml_scalar_type(const yaml_node *scalar) {
    static const char *const nulls[] = {"", "~", "null", "Null", "NULL", NULL};
    static const char *const booleans[] = {"true", "True", "TRUE", "false", "False", "FALSE", NULL};
    bool integer;
    if (scalar->quoted) return YAML_STRING;
    if (is_one_of(scalar->text, nulls)) return YAML_NULL;
    if (is_one_of(scalar->text, booleans)) return YAML_BOOLEAN;
    if (is_number(scalar->text, &integer)) return integer ? YAML_INTEGER : YAML_NUMBER;
    return YAML_STRING;
}

bool yaml_is_ambiguous(const char *text) {
    static const char *const words[] = {"yes", "Yes", "YES", "no",  "No",  "NO", "on",
                                        "On",  "ON",  "off", "Off", "OFF", NULL};
    return is_one_of(text, words);
}

// Numbers with a base, with underscores, sexagesimal ones and dates all begin with a digit.
bool yaml_must_be_quoted(const char *text) {
    static const char *const words[] = {"",   "~",  "null", "true", "false", "yes",
                                        "no", "on", "off",  "y",    "n",     NULL};
    for (const char *const *w = words; *w; w++)
        if (!strcasecmp(text, *w)) return true;
    const char *p = text + (*text == '-' || *text == '+');
    if (*p == '.') {
        p++;
        if (!strcasecmp(p, "inf") || !strcasecmp(p, "nan")) return true;
    }
    return is_digit(*p) || !strcmp(text, "<<") || !strcmp(text, "=");
}

yaml_node *yaml_new_string(const char *text) {
    return yaml_new_scalar(text, yaml_must_be_quoted(text));
}

yaml_node *yaml_new_integer(int64_t value) {
    char text[32];
    snprintf(text, sizeof text, "%lld", (long long)value);
    return yaml_new_scalar(text, false);
}

yaml_node *yaml_new_boolean(bool value) {
    return yaml_new_scalar(value ? "true" : "false", false);
}

// YAML 1.1 reads a number with an exponent only if it has a point: 1.0e-05.
static void put_point(char *text) {
    char *e = strchr(text, 'e');
    if (!e || strchr(text, '.')) return;
    memmove(e + 2, e, strlen(e) + 1);
    memcpy(e, ".0", 2);
}

yaml_node *yaml_new_number(double value) {
    char text[NUMBER_TEXT_BYTES + 2];
    if (isnan(value)) return yaml_new_scalar(".nan", false);
    if (isinf(value)) return yaml_new_scalar(value < 0 ? "-.inf" : ".inf", false);
    number_text(value, text);
    put_point(text);
    return yaml_new_scalar(text, false);
}

yaml_node *yaml_new_float(float value) {
    char text[NUMBER_TEXT_BYTES];
    if (!isfinite(value)) return yaml_new_number((double)value);
    // Nine digits distinguish every float from its neighbours, and so does the double that they
    // denote.
    snprintf(text, sizeof text, "%.9g", (double)value);
    return yaml_new_number(strtod(text, NULL));
}

// ---- Values ----

// "FILE:LINE:COLUMN: " or less, into `text`, as a message shows it. Returns its length.
static size_t describe_place(const yaml_node *node, char *text, size_t size) {
    if (!node->file)
        *text = 0;
    else if (node->line)
        snprintf(text, size, "%s:%d:%d: ", node->file, node->line, node->column);
    else
        snprintf(text, size, "%s: ", node->file);
    return printable(text, true);
}

status yaml_error(const yaml_node *node, error *err, const char *format, ...) {
    char place[1024], message[1500];
    const size_t length = describe_place(node, place, sizeof place);
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    (void)error_set(err, STATUS_INPUT, "%s%s", place, message);
    if (err) {
        err->origin = node->origin;
        err->assignment = node->assignment;
        err->place = (int)length;
    }
    return STATUS_INPUT;
}

yaml_node yaml_key_of(const yaml_node *item) {
    yaml_node key = *item;
    key.line = item->key_line;
    key.column = item->key_column;
    return key;
}

// Describes a node, for "expected …, got …".
static void describe_value(const yaml_node *node, char *text, size_t size) {
    if (node->kind != YAML_SCALAR) {
        snprintf(text, size, "a %s", node->kind == YAML_MAPPING ? "mapping" : "list");
        return;
    }
    if (yaml_scalar_type(node) == YAML_NULL) {
        snprintf(text, size, "nothing");
        return;
    }
    int length = (int)strnlen(node->text, WORD_SHOWN);
    snprintf(text, size, "%s'%.*s'%s", node->quoted ? "the string " : "", length, node->text,
             node->text[length] ? "…" : "");
}

// The way out for "92,4" and "50,000", where a number is expected; "" for anything else.
static void hint_comma(const char *text, char *hint, size_t size) {
    const char *comma = skip_digits(text + (*text == '-' || *text == '+' || *text == '~'));
    const char *rest = comma + 1;
    *hint = 0;
    if (comma == text || *comma != ',' || skip_digits(rest) == rest) return;
    const int length = (int)(comma - text);
    if (skip_digits(rest) - rest == 3)
        snprintf(hint, size, ": write %.*s%s, or with a decimal point %.*s.%s", length, text, rest,
                 length, text, rest);
    else
        snprintf(hint, size, ": write %.*s.%s, with a decimal point", length, text, rest);
}

const char *yaml_split_number(const yaml_node *mapping, const yaml_node *item, char *hint,
                              size_t size) {
    char text[2 * WORD_SHOWN];
    size_t at = 0;
    *hint = 0;
    while (mapping->items[at] != item) at++;
    const yaml_node *before = at ? mapping->items[at - 1] : NULL;
    if (!before || before->kind != YAML_SCALAR || item->kind != YAML_SCALAR ||
        yaml_scalar_type(item) != YAML_NULL)
        return NULL;
    snprintf(text, sizeof text, "%.*s,%.*s", WORD_SHOWN - 1, before->text, WORD_SHOWN - 1,
             mapping->keys[at]);
    hint_comma(text, hint, size);
    return *hint ? mapping->keys[at - 1] : NULL;
}

static status wrong(const yaml_node *node, const char *key, const char *expected, error *err) {
    char got[WORD_SHOWN + 32], hint[4 * WORD_SHOWN];
    describe_value(node, got, sizeof got);
    hint_comma(node->kind == YAML_SCALAR ? node->text : "", hint, sizeof hint);
    (void)yaml_error(node, err, "'%s': expected %s, got %s%s", key, expected, got, hint);
    if (err) err->says_way_out = *hint != 0;
    return STATUS_INPUT;
}

static bool has_type(const yaml_node *node, yaml_type type) {
    return node->kind == YAML_SCALAR && yaml_scalar_type(node) == type;
}

status yaml_string(const yaml_node *node, const char *key, const char **value, error *err) {
    if (!has_type(node, YAML_STRING)) return wrong(node, key, "a string", err);
    *value = node->text;
    return STATUS_OK;
}

status yaml_integer(const yaml_node *node, const char *key, int64_t min, int64_t max,
                    int64_t *value, error *err) {
    if (!has_type(node, YAML_INTEGER)) return wrong(node, key, "an integer", err);
    errno = 0;
    long long parsed = strtoll(node->text, NULL, 10);
    if (errno || parsed < min || parsed > max) {
        char expected[80];
        if (max == INT64_MAX && parsed < min)
            snprintf(expected, sizeof expected, "an integer of at least %lld", (long long)min);
        else
            snprintf(expected, sizeof expected, "an integer between %lld and %lld", (long long)min,
                     (long long)max);
        return wrong(node, key, expected, err);
    }
    *value = parsed;
    return STATUS_OK;
}

status yaml_number(const yaml_node *node, const char *key, double *value, error *err) {
    if (!has_type(node, YAML_NUMBER) && !has_type(node, YAML_INTEGER))
        return wrong(node, key, "a number", err);
    double parsed = strtod(node->text, NULL);
    if (!isfinite(parsed)) return wrong(node, key, "a number in the range of a double", err);
    *value = parsed + 0.0; // -0 is 0: they have one text, and must not give different bits
    return STATUS_OK;
}

status yaml_boolean(const yaml_node *node, const char *key, bool *value, error *err) {
    if (!has_type(node, YAML_BOOLEAN)) return wrong(node, key, "true or false", err);
    *value = *node->text == 't' || *node->text == 'T';
    return STATUS_OK;
}

const char *yaml_text_at(const yaml_node *root, const char *path) {
    const yaml_node *node = yaml_get(root, path);
    return node && node->kind == YAML_SCALAR ? node->text : "";
}

double yaml_number_at(const yaml_node *root, const char *path) {
    const yaml_node *node = yaml_get(root, path);
    double value;
    return node && yaml_number(node, path, &value, NULL) == STATUS_OK ? value : NAN;
}

status yaml_check_keys_among(const yaml_node *mapping, const char *const *known, size_t count,
                             const char *const *paths, size_t path_count, error *err) {
    char hint[HINT_BYTES];
    if (mapping->kind != YAML_MAPPING) {
        describe_value(mapping, hint, sizeof hint);
        return yaml_error(mapping, err, "expected a mapping, got %s", hint);
    }
    for (size_t i = 0; i < mapping->count; i++) {
        const char *key = mapping->keys[i];
        size_t k = 0;
        while (k < count && strcmp(key, known[k]) != 0) k++;
        if (k < count) continue;
        const yaml_node *item = mapping->items[i], at = yaml_key_of(item);
        const char *split = yaml_split_number(mapping, item, hint, sizeof hint);
        if (split)
            return yaml_error(&at, err, "'%.*s': a comma ends a value here%s", WORD_SHOWN, split,
                              hint);
        if (!*hint_about(key, known, count, HINT_KEYS, hint) &&
            !*hint_about(key, paths, path_count, HINT_KEYS, hint))
            hint_list("the keys are", known, count, hint);
        return yaml_error(&at, err, "unknown key '%.*s'%s", WORD_SHOWN, key, hint);
    }
    return STATUS_OK;
}

status yaml_check_keys(const yaml_node *mapping, const char *const *known, size_t count,
                       error *err) {
    return yaml_check_keys_among(mapping, known, count, NULL, 0, err);
}
