// SPDX-License-Identifier: MIT
#include "report/markdown.h"

#include <stdlib.h>
#include <string.h>

#include <cmark-gfm-core-extensions.h>
#include <cmark-gfm.h>

#include "base/memory.h"
#include "base/printable.h"

// ---- Reading ----

static void *new_bytes(size_t count, size_t size) {
    return memory_new(count, size);
}

static void *resize(void *old, size_t bytes) {
    void *grown = realloc(old, bytes);
    if (!grown) memory_die(bytes);
    return grown;
}

static cmark_node *parse(const char *string, bool tables) {
    static cmark_mem memory = {new_bytes, resize, free};
    cmark_parser *parser = cmark_parser_new_with_mem(CMARK_OPT_DEFAULT, &memory);
    cmark_gfm_core_extensions_ensure_registered();
    if (tables) cmark_parser_attach_syntax_extension(parser, cmark_find_syntax_extension("table"));
    cmark_parser_feed(parser, string, strlen(string));
    cmark_node *root = cmark_parser_finish(parser);
    cmark_parser_free(parser);
    return root;
}

static markdown_node *new_node(markdown_kind kind, const char *string) {
    markdown_node *node = memory_new(1, sizeof *node);
    *node = (markdown_node){.kind = kind, .text = memory_string(string ? string : "")};
    return node;
}

// The kinds of a table are numbers that the extension gets when it is registered; their names are
// fixed, and so are those of the others.
static markdown_kind kind_of(cmark_node *node) {
    static const struct {
        const char *name;
        markdown_kind kind;
    } kinds[] = {{"document", MARKDOWN_DOCUMENT},
                 {"heading", MARKDOWN_HEADING},
                 {"paragraph", MARKDOWN_PARAGRAPH},
                 {"list", MARKDOWN_LIST},
                 {"item", MARKDOWN_ITEM},
                 {"block_quote", MARKDOWN_QUOTE},
                 {"code_block", MARKDOWN_CODE_BLOCK},
                 {"thematic_break", MARKDOWN_RULE},
                 {"html_block", MARKDOWN_HTML_BLOCK},
                 {"table", MARKDOWN_TABLE},
                 {"table_header", MARKDOWN_ROW},
                 {"table_row", MARKDOWN_ROW},
                 {"table_cell", MARKDOWN_CELL},
                 {"code", MARKDOWN_CODE},
                 {"html_inline", MARKDOWN_HTML},
                 {"linebreak", MARKDOWN_BREAK},
                 {"emph", MARKDOWN_EMPHASIS},
                 {"strong", MARKDOWN_STRONG},
                 {"link", MARKDOWN_LINK},
                 {"image", MARKDOWN_IMAGE}};
    const char *name = cmark_node_get_type_string(node);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(name, kinds[i].name) == 0) return kinds[i].kind;
    return MARKDOWN_TEXT;
}

// Is the character that begins, or ends, at `at` written without blanks?
static bool is_wide(const char *at) {
    return (unsigned char)*at >= TEXT_WIDE;
}

static bool ends_wide(const text *run) {
    const char *string = text_string(run);
    size_t last = run->length;
    while (last && ((unsigned char)string[--last] & 0xC0) == 0x80) continue;
    return is_wide(string + last);
}

static markdown_node *append(markdown_node *parent, markdown_node *last, markdown_node *node) {
    *(last ? &last->next : &parent->first) = node;
    return node;
}

// Adds a piece to a text; `joined`: a line ended before it.
static void add_piece(text *run, const char *string, bool joined) {
    if (joined && !(ends_wide(run) && is_wide(string))) text_append(run, " ");
    text_append(run, string);
}

// Appends the text as a node, if there is any, and empties it.
static markdown_node *append_run(markdown_node *parent, markdown_node *last, text *run) {
    if (run->length) last = append(parent, last, new_node(MARKDOWN_TEXT, text_string(run)));
    text_release(run);
    return last;
}

static markdown_node *convert(cmark_node *node, int depth);

static void convert_children(cmark_node *node, markdown_node *parent, int depth) {
    markdown_node *last = NULL;
    text run = {0};
    bool joined = false;
    for (cmark_node *child = cmark_node_first_child(node); child; child = cmark_node_next(child)) {
        const bool ends = cmark_node_get_type(child) == CMARK_NODE_SOFTBREAK;
        const bool is_text = cmark_node_get_type(child) == CMARK_NODE_TEXT;
        if (is_text || (joined && !ends))
            add_piece(&run, is_text ? cmark_node_get_literal(child) : "", joined);
        joined = ends;
        if (is_text || ends) continue;
        last = append_run(parent, last, &run);
        last = append(parent, last, convert(child, depth + 1));
    }
    (void)append_run(parent, last, &run);
}

static int right_aligned(cmark_node *cell) {
    cmark_node *table = cmark_node_parent(cmark_node_parent(cell));
    int column = 0;
    for (cmark_node *c = cell; (c = cmark_node_previous(c));) column++;
    return cmark_gfm_extensions_get_table_alignments(table)[column] == 'r';
}

static int number_of(cmark_node *node, markdown_kind kind) {
    switch ((int)kind) {
    case MARKDOWN_HEADING: return cmark_node_get_heading_level(node);
    case MARKDOWN_CELL: return right_aligned(node);
    case MARKDOWN_LIST:
        return cmark_node_get_list_type(node) == CMARK_ORDERED_LIST
                   ? cmark_node_get_list_start(node)
                   : -1;
    default: return 0;
    }
}

// All texts in a node, as one child: recursion would have no limit here.
static markdown_node *convert_deep(cmark_node *node, bool block) {
    text all = {0};
    cmark_iter *walk = cmark_iter_new(node);
    for (cmark_event_type event; (event = cmark_iter_next(walk)) != CMARK_EVENT_DONE;) {
        const char *literal = cmark_node_get_literal(cmark_iter_get_node(walk));
        if (event != CMARK_EVENT_ENTER || !literal) continue;
        if (all.length) text_append(&all, " ");
        text_append(&all, literal);
    }
    cmark_iter_free(walk);
    markdown_node *string = new_node(MARKDOWN_TEXT, text_string(&all));
    text_release(&all);
    if (!block) return string;
    markdown_node *paragraph = new_node(MARKDOWN_PARAGRAPH, "");
    paragraph->first = string;
    return paragraph;
}

static markdown_node *convert(cmark_node *node, int depth) {
    const markdown_kind kind = kind_of(node);
    const bool address = kind == MARKDOWN_LINK || kind == MARKDOWN_IMAGE;
    markdown_node *made =
        new_node(kind, address ? cmark_node_get_url(node) : cmark_node_get_literal(node));
    made->number = number_of(node, kind);
    made->tight = kind == MARKDOWN_LIST && cmark_node_get_list_tight(node);
    if (depth < MARKDOWN_DEPTH || kind == MARKDOWN_LIST)
        convert_children(node, made, depth);
    else if (cmark_node_first_child(node))
        made->first = convert_deep(node, kind == MARKDOWN_ITEM || kind == MARKDOWN_QUOTE);
    return made;
}

markdown_node *markdown_read(const char *string, bool tables) {
    cmark_node *root = parse(string, tables);
    markdown_node *tree = convert(root, 0);
    cmark_node_free(root);
    return tree;
}

void markdown_free(markdown_node *tree) {
    while (tree) {
        markdown_node *next = tree->next;
        markdown_free(tree->first);
        free(tree->text);
        free(tree);
        tree = next;
    }
}

void markdown_text(const markdown_node *node, text *out) {
    const bool shown = node->kind != MARKDOWN_LINK && node->kind != MARKDOWN_IMAGE;
    if (shown) text_append(out, node->text);
    if (node->kind == MARKDOWN_BREAK) text_append(out, " ");
    for (const markdown_node *child = node->first; child; child = child->next) {
        const bool block = child->kind < MARKDOWN_TEXT;
        if (block && child != node->first) text_append(out, " ");
        markdown_text(child, out);
    }
}

const char *markdown_library_version(void) {
    return cmark_version_string();
}
