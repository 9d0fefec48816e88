// SPDX-License-Identifier: MIT
// Markdown as templates leave it, made tidy: lines joined where no blank belongs between them,
// empty lines dropped.
#include <stdlib.h>
#include <string.h>

#include "base/markdown_text.h"
#include "base/template.h"
#include "base/template_internal.h"

// ---- Lines ----

static size_t line_length(const char *at) {
    return strcspn(at, "\n");
}

static bool is_fence(const char *line) {
    return strncmp(line, "```", 3) == 0;
}

// Returns the last character of a string of `length` bytes.
static const char *last_character(const char *string, size_t length) {
    const char *at = string + length;
    do at--;
    while (at > string && ((unsigned char)*at & 0xC0) == 0x80);
    return at;
}

static bool is_wide(const char *character) {
    return (unsigned char)*character >= TEXT_WIDE && strncmp(character, "\xee\x80", 2) != 0;
}

// Chinese punctuation brings its own room: U+3000 to U+303F and U+FF00 to U+FF0F, U+FF1A to U+FF1F.
static bool is_wide_punctuation(const char *c) {
    if (strncmp(c, "\xe3\x80", 2) == 0) return true;
    if (strncmp(c, "\xef\xbc", 2) != 0) return false;
    return (unsigned char)c[2] <= 0x8f ||
           ((unsigned char)c[2] >= 0x9a && (unsigned char)c[2] <= 0x9f);
}

// Skips the mark and the id of a figure, which are not seen.
static const char *first_seen(const char *line) {
    if (strncmp(line, MARK_FIGURE, 3) != 0) return line;
    const char *end = strstr(line, MARK_SHOWN);
    return end ? end + 3 : line;
}

static bool joins(const text *out, const char *next) {
    const char *last = last_character(out->data, out->length - 1); // before the line feed
    if (strncmp(last, MARK_END, 3) == 0 && last > out->data)
        last = last_character(out->data, (size_t)(last - out->data));
    next = first_seen(next);
    if (*next && strchr(",.;:!?)", *next)) return true;
    return is_wide_punctuation(last) || is_wide_punctuation(next) ||
           (is_wide(last) && is_wide(next));
}

// Lines that begin a block of their own are never joined to the one before.
static bool is_prose(const char *line) {
    const size_t digits = strspn(line, "0123456789");
    const bool numbered =
        digits && (line[digits] == '.' || line[digits] == ')') && line[digits + 1] == ' ';
    return *line && !strchr("\n#|>+*`<", *line) && strncmp(line, "- ", 2) != 0 &&
           strncmp(line, "![", 2) != 0 && !numbered;
}

// Was the last line prose, too?
static bool ends_prose(const text *out) {
    const char *at = out->data + out->length - 1;
    while (at > out->data && at[-1] != '\n') at--;
    return *at != '|' && *at != '#' && !is_fence(at) && strncmp(at, "<!--", 4) != 0 &&
           strncmp(at, "![", 2) != 0;
}

// Replaces the line feed at the end by what is between this line and the next one.
static void join(text *out, const char *next) {
    if (joins(out, next) || out->data[out->length - 2] == ' ')
        out->data[--out->length] = 0;
    else
        out->data[out->length - 1] = ' ';
}

static const char *next_line(const char *line) {
    line += line_length(line);
    return *line ? line + 1 : line;
}

void template_tidy(text *markdown) {
    text out = {0};
    bool fenced = false;
    for (const char *line = text_string(markdown); *line;) {
        const size_t length = line_length(line);
        const size_t n = out.length;
        if (is_fence(line)) fenced = !fenced;
        const bool doubled =
            n == 0 || (n > 1 && out.data[n - 1] == '\n' && out.data[n - 2] == '\n');
        if (!fenced && !length && doubled) {
            line++;
            continue;
        }
        if (!fenced && n > 1 && !doubled && is_prose(line) && ends_prose(&out)) join(&out, line);
        text_bytes(&out, line, length);
        text_append(&out, "\n");
        line = next_line(line);
    }
    while (out.length > 1 && out.data[out.length - 1] == '\n' && out.data[out.length - 2] == '\n')
        out.data[--out.length] = 0;
    text_replace_by(markdown, &out);
}

void template_flatten(text *markdown) {
    text out = {0};
    for (const char *line = text_string(markdown); *line; line = next_line(line)) {
        const size_t length = line_length(line);
        if (!length) continue;
        if (out.length) {
            text_append(&out, "\n");
            join(&out, line);
        }
        text_bytes(&out, line, length);
    }
    text_replace_by(markdown, &out);
}

void template_nest(text *markdown) {
    text out = {0};
    bool fenced = false;
    for (const char *line = text_string(markdown); *line; line = next_line(line)) {
        if (is_fence(line)) fenced = !fenced;
        if (!fenced && *line == '#') text_append(&out, "#");
        text_bytes(&out, line, line_length(line));
        text_append(&out, "\n");
    }
    text_replace_by(markdown, &out);
}
