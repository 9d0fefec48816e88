// SPDX-License-Identifier: MIT
// document.h - a page as blocks (headings, paragraphs, tables, figures), written as Markdown. All
// text in a document is plain, except BLOCK_MARKDOWN.
#ifndef LOCKSTEP_REPORT_DOCUMENT_H
#define LOCKSTEP_REPORT_DOCUMENT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/text.h"

// The blocks before the first heading form the first screen of a page: answer, chart, table.
typedef enum block_kind {
    BLOCK_HEADING,
    BLOCK_SUBHEADING,
    BLOCK_LEAD, // a sentence of the answer
    BLOCK_PARAGRAPH,
    BLOCK_NOTE,     // small print below a table or figure
    BLOCK_CODE,     // commands to type
    BLOCK_MARKDOWN, // blocks as report_page.h describes them
    BLOCK_TABLE,
    BLOCK_FIGURE
} block_kind;

typedef enum cell_style {
    CELL_TEXT,
    CELL_NUMBER, // aligned right
    CELL_CODE,   // hashes, paths
    CELL_STRONG, // the name of a row
} cell_style;

typedef struct cell {
    char *text;
    cell_style style;
    char *id; // of the figure shown, as for `report --why`; NULL: none
} cell;

// Rows of `columns` cells; the first row is the head.
typedef struct table {
    cell *cells;
    size_t columns, count, capacity;
} table;

typedef struct block {
    block_kind kind;
    char *text; // of a table or figure: its caption
    char *svg;  // BLOCK_FIGURE
    char *id;   // likewise: unique in the page
    table table;
    bool folded; // BLOCK_HEADING: the section is collapsed on screen, and printed
} block;

typedef struct document {
    char *title;
    char *byline;         // below the title: author, machine, date; NULL: none
    char *footnote;       // explains the mark "†", once at the end; NULL: none
    const char *language; // "en", "zh"; points to static text
    block *blocks;
    size_t count, capacity;
} document;

void document_init(document *d, const char *title, const char *language);
void document_release(document *d);

// Replace the previous text.
void document_byline(document *d, const char *string);
void document_footnote(document *d, const char *string);

// Appends a block of text: heading, paragraph, note or code.
void document_add(document *d, block_kind kind, const char *format, ...) PRINTF_LIKE(3, 4);
// Adds a heading whose section is folded.
void document_fold(document *d, const char *heading);
// Appends a figure. Takes ownership of `svg`, an element whose ids begin with `id`.
void document_figure(document *d, const char *id, char *svg, const char *caption);
// Appends a table, whose cells follow by document_cell, row by row. `matrix`: its caption, if the
// table is to be shaded by its numbers; else "".
void document_table(document *d, size_t columns, const char *matrix);
void document_cell(document *d, cell_style style, const char *format, ...) PRINTF_LIKE(3, 4);

// Sets the id of the figure shown by a cell, `back` cells before the last one added. Copies the id.
void document_cell_id(document *d, size_t back, const char *id);

// Appends the blocks of `part` to those of d, with its headings as subheadings. `tag` (letters,
// digits and dashes) is prefixed to the ids of its drawings to keep them unique. `part` is left
// without blocks, and must still be released.
void document_move(document *d, document *part, const char *tag);

// Appends the page (report_page.h).
void document_to_markdown(const document *d, text *out);
// Only the blocks from `first` on, without the title.
void document_blocks_to_markdown(const document *d, size_t first, text *out);

#endif
