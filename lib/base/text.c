// SPDX-License-Identifier: MIT
#include "base/text.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/printable.h"

void text_release(text *t) {
    free(t->data);
    t->data = NULL;
    t->length = t->capacity = 0;
}

static void reserve(text *t, size_t more) {
    t->data = memory_grow(t->data, &t->capacity, t->length + more + 1, 1);
}

void text_bytes(text *t, const char *bytes, size_t count) {
    reserve(t, count);
    memcpy(t->data + t->length, bytes, count);
    t->length += count;
    t->data[t->length] = 0;
}

void text_append(text *t, const char *string) {
    text_bytes(t, string, strlen(string));
}

void text_format(text *t, const char *format, ...) {
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (length >= 0) {
        reserve(t, (size_t)length);
        vsnprintf(t->data + t->length, (size_t)length + 1, format, again);
        t->length += (size_t)length;
    }
    va_end(again);
}

bool text_read(text *t, int fd, size_t most) {
    char part[1 << 14];
    for (ssize_t got = 1; got != 0 && t->length <= most;) {
        got = read(fd, part, sizeof part);
        if (got < 0 && errno != EINTR) return false;
        if (got > 0) text_bytes(t, part, (size_t)got);
    }
    return true;
}

const char *text_string(const text *t) {
    return t->data ? t->data : "";
}

char *text_take(text *t) {
    text_append(t, "");
    char *string = t->data;
    t->data = NULL;
    t->length = t->capacity = 0;
    return string;
}

static void drop_character(text *t) {
    while (t->length && ((unsigned char)t->data[--t->length] & 0xC0) == 0x80) continue;
    t->data[t->length] = 0;
}

void text_cut_columns(text *t, size_t columns) {
    if (text_columns(text_string(t)) <= columns) return;
    while (t->length && text_columns(t->data) + 1 > columns) drop_character(t);
    if (columns) text_append(t, "…");
}

void text_cut_middle(text *t, size_t columns) {
    if (text_columns(text_string(t)) <= columns) return;
    const size_t right = columns / 2;
    char *whole = text_take(t);
    const char *end = whole;
    while (text_columns(end) > right) do
            end++;
        while (((unsigned char)*end & 0xC0) == 0x80);
    text_append(t, whole);
    text_cut_columns(t, columns - text_columns(end));
    text_append(t, end);
    free(whole);
}

void text_replace_by(text *t, text *result) {
    text_release(t);
    *t = *result;
    *result = (text){0};
}

void text_replace(text *t, const char *from, const char *to) {
    const char *rest = text_string(t);
    size_t length = strlen(from);
    text result = {0};
    for (const char *hit; (hit = strstr(rest, from)); rest = hit + length) {
        text_bytes(&result, rest, (size_t)(hit - rest));
        text_append(&result, to);
    }
    text_append(&result, rest);
    text_replace_by(t, &result);
}

void text_markup(text *t, const char *string) {
    for (;;) {
        size_t plain = strcspn(string, "&<>\"");
        text_bytes(t, string, plain);
        string += plain;
        switch (*string++) {
        case '&': text_append(t, "&amp;"); break;
        case '<': text_append(t, "&lt;"); break;
        case '>': text_append(t, "&gt;"); break;
        case '"': text_append(t, "&quot;"); break;
        default: return;
        }
    }
}

void text_csv(text *out, const char *string) {
    text field = {0};
    if (*string && strchr("=+-@\t\r", *string)) text_append(&field, "'");
    text_append(&field, string);
    if (field.data) field.length = printable(field.data, false);
    const bool quoted = strpbrk(text_string(&field), ",\"\n") != NULL;
    if (quoted) {
        text_replace(&field, "\"", "\"\"");
        text_append(out, "\"");
    }
    text_append(out, text_string(&field));
    if (quoted) text_append(out, "\"");
    text_release(&field);
}

void text_base64(text *t, const void *bytes, size_t count) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *from = bytes;
    for (size_t i = 0; i < count; i += 3) {
        unsigned group = 0;
        char four[4];
        for (size_t k = 0; k < 3; k++) group = group << 8 | (i + k < count ? from[i + k] : 0U);
        for (size_t k = 0; k < 4; k++)
            four[k] = i + k > count ? '=' : digits[group >> (18 - 6 * k) & 63];
        text_bytes(t, four, sizeof four);
    }
}

char *text_escaped(const char *string) {
    char *escaped = memory_new(PRINTABLE_ESCAPE * strlen(string) + 1, 1);
    printable_escape(string, escaped);
    return escaped;
}

size_t text_columns(const char *string) {
    size_t columns = 0;
    for (const unsigned char *c = (const unsigned char *)string; *c; c++)
        if ((*c & 0xC0) != 0x80) columns += *c >= TEXT_WIDE ? 2 : 1;
    return columns;
}
