// SPDX-License-Identifier: MIT
// GitHub's Markdown. Drawings are separate files, figures/ID.svg.
#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "report/document.h"

// Puts a backslash before `special` characters; replaces line breaks, which would end a table row.
static void escape(text *out, const char *string, const char *special) {
    for (; *string; string++) {
        if (*string == '\n') {
            text_append(out, " ");
            continue;
        }
        bool link = *string == ']' && string[1] == '(';
        if (link || strchr(special, *string)) text_append(out, "\\");
        text_bytes(out, string, 1);
    }
}

static const char prose[] = "\\`*_<|";

static void write_cell(text *out, const cell *c, bool head) {
    bool code = c->style == CELL_CODE && *c->text && !head && !strpbrk(c->text, "`|");
    bool strong = c->style == CELL_STRONG && *c->text && !head;
    const char *mark = code ? "`" : strong ? "**" : "";
    text_append(out, " ");
    text_append(out, mark);
    escape(out, c->text, code ? "" : prose);
    text_append(out, mark);
    text_append(out, " |");
}

static void write_rule(text *out, const table *t) {
    text_append(out, "|");
    for (size_t i = 0; i < t->columns; i++) {
        bool right = t->count > t->columns && t->cells[t->columns + i].style == CELL_NUMBER;
        text_append(out, right ? " ---: |" : " --- |");
    }
    text_append(out, "\n");
}

static void write_table(text *out, const block *b) {
    const table *t = &b->table;
    if (*b->text) {
        escape(out, b->text, prose);
        text_append(out, "\n\n");
    }
    for (size_t i = 0; i < t->count; i++) {
        if (i % t->columns == 0) text_append(out, "|");
        write_cell(out, &t->cells[i], i < t->columns);
        if (i % t->columns != t->columns - 1) continue;
        text_append(out, "\n");
        if (i < t->columns) write_rule(out, t);
    }
    text_append(out, "\n");
}

static void write_spans(text *out, const block *b) {
    static const char *const signs[] = {"", "*", "**", "`"};
    span s;
    for (const char *at = b->text; document_next_span(b, &at, &s);) {
        text piece = {0};
        text_bytes(&piece, s.text, s.length);
        text_append(out, signs[s.style]);
        escape(out, text_string(&piece), s.style == SPAN_CODE ? "" : prose);
        text_append(out, signs[s.style]);
        text_release(&piece);
    }
}

static void write_block(text *out, const block *b, bool last_item) {
    switch (b->kind) {
    case BLOCK_TABLE: write_table(out, b); return;
    case BLOCK_CODE: text_format(out, "```\n%s\n```\n\n", b->text); return;
    case BLOCK_FIGURE: text_format(out, "![%s](figures/%s.svg)\n\n", b->id, b->id); break;
    case BLOCK_HEADING: text_append(out, "## "); break;
    case BLOCK_SUBHEADING: text_append(out, "### "); break;
    case BLOCK_ITEM:
        if (b->number) text_format(out, "%d. ", b->number);
        if (!b->number) text_append(out, "- ");
        break;
    case BLOCK_LEAD:
    case BLOCK_PARAGRAPH:
    case BLOCK_NOTE: break;
    }
    write_spans(out, b);
    text_append(out, b->kind == BLOCK_ITEM && !last_item ? "\n" : "\n\n");
}

// Appends GitHub's anchor for a heading: lower case, without punctuation, blanks as hyphens.
static void append_anchor(text *out, const char *heading) {
    for (const char *c = heading; *c; c++) {
        const unsigned char byte = (unsigned char)*c;
        const char lower = (char)tolower(byte);
        if (byte == ' ' || byte == '-')
            text_append(out, "-");
        else if (byte >= 0x80 || isalnum(byte) || byte == '_')
            text_bytes(out, &lower, 1);
    }
}

static void write_contents(text *out, const document *d) {
    size_t count = 0;
    for (size_t i = 0; i < d->count; i++) {
        const block *b = &d->blocks[i];
        if (b->kind != BLOCK_HEADING) continue;
        text_append(out, count++ ? " ·\n[" : "[");
        escape(out, b->text, "\\`*_<|[]");
        text_append(out, "](#");
        append_anchor(out, b->text);
        text_append(out, ")");
    }
    if (count) text_append(out, "\n\n");
}

static bool ends_list(const document *d, size_t i) {
    const block *next = i + 1 < d->count ? &d->blocks[i + 1] : NULL;
    return !next || next->kind != BLOCK_ITEM || !next->number != !d->blocks[i].number;
}

void document_blocks_to_markdown(const document *d, size_t first, text *out) {
    for (size_t i = first; i < d->count; i++) write_block(out, &d->blocks[i], ends_list(d, i));
}

void document_to_markdown(const document *d, text *out) {
    bool headed = false;
    text_append(out, "# ");
    escape(out, d->title, prose);
    text_append(out, "\n\n");
    if (d->byline) {
        escape(out, d->byline, prose);
        text_append(out, "\n\n");
    }
    for (size_t i = 0; i < d->count; i++) {
        if (d->blocks[i].kind == BLOCK_HEADING && !headed) write_contents(out, d);
        headed = headed || d->blocks[i].kind == BLOCK_HEADING;
        write_block(out, &d->blocks[i], ends_list(d, i));
    }
    if (!d->footnote) return;
    escape(out, d->footnote, prose);
    text_append(out, "\n");
}
