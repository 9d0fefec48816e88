// SPDX-License-Identifier: MIT
// spelling.h - which of the known words a misspelt one is near: for "did you mean" of file names
// and the like. hint.h answers more.
#ifndef LOCKSTEP_BASE_SPELLING_H
#define LOCKSTEP_BASE_SPELLING_H

#include <stdbool.h>
#include <stddef.h>

// Do the words differ in the case of ASCII letters, and in these signs, alone?
bool spelling_alike(const char *a, const char *b, const char *signs);
// Returns the one of the `count` `words` that differs in case, blanks, '-' and '_' alone, or else
// is nearest to `word` by edit distance; NULL if none is near.
const char *spelling_nearest(const char *word, const char *const *words, size_t count);
// Counts the insertions, deletions, replacements and swaps of neighbours that turn a into b.
size_t spelling_distance(const char *a, const char *b);

#endif
