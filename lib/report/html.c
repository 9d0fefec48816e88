// A page that stands alone: one file, no script, nothing fetched from elsewhere.
#include <stdbool.h>
#include <string.h>

#include "report/document.h"
#include "words/words.h"

// Text is never wider than can be read; the page is, for the sake of tables.
static const char style_sheet[] =
    ":root{color-scheme:light dark;--ink:#1c2024;--soft:#5c6670;--line:#d5dade;--back:#fdfdfc;"
    "--box:#f2f4f5;--edge:rgba(0,0,0,.16);--shade:59,120,195}\n"
    "@media(prefers-color-scheme:dark){:root{--ink:#e3e6e8;--soft:#9aa4ad;--line:#3a4149;"
    "--back:#16191c;--box:#20252a;--edge:rgba(0,0,0,.7);--shade:90,150,225}}\n"
    "*{box-sizing:border-box}\n"
    "html{-webkit-text-size-adjust:100%;text-size-adjust:100%}\n"
    "body{margin:0 auto;padding:2.5rem 1.25rem 4rem;max-width:78rem;color:var(--ink);"
    "background:var(--back);font:1rem/1.6 system-ui,-apple-system,'Segoe UI',Roboto,'Noto Sans',"
    "'Noto Sans CJK SC','PingFang SC','Microsoft YaHei',sans-serif}\n"
    "h1{font-size:1.75rem;line-height:1.25;margin:0 0 1rem;text-wrap:balance}\n"
    "h2{font-size:1.2rem;line-height:1.3;margin:3rem 0 .75rem;padding-top:1rem;"
    "border-top:1px solid var(--line)}\n"
    "h3{font-size:1rem;line-height:1.35;margin:2rem 0 .5rem}\n"
    "p{margin:.75rem 0;max-width:46rem}\n"
    "p.note{font-size:.875rem;line-height:1.5;color:var(--soft);margin:.4rem 0}\n"
    "code,pre,.code{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',"
    "monospace;font-size:.8125rem}\n"
    // Shadows at the edges say that there is more to scroll to.
    ".scroll{overflow-x:auto;margin:1rem 0 .75rem;background:"
    "linear-gradient(to right,var(--back) 30%,transparent) left/2.5rem 100% local,"
    "linear-gradient(to left,var(--back) 30%,transparent) right/2.5rem 100% local,"
    "linear-gradient(to right,var(--edge),transparent) left/.7rem 100% scroll,"
    "linear-gradient(to left,var(--edge),transparent) right/.7rem 100% scroll;"
    "background-repeat:no-repeat}\n"
    "pre{margin:0;padding:.75rem 1rem;background:var(--box);border-radius:4px;line-height:1.5}\n"
    "pre.wrap{white-space:pre-wrap;overflow-wrap:anywhere}\n"
    "table{border-collapse:collapse;font-size:.9rem;line-height:1.4;"
    "font-variant-numeric:tabular-nums lining-nums;border-bottom:2px solid var(--soft)}\n"
    "caption{text-align:left;color:var(--soft);font-size:.875rem;padding:0 0 .4rem}\n"
    "th,td{padding:.35rem .65rem .35rem 0;text-align:left;vertical-align:top;white-space:nowrap}\n"
    "th:last-child,td:last-child{padding-right:0}\n"
    "thead th{border-top:2px solid var(--soft);border-bottom:1px solid var(--soft);font-weight:600;"
    "vertical-align:bottom;white-space:normal;word-break:keep-all;min-width:4.5em}\n"
    "table.w thead th.n{width:1px}\n" // as narrow as its words and numbers are
    "tbody tr+tr>*{border-top:1px solid var(--line)}\n"
    "tbody th{font-weight:600;white-space:normal;min-width:7.5rem}\n"
    // Where a table has to be scrolled, the names of its rows stay.
    "@media screen and (max-width:60rem){tbody th{position:sticky;left:0;background:var(--back)}}\n"
    "@media screen and (max-width:72rem){table{font-size:.82rem}th,td{padding-right:.5rem}}\n"
    ".n{text-align:right}\n"
    ".n small{display:block;font-size:.65rem;letter-spacing:.03em;color:var(--soft)}\n"
    "td.s{min-width:7rem;white-space:normal;word-break:keep-all}\n"
    "td.t{min-width:9.5rem;max-width:28rem;white-space:normal}\n"
    "td.l{min-width:20rem;white-space:normal;overflow-wrap:anywhere}\n"
    "table.m th,table.m td{padding:.3rem .5rem}\n"
    ".figures{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,27rem),1fr));"
    "gap:1.5rem 2rem;margin:1rem 0}\n"
    "figure{margin:0;max-width:35rem}\n"
    "figure svg{display:block;width:100%;height:auto;color:var(--ink);font-family:inherit}\n"
    "figcaption{color:var(--soft);font-size:.875rem;line-height:1.5;margin-top:.35rem}\n"
    "@media print{:root{--ink:#000;--soft:#444;--line:#bbb;--back:#fff;--box:#fff}"
    "body{padding:0;max-width:none;font-size:10pt}.scroll{overflow:visible;background:none}"
    "table{font-size:8pt}th,td{white-space:normal;padding:.2rem .5rem .2rem 0}"
    "tbody th,td.s,td.t{min-width:5rem}td.l{min-width:8rem}.n small{font-size:6pt}"
    ".code,pre{font-size:6.5pt}td.code{white-space:nowrap}td.l{white-space:normal}"
    "pre{overflow-wrap:anywhere;white-space:pre-wrap}"
    "p.note,caption,figcaption{font-size:8.5pt}"
    "h2,h3{break-after:avoid}tr,figure{break-inside:avoid}"
    ".figures{grid-template-columns:1fr 1fr}figure{max-width:9cm}}\n";

// Texts of some words may be broken into lines; longer ones get a column wide enough to be read. A
// table of more columns than these saves room where it can.
enum { SOME_WORDS = 14, LONG_TEXT = 40, FEW_COLUMNS = 8 };

static void escape(text *out, const char *string) {
    for (;;) {
        size_t plain = strcspn(string, "&<>\"");
        text_bytes(out, string, plain);
        string += plain;
        switch (*string++) {
        case '&': text_append(out, "&amp;"); break;
        case '<': text_append(out, "&lt;"); break;
        case '>': text_append(out, "&gt;"); break;
        case '"': text_append(out, "&quot;"); break;
        default: return;
        }
    }
}

// No line ends between a number and its "%", nor inside the "Speed-up" and "s / epoch" of a head.
static void write_text(text *out, const char *string, bool head) {
    text whole;
    text_init(&whole, out->err);
    escape(&whole, string);
    if (head) text_replace(&whole, "-", "&#8209;");
    if (head) text_replace(&whole, " / ", "&nbsp;/&nbsp;");
    text_replace(&whole, " %", "&nbsp;%");
    text_append(out, text_string(&whole));
    if (out->rc == STATUS_OK) out->rc = text_status(&whole);
    text_release(&whole);
}

static void element(text *out, const char *open, const char *string, const char *close) {
    text_append(out, open);
    escape(out, string);
    text_append(out, close);
}

static void prose(text *out, const char *open, const char *string, const char *close) {
    text_append(out, open);
    write_text(out, string, false);
    text_append(out, close);
}

// A head is aligned as the column below it.
static cell_style style_of(const table *t, size_t at) {
    bool head = at < t->columns;
    return t->cells[head && t->count > t->columns ? at + t->columns : at].style;
}

// Several numbers stand below each other, and SIMULATED below its number: so a column is no wider
// than a number.
static void write_number(text *out, const char *string, language l) {
    const char *mark = words_in(l, "SIMULATED");
    text number, behind, below;
    text_init(&number, out->err);
    text_init(&behind, out->err);
    text_init(&below, out->err);
    escape(&number, string);
    if (!strchr(text_string(&number), '&')) text_replace(&number, "; ", ";<br>");
    text_replace(&number, " %", "&nbsp;%");
    text_format(&behind, " %s", mark);
    text_format(&below, "<small>%s</small>", mark);
    text_replace(&number, text_string(&behind), text_string(&below));
    text_append(out, text_string(&number));
    if (out->rc == STATUS_OK) out->rc = text_status(&number);
    text_release(&number);
    text_release(&behind);
    text_release(&below);
}

static const char *class_of(const cell *c, cell_style style, bool head) {
    size_t length = strlen(c->text);
    if (style == CELL_NUMBER) return " class=n";
    if (head || style == CELL_STRONG) return "";
    if (style == CELL_CODE) return length > LONG_TEXT ? " class=\"code l\"" : " class=code";
    return length > LONG_TEXT ? " class=t" : length > SOME_WORDS ? " class=s" : "";
}

static void write_cell(text *out, const cell *c, cell_style style, bool head, language l) {
    bool title = head || c->style == CELL_STRONG;
    const char *scope = head ? " scope=col" : title ? " scope=row" : "";
    text_format(out, "<%s%s%s", title ? "th" : "td", class_of(c, style, head), scope);
    if (c->shade > 0) text_format(out, " style=\"background:rgba(var(--shade),%.2f)\"", c->shade);
    if (c->id) element(out, " title=\"report DIR... --why ", c->id, "\"");
    text_append(out, ">");
    if (style == CELL_NUMBER && !head)
        write_number(out, c->text, l);
    else
        write_text(out, c->text, head);
    text_append(out, title ? "</th>" : "</td>");
}

static bool is_matrix(const table *t) {
    for (size_t i = 0; i < t->count; i++)
        if (t->cells[i].shade > 0) return true;
    return false;
}

static void write_table(text *out, const block *b, language l) {
    const table *t = &b->table;
    const char *class = is_matrix(t) ? " class=m" : t->columns > FEW_COLUMNS ? " class=w" : "";
    text_format(out, "<div class=scroll tabindex=0><table%s>", class);
    if (*b->text) element(out, "<caption>", b->text, "</caption>");
    for (size_t i = 0; i < t->count; i++) {
        if (i % t->columns == 0) text_append(out, i == 0 ? "\n<thead><tr>" : "\n<tr>");
        write_cell(out, &t->cells[i], style_of(t, i), i < t->columns, l);
        if (i % t->columns == t->columns - 1)
            text_append(out, i < t->columns ? "</tr></thead>\n<tbody>" : "</tr>");
    }
    text_append(out, "</tbody></table></div>\n");
}

static void write_block(text *out, const block *b, language l) {
    switch (b->kind) {
    case BLOCK_HEADING: element(out, "<h2>", b->text, "</h2>\n"); break;
    case BLOCK_SUBHEADING: element(out, "<h3>", b->text, "</h3>\n"); break;
    case BLOCK_PARAGRAPH: prose(out, "<p>", b->text, "</p>\n"); break;
    case BLOCK_NOTE: prose(out, "<p class=note>", b->text, "</p>\n"); break;
    case BLOCK_CODE:
        element(out, "<div class=scroll><pre class=wrap>", b->text, "</pre></div>\n");
        break;
    case BLOCK_TABLE: write_table(out, b, l); break;
    case BLOCK_FIGURE:
        text_append(out, "<figure>\n");
        text_append(out, b->svg);
        prose(out, "<figcaption>", b->text, "</figcaption></figure>\n");
        break;
    }
}

void document_to_html(const document *d, text *out) {
    language l = LANGUAGE_EN;
    (void)language_find(d->language, &l);
    text_format(out, "<!doctype html>\n<html lang=%s>\n<head>\n<meta charset=utf-8>\n",
                d->language);
    text_append(out, "<meta name=viewport content=\"width=device-width,initial-scale=1\">\n");
    element(out, "<title>", d->title, "</title>\n<style>\n");
    text_append(out, style_sheet);
    element(out, "</style>\n</head>\n<body>\n<h1>", d->title, "</h1>\n");
    bool grid = false;
    for (size_t i = 0; i < d->count; i++) {
        bool figure = d->blocks[i].kind == BLOCK_FIGURE;
        if (figure != grid) text_append(out, figure ? "<div class=figures>\n" : "</div>\n");
        grid = figure;
        write_block(out, &d->blocks[i], l);
    }
    text_append(out, grid ? "</div>\n</body>\n</html>\n" : "</body>\n</html>\n");
}
