// SPDX-License-Identifier: MIT
// hint.h - the answer to a word that is not known here. There are three: it is a slip of a word
// that is known; it is another library's word (PyTorch, Lightning, Keras, Hugging Face) for one
// that is; or it is something else, which is said.
#ifndef LOCKSTEP_BASE_HINT_H
#define LOCKSTEP_BASE_HINT_H

#include <stddef.h>

enum { HINT_BYTES = 1024 };

typedef enum hint_kind {
    HINT_KEYS, // keys, options, commands
    // Layers, optimizers, augmentations: "radam" and "adamp" are no slips of "adam", but other
    // functions. Only a slip of one letter is one (two in words of 8 and more), and nothing that
    // has a known word as its beginning or end.
    HINT_FUNCTIONS,
} hint_kind;

// Returns the known word that is meant, or NULL. *note is a sentence about it, or about a word that
// is something else, or NULL. `known` are the words that are valid in its place. A known word may
// have a path: "optimizer.lr" is the answer to "learning_rate".
const char *hint_find(const char *word, const char *const *known, size_t count, hint_kind kind,
                      const char **note);

// Writes what follows 'word' in a message, and returns it: ": did you mean 'lr'?", ": SENTENCE", or
// "" if nothing is known about it.
const char *hint_about(const char *word, const char *const *known, size_t count, hint_kind kind,
                       char text[HINT_BYTES]);

// Appends to such a text all known words, after a clause such as "the layers are".
void hint_list(const char *clause, const char *const *known, size_t count, char text[HINT_BYTES]);

#endif
