// document.h - a report as blocks (headings, paragraphs, tables, figures), and the renderers that
// turn them into HTML, Markdown, LaTeX and plain text.
//
// All text in it is plain: renderers escape it. A failure sticks, as in text.h; document_status
// says so at the end.
#ifndef LOCKSTEP_REPORT_DOCUMENT_H
#define LOCKSTEP_REPORT_DOCUMENT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/text.h"

// What stands before the first heading is the first screen of a page: answer, chart, table.
typedef enum block_kind {
    BLOCK_HEADING,
    BLOCK_SUBHEADING,
    BLOCK_LEAD, // a sentence of the answer
    BLOCK_PARAGRAPH,
    BLOCK_ITEM, // of a list
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
    bool marked; // the text has marks of Markdown in it; document_next_span reads them
    bool folded; // BLOCK_HEADING: what follows is shown when asked for, and printed
    int number;  // BLOCK_ITEM of a numbered list: from 1; else 0
} block;

typedef struct document {
    char *title;
    char *byline;         // below the title: author, machine, date; NULL without
    char *footnote;       // of the mark "†", told once at the end; NULL without
    const char *language; // "en", "zh"; points to static text
    block *blocks;
    size_t count, capacity;
    status rc;
    error *err;
} document;

void document_init(document *d, const char *title, const char *language, error *err);
void document_release(document *d);
// Ends the last table, too.
status document_status(document *d) MUST_CHECK;

// Replace what was there.
void document_byline(document *d, const char *string);
void document_footnote(document *d, const char *string);

// Appends a block of text: heading, paragraph, note or code.
void document_add(document *d, block_kind kind, const char *format, ...) PRINTF_LIKE(3, 4);
// The section that this heading begins is folded.
void document_fold(document *d, const char *heading);
// Appends what somebody wrote in Markdown: headings, paragraphs, lists, fenced code; in them
// *emphasis*, **strong** and `code`. Anything else is text as it stands. Headings become
// subheadings.
void document_markdown(document *d, const char *markdown);
// Appends a figure; takes `svg` over, an element whose ids begin with `id`.
void document_figure(document *d, const char *id, char *svg, const char *caption);
// Appends a table, whose cells follow by document_cell, row by row. Columns without any value
// below their head are dropped, but not the first.
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

// A drawing as a file that stands alone: on nothing, in the ink of a light or a dark page.
void document_figure_to_svg(const block *figure, text *out);

// A piece of text in one style.
typedef enum span_style { SPAN_PLAIN, SPAN_EMPHASIS, SPAN_STRONG, SPAN_CODE } span_style;
typedef struct span {
    span_style style;
    const char *text; // not terminated
    size_t length;
} span;
// The next piece of a block's text from *at, which it moves on; false at the end.
bool document_next_span(const block *b, const char **at, span *s);

void document_to_html(const document *d, text *out);
void document_to_markdown(const document *d, text *out);
void document_to_latex(const document *d, text *out);
// For a terminal: tables in columns, without drawings and small print.
void document_to_plain(const document *d, text *out);

#endif
