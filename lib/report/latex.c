// SPDX-License-Identifier: MIT
// An article that needs only packages of a common TeX installation: longtable, booktabs, array,
// graphicx. Drawings are separate files, figures/ID.pdf. Only Chinese text needs XeLaTeX or
// LuaLaTeX with ctex.
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "report/document.h"

// Characters that not every text font has.
static const struct {
    const char *character, *command;
} symbols[] = {{"†", "\\textsuperscript{\\dag}"},
               {"→", "$\\to$"},
               {"α", "$\\alpha$"},
               {"β", "$\\beta$"},
               {"−", "$-$"}};

// Returns the command for the character at the beginning of `string`, or NULL.
static const char *find_symbol(const char *string, size_t *bytes) {
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
        *bytes = strlen(symbols[i].character);
        if (strncmp(string, symbols[i].character, *bytes) == 0) return symbols[i].command;
    }
    return NULL;
}

static void escape_byte(text *out, const char *at) {
    switch (*at) {
    case '\\': text_append(out, "\\textbackslash{}"); break;
    case '~': text_append(out, "\\textasciitilde{}"); break;
    case '^': text_append(out, "\\textasciicircum{}"); break;
    case '<': text_append(out, "\\textless{}"); break;
    case '>': text_append(out, "\\textgreater{}"); break;
    case '\n': text_append(out, "\\newline\n"); break; // a double backslash would end a table's row
    case '-': text_append(out, at[1] == '-' ? "-{}" : "-"); break; // "--" is another dash
    case '_': text_append(out, "\\_\\allowbreak{}"); break;
    case '&':
    case '%':
    case '$':
    case '#':
    case '{':
    case '}': text_append(out, "\\"); // fall through
    default: text_bytes(out, at, 1);
    }
}

// Keeps lines from breaking between a number and its "%".
static void escape(text *out, const char *string) {
    while (*string) {
        size_t bytes;
        const char *symbol = find_symbol(string, &bytes);
        if (symbol) {
            text_append(out, symbol);
            string += bytes;
        } else if (strncmp(string, " %", 2) == 0) {
            text_append(out, "~");
            string++;
        } else {
            escape_byte(out, string++);
        }
    }
}

// Hashes and paths can break anywhere, in pieces of this many characters.
enum { CODE_PIECE = 16 };

static void escape_code(text *out, const char *string) {
    size_t length = strlen(string);
    for (size_t i = 0; i < length; i++) {
        escape_byte(out, string + i);
        if (i % CODE_PIECE == CODE_PIECE - 1) text_append(out, "\\allowbreak{}");
    }
}

static void write_cell(text *out, const cell *c, bool head) {
    const char *open = head || c->style == CELL_STRONG ? "\\textbf{"
                       : c->style == CELL_CODE         ? "\\texttt{\\tiny "
                                                       : "{";
    text_append(out, open);
    if (c->style == CELL_CODE && !head)
        escape_code(out, c->text);
    else
        escape(out, c->text);
    text_append(out, "}");
}

// ---- Widths ------------------------------------------------------------------------------------

// Type sizes, and how many digits of each fit on a line.
static const struct {
    const char *command;
    double room;
} sizes[] = {{"\\footnotesize", 118}, {"\\scriptsize", 128}, {"\\tiny", 148}};
enum { SIZES = sizeof sizes / sizeof *sizes };

// The width of a column in digits: the preferred one, and the minimum. Text that can be broken into
// lines still gets some room.
typedef struct extent {
    double widest, word;
} extent;
static const double TEXT_LEAST = 10;

// The width of the character that begins with this byte, in digits.
static double width_of(unsigned char byte) {
    if ((byte & 0xC0) == 0x80) return 0; // inside a character
    if (byte >= TEXT_WIDE) return 2;
    return byte >= 'A' && byte <= 'Z' ? 1.4 : 1;
}

// Can a line end after this character? Numbers are broken only where one ends.
static bool is_break(const cell *c, const char *at, bool head) {
    if ((unsigned char)*at >= TEXT_WIDE || *at == '_' || (*at == '-' && at[1] != '-')) return true;
    if (*at != ' ' || at[1] == '%') return false;
    return head || c->style != CELL_NUMBER || (at > c->text && at[-1] == ';');
}

static extent measure_cell(const cell *c, bool head) {
    const bool code = c->style == CELL_CODE && !head, bold = head || c->style == CELL_STRONG;
    extent s = {0, 0};
    double word = 0;
    for (const char *at = c->text; *at; at++) {
        double scale = bold ? 1.15 : code ? 0.8 : 1;
        double width = scale * width_of((unsigned char)*at);
        s.widest += width;
        word += *at == ' ' && word == 0 ? 0 : width;
        s.word = fmax(s.word, word - (*at == ' ' ? width : 0));
        if (is_break(c, at, head) || (code && word >= scale * (double)CODE_PIECE)) word = 0;
    }
    if (c->style != CELL_NUMBER) s.word = fmax(s.word, fmin(s.widest, TEXT_LEAST));
    return s;
}

static void measure(const table *t, extent *extents) {
    for (size_t i = 0; i < t->count; i++) {
        extent own = measure_cell(&t->cells[i], i < t->columns), *s = &extents[i % t->columns];
        s->widest = fmax(s->widest, own.widest);
        s->word = fmax(s->word, own.word);
    }
}

// The space between two columns, in digits.
static const double GAP = 1.25;

static double sum(const extent *extents, size_t count, bool words) {
    double all = 0;
    for (size_t i = 0; i < count; i++) all += (words ? extents[i].word : extents[i].widest) + GAP;
    return all;
}

// Returns the largest type in which every word fits; the smallest if there is none.
static int choose_size(const extent *extents, size_t count) {
    for (int i = 0; i < SIZES; i++)
        if (sum(extents, count, true) <= sizes[i].room) return i;
    return SIZES - 1;
}

// Distributes the room left by the words to the columns that can use it.
static void write_columns(text *out, const table *t, const extent *extents, double room) {
    double words = sum(extents, t->columns, true), widest = sum(extents, t->columns, false);
    double line = fmax(room, words), share = (line - words) / fmax(widest - words, 1);
    bool natural = widest <= room;
    for (size_t i = 0; i < t->columns; i++) {
        const cell *first = &t->cells[t->count > t->columns ? t->columns + i : i];
        bool number = first->style == CELL_NUMBER;
        double width = extents[i].word + GAP + share * (extents[i].widest - extents[i].word);
        if (natural)
            text_append(out, number ? "r" : "l");
        else
            text_format(out,
                        ">{\\ragged%s\\arraybackslash}p{\\dimexpr %.4f\\linewidth-2\\tabcolsep}",
                        number ? "left" : "right", width / line);
    }
}

// ---- Blocks ------------------------------------------------------------------------------------

static void write_rows(text *out, const table *t) {
    text_append(out, "\\toprule\n");
    for (size_t i = 0; i < t->count; i++) {
        write_cell(out, &t->cells[i], i < t->columns);
        bool last = i % t->columns == t->columns - 1;
        text_append(out, last ? " \\\\\n" : " & ");
        if (last && i < t->columns) text_append(out, "\\midrule\n\\endhead\n");
    }
    text_append(out, "\\bottomrule\n");
}

// A page has no scroll box: a table that is too wide is broken into lines, in smaller type.
static void write_table(text *out, const block *b) {
    const table *t = &b->table;
    extent *extents = memory_new(t->columns, sizeof *extents);
    measure(t, extents);
    int size = choose_size(extents, t->columns);
    text_format(out, "{%s\n\\begin{longtable}{", sizes[size].command);
    write_columns(out, t, extents, sizes[size].room);
    text_append(out, "}\n");
    if (*b->text) {
        text_append(out, "\\caption*{");
        escape(out, b->text);
        text_append(out, "}\\\\\n");
    }
    write_rows(out, t);
    text_append(out, "\\end{longtable}}\n\n");
    free(extents);
}

static void wrapped(text *out, const char *open, const char *string, const char *close) {
    text_append(out, open);
    escape(out, string);
    text_append(out, close);
}

static void write_spans(text *out, const char *open, const block *b, const char *close) {
    static const char *const commands[] = {"", "\\emph{", "\\textbf{", "\\texttt{"};
    span s;
    text_append(out, open);
    for (const char *at = b->text; document_next_span(b, &at, &s);) {
        text piece = {0};
        text_bytes(&piece, s.text, s.length);
        wrapped(out, commands[s.style], text_string(&piece), *commands[s.style] ? "}" : "");
        text_release(&piece);
    }
    text_append(out, close);
}

static void write_figure(text *out, const block *b) {
    text_format(out, "\\IfFileExists{figures/%s.pdf}{\\begin{center}\n\\includegraphics[", b->id);
    text_format(out, "width=.75\\linewidth]{figures/%s.pdf}\n\\end{center}}{}\n", b->id);
    write_spans(out, "{\\footnotesize ", b, "\\par}\n\n");
}

// Keeps blanks at the beginning of a line.
static void write_code(text *out, const char *code) {
    text lines = {0};
    text_append(out, "{\\footnotesize\\ttfamily\\raggedright ");
    for (const char *at = code; *at;) {
        const size_t blank = strspn(at, " "), length = strcspn(at, "\n");
        for (size_t i = 0; i < blank; i++) text_append(out, "~");
        text_release(&lines);
        text_bytes(&lines, at + blank, length - blank + (at[length] == '\n'));
        escape(out, text_string(&lines));
        at += length + (at[length] == '\n');
    }
    text_append(out, "\\par}\n\n");
    text_release(&lines);
}

static void write_block(text *out, const block *b) {
    switch (b->kind) {
    case BLOCK_HEADING: write_spans(out, "\\section{", b, "}\n\n"); break;
    case BLOCK_SUBHEADING: write_spans(out, "\\subsection{", b, "}\n\n"); break;
    case BLOCK_LEAD: write_spans(out, "{\\normalsize ", b, "\\par}\n\n"); break;
    case BLOCK_PARAGRAPH: write_spans(out, "", b, "\n\n"); break;
    case BLOCK_ITEM: // "[" would begin an option
        write_spans(out, *b->text == '[' ? "\\item {}" : "\\item ", b, "\n");
        break;
    case BLOCK_NOTE: write_spans(out, "{\\footnotesize ", b, "\\par}\n\n"); break;
    case BLOCK_CODE: write_code(out, b->text); break;
    case BLOCK_TABLE: write_table(out, b); break;
    case BLOCK_FIGURE: write_figure(out, b); break;
    }
}

// Returns the list environment of an item; adjacent items share it.
static const char *list_of(const document *d, size_t i) {
    if (i >= d->count || d->blocks[i].kind != BLOCK_ITEM) return NULL;
    return d->blocks[i].number ? "enumerate" : "itemize";
}

static void write_blocks(const document *d, text *out) {
    bool headed = false;
    for (size_t i = 0; i < d->count; i++) {
        const char *list = list_of(d, i), *before = i ? list_of(d, i - 1) : NULL;
        const bool contents = d->blocks[i].kind == BLOCK_HEADING && !headed;
        if (contents) text_append(out, "\\tableofcontents\n\n");
        headed = headed || contents;
        if (list && list != before) text_format(out, "\\begin{%s}\n", list);
        if (list && list != before && d->blocks[i].number > 1)
            text_format(out, "\\setcounter{enumi}{%d}\n", d->blocks[i].number - 1);
        write_block(out, &d->blocks[i]);
        if (list && list != list_of(d, i + 1)) text_format(out, "\\end{%s}\n\n", list);
    }
}

// Does the string contain CJK characters?
static bool is_wide(const char *string) {
    for (; string && *string; string++)
        if ((unsigned char)*string >= TEXT_WIDE) return true;
    return false;
}

// A page in English may also contain them, in names and in the author's text.
static bool has_wide(const document *d) {
    if (is_wide(d->title) || is_wide(d->byline) || is_wide(d->footnote)) return true;
    for (size_t i = 0; i < d->count; i++) {
        const table *t = &d->blocks[i].table;
        if (is_wide(d->blocks[i].text)) return true;
        for (size_t k = 0; k < t->count; k++)
            if (is_wide(t->cells[k].text)) return true;
    }
    return false;
}

void document_to_latex(const document *d, text *out) {
    text_append(out, "\\documentclass[a4paper,10pt]{article}\n");
    text_append(out, strcmp(d->language, "zh") == 0 || has_wide(d)
                         ? "\\usepackage{ctex}\n"
                         : "\\usepackage[utf8]{inputenc}\n\\usepackage[T1]{fontenc}\n"
                           "\\IfFileExists{lmodern.sty}{\\usepackage{lmodern}}{}\n");
    text_append(out, "\\usepackage[margin=1.5cm,bottom=2cm]{geometry}\n"
                     "\\usepackage{array,booktabs,longtable,caption,graphicx}\n"
                     "\\setlength{\\tabcolsep}{2.5pt}\n\\setlength{\\LTleft}{0pt}\n"
                     "\\setlength{\\parindent}{0pt}\n\\setlength{\\parskip}{4pt plus 1pt}\n"
                     "\\setcounter{secnumdepth}{-2}\\setcounter{tocdepth}{1}\n"
                     "\\begin{document}\n\\footnotesize\n");
    wrapped(out, "{\\LARGE\\bfseries ", d->title, "\\par}\n\n");
    if (d->byline) wrapped(out, "{\\small ", d->byline, "\\par}\n\n");
    write_blocks(d, out);
    if (d->footnote) wrapped(out, "{\\footnotesize ", d->footnote, "\\par}\n\n");
    text_append(out, "\\end{document}\n");
}
