// SPDX-License-Identifier: MIT
// words.h - the texts of audits in the language of their readers.
//
// A text is written in English where it is used, so that the compiler checks it as a format. The
// other languages are files of pairs next to this one: zh.inc. `scripts/check-words` finds texts
// without a translation, and translations that no text uses.
#ifndef LOCKSTEP_WORDS_WORDS_H
#define LOCKSTEP_WORDS_WORDS_H

#include <stdbool.h>
#include <stddef.h>

typedef enum language { LANGUAGE_EN, LANGUAGE_ZH, LANGUAGES } language;

// Marks a text that is translated later.
#define WORD(english) english

// Returns `english` in language l, or in English if it has no translation. Formats take the same
// arguments in every language, if necessary in another order ("%2$s").
const char *words_in(language l, const char *english) __attribute__((format_arg(2)));

// Finds pair `index` of a language other than English, in the order of the English bytes; false
// after the last one. For tests.
bool words_pair(language l, size_t index, const char **english, const char **other);

const char *language_name(language l); // "en"
// Returns false if there is no such language.
bool language_find(const char *name, language *l);

#endif
