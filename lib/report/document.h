// SPDX-License-Identifier: MIT
// document.h - a report as blocks (headings, paragraphs, tables, figures), and the renderers that
// turn them into HTML, Markdown, LaTeX and plain text.
//
// All text in a document is plain: renderers escape it. The first failure is kept, as in text.h;
// document_status returns it.
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
    BLOCK_ITEM, // of a list
    BLOCK_NOTE, // small print below a table or figure
    BLOCK_CODE, // commands to type
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
    double shade; // background from 0 (none) to 1, for matrices; HTML only
    char *id;     // of the figure shown, as for `report --why`; NULL: none
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
    bool marked; // the text contains Markdown marks, which document_next_span reads
    bool folded; // BLOCK_HEADING: the section is collapsed on screen, and printed
    int number;  // BLOCK_ITEM of a numbered list: from 1; else 0
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
// Ends the last table.
void document_end(document *d);

// Replace the previous text.
void document_byline(document *d, const char *string);
void document_footnote(document *d, const char *string);

// Appends a block of text: heading, paragraph, note or code.
void document_add(document *d, block_kind kind, const char *format, ...) PRINTF_LIKE(3, 4);
// Adds a heading whose section is folded.
void document_fold(document *d, const char *heading);
// Appends Markdown text: headings, paragraphs, lists and fenced code, with *emphasis*, **strong**
// and `code`. All other syntax stays literal text. Headings become subheadings.
void document_markdown(document *d, const char *markdown);
// Appends a figure. Takes ownership of `svg`, an element whose ids begin with `id`.
void document_figure(document *d, const char *id, char *svg, const char *caption);
// Appends a table, whose cells follow by document_cell, row by row. Columns without any value below
// their head are dropped, except the first.
void document_table(document *d, size_t columns, const char *caption);
void document_cell(document *d, cell_style style, const char *format, ...) PRINTF_LIKE(3, 4);
// Sets the shade of the last cell added.
void document_shade(document *d, double shade);

// Sets the id of the figure shown by a cell, `back` cells before the last one added. Copies the id.
void document_cell_id(document *d, size_t back, const char *id);

// Appends the blocks of `part` to those of d, with its headings as subheadings. `tag` (letters,
// digits and dashes) is prefixed to the ids of its drawings to keep them unique. `part` is left
// without blocks, and must still be released.
void document_move(document *d, document *part, const char *tag);

// Writes a drawing as a standalone file: without background, in colours for light and dark pages.
void document_figure_to_svg(const block *figure, text *out);

// A piece of text in one style.
typedef enum span_style { SPAN_PLAIN, SPAN_EMPHASIS, SPAN_STRONG, SPAN_CODE } span_style;
typedef struct span {
    span_style style;
    const char *text; // not terminated
    size_t length;
} span;
// Reads the next piece of a block's text from *at, and advances *at. Returns false at the end.
bool document_next_span(const block *b, const char **at, span *s);

void document_to_html(const document *d, text *out);
void document_to_markdown(const document *d, text *out);
// Only the blocks from `first` on, without the title.
void document_blocks_to_markdown(const document *d, size_t first, text *out);
void document_to_latex(const document *d, text *out);
// Writes text for a terminal: tables in columns, without drawings and small print.
void document_to_plain(const document *d, text *out);

#endif
