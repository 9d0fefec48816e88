#include "base/yaml_tree.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <yaml.h>

#include "base/cli.h"
#include "base/memory.h"

enum { WORD_SHOWN = 60 }; // characters of a bad value that a message quotes

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

// ---- Nodes ----

yaml_node *yaml_new(yaml_kind kind, error *err) {
    yaml_node *node = memory_new(1, sizeof *node, err);
    if (node) node->kind = kind;
    return node;
}

static yaml_node *new_scalar(const char *text, bool quoted, error *err) {
    yaml_node *node = yaml_new(YAML_SCALAR, err);
    if (!node) return NULL;
    node->quoted = quoted;
    node->text = memory_string(text, err);
    if (node->text) return node;
    yaml_free(node);
    return NULL;
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

static status grow(yaml_node *collection, error *err) {
    if (collection->count < collection->capacity) return STATUS_OK;
    // One capacity for two arrays: it counts only once both have grown.
    size_t capacity = collection->capacity;
    void *items = collection->items;
    status rc = memory_grow(&items, &capacity, collection->count + 1, sizeof(yaml_node *), err);
    collection->items = items;
    if (rc == STATUS_OK && collection->kind == YAML_MAPPING) {
        size_t keys_capacity = collection->capacity;
        void *keys = collection->keys;
        rc = memory_grow(&keys, &keys_capacity, collection->count + 1, sizeof(char *), err);
        collection->keys = keys;
    }
    if (rc == STATUS_OK) collection->capacity = capacity;
    return rc;
}

status yaml_append(yaml_node *sequence, yaml_node *item, error *err) {
    if (!sequence || !item) {
        yaml_free(item);
        return STATUS_FAILED; // err says why: whoever made the NULL filled it
    }
    status rc = grow(sequence, err);
    if (rc != STATUS_OK) {
        yaml_free(item);
        return rc;
    }
    sequence->items[sequence->count++] = item;
    return STATUS_OK;
}

// Adds a key that is known to be new.
static status add(yaml_node *mapping, const char *key, yaml_node *item, error *err) {
    status rc = STATUS_FAILED;
    char *copy = memory_string(key, err);
    if (!copy) goto out;
    TRY(grow(mapping, err));
    mapping->keys[mapping->count] = copy;
    mapping->items[mapping->count++] = item;
    return STATUS_OK;
out:
    free(copy);
    yaml_free(item);
    return rc;
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

status yaml_put(yaml_node *mapping, const char *key, yaml_node *item, error *err) {
    if (!mapping || !item) {
        yaml_free(item);
        return STATUS_FAILED; // err says why: whoever made the NULL filled it
    }
    size_t i;
    if (!find_index(mapping, key, strlen(key), &i)) return add(mapping, key, item, err);
    yaml_free(mapping->items[i]);
    mapping->items[i] = item;
    return STATUS_OK;
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
// that a name is stored once a tree.
static yaml_node *copy_below(const yaml_node *node, const char *from, const char *to, error *err) {
    yaml_node *copy = yaml_new(node->kind, err);
    if (!copy) return NULL;
    copy->quoted = node->quoted;
    copy->flow = node->flow;
    copy->line = node->line;
    copy->column = node->column;
    copy->key_line = node->key_line;
    copy->key_column = node->key_column;
    copy->file = node->file == from ? to : NULL;
    if (node->file && node->file != from) {
        copy->file = copy->file_storage = memory_string(node->file, err);
        if (!copy->file) goto fail;
    }
    if (node->kind == YAML_SCALAR) {
        copy->text = memory_string(node->text, err);
        if (!copy->text) goto fail;
    }
    for (size_t i = 0; i < node->count; i++) {
        yaml_node *item = copy_below(node->items[i], node->file, copy->file, err);
        if (!item) goto fail;
        status rc = node->kind == YAML_MAPPING ? add(copy, node->keys[i], item, err)
                                               : yaml_append(copy, item, err);
        if (rc != STATUS_OK) goto fail;
    }
    return copy;
fail:
    yaml_free(copy);
    return NULL;
}

yaml_node *yaml_copy(const yaml_node *node, error *err) {
    return copy_below(node, NULL, NULL, err);
}

static void rename_below(yaml_node *node, const char *name) {
    for (size_t i = 0; i < node->count; i++) rename_below(node->items[i], name);
    free(node->file_storage);
    node->file_storage = NULL;
    node->file = name;
    node->line = node->column = node->key_line = node->key_column = 0;
}

status yaml_set_origin(yaml_node *root, const char *name, error *err) {
    char *copy = memory_string(name, err);
    if (!copy) return STATUS_FAILED;
    rename_below(root, copy);
    root->file_storage = copy;
    return STATUS_OK;
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

// YAML 1.1 reads these as booleans, 1.2 as strings.
static bool is_ambiguous(const char *text) {
    static const char *const words[] = {"yes", "Yes", "YES", "no",  "No",  "NO", "on",
                                        "On",  "ON",  "off", "Off", "OFF", NULL};
    return is_one_of(text, words);
}

// Would some reader of YAML 1.1 or 1.2 take the plain text for something else than a string?
// (Numbers with a base, with underscores, sexagesimal ones and dates all begin with a digit.)
static bool must_be_quoted(const char *text) {
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

yaml_node *yaml_new_string(const char *text, error *err) {
    return new_scalar(text, must_be_quoted(text), err);
}

yaml_node *yaml_new_integer(int64_t value, error *err) {
    char text[32];
    snprintf(text, sizeof text, "%lld", (long long)value);
    return new_scalar(text, false, err);
}

yaml_node *yaml_new_boolean(bool value, error *err) {
    return new_scalar(value ? "true" : "false", false, err);
}

yaml_node *yaml_new_number(double value, error *err) {
    char text[40];
    if (isnan(value)) return new_scalar(".nan", false, err);
    if (isinf(value)) return new_scalar(value < 0 ? "-.inf" : ".inf", false, err);
    // 10 as 10, which is what JSON has for it, too; %g would have it as 1e+01.
    const bool whole = fabs(value) < 1e15 && value == trunc(value);
    for (int digits = whole ? 15 : 1; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (strtod(text, NULL) == value) break;
    }
    // YAML 1.1 reads a number with an exponent only if it has a point: 1.0e-05.
    char *e = strchr(text, 'e');
    if (e && !strchr(text, '.')) {
        memmove(e + 2, e, strlen(e) + 1);
        memcpy(e, ".0", 2);
    }
    return new_scalar(text, false, err);
}

// ---- Values ----

// "FILE:LINE:COLUMN: " or less, into `text`.
static void describe_place(const char *file, int line, int column, char *text, size_t size) {
    if (!file)
        *text = 0;
    else if (line)
        snprintf(text, size, "%s:%d:%d: ", file, line, column);
    else
        snprintf(text, size, "%s: ", file);
}

status yaml_error(const yaml_node *node, error *err, const char *format, ...) {
    char place[512], message[1500];
    describe_place(node->file, node->line, node->column, place, sizeof place);
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    return error_set(err, STATUS_INPUT, "%s%s", place, message);
}

// What a node is, for "expected …, got …".
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

static status wrong(const yaml_node *node, const char *key, const char *expected, error *err) {
    char got[WORD_SHOWN + 32];
    describe_value(node, got, sizeof got);
    return yaml_error(node, err, "'%s': expected %s, got %s", key, expected, got);
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
        if (max == INT64_MAX)
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
    if (!isfinite(parsed)) return wrong(node, key, "a number that a double can hold", err);
    *value = parsed;
    return STATUS_OK;
}

status yaml_boolean(const yaml_node *node, const char *key, bool *value, error *err) {
    if (!has_type(node, YAML_BOOLEAN)) return wrong(node, key, "true or false", err);
    *value = *node->text == 't' || *node->text == 'T';
    return STATUS_OK;
}

status yaml_check_keys(const yaml_node *mapping, const char *const *known, size_t count,
                       error *err) {
    if (mapping->kind != YAML_MAPPING) {
        char got[WORD_SHOWN + 32];
        describe_value(mapping, got, sizeof got);
        return yaml_error(mapping, err, "expected a mapping, got %s", got);
    }
    for (size_t i = 0; i < mapping->count; i++) {
        const char *key = mapping->keys[i];
        size_t k = 0;
        while (k < count && strcmp(key, known[k]) != 0) k++;
        if (k < count) continue;
        char place[512];
        const yaml_node *item = mapping->items[i];
        describe_place(item->file, item->key_line, item->key_column, place, sizeof place);
        const char *near = cli_nearest(key, known, count);
        return error_set(err, STATUS_INPUT, "%sunknown key '%.*s'%s%s%s", place, WORD_SHOWN, key,
                         near ? ": did you mean '" : "", near ? near : "", near ? "'?" : "");
    }
    return STATUS_OK;
}

// ---- Reading ----

typedef struct reader {
    yaml_parser_t parser;
    const char *text, *name;
    yaml_node *root;
    yaml_node *open[YAML_MAX_DEPTH]; // collections not yet closed, outermost first
    int depth;
    char *key; // of the mapping open[depth - 1]: read, and its value is due
    int key_line, key_column;
    error *err;
} reader;

static status refuse(reader *r, yaml_mark_t mark, const char *why) {
    return error_set(r->err, STATUS_INPUT, "%s:%zu:%zu: %s", r->name, mark.line + 1,
                     mark.column + 1, why);
}

// libyaml's own error. Its reader gives a byte offset; the rest gives a place.
static status refuse_syntax(reader *r) {
    const yaml_parser_t *p = &r->parser;
    if (p->error == YAML_MEMORY_ERROR)
        return error_set(r->err, STATUS_FAILED, "out of memory: cannot read '%s'", r->name);
    if (p->error != YAML_READER_ERROR)
        return error_set(r->err, STATUS_INPUT, "%s:%zu:%zu: %s%s%s", r->name,
                         p->problem_mark.line + 1, p->problem_mark.column + 1, p->problem,
                         p->context ? ", " : "", p->context ? p->context : "");
    yaml_mark_t mark = {0};
    for (size_t i = 0; i < p->problem_offset; i++) {
        unsigned char c = (unsigned char)r->text[i];
        if (c == '\n') {
            mark.line++;
            mark.column = 0;
        } else if ((c & 0xc0) != 0x80) { // not the tail of a UTF-8 character
            mark.column++;
        }
    }
    return refuse(r, mark, p->problem);
}

// Puts a finished scalar or a collection that begins here into the tree. Takes the node over.
static status place(reader *r, yaml_node *node, yaml_mark_t mark) {
    node->line = (int)mark.line + 1;
    node->column = (int)mark.column + 1;
    node->file = r->root ? r->root->file : NULL;
    if (!r->depth) {
        r->root = node;
        node->file = node->file_storage = memory_string(r->name, r->err);
        return node->file ? STATUS_OK : STATUS_FAILED;
    }
    yaml_node *parent = r->open[r->depth - 1];
    if (parent->kind == YAML_SEQUENCE) return yaml_append(parent, node, r->err);
    node->key_line = r->key_line;
    node->key_column = r->key_column;
    status rc = add(parent, r->key, node, r->err);
    free(r->key);
    r->key = NULL;
    return rc;
}

static bool key_is_due(const reader *r) {
    return r->depth && r->open[r->depth - 1]->kind == YAML_MAPPING && !r->key;
}

static status read_scalar(reader *r, const yaml_event_t *event) {
    const char *text = (const char *)event->data.scalar.value;
    bool quoted = event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
    if (event->data.scalar.anchor) return refuse(r, event->start_mark, "anchors are not accepted");
    if (event->data.scalar.tag) return refuse(r, event->start_mark, "tags are not accepted");
    if (strlen(text) != event->data.scalar.length)
        return refuse(r, event->start_mark, "a string may not hold a zero byte");
    if (!quoted && is_ambiguous(text))
        return refuse(r, event->start_mark,
                      "a bare yes, no, on or off means different things to different readers: "
                      "write true or false, or quote it");
    if (key_is_due(r)) {
        r->key = memory_string(text, r->err);
        r->key_line = (int)event->start_mark.line + 1;
        r->key_column = (int)event->start_mark.column + 1;
        return r->key ? STATUS_OK : STATUS_FAILED;
    }
    // An absent value is null, and is written as such.
    yaml_node *node = new_scalar(!quoted && !*text ? "null" : text, quoted, r->err);
    return node ? place(r, node, event->start_mark) : STATUS_FAILED;
}

static status open_collection(reader *r, yaml_kind kind, const yaml_event_t *event, bool flow,
                              bool anchor, bool tag) {
    if (anchor) return refuse(r, event->start_mark, "anchors are not accepted");
    if (tag) return refuse(r, event->start_mark, "tags are not accepted");
    if (key_is_due(r)) return refuse(r, event->start_mark, "a key must be a scalar");
    if (r->depth == YAML_MAX_DEPTH) {
        char why[64];
        snprintf(why, sizeof why, "nested deeper than %d levels", YAML_MAX_DEPTH);
        return refuse(r, event->start_mark, why);
    }
    yaml_node *node = yaml_new(kind, r->err);
    if (!node) return STATUS_FAILED;
    node->flow = flow;
    status rc = place(r, node, event->start_mark);
    if (rc == STATUS_OK) r->open[r->depth++] = node;
    return rc;
}

typedef struct key_place {
    const char *key;
    const yaml_node *item;
} key_place;

static int by_key(const void *a, const void *b) {
    const key_place *x = a, *y = b;
    int order = strcmp(x->key, y->key);
    if (order) return order;
    if (x->item->key_line != y->item->key_line)
        return x->item->key_line < y->item->key_line ? -1 : 1;
    return (x->item->key_column > y->item->key_column) -
           (x->item->key_column < y->item->key_column);
}

// Duplicate keys are looked for when the mapping is whole, by sorting: a hostile file may hold
// hundreds of thousands of keys.
static status close_mapping(reader *r) {
    yaml_node *mapping = r->open[--r->depth];
    if (mapping->count < 2) return STATUS_OK;
    key_place *sorted = memory_new(mapping->count, sizeof *sorted, r->err);
    if (!sorted) return STATUS_FAILED;
    for (size_t i = 0; i < mapping->count; i++)
        sorted[i] = (key_place){mapping->keys[i], mapping->items[i]};
    qsort(sorted, mapping->count, sizeof *sorted, by_key);
    status rc = STATUS_OK;
    for (size_t i = 1; i < mapping->count && rc == STATUS_OK; i++) {
        const yaml_node *item = sorted[i].item;
        if (!strcmp(sorted[i - 1].key, sorted[i].key))
            rc = error_set(r->err, STATUS_INPUT, "%s:%d:%d: duplicate key '%.*s': first in line %d",
                           r->name, item->key_line, item->key_column, WORD_SHOWN, sorted[i].key,
                           sorted[i - 1].item->key_line);
    }
    free(sorted);
    return rc;
}

static status take(reader *r, const yaml_event_t *e) {
    switch (e->type) {
    case YAML_DOCUMENT_START_EVENT:
        return r->root ? refuse(r, e->start_mark, "more than one document in the file") : STATUS_OK;
    case YAML_ALIAS_EVENT: return refuse(r, e->start_mark, "aliases are not accepted");
    case YAML_SCALAR_EVENT: return read_scalar(r, e);
    case YAML_SEQUENCE_START_EVENT:
        return open_collection(r, YAML_SEQUENCE, e,
                               e->data.sequence_start.style == YAML_FLOW_SEQUENCE_STYLE,
                               e->data.sequence_start.anchor, e->data.sequence_start.tag);
    case YAML_MAPPING_START_EVENT:
        return open_collection(r, YAML_MAPPING, e,
                               e->data.mapping_start.style == YAML_FLOW_MAPPING_STYLE,
                               e->data.mapping_start.anchor, e->data.mapping_start.tag);
    case YAML_SEQUENCE_END_EVENT: r->depth--; return STATUS_OK;
    case YAML_MAPPING_END_EVENT: return close_mapping(r);
    default: return STATUS_OK;
    }
}

static status read_events(reader *r) {
    for (bool end = false; !end;) {
        yaml_event_t event;
        if (!yaml_parser_parse(&r->parser, &event)) return refuse_syntax(r);
        end = event.type == YAML_STREAM_END_EVENT;
        status rc = take(r, &event);
        yaml_event_delete(&event);
        if (rc != STATUS_OK) return rc;
    }
    if (!r->root) return error_set(r->err, STATUS_INPUT, "%s:1:1: the document is empty", r->name);
    return STATUS_OK;
}

status yaml_read_text(const char *text, size_t bytes, const char *name, yaml_node **root,
                      error *err) {
    *root = NULL;
    if (bytes > YAML_MAX_BYTES)
        return error_set(err, STATUS_INPUT, "cannot read YAML: '%s': longer than %d bytes", name,
                         YAML_MAX_BYTES);
    // libyaml skips the mark that some editors put first only where it is to find out the encoding.
    static const char mark[] = "\xef\xbb\xbf";
    if (bytes >= sizeof mark - 1 && memcmp(text, mark, sizeof mark - 1) == 0) {
        text += sizeof mark - 1;
        bytes -= sizeof mark - 1;
    }
    reader r = {.text = text, .name = name, .err = err};
    if (!yaml_parser_initialize(&r.parser))
        return error_set(err, STATUS_FAILED, "out of memory: cannot read '%s'", name);
    yaml_parser_set_encoding(&r.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&r.parser, (const unsigned char *)text, bytes);
    status rc = read_events(&r);
    yaml_parser_delete(&r.parser);
    free(r.key);
    if (rc == STATUS_OK)
        *root = r.root;
    else
        yaml_free(r.root);
    return rc;
}

status yaml_read_file(const char *path, yaml_node **root, error *err) {
    *root = NULL;
    status rc = STATUS_FAILED;
    char *text = NULL;
    FILE *file = fopen(path, "rbe");
    if (!file) return error_system(err, STATUS_INPUT, errno, "cannot read YAML file: '%s'", path);
    text = memory_new(YAML_MAX_BYTES + 1, 1, err);
    if (!text) goto out;
    size_t bytes = fread(text, 1, YAML_MAX_BYTES + 1, file);
    if (ferror(file)) {
        rc = error_system(err, STATUS_INPUT, errno, "cannot read YAML file: '%s'", path);
        goto out;
    }
    rc = yaml_read_text(text, bytes, path, root, err);
out:
    free(text);
    fclose(file);
    return rc;
}

// ---- Writing ----

typedef struct text_buffer {
    char *text;
    size_t bytes, capacity;
    error *err;
} text_buffer;

static int collect(void *data, unsigned char *bytes, size_t count) {
    text_buffer *b = data;
    void *grown = b->text;
    status rc = memory_grow(&grown, &b->capacity, b->bytes + count + 1, 1, b->err);
    b->text = grown;
    if (rc != STATUS_OK) return 0;
    memcpy(b->text + b->bytes, bytes, count);
    b->bytes += count;
    b->text[b->bytes] = 0;
    return 1;
}

bool yaml_can_write(const char *text) {
    yaml_event_t event;
    if (!yaml_scalar_event_initialize(&event, NULL, NULL, (const yaml_char_t *)text,
                                      (int)strlen(text), 1, 1, YAML_ANY_SCALAR_STYLE))
        return false;
    yaml_event_delete(&event);
    return true;
}

static bool emit_scalar(yaml_emitter_t *emitter, const char *text, bool quoted) {
    yaml_event_t event;
    yaml_scalar_style_t style = quoted ? YAML_DOUBLE_QUOTED_SCALAR_STYLE : YAML_PLAIN_SCALAR_STYLE;
    return yaml_scalar_event_initialize(&event, NULL, NULL, (const yaml_char_t *)text,
                                        (int)strlen(text), 1, 1, style) &&
           yaml_emitter_emit(emitter, &event);
}

static bool emit_node(yaml_emitter_t *emitter, const yaml_node *node) {
    yaml_event_t event;
    if (node->kind == YAML_SCALAR) return emit_scalar(emitter, node->text, node->quoted);
    bool mapping = node->kind == YAML_MAPPING;
    int made = mapping ? yaml_mapping_start_event_initialize(&event, NULL, NULL, 1,
                                                             node->flow ? YAML_FLOW_MAPPING_STYLE
                                                                        : YAML_BLOCK_MAPPING_STYLE)
                       : yaml_sequence_start_event_initialize(
                             &event, NULL, NULL, 1,
                             node->flow ? YAML_FLOW_SEQUENCE_STYLE : YAML_BLOCK_SEQUENCE_STYLE);
    if (!made || !yaml_emitter_emit(emitter, &event)) return false;
    for (size_t i = 0; i < node->count; i++) {
        if (mapping && !emit_scalar(emitter, node->keys[i], must_be_quoted(node->keys[i])))
            return false;
        if (!emit_node(emitter, node->items[i])) return false;
    }
    made = mapping ? yaml_mapping_end_event_initialize(&event)
                   : yaml_sequence_end_event_initialize(&event);
    return made && yaml_emitter_emit(emitter, &event);
}

static bool emit_document(yaml_emitter_t *emitter, const yaml_node *root) {
    yaml_event_t event;
    return yaml_stream_start_event_initialize(&event, YAML_UTF8_ENCODING) &&
           yaml_emitter_emit(emitter, &event) &&
           yaml_document_start_event_initialize(&event, NULL, NULL, NULL, 1) &&
           yaml_emitter_emit(emitter, &event) && emit_node(emitter, root) &&
           yaml_document_end_event_initialize(&event, 1) && yaml_emitter_emit(emitter, &event) &&
           yaml_stream_end_event_initialize(&event) && yaml_emitter_emit(emitter, &event);
}

status yaml_write_text(const yaml_node *root, char **text, size_t *bytes, error *err) {
    *text = NULL;
    text_buffer buffer = {.err = err};
    yaml_emitter_t emitter;
    if (!yaml_emitter_initialize(&emitter))
        return error_set(err, STATUS_FAILED, "out of memory: cannot write YAML");
    yaml_emitter_set_output(&emitter, collect, &buffer);
    yaml_emitter_set_unicode(&emitter, 1);
    yaml_emitter_set_indent(&emitter, 2);
    yaml_emitter_set_width(&emitter, -1); // never fold: a value stays on its line
    bool done = emit_document(&emitter, root);
    status rc = STATUS_OK;
    if (!done && emitter.error == YAML_EMITTER_ERROR)
        rc = error_set(err, STATUS_FAILED, "cannot write YAML: %s", emitter.problem);
    else if (!done)
        rc = error_set(err, STATUS_FAILED, "cannot write YAML: out of memory or not UTF-8");
    yaml_emitter_delete(&emitter);
    if (rc != STATUS_OK) {
        free(buffer.text);
        return rc;
    }
    *text = buffer.text;
    if (bytes) *bytes = buffer.bytes;
    return STATUS_OK;
}

status yaml_write(const yaml_node *root, output *out, error *err) {
    char *text;
    size_t bytes;
    status rc = yaml_write_text(root, &text, &bytes, err);
    if (rc != STATUS_OK) return rc;
    rc = output_write(out, text, bytes, err);
    free(text);
    return rc;
}

const char *yaml_library_version(void) {
    return yaml_get_version_string();
}
