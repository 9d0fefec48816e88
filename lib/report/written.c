// SPDX-License-Identifier: MIT
#include "report/written.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/markdown_text.h"
#include "base/memory.h"
#include "base/printable.h"
#include "report/markdown.h"

enum { LOWERED = 2, LEVELS = 6 };

static void write_inline(text *out, const markdown_node *node);

static void write_inlines(text *out, const char *open, const markdown_node *node,
                          const char *close) {
    text_append(out, open);
    for (const markdown_node *n = node->first; n; n = n->next) write_inline(out, n);
    text_append(out, close);
}

// As it was written: "[text](address)", or only the address.
static void write_address(text *out, const markdown_node *node) {
    text inside = {0};
    markdown_text(node, &inside);
    const bool alone = strcmp(text_string(&inside), node->text) == 0;
    char *literal = alone ? memory_string(node->text)
                          : memory_format("%s[%s](%s)", node->kind == MARKDOWN_IMAGE ? "!" : "",
                                          text_string(&inside), node->text);
    markdown_escape(out, literal);
    free(literal);
    text_release(&inside);
}

static void write_inline(text *out, const markdown_node *node) {
    switch ((int)node->kind) {
    case MARKDOWN_CODE: markdown_code(out, node->text); break;
    case MARKDOWN_BREAK: text_append(out, "\\\n"); break;
    case MARKDOWN_EMPHASIS: write_inlines(out, "*", node, "*"); break;
    case MARKDOWN_STRONG: write_inlines(out, "**", node, "**"); break;
    case MARKDOWN_LINK:
    case MARKDOWN_IMAGE: write_address(out, node); break;
    default: markdown_escape(out, node->text);
    }
}

static void write_heading(text *out, const markdown_node *node) {
    const int level = node->number + LOWERED;
    for (int i = 0; i < level && i < LEVELS; i++) text_append(out, "#");
    write_inlines(out, " ", node, "\n");
}

static void write_block(text *out, const markdown_node *node);

static void write_blocks(text *out, const markdown_node *node, bool tight) {
    for (const markdown_node *n = node->first; n; n = n->next) {
        write_block(out, n);
        if (n->next && !tight) text_append(out, "\n");
    }
}

// Writes what is in a block with a sign before its first line, and `indent` before the others.
static void write_inside(text *out, const char *sign, const char *indent, const markdown_node *node,
                         bool tight) {
    text inside = {0};
    write_blocks(&inside, node, tight);
    text_append(out, sign);
    for (const char *at = text_string(&inside); *at;) {
        const size_t length = strcspn(at, "\n") + 1;
        const size_t before = *at == '\n' ? strcspn(indent, " ") : strlen(indent);
        if (at != text_string(&inside)) text_bytes(out, indent, before);
        text_bytes(out, at, length);
        at += length;
    }
    if (!inside.length) text_append(out, "\n");
    text_release(&inside);
}

static void write_list(text *out, const markdown_node *list) {
    int number = list->number;
    for (const markdown_node *item = list->first; item; item = item->next) {
        char *sign = number < 0 ? memory_string("- ") : memory_format("%d. ", number++);
        char *indent = memory_format("%*s", (int)strlen(sign), "");
        write_inside(out, sign, indent, item, list->tight);
        if (item->next && !list->tight) text_append(out, "\n");
        free(indent);
        free(sign);
    }
}

static void write_block(text *out, const markdown_node *node) {
    switch ((int)node->kind) {
    case MARKDOWN_HEADING: write_heading(out, node); break;
    case MARKDOWN_LIST: write_list(out, node); break;
    case MARKDOWN_QUOTE: write_inside(out, "> ", "> ", node, false); break;
    case MARKDOWN_CODE_BLOCK: markdown_code_block(out, node->text); break;
    case MARKDOWN_RULE: text_append(out, "---\n"); break;
    case MARKDOWN_HTML_BLOCK:
        markdown_escape(out, node->text);
        text_append(out, "\n");
        break;
    default: write_inlines(out, "", node, "\n");
    }
}

void written_append(text *out, const char *author) {
    markdown_node *tree = markdown_read(author, false);
    text blocks = {0};
    write_blocks(&blocks, tree, false);
    text_append(out, text_string(&blocks));
    text_release(&blocks);
    markdown_free(tree);
}

// ---- Reading ----

// The limit on the author's text, in bytes of UTF-8.
enum { DISCUSSION_MAX = 1 << 18 };

static bool is_text(const char *written, size_t bytes) {
    for (const char *at = written; *at; at++)
        if (((unsigned char)*at < ' ' && !strchr("\t\r\n", *at)) || *at == 127) return false;
    return strlen(written) == bytes && printable_is_utf8(written);
}

static status refuse_text(const char *path, const char *written, size_t bytes, error *err) {
    const char *encoding = printable_encoding(written, bytes);
    if (printable_is_utf8(written) && strcmp(encoding, "UTF-16") != 0)
        return error_set(err, STATUS_INPUT, "'%s' is not UTF-8 text", path);
    return error_set(
        err, STATUS_INPUT,
        "'%s' is not UTF-8 text, but probably %s: convert it with iconv -f %s -t UTF-8", path,
        encoding, encoding);
}

status written_read(const char *path, text *out, error *err) {
    static const char mark[] = "\xef\xbb\xbf"; // written before UTF-8 by some editors
    text written = {0};
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    status rc = STATUS_OK;
    if (file < 0 || !text_read(&written, file, DISCUSSION_MAX))
        rc = error_system(err, STATUS_INPUT, errno, "cannot read '%s'", path);
    else if (written.length > DISCUSSION_MAX)
        rc = error_set(err, STATUS_INPUT, "'%s': more than %d bytes", path, DISCUSSION_MAX);
    else if (!is_text(text_string(&written), written.length))
        rc = refuse_text(path, text_string(&written), written.length, err);
    else
        written_append(
            out, text_string(&written) +
                     (strncmp(text_string(&written), mark, strlen(mark)) == 0 ? strlen(mark) : 0));
    if (file >= 0) close(file);
    text_release(&written);
    return rc;
}
