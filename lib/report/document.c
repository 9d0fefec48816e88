// SPDX-License-Identifier: MIT
#include "report/document.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/printable.h"
#include "report/markdown.h"
#include "report/report_page.h"

// Page text comes from files with arbitrary content.
static char *copy_string(const char *string) {
    char *copy = memory_string(string);
    (void)printable(copy, false);
    return copy;
}

void document_init(document *d, const char *title, const char *language) {
    *d = (document){.language = language};
    d->title = copy_string(title);
}

void document_release(document *d) {
    for (size_t i = 0; i < d->count; i++) {
        block *b = &d->blocks[i];
        for (size_t k = 0; k < b->table.count; k++) {
            free(b->table.cells[k].text);
            free(b->table.cells[k].id);
        }
        free(b->table.cells);
        free(b->text);
        free(b->svg);
        free(b->id);
    }
    free(d->blocks);
    free(d->title);
    free(d->byline);
    free(d->footnote);
    *d = (document){0};
}

static char *format_string(const char *format, va_list args) {
    char *string = memory_format_list(format, args);
    (void)printable(string, false);
    return string;
}

// Adds a new block. Takes ownership of `string`.
static block *add_block(document *d, block_kind kind, char *string) {
    void *blocks = d->blocks;
    memory_grow(&blocks, &d->capacity, d->count + 1, sizeof *d->blocks);
    d->blocks = blocks;
    block *b = &d->blocks[d->count++];
    *b = (block){.kind = kind, .text = string};
    return b;
}

void document_add(document *d, block_kind kind, const char *format, ...) {
    va_list args;
    va_start(args, format);
    char *string = format_string(format, args);
    va_end(args);
    (void)add_block(d, kind, string);
}

void document_byline(document *d, const char *string) {
    free(d->byline);
    d->byline = copy_string(string);
}

void document_footnote(document *d, const char *string) {
    free(d->footnote);
    d->footnote = copy_string(string);
}

void document_fold(document *d, const char *heading) {
    add_block(d, BLOCK_HEADING, copy_string(heading))->folded = true;
}

void document_figure(document *d, const char *id, char *svg, const char *caption) {
    block *b = add_block(d, BLOCK_FIGURE, copy_string(caption));
    b->svg = svg;
    b->id = copy_string(id);
}

void document_table(document *d, size_t columns, const char *matrix) {
    add_block(d, BLOCK_TABLE, copy_string(matrix))->table.columns = columns;
}

void document_cell(document *d, cell_style style, const char *format, ...) {
    va_list args;
    va_start(args, format);
    char *string = format_string(format, args);
    va_end(args);
    table *t = &d->blocks[d->count - 1].table;
    void *cells = t->cells;
    memory_grow(&cells, &t->capacity, t->count + 1, sizeof *t->cells);
    t->cells = cells;
    t->cells[t->count++] = (cell){.text = string, .style = style};
}

void document_cell_id(document *d, size_t back, const char *id) {
    table *t = &d->blocks[d->count - 1].table;
    t->cells[t->count - 1 - back].id = copy_string(id);
}

static void tag_id(block *b, const char *tag) {
    char *id = memory_format("%s-%s", tag, b->id);
    free(b->id);
    b->id = id;
}

static void tag_ids(block *b, const char *tag) {
    static const char *const places[] = {" id=\"", " aria-labelledby=\"", " href='#", "url(#"};
    text svg = {0};
    text_append(&svg, b->svg);
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        char *tagged = memory_format("%s%s-", places[i], tag);
        text_replace(&svg, places[i], tagged);
        free(tagged);
    }
    free(b->svg);
    b->svg = text_take(&svg);
    text_release(&svg);
    tag_id(b, tag);
}

void document_move(document *d, document *part, const char *tag) {
    void *blocks = d->blocks;
    memory_grow(&blocks, &d->capacity, d->count + part->count, sizeof *d->blocks);
    d->blocks = blocks;
    for (size_t i = 0; i < part->count; i++) {
        block *b = &d->blocks[d->count++];
        *b = part->blocks[i];
        if (b->kind == BLOCK_HEADING) b->kind = BLOCK_SUBHEADING;
        if (b->svg) tag_ids(b, tag);
    }
    part->count = 0;
}

// ---- Markdown ----

// The text of a cell, with the id of its figure.
static void write_cell(text *out, const cell *c, bool head) {
    const bool code = c->style == CELL_CODE && *c->text && !head && !strpbrk(c->text, "`|");
    const bool strong = c->style == CELL_STRONG && *c->text && !head;
    const bool shows = c->id && *c->text;
    text_append(out, strong ? " **" : " ");
    if (shows) text_append(out, PAGE_FIGURE);
    if (shows) markdown_escape(out, c->id);
    if (shows) text_append(out, PAGE_SHOWN);
    (code ? markdown_code : markdown_escape)(out, c->text);
    if (shows) text_append(out, PAGE_END);
    text_append(out, strong ? "** |" : " |");
}

// Is the first text below the head of a column a number?
static bool is_right(const table *t, size_t column) {
    for (size_t i = t->columns + column; i < t->count; i += t->columns)
        if (*t->cells[i].text) return t->cells[i].style == CELL_NUMBER;
    return false;
}

static void write_text(text *out, const char *before, const char *string, const char *after) {
    text_append(out, before);
    markdown_escape(out, string);
    text_append(out, after);
    text_append(out, "\n\n");
}

static void write_table(text *out, const block *b) {
    const table *t = &b->table;
    if (*b->text) write_text(out, "<!-- matrix -->\n\n", b->text, "");
    for (size_t i = 0; i < t->count; i++) {
        if (i % t->columns == 0) text_append(out, "|");
        write_cell(out, &t->cells[i], i < t->columns);
        if (i % t->columns != t->columns - 1) continue;
        text_append(out, "\n");
        for (size_t k = 0; i < t->columns && k < t->columns; k++)
            text_append(out, is_right(t, k) ? "| ---: " : "| --- ");
        if (i < t->columns) text_append(out, "|\n");
    }
    text_append(out, "\n");
}

static void write_block(text *out, const block *b) {
    switch (b->kind) {
    case BLOCK_TABLE: write_table(out, b); break;
    case BLOCK_MARKDOWN: text_format(out, "%s\n", b->text); break;
    case BLOCK_SUBHEADING: write_text(out, "### ", b->text, ""); break;
    case BLOCK_NOTE: write_text(out, "<small>", b->text, "</small>"); break;
    case BLOCK_HEADING:
        write_text(out, b->folded ? "<!-- folded -->\n\n## " : "## ", b->text, "");
        break;
    case BLOCK_FIGURE:
        text_format(out, "![%s](figures/%s.svg)\n\n", b->id, b->id);
        write_text(out, "", b->text, "");
        break;
    case BLOCK_CODE:
        markdown_code_block(out, b->text);
        text_append(out, "\n");
        break;
    case BLOCK_LEAD:
    case BLOCK_PARAGRAPH: write_text(out, "", b->text, ""); break;
    }
}

void document_to_markdown(const document *d, text *out) {
    write_text(out, "# ", d->title, "");
    if (d->byline) write_text(out, "<small>", d->byline, "</small>");
    for (size_t i = 0; i < d->count; i++) write_block(out, &d->blocks[i]);
    if (d->footnote) write_text(out, "", d->footnote, "");
}
