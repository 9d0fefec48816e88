// SPDX-License-Identifier: MIT
#include "base/shell_words.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

// A word of these alone means itself.
static const char SAFE[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                           "@%+=:,./_-";
// A quote inside quotes: out of them, a quote that is escaped, and in again.
static const char QUOTE[] = "'\\''";

char *shell_quote(const char *word) {
    size_t length = strlen(word), quotes = 0;
    if (length && strspn(word, SAFE) == length) return memory_string(word);
    for (const char *c = word; *c; c++) quotes += *c == '\'';
    char *quoted = memory_new(length + quotes * (sizeof QUOTE - 2) + sizeof "''", 1);
    char *to = quoted;
    *to++ = '\'';
    for (; *word; word++) {
        if (*word == '\'')
            to = stpcpy(to, QUOTE);
        else
            *to++ = *word;
    }
    memcpy(to, "'", sizeof "'");
    return quoted;
}

char *shell_join(char *const *words, size_t count) {
    char *line = memory_string("");
    for (size_t i = 0; i < count; i++) {
        char *word = shell_quote(words[i]);
        char *longer = memory_format("%s%s%s", line, i ? " " : "", word);
        free(word);
        free(line);
        line = longer;
    }
    return line;
}
