// SPDX-License-Identifier: MIT
// strvec.h - an owning list of strings: the argv of a command, the names of runs.
#ifndef LOCKSTEP_BASE_STRVEC_H
#define LOCKSTEP_BASE_STRVEC_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

// items[count] is NULL, so the list is an argv. A zeroed struct is an empty list, whose items are
// NULL.
typedef struct strvec {
    char **items;
    size_t count, capacity;
} strvec;

void strvec_add(strvec *v, const char *word);
void strvec_format(strvec *v, const char *format, ...) PRINTF_LIKE(2, 3);
void strvec_add_all(strvec *v, const strvec *more);
// Adds an option and its value; nothing if the value is NULL.
void strvec_add_option(strvec *v, const char *option, const char *value);
// Splits `text` at any of the characters in `separators` and adds the parts, without surrounding
// blanks; skips empty parts. `text` may be NULL.
void strvec_split(strvec *v, const char *text, const char *separators);
// Adds the words of a setting that holds options or names, separated by blanks; '…' or "…" may hold
// blanks.
// STATUS_USAGE for an unclosed quote. `text` may be NULL.
status strvec_split_quoted(strvec *v, const char *text, error *err) MUST_CHECK;
// Returns the value of the last `option` in `v`, "--lang zh" or "--lang=zh"; NULL if there is none.
const char *strvec_option_value(const strvec *v, const char *option);
bool strvec_has(const strvec *v, const char *word);
void strvec_cut(strvec *v, size_t count); // drops all words after the first `count`
void strvec_release(strvec *v);

#endif
