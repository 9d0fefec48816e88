// SPDX-License-Identifier: MIT
// A standalone page: one file, no script, nothing loaded from elsewhere.
#include <stdbool.h>
#include <string.h>

#include "report/document.h"

// Prose, charts and tables share one width. A folded section is a sibling of its <details>, so that
// every browser prints it, and a link into it opens it.
static const char style_sheet[] =
    ":root{color-scheme:light dark;--ink:#1b1f24;--soft:#59636e;--line:#d8dde2;--back:#fdfdfc;"
    "--box:#f1f4f6;--edge:rgba(0,0,0,.16);--shade:59,120,195;--link:#1f5fa8}\n"
    "@media(prefers-color-scheme:dark){:root{--ink:#e3e6e8;--soft:#9aa4ad;--line:#3a4149;"
    "--back:#16191c;--box:#20252a;--edge:rgba(0,0,0,.7);--shade:90,150,225;--link:#84b6ee}}\n"
    "*{box-sizing:border-box}\n"
    "html{-webkit-text-size-adjust:100%;text-size-adjust:100%}\n"
    "body{margin:0 auto;padding:2.25rem 1.5rem 4rem;max-width:76rem;color:var(--ink);"
    "background:var(--back);font:1rem/1.6 system-ui,-apple-system,'Segoe UI',Roboto,'Noto Sans',"
    "'Noto Sans CJK SC','PingFang SC','Microsoft YaHei',sans-serif}\n"
    "h1{font-size:1.9rem;line-height:1.2;margin:0 0 .35rem;text-wrap:balance}\n"
    "h2{font-size:1.3rem;line-height:1.3;margin:2.75rem 0 .75rem;padding-top:1rem;"
    "border-top:1px solid var(--line)}\n"
    "h3{font-size:1.05rem;line-height:1.35;margin:1.75rem 0 .5rem}\n"
    "a{color:var(--link)}\n"
    "p,ul,ol{margin:.6rem 0}p.by{color:var(--soft);margin:0 0 1.25rem}\n"
    "p.lead{font-size:1.12rem;line-height:1.5;margin:.3rem 0}\n"
    "p.note{font-size:.875rem;line-height:1.5;color:var(--soft);margin:.4rem 0}\n"
    "code,pre,.code{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',"
    "monospace;font-size:.8125rem}\n"
    "sup{line-height:0;font-size:.8em}sup a{color:inherit;text-decoration:none}\n"
    "td.n sup{display:inline-block;width:0}td.n:has(sup){padding-right:1.1rem}\n"
    // The table beside the drawing has seven columns at most, and needs more room than half.
    "@media(min-width:68rem){.first{display:grid;grid-template-columns:minmax(0,2fr) "
    "minmax(0,3fr);gap:0 "
    "2.5rem}.first>*{grid-column:1/"
    "-1}.first>.figures:has(>figure:only-child):has(+.scroll>table:not(.w)){"
    "grid-column:1}.first>.figures:has(>figure:only-child)+.scroll:not(:has(>table.w)){"
    "grid-column:2}}\n"
    "nav{font-size:.9rem;margin:1.5rem 0 0;padding:.6rem 0;border:solid var(--line);"
    "border-width:1px 0}nav a{text-decoration:none;white-space:nowrap;margin-right:1.4rem}\n"
    "nav+h2,nav+details h2{border-top:0;margin-top:.75rem}\n"
    "summary.note{font-size:.875rem;line-height:1.5;color:var(--soft);margin:.4rem 0}"
    ".folded.note{margin-top:0;columns:26rem 2;column-gap:2.5rem}" // in lines short enough to read
    "details.fold summary{cursor:pointer}details.fold h2{display:inline-block;width:calc(100% - "
    "1.5rem);margin-bottom:.25rem}\n"
    "@media screen{details.fold:not([open],:target)+.folded{display:none}}\n"
    // Shadows at the edges indicate that the table can be scrolled.
    ".scroll{overflow-x:auto;margin:1rem 0 .75rem;background:"
    "linear-gradient(to right,var(--back) 30%,transparent) left/2.5rem 100% local,"
    "linear-gradient(to left,var(--back) 30%,transparent) right/2.5rem 100% local,"
    "linear-gradient(to right,var(--edge),transparent) left/.7rem 100% scroll,"
    "linear-gradient(to left,var(--edge),transparent) right/.7rem 100% scroll;"
    "background-repeat:no-repeat}\n"
    "pre{margin:0;padding:.75rem 1rem;background:var(--box);border-radius:4px;line-height:1.5}\n"
    "pre.wrap{white-space:pre-wrap;overflow-wrap:anywhere}\n"
    "table{border-collapse:collapse;font-size:.9rem;line-height:1.4;min-width:min(100%,34rem);"
    "font-variant-numeric:tabular-nums lining-nums;border-bottom:2px solid var(--soft)}\n"
    "caption{text-align:left;color:var(--soft);font-size:.875rem;padding:0 0 .4rem}\n"
    "th,td{padding:.35rem .8rem .35rem 0;text-align:left;vertical-align:top;white-space:nowrap}\n"
    "th:last-child,td:last-child{padding-right:0}\n"
    "thead th{border-top:2px solid var(--soft);border-bottom:1px solid var(--soft);font-weight:600;"
    "vertical-align:bottom;white-space:normal;word-break:keep-all;min-width:5.2em}\n"
    "table.w thead th.n{width:1px}\n" // as narrow as its words and numbers
    "tbody tr+tr>*{border-top:1px solid var(--line)}\n"
    "tbody th{font-weight:600;white-space:normal;min-width:7.5rem}\n"
    // When a table is scrolled, the names of its rows stay.
    "@media screen and (max-width:60rem){tbody th{position:sticky;left:0;background:var(--back)}}\n"
    "@media screen and (max-width:72rem){table{font-size:.82rem}th,td{padding-right:.6rem}}\n"
    "@media screen and (max-width:84rem){table.w th,table.w td{padding-right:.55rem}}\n"
    ".n{text-align:right}\n"
    "td.s{min-width:7rem;white-space:normal;word-break:keep-all}\n"
    "td.t{min-width:9.5rem;max-width:28rem;white-space:normal}\n"
    "td.l{min-width:20rem;white-space:normal;overflow-wrap:anywhere}\n"
    ".scroll:has(>table.m){display:inline-block;max-width:100%;vertical-align:top;"
    "margin-right:2.5rem}table.m{min-width:0}table.m th,table.m td{padding:.3rem .5rem}\n"
    ".figures{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,27rem),1fr));"
    "gap:1.5rem 2.5rem;margin:1rem 0}\n"
    "figure{margin:0}figure svg{display:block;width:100%;max-width:38rem;height:auto;"
    "color:var(--ink);font-family:inherit}\n"
    "figcaption{color:var(--soft);font-size:.875rem;line-height:1.5;margin-top:.35rem}\n"
    // A single figure has its caption at its side.
    "@media(min-width:60rem){body>.figures>figure:only-child,.folded>.figures>figure:only-child{"
    "display:grid;grid-template-columns:minmax(0,38rem) minmax(0,1fr);gap:2rem;align-items:center}}"
    "\n"
    "footer{margin-top:2.5rem;padding-top:.75rem;border-top:1px solid var(--line);"
    "font-size:.875rem;color:var(--soft)}\n"
    "@media print{@page{margin:15mm}:root{--ink:#000;--soft:#444;--line:#bbb;--back:#fff;"
    "--box:#fff;--link:#000}*{print-color-adjust:exact;-webkit-print-color-adjust:exact}"
    "body{padding:0;max-width:none;font-size:10pt}nav,summary::marker{display:none}"
    "details.fold summary{list-style:none}.scroll{overflow:visible;"
    "background:none}table{font-size:8pt;min-width:0}th,td{white-space:normal;padding:.2rem .5rem "
    ".2rem 0}tbody th,td.s,td.t{min-width:5rem}td.l{min-width:8rem}"
    ".code,pre{font-size:6.5pt}td.code{white-space:nowrap}td.l{white-space:normal}"
    "pre{overflow-wrap:anywhere;white-space:pre-wrap}p.lead{font-size:11pt}"
    "p.note,caption,figcaption{font-size:8.5pt}h1{font-size:18pt}h2{font-size:13pt;margin-top:18pt}"
    "h2,h3{break-after:avoid}tr,figure,pre{break-inside:avoid}"
    ".figures{grid-template-columns:1fr 1fr}figure svg{max-width:11cm}"
    ".figures>figure:only-child{grid-column:1/-1}}\n";

// Texts longer than SOME_WORDS may be broken into lines; above LONG_TEXT they get a readable width.
// A table of more than FEW_COLUMNS columns saves room.
enum { SOME_WORDS = 14, LONG_TEXT = 40, FEW_COLUMNS = 8, LONG_NOTE = 300 };

// Links the mark of the footnote; the text is already escaped.
static void raise_marks(text *escaped) {
    text_replace(escaped, "†", "<sup><a href=\"#footnote\">†</a></sup>");
}

// Keeps lines from breaking between a number and its "%", and inside "Speed-up" and "s / epoch" of
// a head.
static void write_text(text *out, const char *string, bool head) {
    text whole = {0};
    text_markup(&whole, string);
    if (head) text_replace(&whole, "-", "&#8209;");
    if (head) text_replace(&whole, " / ", "&nbsp;/&nbsp;");
    text_replace(&whole, " %", "&nbsp;%");
    raise_marks(&whole);
    text_append(out, text_string(&whole));
    text_release(&whole);
}

static void element(text *out, const char *open, const char *string, const char *close) {
    text_append(out, open);
    text_markup(out, string);
    text_append(out, close);
}

// A head is aligned like the column below it.
static cell_style style_of(const table *t, size_t at) {
    bool head = at < t->columns;
    return t->cells[head && t->count > t->columns ? at + t->columns : at].style;
}

// Puts several numbers below each other, so that the column is no wider than one number.
static void write_number(text *out, const char *string) {
    text number = {0};
    text_markup(&number, string);
    if (!strchr(text_string(&number), '&')) text_replace(&number, "; ", ";<br>");
    text_replace(&number, " %", "&nbsp;%");
    raise_marks(&number);
    text_append(out, text_string(&number));
    text_release(&number);
}

static const char *class_of(const cell *c, cell_style style, bool head) {
    size_t length = strlen(c->text);
    if (style == CELL_NUMBER) return " class=n";
    if (head || style == CELL_STRONG) return "";
    if (style == CELL_CODE) return length > LONG_TEXT ? " class=\"code l\"" : " class=code";
    return length > LONG_TEXT ? " class=t" : length > SOME_WORDS ? " class=s" : "";
}

static void write_cell(text *out, const cell *c, cell_style style, bool head) {
    bool title = head || c->style == CELL_STRONG;
    const char *scope = head ? " scope=col" : title ? " scope=row" : "";
    text_format(out, "<%s%s%s", title ? "th" : "td", class_of(c, style, head), scope);
    if (c->shade > 0) text_format(out, " style=\"background:rgba(var(--shade),%.2f)\"", c->shade);
    if (c->id) element(out, " title=\"report DIR... --why ", c->id, "\"");
    text_append(out, ">");
    if (style == CELL_NUMBER && !head)
        write_number(out, c->text);
    else
        write_text(out, c->text, head);
    text_append(out, title ? "</th>" : "</td>");
}

static bool is_matrix(const table *t) {
    for (size_t i = 0; i < t->count; i++)
        if (t->cells[i].shade > 0) return true;
    return false;
}

static void write_table(text *out, const block *b) {
    const table *t = &b->table;
    const char *class = is_matrix(t) ? " class=m" : t->columns > FEW_COLUMNS ? " class=w" : "";
    text_format(out, "<div class=scroll tabindex=0><table%s>", class);
    if (*b->text) element(out, "<caption>", b->text, "</caption>");
    for (size_t i = 0; i < t->count; i++) {
        if (i % t->columns == 0) text_append(out, i == 0 ? "\n<thead><tr>" : "\n<tr>");
        write_cell(out, &t->cells[i], style_of(t, i), i < t->columns);
        if (i % t->columns == t->columns - 1)
            text_append(out, i < t->columns ? "</tr></thead>\n<tbody>" : "</tr>");
    }
    text_append(out, "</tbody></table></div>\n");
}

// Writes text with or without marks.
static void write_spans(text *out, const block *b) {
    static const char *const open[] = {"", "<em>", "<strong>", "<code>"};
    static const char *const close[] = {"", "</em>", "</strong>", "</code>"};
    span s;
    for (const char *at = b->text; document_next_span(b, &at, &s);) {
        text piece = {0};
        text_bytes(&piece, s.text, s.length);
        text_append(out, open[s.style]);
        if (b->marked) // a "†" in it is the author's, not a footnote mark
            text_markup(out, text_string(&piece));
        else
            write_text(out, text_string(&piece), false);
        text_append(out, close[s.style]);
        text_release(&piece);
    }
}

static void prose(text *out, const char *open, const block *b, const char *close) {
    text_append(out, open);
    write_spans(out, b);
    text_append(out, close);
}

// Shows the first sentence of the note on how figures are computed; folds the rest.
static void fold_note(text *out, const block *b) {
    const char *blank = strstr(b->text, ". "), *wide = strstr(b->text, "。");
    const char *end = blank && (!wide || blank < wide) ? blank + 1
                      : wide                           ? wide + strlen("。")
                                                       : "";
    text first = {0};
    text_bytes(&first, b->text, strlen(b->text) - strlen(end));
    text_append(out, "<details class=fold><summary class=note>");
    write_text(out, text_string(&first), false);
    text_append(out, "</summary></details>\n<p class=\"note folded\">");
    write_text(out, end, false);
    text_append(out, "</p>\n");
    text_release(&first);
}

static void write_block(text *out, const block *b) {
    switch (b->kind) {
    case BLOCK_HEADING: break; // begins a section
    case BLOCK_SUBHEADING: prose(out, "<h3>", b, "</h3>\n"); break;
    case BLOCK_LEAD: prose(out, "<p class=lead>", b, "</p>\n"); break;
    case BLOCK_PARAGRAPH: prose(out, "<p>", b, "</p>\n"); break;
    case BLOCK_ITEM: prose(out, "<li>", b, "</li>\n"); break;
    case BLOCK_NOTE:
        if (text_columns(b->text) > LONG_NOTE)
            fold_note(out, b);
        else
            prose(out, "<p class=note>", b, "</p>\n");
        break;
    case BLOCK_CODE:
        element(out, "<div class=scroll><pre class=wrap>", b->text, "</pre></div>\n");
        break;
    case BLOCK_TABLE: write_table(out, b); break;
    case BLOCK_FIGURE:
        text_append(out, "<figure>\n");
        text_append(out, b->svg);
        prose(out, "<figcaption>", b, "</figcaption></figure>\n");
        break;
    }
}

// The element around a sequence of blocks.
typedef enum frame { FRAME_NONE, FRAME_FIGURES, FRAME_LIST, FRAME_NUMBERS } frame;

static frame frame_of(const block *b) {
    if (b->kind == BLOCK_FIGURE) return FRAME_FIGURES;
    return b->kind != BLOCK_ITEM ? FRAME_NONE : b->number ? FRAME_NUMBERS : FRAME_LIST;
}

// `first` is the first number of a numbered list.
static void change_frame(text *out, frame *now, frame next, int first) {
    static const char *const open[] = {"", "<div class=figures>\n", "<ul>\n", "<ol>\n"};
    static const char *const close[] = {"", "</div>\n", "</ul>\n", "</ol>\n"};
    if (*now == next) return;
    text_append(out, close[*now]);
    if (next == FRAME_NUMBERS && first > 1)
        text_format(out, "<ol start=%d>\n", first);
    else
        text_append(out, open[next]);
    *now = next;
}

// Sections are numbered from 1; the blocks before them are the first screen.
static void begin_section(text *out, const block *b, size_t section) {
    if (b->folded) text_format(out, "<details class=fold id=s%zu><summary>", section);
    text_format(out, b->folded ? "<h2>" : "<h2 id=s%zu>", section);
    text_markup(out, b->text);
    text_append(out, b->folded ? "</h2></summary></details>\n<div class=folded>\n" : "</h2>\n");
}

static void write_contents(text *out, const document *d) {
    size_t section = 0;
    for (size_t i = 0; i < d->count; i++) {
        if (d->blocks[i].kind != BLOCK_HEADING) continue;
        text_append(out, section++ ? "" : "<nav>\n");
        text_format(out, "<a href=\"#s%zu\">", section);
        element(out, "", d->blocks[i].text, "</a>\n");
    }
    if (section) text_append(out, "</nav>\n");
}

static void write_blocks(text *out, const document *d) {
    frame now = FRAME_NONE;
    size_t section = 0;
    const block *head = NULL;
    text_append(out, "<div class=first>\n");
    for (size_t i = 0; i < d->count; i++) {
        const block *b = &d->blocks[i];
        change_frame(out, &now, frame_of(b), b->number);
        if (b->kind != BLOCK_HEADING) {
            write_block(out, b);
            continue;
        }
        if (!head || head->folded) text_append(out, "</div>\n");
        if (!head) write_contents(out, d);
        begin_section(out, b, ++section);
        head = b;
    }
    change_frame(out, &now, FRAME_NONE, 0);
    if (!head || head->folded) text_append(out, "</div>\n");
}

void document_to_html(const document *d, text *out) {
    text_format(out, "<!doctype html>\n<html lang=%s>\n<head>\n<meta charset=utf-8>\n",
                d->language);
    text_append(out, "<meta name=viewport content=\"width=device-width,initial-scale=1\">\n");
    element(out, "<title>", d->title, "</title>\n<style>\n");
    text_append(out, style_sheet);
    element(out, "</style>\n</head>\n<body>\n<h1>", d->title, "</h1>\n");
    if (d->byline) element(out, "<p class=by>", d->byline, "</p>\n");
    write_blocks(out, d);
    if (d->footnote) element(out, "<footer id=footnote>", d->footnote, "</footer>\n");
    text_append(out, "</body>\n</html>\n");
}
