// SPDX-License-Identifier: MIT
#include "pipeline/words.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

// Takes ownership of `word`.
static void take(words *w, char *word) {
    void *items = w->items;
    memory_grow(&items, &w->capacity, w->count + 2, sizeof *w->items);
    w->items = items;
    w->items[w->count++] = word;
    w->items[w->count] = NULL;
}

void words_add(words *w, const char *word) {
    take(w, memory_string(word));
}

void words_format(words *w, const char *format, ...) {
    va_list args;
    va_start(args, format);
    char *text = memory_format_list(format, args);
    va_end(args);
    take(w, text);
}

void words_add_all(words *w, const words *more) {
    for (size_t i = 0; i < more->count; i++) words_add(w, more->items[i]);
}

void words_option(words *w, const char *option, const char *value) {
    if (!value) return;
    words_add(w, option);
    words_add(w, value);
}

void words_split(words *w, const char *text, const char *separators) {
    while (text && *text) {
        size_t length = strcspn(text, separators), begin = 0, end = length;
        while (begin < end && isblank((unsigned char)text[begin])) begin++;
        while (end > begin && isblank((unsigned char)text[end - 1])) end--;
        if (end > begin) {
            words_format(w, "%.*s", (int)(end - begin), text + begin);
        }
        text += length + (text[length] != 0);
    }
}

// Takes one word from *text and advances *text past it.
static status take_option(words *w, const char **text, error *err) {
    char *word = memory_new(strlen(*text) + 1, 1), quote = 0;
    size_t length = 0;
    const char *at = *text;
    status rc = STATUS_OK;
    for (; word && *at && (quote || !isspace((unsigned char)*at)); at++) {
        if (*at == quote)
            quote = 0;
        else if (!quote && (*at == '\'' || *at == '"'))
            quote = *at;
        else
            word[length++] = *at;
    }
    if (quote) rc = error_set(err, STATUS_USAGE, "a quote is not closed: %s", *text);
    if (rc == STATUS_OK) words_add(w, word);
    *text = at;
    free(word);
    return rc;
}

status words_options(words *w, const char *text, error *err) {
    while (text) {
        while (isspace((unsigned char)*text)) text++;
        if (!*text) break;
        status rc = take_option(w, &text, err);
        if (rc != STATUS_OK) return rc;
    }
    return STATUS_OK;
}

const char *words_value(const words *w, const char *option) {
    const size_t length = strlen(option);
    const char *value = NULL;
    for (size_t i = 0; i < w->count; i++) {
        const char *word = w->items[i];
        if (strncmp(word, option, length) != 0) continue;
        if (!word[length]) value = w->items[i + 1];
        if (word[length] == '=') value = word + length + 1;
    }
    return value;
}

bool words_has(const words *w, const char *word) {
    for (size_t i = 0; i < w->count; i++)
        if (strcmp(w->items[i], word) == 0) return true;
    return false;
}

void words_cut(words *w, size_t count) {
    while (w->count > count) {
        free(w->items[--w->count]);
        w->items[w->count] = NULL;
    }
}

void words_release(words *w) {
    for (size_t i = 0; i < w->count; i++) free(w->items[i]);
    free(w->items);
    *w = (words){0};
}
