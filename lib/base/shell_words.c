// SPDX-License-Identifier: MIT
#include "base/shell_words.h"

#include <string.h>

#include "base/text.h"

// A word of these alone means itself.
static const char SAFE[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                           "@%+=:,./_-";

static void append_quoted(text *line, const char *word) {
    if (*word && !word[strspn(word, SAFE)]) {
        text_append(line, word);
        return;
    }
    text_append(line, "'");
    for (; *word; word++)
        if (*word == '\'')
            text_append(line, "'\\''"); // out of the quotes, an escaped one, and in again
        else
            text_bytes(line, word, 1);
    text_append(line, "'");
}

char *shell_quote(const char *word) {
    text quoted = {0};
    append_quoted(&quoted, word);
    return text_take(&quoted);
}

char *shell_join(char *const *words, size_t count) {
    text line = {0};
    for (size_t i = 0; i < count; i++) {
        if (i) text_append(&line, " ");
        append_quoted(&line, words[i]);
    }
    return text_take(&line);
}
