// SPDX-License-Identifier: MIT
// markdown_text.h - anyone's text, written so that Markdown reads it as this text.
#ifndef LOCKSTEP_BASE_MARKDOWN_TEXT_H
#define LOCKSTEP_BASE_MARKDOWN_TEXT_H

#include "base/text.h"

// In Markdown, MARK_FIGURE id MARK_SHOWN text MARK_END says that the text shows the figure of this
// id. They are for private use in Unicode; the functions below turn those in a text into '?'.
#define MARK_FIGURE "\xee\x80\x80" // U+E000
#define MARK_SHOWN  "\xee\x80\x81" // U+E001
#define MARK_END    "\xee\x80\x82" // U+E002

// Append it as text in a line, as code in a line, and as a block of code. Line breaks become
// blanks, except in the block.
void markdown_escape(text *out, const char *string);
void markdown_code(text *out, const char *string);
void markdown_code_block(text *out, const char *code);
// The same as in a block, for one that is already open: its fence of three backticks cannot end in
// it.
void markdown_literal(text *out, const char *code);

#endif
