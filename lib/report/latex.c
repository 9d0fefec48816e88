// An article that needs no package beyond a common TeX installation: longtable, booktabs. Chinese
// text needs XeLaTeX or LuaLaTeX with ctex, which is asked for only then.
#include <stdbool.h>
#include <string.h>

#include "report/document.h"

static void escape(text *out, const char *string) {
    static const char arrow[] = "→"; // not in every text font
    for (; *string; string++) {
        if (strncmp(string, arrow, sizeof arrow - 1) == 0) {
            text_append(out, "$\\to$");
            string += sizeof arrow - 2;
            continue;
        }
        switch (*string) {
        case '\\': text_append(out, "\\textbackslash{}"); break;
        case '~': text_append(out, "\\textasciitilde{}"); break;
        case '^': text_append(out, "\\textasciicircum{}"); break;
        case '<': text_append(out, "\\textless{}"); break;
        case '>': text_append(out, "\\textgreater{}"); break;
        case '\n': text_append(out, "\\\\\n"); break;
        case '&':
        case '%':
        case '$':
        case '#':
        case '_':
        case '{':
        case '}': text_append(out, "\\"); // fall through
        default: text_bytes(out, string, 1);
        }
    }
}

static void write_cell(text *out, const cell *c, bool head) {
    const char *open = head || c->style == CELL_STRONG ? "\\textbf{"
                       : c->style == CELL_CODE         ? "\\texttt{\\tiny "
                                                       : "{";
    text_append(out, open);
    escape(out, c->text);
    text_append(out, "}");
}

// Text columns wrap: the page has no scroll box.
static void write_columns(text *out, const table *t) {
    for (size_t i = 0; i < t->columns; i++) {
        const cell *first = &t->cells[t->count > t->columns ? t->columns + i : i];
        text_append(out, first->style == CELL_NUMBER ? "r" : "l");
    }
}

static void write_table(text *out, const block *b) {
    const table *t = &b->table;
    text_append(out, "\\begin{longtable}{");
    write_columns(out, t);
    text_append(out, "}\n");
    if (*b->text) {
        text_append(out, "\\caption*{");
        escape(out, b->text);
        text_append(out, "}\\\\\n");
    }
    text_append(out, "\\toprule\n");
    for (size_t i = 0; i < t->count; i++) {
        write_cell(out, &t->cells[i], i < t->columns);
        bool last = i % t->columns == t->columns - 1;
        text_append(out, last ? " \\\\\n" : " & ");
        if (last && i < t->columns) text_append(out, "\\midrule\n\\endhead\n");
    }
    text_append(out, "\\bottomrule\n\\end{longtable}\n\n");
}

static void wrapped(text *out, const char *open, const char *string, const char *close) {
    text_append(out, open);
    escape(out, string);
    text_append(out, close);
}

static void write_block(text *out, const block *b) {
    switch (b->kind) {
    case BLOCK_HEADING: wrapped(out, "\\section*{", b->text, "}\n\n"); break;
    case BLOCK_SUBHEADING: wrapped(out, "\\subsection*{", b->text, "}\n\n"); break;
    case BLOCK_PARAGRAPH: wrapped(out, "", b->text, "\n\n"); break;
    case BLOCK_NOTE: wrapped(out, "{\\footnotesize ", b->text, "\\par}\n\n"); break;
    case BLOCK_CODE:
        wrapped(out, "{\\footnotesize\\ttfamily\\raggedright ", b->text, "\\par}\n\n");
        break;
    case BLOCK_TABLE: write_table(out, b); break;
    case BLOCK_FIGURE: wrapped(out, "{\\footnotesize (report.html) ", b->text, "\\par}\n\n"); break;
    }
}

void document_to_latex(const document *d, text *out) {
    text_append(out, "\\documentclass[a4paper,10pt]{article}\n");
    text_append(out, strcmp(d->language, "zh") == 0
                         ? "\\usepackage{ctex}\n"
                         : "\\usepackage[utf8]{inputenc}\n\\usepackage[T1]{fontenc}\n");
    text_append(out,
                "\\usepackage[margin=2cm]{geometry}\n\\usepackage{booktabs,longtable,caption}\n"
                "\\begin{document}\n\\footnotesize\n\\section*{\\Large ");
    escape(out, d->title);
    text_append(out, "}\n\n");
    for (size_t i = 0; i < d->count; i++) write_block(out, &d->blocks[i]);
    text_append(out, "\\end{document}\n");
}
