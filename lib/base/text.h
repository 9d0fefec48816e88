// SPDX-License-Identifier: MIT
// text.h - a string that grows.
#ifndef LOCKSTEP_BASE_TEXT_H
#define LOCKSTEP_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

typedef struct text {
    char *data; // ends with a zero once anything was added; NULL before
    size_t length, capacity;
} text;

void text_release(text *t);

void text_bytes(text *t, const char *bytes, size_t count);
void text_append(text *t, const char *string);
void text_format(text *t, const char *format, ...) PRINTF_LIKE(2, 3);
// Appends text of an element or an attribute of HTML or SVG: & < > " are escaped.
void text_markup(text *t, const char *string);
// Appends text as a field of a CSV file (RFC 4180), quoted if necessary. A string that begins
// with =, +, - or @, which a spreadsheet would take for a formula, gets a leading apostrophe;
// control characters and bytes that are not UTF-8 become '?'. For text only: numbers are written as
// they are.
void text_csv(text *t, const char *string);
// Appends bytes in base64 (RFC 4648, with padding).
void text_base64(text *t, const void *bytes, size_t count);

// Appends what a file has from here on, and stops where the text is longer than `most` bytes.
// False, with errno, if it cannot be read.
bool text_read(text *t, int fd, size_t most);

// Returns the string, never NULL: "" if nothing was added.
const char *text_string(const text *t);

// Returns the string, which is now the caller's (free() it), and empties t.
char *text_take(text *t) MUST_CHECK;

// Returns a copy as of printable_escape; free() it.
char *text_escaped(const char *string) MUST_CHECK;

// Returns the columns that a string takes on a terminal: a CJK character, whose first byte is
// TEXT_WIDE or more, takes two.
enum { TEXT_WIDE = 0xE3 };
size_t text_columns(const char *string);

// Cuts t so that it takes at most so many columns; an ellipsis then is the last one.
void text_cut_columns(text *t, size_t columns);

// The same in the middle, so that both ends stay.
void text_cut_middle(text *t, size_t columns);

// Replaces t by `result`, which was made from it.
void text_replace_by(text *t, text *result);

// Replaces every `from` in t by `to`.
void text_replace(text *t, const char *from, const char *to);

#endif
