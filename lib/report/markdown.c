// GitHub's Markdown. Figures are drawings and stay in the HTML page; their captions say so here.
#include <stdbool.h>
#include <string.h>

#include "report/document.h"

// `special` characters get a backslash; a line break would end a table row.
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

static void write_block(text *out, const block *b) {
    switch (b->kind) {
    case BLOCK_TABLE: write_table(out, b); return;
    case BLOCK_CODE: text_format(out, "```sh\n%s\n```\n\n", b->text); return;
    case BLOCK_HEADING: text_append(out, "## "); break;
    case BLOCK_SUBHEADING: text_append(out, "### "); break;
    case BLOCK_FIGURE: text_append(out, "[report.html](report.html): "); break;
    case BLOCK_PARAGRAPH:
    case BLOCK_NOTE: break;
    }
    escape(out, b->text, prose);
    text_append(out, "\n\n");
}

void document_to_markdown(const document *d, text *out) {
    text_append(out, "# ");
    escape(out, d->title, prose);
    text_append(out, "\n\n");
    for (size_t i = 0; i < d->count; i++) write_block(out, &d->blocks[i]);
}
