// SPDX-License-Identifier: MIT
// report_page.h - a page in Markdown, and what is made of it: report.html, report.md, report.tex,
// and text for a terminal. This is what a page looks like:
//
//     # Title
//
//     <small>author · machine · date</small>     the byline; may be missing
//
//     The answer.                                all before the first section is the first screen;
//                                                its paragraphs before the first picture or table
//     ![id](figures/id.svg)                      are the answer
//
//     Its caption.                               the paragraph after a picture alone
//
//     | Run | s / epoch |                        each row begins and ends with a bar; numbers are
//     | --- | ---: |                             in columns aligned right; a column without a text
//     | **one** | 1.25† |                        below its head is dropped, but not the first; a
//                                                cell may be **the name of a row** or `code`; a
//                                                table without a row is dropped
//     <small>Small print.</small>                below a table or picture; of a long one the first
//                                                sentence is shown
//     ## Section
//
//     <!-- matrix -->                            the next table is shaded: by each number's share
//                                                in its row
//     <!-- heat -->                              the same: by where a number lies between the
//                                                smallest and the largest of the table
//     Its caption.                               may be missing
//
//     | | cat | dog |
//     | --- | ---: | ---: |
//     ...
//
//     <!-- folded -->                            the next section or subsection is collapsed on
//                                                screen, and printed
//     ## Files
//     ...
//
//     † The footnote.                            a last paragraph that begins with †, to which each
//                                                † on the page is a link; may be missing
//
// What comes from files and command lines is written by markdown_escape and its neighbours
// (base/markdown_text.h), and an author's Markdown by written_append (written.h). Of HTML a page
// has what is shown here: all other tags are shown as text. Links lead to other pages, or nowhere.
//
// MARK_FIGURE id MARK_SHOWN text MARK_END says that the text shows the figure of this id, as for
// `report --why`; the id is escaped. The marks lie inside of **strong**, and outside of `code`.
// report.html says so under the mouse, the others drop the marks. They are for private use in
// Unicode, and markdown_escape lets none through.
#ifndef LOCKSTEP_REPORT_REPORT_PAGE_H
#define LOCKSTEP_REPORT_REPORT_PAGE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/markdown_text.h"
#include "base/text.h"
#include "report/drawing.h"

// Appends the page without the empty columns of its tables.
void page_tidy(const char *page, text *out);
// Appends the page without marks of figures and empty columns: report.md.
void page_to_markdown(const char *page, text *out);
// Appends report.html: one file, no script, nothing loaded from elsewhere. Pictures are shown if
// they are among the drawings. `language`: "en", "zh".
void page_to_html(const char *page, const char *language, const drawing *drawings, size_t count,
                  text *out);
// Appends text for a terminal: tables in columns, without pictures.
void page_to_text(const char *page, text *out);
// Appends report.tex, made by pandoc, with figures/ID.pdf as pictures, or without any; appends
// nothing if pandoc is not installed.
status page_to_latex(const char *page, bool pictures, text *out, error *err) MUST_CHECK;

#endif
