// SPDX-License-Identifier: MIT
// Markdown as templates leave it, made tidy: lines joined where no blank belongs between them,
// empty lines, empty columns and empty tables dropped.
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
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
    if (strncmp(line, "\xee\x80\x80", 3) != 0) return line;
    const char *end = strstr(line, "\xee\x80\x81");
    return end ? end + 3 : line;
}

static bool joins(const text *out, const char *next) {
    const char *last = last_character(out->data, out->length - 1); // before the line feed
    if (strncmp(last, "\xee\x80\x82", 3) == 0 && last > out->data)
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

// ---- Tables ----

// Returns the end of the cell that begins at `at`, after its "|": the next one that is not escaped.
static const char *cell_end(const char *at, const char *end) {
    while (at < end && *at != '|') at += *at == '\\' && at + 1 < end ? 2 : 1;
    return at;
}

static bool is_blank(const char *at, const char *end) {
    while (at < end && (*at == ' ' || *at == '*' || *at == '`')) at++;
    return at == end;
}

// Adds to `used` the columns of a row that have a value.
static size_t look_at_row(const char *row, bool *used, size_t columns) {
    const char *end = row + line_length(row);
    size_t i = 0;
    for (const char *at = row + 1; at < end; i++) {
        const char *next = cell_end(at, end);
        if (i < columns && !is_blank(at, next)) used[i] = true;
        at = next + 1;
    }
    return i;
}

static void write_row(text *out, const char *row, const bool *used, size_t columns) {
    const char *end = row + line_length(row);
    size_t i = 0;
    text_append(out, "|");
    for (const char *at = row + 1; at < end; i++) {
        const char *next = cell_end(at, end);
        if (i >= columns || used[i]) {
            text_bytes(out, at, (size_t)(next - at));
            text_append(out, "|");
        }
        at = next + 1;
    }
    text_append(out, "\n");
}

static const char *next_line(const char *line) {
    line += line_length(line);
    return *line ? line + 1 : line;
}

// Writes the table that begins here, unless it has no row below its head, and returns its end.
static const char *write_table(text *out, const char *table) {
    const size_t columns = look_at_row(table, NULL, 0);
    bool *used = memory_new(columns ? columns : 1, sizeof *used);
    size_t rows = 0;
    const char *end = table;
    used[0] = true;
    for (; *end == '|'; end = next_line(end), rows++)
        if (rows > 1) (void)look_at_row(end, used, columns);
    for (const char *row = table; rows != 2 && row < end; row = next_line(row))
        write_row(out, row, used, columns);
    free(used);
    return end;
}

void template_tidy(text *markdown) {
    text out = {0};
    bool fenced = false;
    for (const char *line = text_string(markdown); *line;) {
        const size_t length = line_length(line);
        const size_t n = out.length;
        if (is_fence(line)) fenced = !fenced;
        if (!fenced && *line == '|') {
            line = write_table(&out, line);
            continue;
        }
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
