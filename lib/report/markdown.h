// SPDX-License-Identifier: MIT
// markdown.h - Markdown as a tree, read by libcmark-gfm.
#ifndef LOCKSTEP_REPORT_MARKDOWN_H
#define LOCKSTEP_REPORT_MARKDOWN_H

#include <stdbool.h>

#include "base/text.h"

typedef enum markdown_kind {
    MARKDOWN_DOCUMENT,
    MARKDOWN_HEADING, // number: its level
    MARKDOWN_PARAGRAPH,
    MARKDOWN_LIST, // number: of its first item; -1: of bullets
    MARKDOWN_ITEM,
    MARKDOWN_QUOTE,
    MARKDOWN_CODE_BLOCK, // text
    MARKDOWN_RULE,
    MARKDOWN_HTML_BLOCK, // text
    MARKDOWN_TABLE,      // of rows; the first one is the head
    MARKDOWN_ROW,        // of cells
    MARKDOWN_CELL,       // number: 1 in a column aligned right
    // Inside a heading, a paragraph or a cell. Two texts are never next to each other. Lines of a
    // paragraph are joined with a blank, but between CJK characters, which are written without.
    MARKDOWN_TEXT,  // text
    MARKDOWN_CODE,  // text
    MARKDOWN_HTML,  // text
    MARKDOWN_BREAK, // the end of a line that was asked for
    MARKDOWN_EMPHASIS,
    MARKDOWN_STRONG,
    MARKDOWN_LINK, // text: the address
    MARKDOWN_IMAGE // text: the address; its children are the description
} markdown_kind;

typedef struct markdown_node {
    markdown_kind kind;
    int number;
    bool tight; // MARKDOWN_LIST: no blank lines between its items
    char *text; // never NULL
    struct markdown_node *first, *next;
} markdown_node;

// Reads GitHub's Markdown; `tables` adds its tables to CommonMark. Every string is valid. What lies
// deeper than MARKDOWN_DEPTH levels becomes plain text.
enum { MARKDOWN_DEPTH = 32 };
markdown_node *markdown_read(const char *string, bool tables) MUST_CHECK;
void markdown_free(markdown_node *tree);

// Appends the text of a node and of what is in it, without marks; blanks separate blocks.
void markdown_text(const markdown_node *node, text *out);

// The version of libcmark-gfm.
const char *markdown_library_version(void);

#endif
