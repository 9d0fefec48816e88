// SPDX-License-Identifier: MIT
// Converts text to a tree and back with libyaml: reads its events into nodes, and makes the
// refusals of yaml_tree.h, because line and column are known here.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <yaml.h>

#include "base/memory.h"
#include "base/output.h"
#include "base/printable.h"
#include "base/text.h"
#include "base/yaml_tree_internal.h"

// ---- Reading ----

typedef struct reader {
    yaml_parser_t parser;
    const char *text, *name;
    size_t bytes; // of the text
    yaml_node *root;
    yaml_node *open[YAML_MAX_DEPTH]; // collections not yet closed, outermost first
    int depth;
    char *key; // of the mapping open[depth - 1]: read, and its value is due
    int key_line, key_column;
    error *err;
} reader;

static status refuse(reader *r, yaml_mark_t mark, const char *why) {
    const yaml_node at = {.file = r->name,
                          .origin = ERROR_IN_FILE,
                          .line = (int)mark.line + 1,
                          .column = (int)mark.column + 1};
    return yaml_error(&at, r->err, "%s", why);
}

static const char tab_found[] = "a tab: indent with blanks";

// libyaml's messages are about its grammar: what they mean to the author of a file. `begin`: the
// fault is where the construct begins, and libyaml notices it later.
static const struct {
    const char *problem, *meaning;
    bool begin;
} meanings[] = {
    {"found character that cannot start any token",
     "a value cannot begin with this character: quote it; indent with blanks, not tabs", false},
    {"found a tab character that violates indentation", tab_found, false},
    {"mapping values are not allowed in this context",
     "unexpected ':': is this line, or the one before it, indented wrongly? A text with ': ' needs "
     "quotes",
     false},
    {"did not find expected key",
     "unexpected text: is this line indented wrongly? The keys of one mapping begin in one column",
     false},
    {"could not find expected ':'", "expected KEY: VALUE, with a blank after the colon", true},
    {"did not find expected ',' or '}'", "this '{' is not closed by '}', or a ',' is missing",
     true},
    {"did not find expected ',' or ']'", "this '[' is not closed by ']', or a ',' is missing",
     true},
    {"found unexpected end of stream", "this quote is not closed", true},
};

static bool is_indented_by_tab(const reader *r, size_t line) {
    const char *c = r->text, *end = c + r->bytes;
    while (line && c < end) line -= *c++ == '\n';
    while (c < end && *c == ' ') c++;
    return c < end && *c == '\t';
}

static status refuse_grammar(reader *r) {
    const yaml_parser_t *p = &r->parser;
    const yaml_mark_t *at = &p->problem_mark;
    const bool tab = is_indented_by_tab(r, at->line);
    for (size_t i = 0; i < sizeof meanings / sizeof *meanings; i++) {
        if (strcmp(p->problem, meanings[i].problem) != 0) continue;
        if (meanings[i].begin && p->context) at = &p->context_mark;
        return refuse(r, *at, tab ? tab_found : meanings[i].meaning);
    }
    char why[256];
    snprintf(why, sizeof why, "%s%s%s", p->problem, p->context ? ", " : "",
             p->context ? p->context : "");
    return refuse(r, *at, why);
}

// The bytes are no text: of another encoding, or not of this kind of file.
static status refuse_bytes(reader *r, yaml_mark_t mark) {
    const char *encoding = printable_encoding(r->text, r->bytes);
    if (!strstr(r->parser.problem, "UTF-8") && strcmp(encoding, "UTF-16") != 0)
        return refuse(r, mark, r->parser.problem);
    char why[100];
    snprintf(why, sizeof why, "not UTF-8, but probably %s: convert it with iconv -f %s -t UTF-8",
             encoding, encoding);
    return refuse(r, mark, why);
}

// libyaml's own error. Its reader gives a byte offset; its other parts give line and column.
static status refuse_syntax(reader *r) {
    const yaml_parser_t *p = &r->parser;
    if (p->error == YAML_MEMORY_ERROR) memory_die(0);
    if (p->error != YAML_READER_ERROR) return refuse_grammar(r);
    yaml_mark_t mark = {0};
    for (size_t i = 0; i < p->problem_offset; i++) {
        unsigned char c = (unsigned char)r->text[i];
        if (c == '\n') {
            mark.line++;
            mark.column = 0;
        } else if ((c & 0xc0) != 0x80) { // not a later byte of a UTF-8 character
            mark.column++;
        }
    }
    return refuse_bytes(r, mark);
}

// Puts a finished scalar or a collection that begins here into the tree. Takes ownership of the
// node.
static void place(reader *r, yaml_node *node, yaml_mark_t mark) {
    node->line = (int)mark.line + 1;
    node->column = (int)mark.column + 1;
    node->file = r->root ? r->root->file : NULL;
    node->origin = ERROR_IN_FILE;
    if (!r->depth) {
        r->root = node;
        node->file = node->file_storage = memory_string(r->name);
        return;
    }
    yaml_node *parent = r->open[r->depth - 1];
    if (parent->kind == YAML_SEQUENCE) {
        yaml_append(parent, node);
        return;
    }
    node->key_line = r->key_line;
    node->key_column = r->key_column;
    yaml_add(parent, r->key, node);
    free(r->key);
    r->key = NULL;
}

static bool key_is_due(const reader *r) {
    return r->depth && r->open[r->depth - 1]->kind == YAML_MAPPING && !r->key;
}

static status read_scalar(reader *r, const yaml_event_t *event) {
    const char *string = (const char *)event->data.scalar.value;
    bool quoted = event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
    if (event->data.scalar.anchor) return refuse(r, event->start_mark, "anchors are not accepted");
    if (event->data.scalar.tag) return refuse(r, event->start_mark, "tags are not accepted");
    if (strlen(string) != event->data.scalar.length)
        return refuse(r, event->start_mark, "a string must not contain a zero byte");
    if (!quoted && yaml_is_ambiguous(string))
        return refuse(r, event->start_mark,
                      "a bare yes, no, on or off is ambiguous in YAML: write true or false, or "
                      "quote it");
    if (key_is_due(r)) {
        r->key = memory_string(string);
        r->key_line = (int)event->start_mark.line + 1;
        r->key_column = (int)event->start_mark.column + 1;
        return STATUS_OK;
    }
    // An absent value is null, and is written as such.
    yaml_node *node = yaml_new_scalar(!quoted && !*string ? "null" : string, quoted);
    place(r, node, event->start_mark);
    return STATUS_OK;
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
    yaml_node *node = yaml_new(kind);
    node->flow = flow;
    place(r, node, event->start_mark);
    r->open[r->depth++] = node;
    return STATUS_OK;
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

// Duplicate keys are found by sorting, once the mapping is complete: a hostile file may hold
// hundreds of thousands of keys.
static status close_mapping(reader *r) {
    yaml_node *mapping = r->open[--r->depth];
    if (mapping->count < 2) return STATUS_OK;
    key_place *sorted = memory_new(mapping->count, sizeof *sorted);
    for (size_t i = 0; i < mapping->count; i++)
        sorted[i] = (key_place){mapping->keys[i], mapping->items[i]};
    qsort(sorted, mapping->count, sizeof *sorted, by_key);
    status rc = STATUS_OK;
    for (size_t i = 1; i < mapping->count && rc == STATUS_OK; i++) {
        const yaml_node *item = sorted[i].item;
        char hint[4 * WORD_SHOWN];
        if (strcmp(sorted[i - 1].key, sorted[i].key) != 0) continue;
        const char *split = yaml_split_number(mapping, item, hint, sizeof hint);
        const yaml_node at = yaml_key_of(item);
        if (split)
            rc = yaml_error(&at, r->err, "'%.*s': a comma ends a value here%s", WORD_SHOWN, split,
                            hint);
        else
            rc = yaml_error(&at, r->err, "duplicate key '%.*s': first used in line %d", WORD_SHOWN,
                            sorted[i].key, sorted[i - 1].item->key_line);
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
    case YAML_NO_EVENT:
    case YAML_STREAM_START_EVENT:
    case YAML_STREAM_END_EVENT:
    case YAML_DOCUMENT_END_EVENT: break;
    }
    return STATUS_OK;
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
    if (!r->root) return refuse(r, (yaml_mark_t){0}, "the document is empty");
    return STATUS_OK;
}

status yaml_read_text(const char *string, size_t bytes, const char *name, yaml_node **root,
                      error *err) {
    *root = NULL;
    if (bytes > YAML_MAX_BYTES)
        return error_set(err, STATUS_INPUT, "cannot read YAML: '%s': longer than %d bytes", name,
                         YAML_MAX_BYTES);
    // libyaml skips a byte order mark only if it detects the encoding itself.
    static const char mark[] = "\xef\xbb\xbf";
    if (bytes >= sizeof mark - 1 && memcmp(string, mark, sizeof mark - 1) == 0) {
        string += sizeof mark - 1;
        bytes -= sizeof mark - 1;
    }
    reader r = {.text = string, .bytes = bytes, .name = name, .err = err};
    if (!yaml_parser_initialize(&r.parser)) memory_die(0);
    yaml_parser_set_encoding(&r.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&r.parser, (const unsigned char *)string, bytes);
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
    text content = {0};
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    status rc = file >= 0 && text_read(&content, file, YAML_MAX_BYTES)
                    ? yaml_read_text(text_string(&content), content.length, path, root, err)
                    : error_system(err, STATUS_INPUT, errno, "cannot read YAML file: '%s'", path);
    text_release(&content);
    if (file >= 0) close(file);
    return rc;
}

// ---- Writing ----

static int collect(void *data, unsigned char *bytes, size_t count) {
    text_bytes(data, (const char *)bytes, count);
    return 1;
}

static bool emit_scalar(yaml_emitter_t *emitter, const char *string, bool quoted) {
    yaml_event_t event;
    yaml_scalar_style_t style = quoted ? YAML_DOUBLE_QUOTED_SCALAR_STYLE : YAML_PLAIN_SCALAR_STYLE;
    return yaml_scalar_event_initialize(&event, NULL, NULL, (const yaml_char_t *)string,
                                        (int)strlen(string), 1, 1, style) &&
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
        if (mapping && !emit_scalar(emitter, node->keys[i], yaml_must_be_quoted(node->keys[i])))
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

status yaml_write_text(const yaml_node *root, char **to, size_t *bytes, error *err) {
    *to = NULL;
    text written = {0};
    yaml_emitter_t emitter;
    if (!yaml_emitter_initialize(&emitter)) memory_die(0);
    yaml_emitter_set_output(&emitter, collect, &written);
    yaml_emitter_set_unicode(&emitter, 1);
    yaml_emitter_set_indent(&emitter, 2);
    yaml_emitter_set_width(&emitter, -1); // never fold: a value stays on its line
    bool done = emit_document(&emitter, root);
    status rc = STATUS_OK;
    if (!done && emitter.error == YAML_MEMORY_ERROR) memory_die(0);
    if (!done)
        rc = error_set(err, STATUS_FAILED, "cannot write YAML: %s",
                       emitter.error == YAML_EMITTER_ERROR ? emitter.problem : "not UTF-8");
    yaml_emitter_delete(&emitter);
    if (rc == STATUS_OK) {
        if (bytes) *bytes = written.length;
        *to = text_take(&written);
    }
    text_release(&written);
    return rc;
}

status yaml_write_file(const yaml_node *root, const char *path, error *err) {
    char *string;
    size_t bytes;
    status rc = yaml_write_text(root, &string, &bytes, err);
    if (rc != STATUS_OK) return rc;
    rc = output_write_file(path, string, bytes, err);
    free(string);
    return rc;
}

const char *yaml_library_version(void) {
    return yaml_get_version_string();
}
