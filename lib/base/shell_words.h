// SPDX-License-Identifier: MIT
// shell_words.h - words quoted for a POSIX shell, for commands that users copy from messages.
#ifndef LOCKSTEP_BASE_SHELL_WORDS_H
#define LOCKSTEP_BASE_SHELL_WORDS_H

#include <stddef.h>

#include "base/error.h"

// Returns the word, in single quotes if the shell would take it for something else; free() it.
char *shell_quote(const char *word) MUST_CHECK;

// Returns all words, quoted, with blanks between them; free() it.
char *shell_join(char *const *words, size_t count) MUST_CHECK;

#endif
