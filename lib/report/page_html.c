// SPDX-License-Identifier: MIT
// A standalone page: one file, no script, nothing loaded from elsewhere. Every tag in it is written
// here: HTML in the page's Markdown is text.
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "report/page_parts.h"
#include "report/report_page.h"

static const char style_sheet[] =
#include "style.h"
    ;

// Texts longer than SOME_WORDS may be broken into lines; above LONG_TEXT they get a readable width.
// A table of more than FEW_COLUMNS columns saves room. A note counts with its tags.
enum { SOME_WORDS = 14, LONG_TEXT = 40, FEW_COLUMNS = 8, LONG_NOTE = 315 };

typedef struct writer {
    text *out;
    const drawing *drawings;
    size_t count;                // of drawings
    const markdown_node *footer; // the footnote; NULL: none
    size_t section;              // sections are numbered from 1; before them is the first screen
    bool folded, part, fold;     // this section is; this subsection is; the next one is
    bool answered;               // the first picture or table was written
    size_t shown;                // open marks of figures
} writer;

static void element(text *out, const char *open, const char *string, const char *close) {
    text_append(out, open);
    text_markup(out, string);
    text_append(out, close);
}

// ---- Text ----

// How a text is written: in the head of a table lines do not break inside "Speed-up" and "s /
// epoch"; several numbers in a cell are put below each other, so that the column is no wider than
// one number.
typedef enum place { PLACE_PROSE, PLACE_HEAD, PLACE_NUMBER } place;

// Links the mark of the footnote, and keeps lines from breaking between a number and its "%".
static void write_piece(writer *w, const char *string, place where) {
    text piece = {0};
    text_markup(&piece, string);
    const bool entities = strchr(text_string(&piece), '&');
    if (where == PLACE_NUMBER && !entities) text_replace(&piece, "; ", ";<br>");
    if (where == PLACE_HEAD) text_replace(&piece, "-", "&#8209;");
    if (where == PLACE_HEAD) text_replace(&piece, " / ", "&nbsp;/&nbsp;");
    text_replace(&piece, " %", "&nbsp;%");
    if (w->footer) text_replace(&piece, "†", "<sup><a href=\"#footnote\">†</a></sup>");
    text_append(w->out, text_string(&piece));
    text_release(&piece);
}

static void write_why(text *out, const char *id) {
    element(out, " title=\"report DIR... --why ", id, "\"");
}

static void close_figures(writer *w, size_t left) {
    for (; w->shown > left; w->shown--) text_append(w->out, "</span>");
}

// Writes what a mark says: an element with the id of the figure begins or ends. Returns what
// follows the mark. A mark without its counterpart says nothing.
static const char *write_mark(writer *w, const char *mark) {
    const char *shown = page_is_mark(mark, MARK_FIGURE) ? strstr(mark, MARK_SHOWN) : NULL;
    if (page_is_mark(mark, MARK_END) && w->shown) close_figures(w, w->shown - 1);
    if (!shown) return mark + strlen(MARK_END);
    text id = {0};
    mark += strlen(MARK_FIGURE);
    text_bytes(&id, mark, (size_t)(shown - mark));
    text_append(w->out, "<span");
    write_why(w->out, text_string(&id));
    text_append(w->out, ">");
    text_release(&id);
    w->shown++;
    return shown + strlen(MARK_SHOWN);
}

static void write_text(writer *w, const char *string, place where) {
    while (*string) {
        text run = {0};
        const char *mark = page_find_mark(string);
        text_bytes(&run, string, (size_t)(mark - string));
        write_piece(w, text_string(&run), where);
        text_release(&run);
        string = *mark ? write_mark(w, mark) : mark;
    }
}

static void write_inlines(writer *w, const markdown_node *first, place where);

static void write_inside(writer *w, const char *open, const markdown_node *node, const char *close,
                         place where) {
    text_append(w->out, open);
    write_inlines(w, node->first, where);
    text_append(w->out, close);
}

// Only links to other pages.
static void write_link(writer *w, const markdown_node *node, place where) {
    static const char *const safe[] = {"https://", "http://", "mailto:"};
    bool leads = false;
    for (size_t i = 0; i < sizeof safe / sizeof *safe; i++)
        leads = leads || strncmp(node->text, safe[i], strlen(safe[i])) == 0;
    if (leads) element(w->out, "<a href=\"", node->text, "\">");
    write_inside(w, "", node, leads ? "</a>" : "", where);
}

static void write_inlines(writer *w, const markdown_node *first, place where) {
    for (const markdown_node *n = first; n; n = n->next) switch ((int)n->kind) {
        case MARKDOWN_CODE: element(w->out, "<code>", n->text, "</code>"); break;
        case MARKDOWN_BREAK: text_append(w->out, "<br>\n"); break;
        case MARKDOWN_EMPHASIS: write_inside(w, "<em>", n, "</em>", where); break;
        case MARKDOWN_STRONG: write_inside(w, "<strong>", n, "</strong>", where); break;
        case MARKDOWN_LINK: write_link(w, n, where); break;
        case MARKDOWN_IMAGE: write_inside(w, "", n, "", where); break;
        case MARKDOWN_HTML:
            if (!page_is_small(n)) write_text(w, n->text, where);
            break;
        default: write_text(w, n->text, where);
        }
}

// Writes the text of a block; marks that it leaves open end with it.
static void write_prose(writer *w, const char *open, const markdown_node *block,
                        const char *close) {
    text_append(w->out, open);
    write_inlines(w, block->first, PLACE_PROSE);
    close_figures(w, 0);
    text_append(w->out, close);
}

// ---- Tables ----

static const char *class_of(const page_cell *c, bool head) {
    const size_t length = strlen(c->text);
    const bool wraps = c->kind == PAGE_TEXT && !head && length > SOME_WORDS;
    if (c->right) return !wraps ? " class=n" : " class=\"n s\"";
    if (head || c->kind == PAGE_STRONG) return "";
    if (c->kind == PAGE_CODE) return length > LONG_TEXT ? " class=\"code l\"" : " class=code";
    return length > LONG_TEXT ? " class=t" : wraps ? " class=s" : "";
}

static void write_cell(writer *w, const page_cell *c, double shade, bool head) {
    const bool title = head || c->kind == PAGE_STRONG;
    const place where = head ? PLACE_HEAD : c->kind == PAGE_NUMBER ? PLACE_NUMBER : PLACE_PROSE;
    text_format(w->out, "<%s%s%s", title ? "th" : "td", class_of(c, head),
                head    ? " scope=col"
                : title ? " scope=row"
                        : "");
    if (shade > 0) text_format(w->out, " style=\"background:rgba(var(--shade),%.2f)\"", shade);
    if (c->id) write_why(w->out, c->id);
    text_append(w->out, ">");
    if (c->kind == PAGE_CODE)
        text_markup(w->out, c->text);
    else
        write_inlines(w, c->kind == PAGE_STRONG ? c->content->first->first : c->content->first,
                      where);
    close_figures(w, 0);
    text_append(w->out, title ? "</th>" : "</td>");
}

// The share of a number in the numbers of its row.
static double share_of(const page_table *t, size_t at) {
    const size_t row = at - at % t->columns;
    double sum = 0;
    for (size_t i = 0; i < t->columns; i++)
        if (t->cells[row + i].kind == PAGE_NUMBER) sum += strtod(t->cells[row + i].text, NULL);
    return t->cells[at].kind == PAGE_NUMBER && sum > 0 ? strtod(t->cells[at].text, NULL) / sum : 0;
}

// Where a number lies between the smallest and the largest one of the table.
static double place_of(const page_table *t, size_t at) {
    double least = INFINITY, most = -INFINITY;
    for (size_t i = t->columns; i < t->count; i++) {
        if (t->cells[i].kind != PAGE_NUMBER) continue;
        const double own = strtod(t->cells[i].text, NULL);
        least = fmin(least, own);
        most = fmax(most, own);
    }
    if (t->cells[at].kind != PAGE_NUMBER || !(most > least)) return 0;
    return (strtod(t->cells[at].text, NULL) - least) / (most - least);
}

// How the cells of a table are shaded.
typedef double (*shading)(const page_table *t, size_t at);

static void write_table(writer *w, markdown_node *node, const markdown_node *caption,
                        shading shade_of) {
    static const double darkest = 0.85;
    page_table t;
    page_table_read(node, &t);
    text_format(w->out, "<div class=scroll tabindex=0><table%s>",
                shade_of                  ? " class=m"
                : t.columns > FEW_COLUMNS ? " class=w"
                                          : "");
    if (caption) write_prose(w, "<caption>", caption, "</caption>");
    for (size_t i = 0; i < t.count; i++) {
        const bool head = i < t.columns;
        if (i % t.columns == 0) text_append(w->out, i == 0 ? "\n<thead><tr>" : "\n<tr>");
        write_cell(w, &t.cells[i], shade_of && !head ? darkest * shade_of(&t, i) : 0, head);
        if (i % t.columns == t.columns - 1)
            text_append(w->out, head ? "</tr></thead>\n<tbody>" : "</tr>");
    }
    text_append(w->out, "</tbody></table></div>\n");
    page_table_release(&t);
    w->answered = true;
}

// ---- Blocks ----

// The end of the first sentence of HTML, outside of its elements; its length if there is no other.
static size_t first_sentence(const char *html) {
    int depth = 0;
    for (const char *at = html; *at; at++) {
        if (*at == '<') depth += at[1] == '/' ? -1 : 1;
        if (*at == '<') at += strcspn(at, ">");
        if (!*at) break;
        if (depth == 0 && strncmp(at, ". ", 2) == 0) return (size_t)(at + 1 - html);
        if (depth == 0 && strncmp(at, "。", 3) == 0) return (size_t)(at + 3 - html);
    }
    return strlen(html);
}

// Small print. Of a long one the first sentence is shown, and the rest is folded.
static void write_note(writer *w, const markdown_node *paragraph) {
    text plain = {0}, note = {0}, *out = w->out;
    markdown_text(paragraph, &plain);
    page_strip_marks(&plain);
    w->out = &note;
    write_prose(w, "", paragraph, "");
    w->out = out;
    const char *html = text_string(&note);
    const size_t length = first_sentence(html);
    if (text_columns(text_string(&plain)) <= LONG_NOTE || !html[length])
        text_format(out, "<p class=note>%s</p>\n", html);
    else
        text_format(out,
                    "<details class=fold><summary class=note>%.*s</summary></details>\n"
                    "<p class=\"note folded\">%s</p>\n",
                    (int)length, html, html + length);
    text_release(&plain);
    text_release(&note);
}

static void write_block(writer *w, markdown_node *block, bool tight);

static void write_list(writer *w, const markdown_node *list) {
    if (list->number > 1)
        text_format(w->out, "<ol start=%d>\n", list->number);
    else
        text_append(w->out, list->number < 0 ? "<ul>\n" : "<ol>\n");
    for (const markdown_node *item = list->first; item; item = item->next) {
        text_append(w->out, "<li>");
        for (markdown_node *n = item->first; n; n = n->next) write_block(w, n, list->tight);
        text_append(w->out, "</li>\n");
    }
    text_append(w->out, list->number < 0 ? "</ul>\n" : "</ol>\n");
}

static void write_paragraph(writer *w, const markdown_node *paragraph, bool tight) {
    const bool lead = !w->section && !w->answered;
    if (page_is_note(paragraph))
        write_note(w, paragraph);
    else if (tight)
        write_prose(w, "", paragraph, paragraph->next ? "\n" : "");
    else
        write_prose(w, lead ? "<p class=lead>" : "<p>", paragraph, "</p>\n");
}

static void write_heading(writer *w, const markdown_node *heading) {
    char open[] = "<h3>", close[] = "</h3>\n";
    open[2] = close[3] = (char)('0' + heading->number);
    write_prose(w, open, heading, close);
}

// A block that needs no other; `tight`: a paragraph of a list without blank lines.
static void write_block(writer *w, markdown_node *block, bool tight) {
    switch ((int)block->kind) {
    case MARKDOWN_HEADING: write_heading(w, block); break;
    case MARKDOWN_LIST: write_list(w, block); break;
    case MARKDOWN_TABLE: write_table(w, block, NULL, NULL); break;
    case MARKDOWN_RULE: text_append(w->out, "<hr>\n"); break;
    case MARKDOWN_HTML_BLOCK: element(w->out, "<p>", block->text, "</p>\n"); break;
    case MARKDOWN_CODE_BLOCK:
        element(w->out, "<div class=scroll><pre class=wrap>", block->text, "</pre></div>\n");
        break;
    case MARKDOWN_QUOTE:
        text_append(w->out, "<blockquote>\n");
        for (markdown_node *n = block->first; n; n = n->next) write_block(w, n, false);
        text_append(w->out, "</blockquote>\n");
        break;
    default: write_paragraph(w, block, tight);
    }
}

// ---- The page ----

static const char *find_drawing(const writer *w, const char *address) {
    for (size_t i = 0; i < w->count; i++) {
        char *own = memory_format("figures/%s.svg", w->drawings[i].id);
        const bool found = strcmp(own, address) == 0;
        free(own);
        if (found) return w->drawings[i].svg;
    }
    return NULL;
}

// Writes the pictures that follow each other, with their captions. Returns the last block of them.
static markdown_node *write_figures(writer *w, markdown_node *block) {
    text_append(w->out, "<div class=figures>\n");
    for (;; block = block->next) {
        const char *svg = find_drawing(w, block->first->text);
        text_append(w->out, "<figure>\n");
        text_append(w->out, svg ? svg : "");
        if (page_is_caption(block->next)) {
            block = block->next;
            write_prose(w, "<figcaption>", block, "</figcaption>");
        }
        text_append(w->out, "</figure>\n");
        if (!block->next || !page_is_picture(block->next)) break;
    }
    text_append(w->out, "</div>\n");
    w->answered = true;
    return block;
}

// Writes the table that a comment announced, with its caption. Returns the last block of it.
static markdown_node *write_matrix(writer *w, markdown_node *comment, shading shade_of) {
    markdown_node *caption = page_is_caption(comment->next) ? comment->next : NULL;
    markdown_node *last = caption ? caption : comment;
    if (!last->next || last->next->kind != MARKDOWN_TABLE) return comment;
    write_table(w, last->next, caption, shade_of);
    return last->next;
}

static void write_contents(writer *w, const markdown_node *root) {
    size_t section = 0;
    text_append(w->out, "<nav>\n");
    for (const markdown_node *n = root->first; n; n = n->next) {
        text plain = {0};
        if (!page_is_section(n)) continue;
        markdown_text(n, &plain);
        text_format(w->out, "<a href=\"#s%zu\">", ++section);
        element(w->out, "", text_string(&plain), "</a>\n");
        text_release(&plain);
    }
    text_append(w->out, "</nav>\n");
}

// Ends a folded subsection.
static void end_part(writer *w) {
    if (w->part) text_append(w->out, "</div>\n");
    w->part = false;
}

static void begin_part(writer *w, const markdown_node *heading) {
    end_part(w);
    w->part = w->fold;
    w->fold = false;
    if (w->part) text_append(w->out, "<details class=fold><summary>");
    write_prose(w, "<h3>", heading, w->part ? "</h3></summary></details>\n" : "</h3>\n");
    if (w->part) text_append(w->out, "<div class=folded>\n");
}

// Ends the first screen, or a folded section.
static void end_section(writer *w) {
    end_part(w);
    if (!w->section || w->folded) text_append(w->out, "</div>\n");
}

static void begin_section(writer *w, const markdown_node *heading, const markdown_node *root) {
    end_section(w);
    if (!w->section) write_contents(w, root);
    w->folded = w->fold;
    w->fold = false;
    w->section++;
    if (w->folded) text_format(w->out, "<details class=fold id=s%zu><summary>", w->section);
    text_format(w->out, w->folded ? "<h2>" : "<h2 id=s%zu>", w->section);
    write_prose(w, "", heading, w->folded ? "</h2></summary></details>\n" : "</h2>\n");
    if (w->folded) text_append(w->out, "<div class=folded>\n");
}

static void write_body(writer *w, const markdown_node *root, markdown_node *first) {
    text_append(w->out, "<div class=first>\n");
    for (markdown_node *n = first; n && n != w->footer; n = n->next) {
        if (page_is_comment(n, "folded"))
            w->fold = true;
        else if (page_is_comment(n, "matrix"))
            n = write_matrix(w, n, share_of);
        else if (page_is_comment(n, "heat"))
            n = write_matrix(w, n, place_of);
        else if (page_is_section(n))
            begin_section(w, n, root);
        else if (page_is_subsection(n))
            begin_part(w, n);
        else if (page_is_picture(n))
            n = write_figures(w, n);
        else
            write_block(w, n, false);
    }
    end_section(w);
    const markdown_node *footer = w->footer;
    w->footer = NULL; // its own mark is no link
    if (footer) write_prose(w, "<footer id=footnote>", footer, "</footer>\n");
}

static void write_head(text *out, const char *title, const char *language) {
    text_format(out, "<!doctype html>\n<html lang=%s>\n<head>\n<meta charset=utf-8>\n", language);
    text_append(out, "<meta name=viewport content=\"width=device-width,initial-scale=1\">\n");
    element(out, "<title>", title, "</title>\n<style>\n");
    text_append(out, style_sheet);
    element(out, "</style>\n</head>\n<body>\n<h1>", title, "</h1>\n");
}

static void write_page(writer *w, const char *language, markdown_node *root) {
    text title = {0};
    markdown_node *next = page_head(root, &title);
    write_head(w->out, text_string(&title), language);
    if (next && page_is_note(next)) {
        write_prose(w, "<p class=by>", next, "</p>\n");
        next = next->next;
    }
    w->footer = page_footnote(root);
    write_body(w, root, next);
    text_append(w->out, "</body>\n</html>\n");
    text_release(&title);
}

void page_to_html(const char *page, const char *language, const drawing *drawings, size_t count,
                  text *out) {
    writer w = {.out = out, .drawings = drawings, .count = count};
    text tidy = {0};
    page_tidy(page, &tidy);
    markdown_node *root = markdown_read(text_string(&tidy), true);
    write_page(&w, language, root);
    markdown_free(root);
    text_release(&tidy);
}
