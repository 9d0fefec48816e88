// Plain text for a terminal.
#include <stdbool.h>
#include <string.h>

#include "base/memory.h"
#include "report/document.h"

#include <stdlib.h>

static void pad(text *out, size_t count) {
    for (size_t i = 0; i < count; i++) text_append(out, " ");
}

// Numbers are aligned right, as the column below a head is. Nothing follows the last column.
static void write_cell(text *out, const table *t, size_t at, size_t width) {
    const cell *c = &t->cells[at];
    bool head = at < t->columns && t->count > t->columns, last = at % t->columns == t->columns - 1;
    bool right = t->cells[head ? at + t->columns : at].style == CELL_NUMBER;
    size_t gap = width - text_columns(c->text);
    if (right) pad(out, gap);
    text_append(out, c->text);
    if (!right && !last) pad(out, gap);
    text_append(out, last ? "\n" : "  ");
}

static void write_table(text *out, const table *t) {
    size_t *width = memory_new(t->columns, sizeof *width, out->err);
    if (!width) {
        out->rc = STATUS_FAILED;
        return;
    }
    for (size_t i = 0; i < t->count; i++) {
        size_t own = text_columns(t->cells[i].text);
        if (own > width[i % t->columns]) width[i % t->columns] = own;
    }
    for (size_t i = 0; i < t->count; i++) write_cell(out, t, i, width[i % t->columns]);
    free(width);
}

static void write_block(text *out, const block *b) {
    switch (b->kind) {
    case BLOCK_HEADING:
    case BLOCK_SUBHEADING:
    case BLOCK_PARAGRAPH:
    case BLOCK_CODE: text_format(out, "%s\n", b->text); break;
    case BLOCK_TABLE: write_table(out, &b->table); break;
    case BLOCK_NOTE:
    case BLOCK_FIGURE: break;
    }
}

void document_to_plain(const document *d, text *out) {
    block_kind before = BLOCK_PARAGRAPH;
    text_format(out, "%s\n", d->title);
    for (size_t i = 0; i < d->count; i++) {
        const block *b = &d->blocks[i];
        if (b->kind == BLOCK_NOTE || b->kind == BLOCK_FIGURE) continue;
        bool apart = b->kind == BLOCK_HEADING || b->kind == BLOCK_SUBHEADING ||
                     b->kind == BLOCK_TABLE || before == BLOCK_TABLE;
        if (apart) text_append(out, "\n");
        write_block(out, b);
        before = b->kind;
    }
}
