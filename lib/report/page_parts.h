// SPDX-License-Identifier: MIT
// page_parts.h - what the renderers of a page share: its marks, its small print, and the cells of
// its tables (private to lib/report: report_page.h).
#ifndef LOCKSTEP_REPORT_PAGE_PARTS_H
#define LOCKSTEP_REPORT_PAGE_PARTS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"
#include "report/markdown.h"

typedef enum page_cell_kind {
    PAGE_TEXT,   // may be broken into lines
    PAGE_NUMBER, // a short text in a column aligned right
    PAGE_CODE,
    PAGE_STRONG // the name of a row
} page_cell_kind;

typedef struct page_cell {
    page_cell_kind kind;
    bool right;                   // its column is aligned right
    char *text;                   // without marks
    char *id;                     // of the figure shown; NULL: none, or several
    const markdown_node *content; // without that id
} page_cell;

typedef struct page_table {
    page_cell *cells; // row by row; the first row is the head
    size_t columns, count;
} page_table;

// Removes the ids of cells from the tree.
void page_table_read(markdown_node *table, page_table *t);
void page_table_release(page_table *t);

// Appends the title of a page, its first heading. Returns the block that follows.
markdown_node *page_head(const markdown_node *root, text *title);
// Returns the paragraph that ends the page with a footnote, or NULL.
const markdown_node *page_footnote(const markdown_node *root);
// Does the block begin a section of the page?
bool page_is_section(const markdown_node *block);
bool page_is_subsection(const markdown_node *block);
// Is the paragraph small print, <small>…</small>? Is the node one of these tags?
bool page_is_note(const markdown_node *paragraph);
bool page_is_small(const markdown_node *node);
// Is the paragraph a picture alone?
bool page_is_picture(const markdown_node *paragraph);
// Is the block a paragraph that can be the caption of what is before it? NULL is none.
bool page_is_caption(const markdown_node *block);
// Is the block this comment?
bool page_is_comment(const markdown_node *block, const char *word);

// Returns the next mark of a figure, or the end of the string.
const char *page_find_mark(const char *string);
// Is there this mark?
bool page_is_mark(const char *at, const char *mark);
// Removes the marks of figures, and their ids.
void page_strip_marks(text *t);

#endif
