// SPDX-License-Identifier: MIT
// words.h - an owning list of strings: the words of a command, the names of runs.
#ifndef LOCKSTEP_PIPELINE_WORDS_H
#define LOCKSTEP_PIPELINE_WORDS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

// items[count] is NULL, so the list is an argv. A zeroed struct is an empty list, whose items are
// NULL.
typedef struct words {
    char **items;
    size_t count, capacity;
} words;

void words_add(words *w, const char *word);
void words_format(words *w, const char *format, ...) PRINTF_LIKE(2, 3);
void words_add_all(words *w, const words *more);
// Adds an option and its value; nothing if the value is NULL.
void words_option(words *w, const char *option, const char *value);
// Splits `text` at any of the characters in `separators` and adds the parts, without surrounding
// blanks; skips empty parts. `text` may be NULL.
void words_split(words *w, const char *text, const char *separators);
// Adds the words of a setting that holds options or names, separated by blanks; '…' or "…" may hold
// blanks.
// STATUS_USAGE for an unclosed quote. `text` may be NULL.
status words_options(words *w, const char *text, error *err) MUST_CHECK;
// Returns the value of the last `option` in `w`, "--lang zh" or "--lang=zh"; NULL if there is none.
const char *words_value(const words *w, const char *option);
bool words_has(const words *w, const char *word);
void words_cut(words *w, size_t count); // drops all words after the first `count`
void words_release(words *w);

#endif
