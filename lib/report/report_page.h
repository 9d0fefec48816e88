// SPDX-License-Identifier: MIT
// report_page.h - a page in Markdown, and what is made of it: report.html, report.md, report.tex,
// and text for a terminal. This is what a page looks like:
//
//     # Title
//
//     <small>author · machine · date</small>          the byline; may be missing
//
//     All before the first section is the first screen.  Its paragraphs before the first picture
//                                                        or table are the answer
//     ![id](figures/id.svg)                              a picture alone in a paragraph
//
//     Its caption is the paragraph after it.
//
//     | Run     | s / epoch |                            a column aligned right has numbers; one
//     | ---     | ---:      |                            without a text below its head is dropped,
//     | **one** | 1.25†     |                            unless it is the first. A cell may be
//                                                        **the name of a row** or `code`. A table
//                                                        without a row is dropped
//
//     <small>Small print, below a table or picture.</small>
//
//     ## Section
//
//     <!-- matrix -->                                    the next table is shaded by the shares of
//                                                        its numbers in their row
//     Its caption.                                       may be missing
//
//     | | cat | dog |
//     ...
//
//     <!-- folded -->                                    the next section is collapsed on screen,
//                                                        and printed
//     ## Files
//     ...
//
//     † A last paragraph that begins with † is the footnote: each † on the page links to it.
//
// What comes from files and command lines is written by markdown_escape and its neighbours
// (base/markdown_text.h), and an author's Markdown by written_append (written.h). Of HTML a page
// has what is shown here: all other tags are shown as text. Links lead to other pages, or nowhere.
//
// MARK_FIGURE id MARK_SHOWN text MARK_END in a cell or paragraph says that the text shows the
// figure of this id, as for `report --why`. report.html says so under the mouse, the others drop
// the marks (base/markdown_text.h).
#ifndef LOCKSTEP_REPORT_REPORT_PAGE_H
#define LOCKSTEP_REPORT_REPORT_PAGE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/markdown_text.h"
#include "base/text.h"

typedef struct page_drawing {
    char *id;  // unique in the page
    char *svg; // an element whose ids begin with `id`
} page_drawing;

// Appends the page without marks of figures and empty columns: report.md.
void page_to_markdown(const char *page, text *out);
// Appends report.html: one file, no script, nothing loaded from elsewhere. Pictures are shown if
// they are among the drawings. `language`: "en", "zh".
void page_to_html(const char *page, const char *language, const page_drawing *drawings,
                  size_t count, text *out);
// Appends text for a terminal: tables in columns, without pictures and small print.
void page_to_text(const char *page, text *out);
// Appends report.tex, made by pandoc, with figures/ID.pdf as pictures, or without any; appends
// nothing if pandoc is not installed.
status page_to_latex(const char *page, bool pictures, text *out, error *err) MUST_CHECK;

#endif
