// SPDX-License-Identifier: MIT
#include "base/strvec.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

// Takes ownership of `word`.
static void take_item(strvec *v, char *word) {
    v->items = memory_grow(v->items, &v->capacity, v->count + 2, sizeof *v->items);
    v->items[v->count++] = word;
    v->items[v->count] = NULL;
}

void strvec_add(strvec *v, const char *word) {
    take_item(v, memory_string(word));
}

void strvec_format(strvec *v, const char *format, ...) {
    va_list args;
    va_start(args, format);
    char *text = memory_format_list(format, args);
    va_end(args);
    take_item(v, text);
}

void strvec_add_all(strvec *v, const strvec *more) {
    for (size_t i = 0; i < more->count; i++) strvec_add(v, more->items[i]);
}

void strvec_add_option(strvec *v, const char *option, const char *value) {
    if (!value) return;
    strvec_add(v, option);
    strvec_add(v, value);
}

void strvec_split(strvec *v, const char *text, const char *separators) {
    while (text && *text) {
        size_t length = strcspn(text, separators), begin = 0, end = length;
        while (begin < end && isblank((unsigned char)text[begin])) begin++;
        while (end > begin && isblank((unsigned char)text[end - 1])) end--;
        if (end > begin) {
            strvec_format(v, "%.*s", (int)(end - begin), text + begin);
        }
        text += length + (text[length] != 0);
    }
}

// Takes one word from *text and advances *text past it.
static status take_quoted(strvec *v, const char **text, error *err) {
    char *word = memory_new(strlen(*text) + 1, 1), quote = 0;
    size_t length = 0;
    const char *at = *text;
    status rc = STATUS_OK;
    for (; *at && (quote || !isspace((unsigned char)*at)); at++) {
        if (*at == quote)
            quote = 0;
        else if (!quote && (*at == '\'' || *at == '"'))
            quote = *at;
        else
            word[length++] = *at;
    }
    if (quote) rc = error_set(err, STATUS_USAGE, "a quote is not closed: %s", *text);
    if (rc == STATUS_OK) strvec_add(v, word);
    *text = at;
    free(word);
    return rc;
}

status strvec_split_quoted(strvec *v, const char *text, error *err) {
    while (text) {
        while (isspace((unsigned char)*text)) text++;
        if (!*text) break;
        NEED(take_quoted(v, &text, err));
    }
    return STATUS_OK;
}

const char *strvec_option_value(const strvec *v, const char *option) {
    const size_t length = strlen(option);
    const char *value = NULL;
    for (size_t i = 0; i < v->count; i++) {
        const char *word = v->items[i];
        if (strncmp(word, option, length) != 0) continue;
        if (!word[length]) value = v->items[i + 1];
        if (word[length] == '=') value = word + length + 1;
    }
    return value;
}

bool strvec_has(const strvec *v, const char *word) {
    for (size_t i = 0; i < v->count; i++)
        if (strcmp(v->items[i], word) == 0) return true;
    return false;
}

void strvec_cut(strvec *v, size_t count) {
    while (v->count > count) {
        free(v->items[--v->count]);
        v->items[v->count] = NULL;
    }
}

void strvec_release(strvec *v) {
    for (size_t i = 0; i < v->count; i++) free(v->items[i]);
    free(v->items);
    *v = (strvec){0};
}
