// SPDX-License-Identifier: MIT
// printable.h - text from files and command lines, before a terminal or a page shows it.
#ifndef LOCKSTEP_BASE_PRINTABLE_H
#define LOCKSTEP_BASE_PRINTABLE_H

#include <stdbool.h>
#include <stddef.h>

// Replaces by '?' each character that a terminal would obey or that could deceive a reader: control
// characters (C0, DEL, C1), those that change the direction of text, and bytes that are not UTF-8.
// Tabs and newlines stay, unless `one_line` is true. Returns the new length, which is never
// greater.
size_t printable(char *string, bool one_line);

// Makes each CRLF an LF, in place. Returns whether there was any.
bool printable_line_ends(char *string);

// Is the string valid UTF-8?
bool printable_is_utf8(const char *string);

// Copies the string, with each of these characters and bytes as \xNN, so that a name can be told
// from others. `escaped` has room for PRINTABLE_ESCAPE bytes per byte, and a zero.
enum { PRINTABLE_ESCAPE = 4 };
void printable_escape(const char *string, char *escaped);

// Returns the probable encoding of text that is not UTF-8, as iconv calls it: "GBK". For a message.
const char *printable_encoding(const char *string, size_t bytes);

#endif
