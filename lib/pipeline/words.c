// SPDX-License-Identifier: MIT
#include "pipeline/words.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

// Takes ownership of `word`; NULL is a failure that `err` describes.
static status take(words *w, char *word, error *err) {
    void *items = w->items;
    status rc = word ? memory_grow(&items, &w->capacity, w->count + 2, sizeof *w->items, err)
                     : STATUS_FAILED;
    w->items = items;
    if (rc != STATUS_OK) {
        free(word);
        return rc;
    }
    w->items[w->count++] = word;
    w->items[w->count] = NULL;
    return STATUS_OK;
}

status words_add(words *w, const char *word, error *err) {
    return take(w, memory_string(word, err), err);
}

status words_format(words *w, error *err, const char *format, ...) {
    char *text = NULL;
    va_list args;
    va_start(args, format);
    int length = vasprintf(&text, format, args);
    va_end(args);
    if (length < 0) return error_set(err, STATUS_FAILED, "out of memory");
    return take(w, text, err);
}

status words_add_all(words *w, const words *more, error *err) {
    status rc = STATUS_OK;
    for (size_t i = 0; rc == STATUS_OK && i < more->count; i++)
        rc = words_add(w, more->items[i], err);
    return rc;
}

status words_option(words *w, const char *option, const char *value, error *err) {
    if (!value) return STATUS_OK;
    status rc = words_add(w, option, err);
    return rc == STATUS_OK ? words_add(w, value, err) : rc;
}

status words_split(words *w, const char *text, const char *separators, error *err) {
    while (text && *text) {
        size_t length = strcspn(text, separators), begin = 0, end = length;
        while (begin < end && isblank((unsigned char)text[begin])) begin++;
        while (end > begin && isblank((unsigned char)text[end - 1])) end--;
        if (end > begin) {
            status rc = words_format(w, err, "%.*s", (int)(end - begin), text + begin);
            if (rc != STATUS_OK) return rc;
        }
        text += length + (text[length] != 0);
    }
    return STATUS_OK;
}

// Takes one word from *text and advances *text past it.
static status take_option(words *w, const char **text, error *err) {
    char *word = memory_new(strlen(*text) + 1, 1, err), quote = 0;
    size_t length = 0;
    const char *at = *text;
    status rc = word ? STATUS_OK : STATUS_FAILED;
    for (; word && *at && (quote || !isspace((unsigned char)*at)); at++) {
        if (*at == quote)
            quote = 0;
        else if (!quote && (*at == '\'' || *at == '"'))
            quote = *at;
        else
            word[length++] = *at;
    }
    if (quote) rc = error_set(err, STATUS_USAGE, "a quote is not closed: %s", *text);
    if (rc == STATUS_OK) rc = words_add(w, word, err);
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
