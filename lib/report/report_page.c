// SPDX-License-Identifier: MIT
#include "report/report_page.h"

#include <stdlib.h>
#include <string.h>

#include "base/filter.h"
#include "base/memory.h"
#include "report/page_parts.h"

// ---- Columns without a text ----

static size_t line_length(const char *line) {
    const size_t length = strcspn(line, "\n");
    return length + (line[length] == '\n');
}

// Finds the next cell of a row; *at is the bar before it, and then the bar behind it.
static bool next_cell(const char **at, const char **cell, size_t *length) {
    const char *end = *at + 1;
    for (; *end && *end != '\n' && *end != '|'; end++)
        if (*end == '\\' && end[1] && end[1] != '\n') end++;
    if (**at != '|' || *end != '|') return false;
    *cell = *at + 1;
    *length = (size_t)(end - *cell);
    *at = end;
    return true;
}

static bool is_rule(const char *line) {
    const size_t length = strspn(line, "|-: ");
    return *line == '|' && memchr(line, '-', length) && (line[length] == '\n' || !line[length]);
}

// The columns that the text of a cell takes.
static size_t cell_columns(const char *cell, size_t length) {
    while (length && *cell == ' ') cell++, length--;
    while (length && cell[length - 1] == ' ') length--;
    text plain = {0};
    text_bytes(&plain, cell, length);
    page_strip_marks(&plain);
    const size_t columns = text_columns(text_string(&plain));
    text_release(&plain);
    return columns;
}

// What is known of a column: the widest text in it, and whether there is one below the head.
typedef struct column {
    size_t widest;
    bool kept;
} column;

// A column of a rule has at least 3 dashes; and no more than this, for lines can be broken.
enum { RULE_LEAST = 3, RULE_MOST = 32 };

// Writes the cells of a row that are kept. `wide`: it is the rule, and gets as many dashes as the
// column is wide.
static void write_row(text *out, const char *row, const column *columns, size_t count, bool wide) {
    const char *cell;
    size_t length;
    for (size_t i = 0; i < count && next_cell(&row, &cell, &length); i++) {
        if (!columns[i].kept) continue;
        text_append(out, "|");
        for (; wide && length && *cell == ' '; length--) cell++;
        for (size_t k = RULE_LEAST; wide && k < columns[i].widest && k < RULE_MOST; k++)
            text_append(out, "-");
        text_bytes(out, cell, length);
    }
    text_append(out, "|\n");
}

// Writes the table that begins at `rows` without its empty columns; nothing if it has no row below
// its head. Returns what follows it.
static const char *write_table(text *out, const char *rows, bool wide) {
    const char *cell, *at = rows, *end = rows;
    size_t count = 0, length, row = 0;
    while (next_cell(&at, &cell, &length)) count++;
    column *columns = memory_new(count + 1, sizeof *columns);
    columns[0].kept = true;
    for (; *end == '|'; row++, end += line_length(end)) {
        at = end;
        for (size_t i = 0; row != 1 && i < count && next_cell(&at, &cell, &length); i++) {
            const size_t own = cell_columns(cell, length);
            columns[i].kept = columns[i].kept || (row > 1 && own);
            columns[i].widest = own > columns[i].widest ? own : columns[i].widest;
        }
    }
    const bool any = row > 2;
    for (at = rows, row = 0; any && at < end; row++, at += line_length(at))
        write_row(out, at, columns, count, wide && row == 1);
    free(columns);
    // What is left out leaves no empty line.
    const bool apart = out->length > 1 && strcmp(out->data + out->length - 2, "\n\n") == 0;
    while (!any && apart && *end == '\n') end++;
    return end;
}

// The backticks that begin a line, if they open or close a block of code.
static size_t fence_length(const char *line, size_t length) {
    const size_t ticks = strspn(line, "`");
    return ticks < 3 || memchr(line + ticks, '`', length - ticks) ? 0 : ticks;
}

// `wide`: the rules of tables are as wide as their columns.
static void tidy(const char *page, bool wide, text *out) {
    size_t fence = 0; // of the block of code that a line is in
    while (*page) {
        const size_t length = line_length(page), ticks = fence_length(page, length);
        if (!fence && *page == '|' && is_rule(page + length)) {
            page = write_table(out, page, wide);
            continue;
        }
        if (!fence)
            fence = ticks;
        else if (ticks >= fence && page[ticks] == '\n')
            fence = 0;
        text_bytes(out, page, length);
        page += length;
    }
}

void page_tidy(const char *page, text *out) {
    tidy(page, false, out);
}

void page_to_markdown(const char *page, text *out) {
    text plain = {0};
    page_tidy(page, &plain);
    page_strip_marks(&plain);
    text_append(out, text_string(&plain));
    text_release(&plain);
}

// ---- LaTeX ----

enum { PANDOC_SECONDS = 60 };

// Links each picture's PDF, or leaves the pictures out.
static void link_pictures(text *markdown, bool pictures) {
    text linked = {0};
    for (const char *line = text_string(markdown); *line; line += line_length(line)) {
        const size_t length = line_length(line), ending = strlen(".svg)\n");
        const bool picture = strncmp(line, "![", 2) == 0 && length > ending &&
                             strncmp(line + length - ending, ".svg)\n", ending) == 0;
        if (!picture) text_bytes(&linked, line, length);
        if (!picture || !pictures) continue;
        text_bytes(&linked, line, length - ending);
        text_append(&linked, ".pdf)\n");
    }
    text_replace_by(markdown, &linked);
}

// A page in English may also contain CJK characters, in names and in the author's text.
static bool has_wide(const char *string) {
    while (*string && (unsigned char)*string < TEXT_WIDE) string++;
    return *string;
}

// Only in pandoc's own Markdown the rule of a table says how wide its columns are, if they do not
// fit next to each other; so this is CommonMark, put together from extensions of that.
static char from[] = "--from=markdown_strict+pipe_tables+backtick_code_blocks+all_symbols_escapable"
                     "+intraword_underscores+space_in_atx_header+startnum"
                     "+lists_without_preceding_blankline";

// Letters that LaTeX's usual font lacks.
static char letters[] = "--variable=header-includes=\\ifPDFTeX\\else"
                        "\\catcode`α=13\\protected\\defα{\\ensuremath{\\alpha}}"
                        "\\catcode`β=13\\protected\\defβ{\\ensuremath{\\beta}}\\fi";

status page_to_latex(const char *page, bool pictures, text *out, error *err) {
    text plain = {0}, markdown = {0};
    bool found;
    page_to_markdown(page, &plain);
    tidy(text_string(&plain), true, &markdown);
    link_pictures(&markdown, pictures);
    char wide[] = "documentclass=ctexart", narrow[] = "documentclass=extarticle";
    char *const arguments[] = {"pandoc",
                               "--sandbox",
                               from,
                               "--to=latex",
                               "--standalone",
                               "--shift-heading-level-by=-1",
                               "--columns=110",
                               "--toc",
                               "--toc-depth=1",
                               "--variable=geometry:a4paper,margin=1.5cm",
                               "--variable=fontsize:8pt",
                               letters,
                               "--variable",
                               has_wide(text_string(&markdown)) ? wide : narrow,
                               NULL};
    status rc = filter_run(arguments, &markdown, PANDOC_SECONDS, out, &found, err);
    if (rc == STATUS_OK && found && !strstr(text_string(out), "\\end{document}"))
        rc = error_set(err, STATUS_FAILED, "'pandoc' wrote no whole document");
    text_release(&plain);
    text_release(&markdown);
    return rc == STATUS_OK ? rc : error_prefix(err, "cannot make report.tex: ");
}
