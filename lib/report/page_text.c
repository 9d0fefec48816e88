// SPDX-License-Identifier: MIT
// Plain text for a terminal of 80 columns.
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "report/page_parts.h"
#include "report/report_page.h"

// A table may be wider: with the columns of a comparison, cells would be a word wide.
enum { COLUMNS = 80, TABLE_COLUMNS = 100, GAP = 2 };

static size_t larger(size_t a, size_t b) {
    return a > b ? a : b;
}

static size_t character_bytes(const char *at) {
    size_t bytes = 1;
    while (((unsigned char)at[bytes] & 0xC0) == 0x80) bytes++;
    return bytes;
}

static bool is_one_of(const char *at, const char *characters) {
    const size_t bytes = character_bytes(at);
    for (; *characters; characters += character_bytes(characters))
        if (strncmp(at, characters, bytes) == 0) return true;
    return false;
}

// No line ends with opening punctuation, and none begins with closing one.
static bool breaks_between(const char *before, const char *after) {
    return !is_one_of(before, "（《「") &&
           !(*after && is_one_of(after, "，。、：；！？）”’》」％"));
}

// The bytes of the first line of a text: lines end at blanks, and between wide characters. A word
// longer than a line is not broken.
static size_t line_bytes(const char *string, size_t width) {
    size_t fit = 0, columns = 0;
    for (const char *at = string; *at;) {
        const size_t bytes = character_bytes(at);
        const bool wide = (unsigned char)*at >= TEXT_WIDE;
        if (fit && columns + (wide ? 2 : 1) > width && *at != ' ') return fit;
        if (*at == ' ') fit = (size_t)(at - string);
        columns += wide ? 2 : 1;
        if (!at[bytes] || (wide && breaks_between(at, at + bytes)))
            fit = (size_t)(at + bytes - string);
        at += bytes;
        if (columns > width && fit) return fit;
    }
    return strlen(string);
}

// The columns of the longest piece without a possible line break.
static size_t longest_word(const char *string) {
    size_t longest = 0;
    while (*string) {
        text word = {0};
        text_bytes(&word, string, line_bytes(string, 1));
        longest = larger(longest, text_columns(text_string(&word)));
        string += larger(word.length, 1);
        text_release(&word);
        while (*string == ' ') string++;
    }
    return longest;
}

static void pad(text *out, size_t count) {
    for (size_t i = 0; i < count; i++) text_append(out, " ");
}

// ---- Tables ----

typedef struct column {
    size_t least, width; // the minimum, for its words; the width assigned
} column;

static size_t table_width(const column *columns, size_t count) {
    size_t sum = 0;
    for (size_t i = 0; i < count; i++) sum += columns[i].width + (i ? GAP : 0);
    return sum;
}

// Makes columns as wide as their texts. If the sum is too wide, narrows the widest that can shrink.
static void choose_widths(const page_table *t, column *columns) {
    for (size_t i = 0; i < t->count; i++) {
        column *c = &columns[i % t->columns];
        const char *string = t->cells[i].text;
        const bool broken = i < t->columns || t->cells[i].kind == PAGE_TEXT;
        c->width = larger(c->width, text_columns(string));
        c->least = larger(c->least, broken ? longest_word(string) : text_columns(string));
    }
    while (table_width(columns, t->columns) > TABLE_COLUMNS) {
        column *widest = NULL;
        for (size_t i = 0; i < t->columns; i++)
            if (columns[i].width > columns[i].least &&
                (!widest || columns[i].width > widest->width))
                widest = &columns[i];
        if (!widest) return;
        widest->width--;
    }
}

// Writes one line of a cell, and advances *rest to the next. No padding follows the last column.
static void write_line(text *out, const char **rest, size_t width, bool right, bool last) {
    const size_t bytes = line_bytes(*rest, width);
    text line = {0};
    text_bytes(&line, *rest, bytes);
    *rest += bytes; // also if memory for the line ran out, or the loop would not end
    while (**rest == ' ') ++*rest;
    const size_t own = text_columns(text_string(&line)), gap = width > own ? width - own : 0;
    if (right) pad(out, gap);
    text_append(out, text_string(&line));
    if (!right && !last) pad(out, gap);
    text_append(out, last ? "\n" : "  ");
    text_release(&line);
}

static void write_row(text *out, const page_table *t, const column *columns, const char **rest,
                      size_t row) {
    bool more = true;
    for (size_t i = 0; i < t->columns; i++) rest[i] = t->cells[row + i].text;
    while (more) {
        more = false;
        for (size_t i = 0; i < t->columns; i++) {
            write_line(out, &rest[i], columns[i].width, t->cells[row + i].right,
                       i + 1 == t->columns);
            more = more || *rest[i];
        }
    }
}

static void write_table(text *out, markdown_node *node) {
    page_table t;
    page_table_read(node, &t);
    column *columns = memory_new(t.columns, sizeof *columns);
    const char **rest = memory_new(t.columns, sizeof *rest);
    choose_widths(&t, columns);
    for (size_t row = 0; row < t.count; row += t.columns) write_row(out, &t, columns, rest, row);
    free(columns);
    free(rest);
    page_table_release(&t);
}

// ---- Blocks ----

static void write_text(text *out, const char *string) {
    while (*string) write_line(out, &string, COLUMNS, false, true);
}

// Small print is <small>…</small>, and nothing but these tags marks it.
static void cut_tags(text *note) {
    const size_t open = strlen("<small>"), close = strlen("</small>");
    text inside = {0};
    text_bytes(&inside, note->data + open, note->length - open - close);
    text_replace_by(note, &inside);
}

static void write_block(text *out, markdown_node *block) {
    text inside = {0};
    markdown_text(block, &inside);
    if (page_is_note(block)) cut_tags(&inside);
    switch ((int)block->kind) {
    case MARKDOWN_TABLE: write_table(out, block); break;
    case MARKDOWN_CODE_BLOCK: text_append(out, text_string(&inside)); break;
    case MARKDOWN_LIST:
    case MARKDOWN_QUOTE:
        for (markdown_node *n = block->first; n; n = n->next) write_block(out, n);
        break;
    case MARKDOWN_ITEM: text_append(out, "- "); // fall through
    default: write_text(out, text_string(&inside));
    }
    text_release(&inside);
}

// A picture is left out with its caption, and so are comments.
static bool is_shown(const markdown_node *block, const markdown_node *before) {
    if (before && page_is_picture(before) && page_is_caption(block)) return false;
    return !page_is_picture(block) && block->kind != MARKDOWN_HTML_BLOCK;
}

// Is the block apart from what surrounds it?
static bool is_apart(const markdown_node *block) {
    return block && block->kind == MARKDOWN_TABLE;
}

void page_to_text(const char *page, text *out) {
    text plain = {0}, title = {0};
    page_to_markdown(page, &plain);
    markdown_node *root = markdown_read(text_string(&plain), true);
    const markdown_node *footer = page_footnote(root), *before = NULL, *shown = NULL;
    markdown_node *first = page_head(root, &title);
    write_text(out, text_string(&title));
    for (markdown_node *n = first; n; before = n, n = n->next) {
        if (!is_shown(n, before) || (n == footer && !strstr(text_string(out), "†"))) continue;
        const bool notes = page_is_note(n) && !(shown && page_is_note(shown));
        if (is_apart(n) || is_apart(shown) || notes || n->kind == MARKDOWN_HEADING || n == footer)
            text_append(out, "\n");
        write_block(out, n);
        shown = n;
    }
    markdown_free(root);
    text_release(&title);
    text_release(&plain);
}
