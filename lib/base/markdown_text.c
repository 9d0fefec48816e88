// SPDX-License-Identifier: MIT
#include "base/markdown_text.h"

#include <stdbool.h>
#include <string.h>

enum { MARK_BYTES = 3 };

// Is there one of the characters U+E000 to U+E002?
static bool is_mark(const char *at) {
    const unsigned char last = strncmp(at, "\xee\x80", 2) == 0 ? (unsigned char)at[2] : 0;
    return last >= 0x80 && last <= 0x82;
}

// Appends a byte, or the character that a mark or a line break becomes. Returns what was read.
static size_t write_literal(text *out, const char *at) {
    if (is_mark(at)) {
        text_append(out, "?");
        return MARK_BYTES;
    }
    text_bytes(out, *at == '\n' ? " " : at, 1);
    return 1;
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

// Would the character mean something inside a line? At the end of a heading, "#" does.
static bool is_special(const char *at) {
    static const char always[] = "\\`*_<|$";
    if (strchr(always, *at)) return true;
    if (*at == ']') return at[1] && strchr("([:", at[1]);
    if (*at == '~') return at[1] == '~';
    if (*at == '&') return at[1] == '#' || ((at[1] | 32) >= 'a' && (at[1] | 32) <= 'z');
    return *at == '#' && at[strspn(at, "# \n")] == 0;
}

void markdown_escape(text *out, const char *string) {
    const bool begin = begins_block(out);
    if (begin) string += strspn(string, " \n");
    const size_t digits = begin ? strspn(string, "0123456789") : 0;
    for (const char *at = string; *at;) {
        const bool first = begin && at == string;
        const bool number = digits && at == string + digits && strchr(".)", *at) && is_end(at[1]);
        if (is_special(at) || number || (first && opens_block(at))) text_append(out, "\\");
        at += write_literal(out, at);
    }
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
    const size_t fence = longest_fence(string) + 1;
    const char *gap = fence > 1 ? " " : "";
    if (!*string) return;
    write_fence(out, fence);
    text_append(out, gap);
    while (*string) string += write_literal(out, string);
    text_append(out, gap);
    write_fence(out, fence);
}

void markdown_code_block(text *out, const char *code) {
    const size_t least = 3, longest = longest_fence(code), length = strlen(code);
    const size_t fence = longest < least ? least : longest + 1;
    write_fence(out, fence);
    text_append(out, "\n");
    while (*code)
        if (*code == '\n')
            text_bytes(out, code++, 1);
        else
            code += write_literal(out, code);
    if (length && code[-1] != '\n') text_append(out, "\n");
    write_fence(out, fence);
    text_append(out, "\n");
}

void markdown_literal(text *out, const char *code) {
    while (*code) {
        if (strncmp(code, "```", 3) == 0) {
            text_append(out, "`` ");
            code += 3;
        } else if (*code == '\n') {
            text_bytes(out, code++, 1);
        } else {
            code += write_literal(out, code);
        }
    }
}
