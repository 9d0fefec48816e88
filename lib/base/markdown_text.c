// SPDX-License-Identifier: MIT
#include "base/markdown_text.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/printable.h"

enum { MARK_BYTES = 3 };

// Returns a copy without what may deceive a reader, and without the characters U+E000 to U+E002,
// which mark figures. free() it.
static char *clean(const char *string) {
    char *copy = memory_string(string);
    (void)printable(copy, false);
    char *to = copy;
    for (const char *at = copy; *at;) {
        const bool mark = strncmp(at, "\xee\x80", 2) == 0 && (unsigned char)at[2] <= 0x82;
        *to++ = mark ? '?' : *at;
        at += mark ? MARK_BYTES : 1;
    }
    *to = 0;
    return copy;
}

// Is this the beginning of a block: of a line, or behind the signs of lists and quotes?
static bool begins_block(const text *out) {
    const char *string = text_string(out);
    for (size_t i = out->length; i && string[i - 1] != '\n'; i--)
        if (!strchr(" >-.)0123456789", string[i - 1])) return false;
    return true;
}

static bool is_end(char c) {
    return c == ' ' || c == '\n' || c == 0;
}

// Would the character make a block of the line that it begins: a heading, a list, a quote?
static bool opens_block(const char *at) {
    if (strchr("#>=", *at)) return true;
    return strchr("-+", *at) && (is_end(at[1]) || at[1] == *at);
}

// Would the character mean something inside a line? "#" does at the end of a heading; there begins
// `tail`.
static bool is_special(const char *at, const char *tail) {
    static const char always[] = "\\`*_<|$";
    if (strchr(always, *at)) return true;
    if (*at == ']') return at[1] && strchr("([:", at[1]);
    if (*at == '~') return at[1] == '~';
    if (*at == '&') return at[1] == '#' || ((at[1] | 32) >= 'a' && (at[1] | 32) <= 'z');
    return *at == '#' && at >= tail;
}

void markdown_escape(text *out, const char *string) {
    char *own = clean(string);
    const bool begin = begins_block(out);
    const char *first = own + (begin ? strspn(own, " \n") : 0);
    const size_t digits = begin ? strspn(first, "0123456789") : 0;
    const char *tail = own + strlen(own);
    while (tail > first && strchr("# \n", tail[-1])) tail--;
    for (const char *at = first; *at; at++) {
        const bool opens = begin && at == first && opens_block(at);
        const bool number = digits && at == first + digits && strchr(".)", *at) && is_end(at[1]);
        if (is_special(at, tail) || number || opens) text_append(out, "\\");
        text_bytes(out, *at == '\n' ? " " : at, 1);
    }
    free(own);
}

// The length of the longest row of backticks.
static size_t longest_fence(const char *string) {
    size_t longest = 0;
    for (const char *at = string; *at; at++) {
        const size_t length = strspn(at, "`");
        longest = length > longest ? length : longest;
        if (length) at += length - 1;
    }
    return longest;
}

static void write_fence(text *out, size_t length) {
    for (size_t i = 0; i < length; i++) text_append(out, "`");
}

void markdown_code(text *out, const char *string) {
    char *own = clean(string);
    const size_t fence = longest_fence(own) + 1;
    const char *gap = fence > 1 ? " " : "";
    for (char *at = own; (at = strchr(at, '\n'));) *at = ' ';
    if (*own) {
        write_fence(out, fence);
        text_format(out, "%s%s%s", gap, own, gap);
        write_fence(out, fence);
    }
    free(own);
}

void markdown_code_block(text *out, const char *code) {
    char *own = clean(code);
    const size_t least = 3, longest = longest_fence(own), length = strlen(own);
    const size_t fence = longest < least ? least : longest + 1;
    write_fence(out, fence);
    text_format(out, "\n%s%s", own, length && own[length - 1] != '\n' ? "\n" : "");
    write_fence(out, fence);
    text_append(out, "\n");
    free(own);
}

void markdown_literal(text *out, const char *code) {
    char *own = clean(code);
    for (char *at = own, *fence; *at; at = fence ? fence + 3 : at + strlen(at)) {
        fence = strstr(at, "```");
        text_bytes(out, at, fence ? (size_t)(fence - at) : strlen(at));
        if (fence) text_append(out, "`` ");
    }
    free(own);
}
