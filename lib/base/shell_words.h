// shell_words.h - words as a POSIX shell reads them back, for commands that are shown to be typed
// again.
#ifndef LOCKSTEP_BASE_SHELL_WORDS_H
#define LOCKSTEP_BASE_SHELL_WORDS_H

#include <stddef.h>

#include "base/error.h"

// The word, in single quotes where the shell would take it for something else. NULL, with err
// filled, when there is no memory; free() it.
char *shell_quote(const char *word, error *err) MUST_CHECK;

// All words, quoted, with blanks between them. NULL, with err filled, when there is no memory;
// free() it.
char *shell_join(char *const *words, size_t count, error *err) MUST_CHECK;

#endif
