// document.h - a report as blocks (headings, paragraphs, tables, figures), and the renderers that
// turn them into HTML, Markdown, LaTeX and plain text.
//
// All text in it is plain: renderers escape it. A failure sticks, as in text.h; document_status
// says so at the end.
#ifndef LOCKSTEP_REPORT_DOCUMENT_H
#define LOCKSTEP_REPORT_DOCUMENT_H

#include <stddef.h>

#include "base/error.h"
#include "base/text.h"

typedef enum block_kind {
    BLOCK_HEADING,
    BLOCK_SUBHEADING,
    BLOCK_PARAGRAPH,
    BLOCK_NOTE, // small print below a table or figure
    BLOCK_CODE, // commands, as they are typed
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
    char *id;     // of the figure that it shows, what `report --why` takes; NULL: none
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
} block;

typedef struct document {
    char *title;
    const char *language; // "en", "zh"; points to static text
    block *blocks;
    size_t count, capacity;
    status rc;
    error *err;
} document;

void document_init(document *d, const char *title, const char *language, error *err);
void document_release(document *d);
status document_status(const document *d) MUST_CHECK;

// Appends a block of text: heading, paragraph, note or code.
void document_add(document *d, block_kind kind, const char *format, ...) PRINTF_LIKE(3, 4);
// Appends a figure; takes `svg` over, an element whose ids begin with `id`.
void document_figure(document *d, const char *id, char *svg, const char *caption);
// Appends a table, whose cells follow by document_cell, row by row.
void document_table(document *d, size_t columns, const char *caption);
void document_cell(document *d, cell_style style, const char *format, ...) PRINTF_LIKE(3, 4);
// The shade of the cell added last.
void document_shade(document *d, double shade);

// The figure that the cell added last shows; copied.
void document_cell_id(document *d, const char *id);

// Moves the blocks of `part` behind those of d, with its headings as subheadings. Drawings keep
// their ids apart by `tag` in front of each: letters, digits and dashes. `part` is left without
// blocks, and is released as before.
void document_move(document *d, document *part, const char *tag);

// A drawing as a file that stands alone: black on nothing.
void document_figure_to_svg(const block *figure, text *out);

void document_to_html(const document *d, text *out);
void document_to_markdown(const document *d, text *out);
void document_to_latex(const document *d, text *out);
// For a terminal: tables in columns, without drawings and small print.
void document_to_plain(const document *d, text *out);

#endif
