// SPDX-License-Identifier: MIT
#include "report/document.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/printable.h"

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

static bool is_empty_column(const table *t, size_t column) {
    for (size_t i = t->columns + column; i < t->count; i += t->columns)
        if (*t->cells[i].text) return false;
    return true;
}

static void drop_column(table *t, size_t column) {
    size_t kept = 0;
    for (size_t i = 0; i < t->count; i++)
        if (i % t->columns == column) {
            free(t->cells[i].text);
            free(t->cells[i].id);
        } else {
            t->cells[kept++] = t->cells[i];
        }
    t->count = kept;
    t->columns--;
}

// Completes the last block: a table loses its empty columns.
void document_end(document *d) {
    if (!d->count) return;
    table *t = &d->blocks[d->count - 1].table;
    for (size_t column = t->columns; column-- > 1;)
        if (is_empty_column(t, column)) drop_column(t, column);
}

static char *format_string(const char *format, va_list args) {
    char *string = memory_format_list(format, args);
    (void)printable(string, false);
    return string;
}

// Adds a new block. Takes ownership of `string`.
static block *add_block(document *d, block_kind kind, char *string) {
    void *blocks = d->blocks;
    document_end(d);
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

void document_figure_to_svg(const block *figure, text *out) {
    static const char begin[] = "<svg ";
    const char *rest = strchr(figure->svg, '>') + 1;
    text_append(out, "<svg font-family=\"sans-serif\" ");
    text_bytes(out, figure->svg + strlen(begin), (size_t)(rest - figure->svg) - strlen(begin));
    text_append(out, "\n<style>svg{color:#000}@media(prefers-color-scheme:dark)"
                     "{svg{color:#e3e6e8}}</style>");
    text_append(out, rest);
}

void document_table(document *d, size_t columns, const char *caption) {
    add_block(d, BLOCK_TABLE, copy_string(caption))->table.columns = columns;
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

void document_shade(document *d, double shade) {
    table *t = &d->blocks[d->count - 1].table;
    t->cells[t->count - 1].shade = shade;
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
    document_end(d);
    document_end(part);
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
