// SPDX-License-Identifier: MIT
// written.h - an author's Markdown as a part of a page (private to lib/report).
#ifndef LOCKSTEP_REPORT_WRITTEN_H
#define LOCKSTEP_REPORT_WRITTEN_H

#include "base/error.h"
#include "base/text.h"

// Appends it as Markdown with headings two levels lower, paragraphs, lists, quotes, code, emphasis.
// All else (links, pictures, tables, HTML) becomes literal text.
void written_append(text *out, const char *author);
// Reads a file of it: UTF-8, at most 256 KiB. STATUS_INPUT if it is something else.
status written_read(const char *path, text *out, error *err) MUST_CHECK;

#endif
