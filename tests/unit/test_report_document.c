// SPDX-License-Identifier: MIT
// The renderers: escaping, the shape of tables, paths, and comma-separated values.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "report/document.h"
#include "results/figures.h"
#include "results/origin.h"

static const char nasty[] = "a<b>&\"c\" | *x* _y_ [z](u) 50 % $1 #2 {3} ~^ \\";

static void make_document(document *d) {
    document_init(d, nasty, "en");
    document_add(d, BLOCK_HEADING, "%s", nasty);
    document_add(d, BLOCK_CODE, "%s", "run --all 'x|y'");
    document_table(d, 2, "");
    document_cell(d, CELL_TEXT, "%s", "name");
    document_cell(d, CELL_TEXT, "%s", "value");
    document_cell(d, CELL_STRONG, "%s", "a|b");
    document_cell(d, CELL_NUMBER, "%d", 7);
    document_shade(d, 0.5);
    document_end(d);
}

static void contains(const text *t, const char *part) {
    if (!strstr(text_string(t), part)) fail_msg("'%s' is not in:\n%s", part, text_string(t));
}

static void html(void **state) {
    (void)state;
    document d;
    text out = {0};
    make_document(&d);
    document_to_html(&d, &out);
    contains(&out, "<h2 id=s1>a&lt;b&gt;&amp;&quot;c&quot; | *x*");
    contains(&out,
             "<thead><tr><th scope=col>name</th><th class=n scope=col>value</th></tr></thead>");
    contains(&out,
             "<th scope=row>a|b</th><td class=n style=\"background:rgba(var(--shade),0.50)\">7"
             "</td></tr></tbody>");
    assert_null(strstr(text_string(&out), "a<b>"));
    text_release(&out);
    document_release(&d);
}

// A column is as wide as a number: marks and further numbers go below it. Words stay together.
static void html_columns_are_narrow(void **state) {
    (void)state;
    document d;
    text out = {0};
    document_init(&d, "t", "en");
    document_table(&d, 9, "");
    for (int i = 0; i < 9; i++) document_cell(&d, CELL_TEXT, "Speed-up, s / epoch");
    document_cell(&d, CELL_STRONG, "a-name");
    document_cell(&d, CELL_NUMBER, "%s", "99.19 %; 99.08 %");
    document_cell(&d, CELL_NUMBER, "%s", "0.95×†");
    document_cell(&d, CELL_NUMBER, "%s", "<1; 2");
    document_cell(&d, CELL_TEXT, "%s", "85 % reached");
    document_cell(&d, CELL_TEXT, "%s", "85 % not reached");
    document_cell(&d, CELL_TEXT, "%s", "a text that is long enough to be broken into lines");
    document_cell(&d, CELL_CODE, "%s", "a06a7aeea786");
    document_cell(&d, CELL_CODE, "%s", "a06a7aeea786a06a7aeea786a06a7aeea786a06a7aeea786");
    document_to_html(&d, &out);
    contains(&out, "<table class=w>");
    contains(&out, "<th class=n scope=col>Speed&#8209;up, s&nbsp;/&nbsp;epoch</th>");
    contains(&out,
             "<th scope=row>a-name</th><td class=n>99.19&nbsp;%;<br>99.08&nbsp;%</td>"
             "<td class=n>0.95×<sup><a href=\"#footnote\">†</a></sup></td><td class=n>&lt;1; 2</td>"
             "<td>85&nbsp;% reached</td><td class=s>85&nbsp;% not reached</td>"
             "<td class=t>a text that");
    contains(&out, "<td class=code>a06a7aeea786</td><td class=\"code l\">");
    text_release(&out);
    document_release(&d);
}

static void markdown(void **state) {
    (void)state;
    document d;
    text out = {0};
    make_document(&d);
    document_to_markdown(&d, &out);
    contains(&out, "## a\\<b>&\"c\" \\| \\*x\\* \\_y\\_ [z\\](u) 50 % $1 #2 {3} ~^ \\\\\n");
    contains(&out, "```\nrun --all 'x|y'\n```\n");
    contains(&out, "| name | value |\n| --- | ---: |\n| **a\\|b** | 7 |\n");
    text_release(&out);
    document_release(&d);
}

static void latex(void **state) {
    (void)state;
    document d;
    text out = {0};
    make_document(&d);
    document_to_latex(&d, &out);
    contains(&out, "a\\textless{}b\\textgreater{}\\&\"c\" | *x* "
                   "\\_\\allowbreak{}y\\_\\allowbreak{} [z](u) 50~\\% \\$1 \\#2 "
                   "\\{3\\} \\textasciitilde{}\\textasciicircum{} \\textbackslash{}}");
    contains(&out, "\\begin{longtable}{lr}");
    contains(&out, "\\textbf{a|b} & {7} \\\\\n\\bottomrule");
    text_release(&out);
    document_release(&d);
}

// A note in an experiment may have several lines.
static void latex_breaks_lines_in_cells(void **state) {
    (void)state;
    document d;
    text out = {0};
    document_init(&d, "t", "en");
    document_table(&d, 1, "");
    document_cell(&d, CELL_TEXT, "head");
    document_cell(&d, CELL_TEXT, "%s", "two\nlines\n");
    document_to_latex(&d, &out);
    contains(&out, "{two\\newline\nlines\\newline\n} \\\\\n");
    text_release(&out);
    document_release(&d);
}

static void parts_are_moved(void **state) {
    (void)state;
    document d, part;
    text out;
    text_init(&out);
    document_init(&d, "t", "en");
    document_add(&d, BLOCK_HEADING, "whole");
    for (int i = 0; i < 2; i++) {
        char svg[] = "<svg aria-labelledby=\"x-title\"><title id=\"x-title\"/>"
                     "<circle id=\"x-dot\"/><use href='#x-dot'/></svg>";
        document_init(&part, "", "en");
        document_add(&part, BLOCK_HEADING, "part");
        document_figure(&part, "x", memory_string(svg), "drawn");
        document_move(&d, &part, i ? "b" : "a");
        assert_int_equal(part.count, 0);
        document_release(&part);
    }
    document_end(&d);
    assert_string_equal(d.blocks[2].id, "a-x");
    document_figure_to_svg(&d.blocks[2], &out);
    contains(
        &out,
        "<svg font-family=\"sans-serif\" aria-labelledby=\"a-x-title\">\n<style>svg{color:#000}");
    text_release(&out);
    text_init(&out);
    document_to_html(&d, &out);
    contains(&out, "<h2 id=s1>whole</h2>\n<h3>part</h3>\n");
    contains(&out, "<svg aria-labelledby=\"a-x-title\"><title id=\"a-x-title\"/>"
                   "<circle id=\"a-x-dot\"/><use href='#a-x-dot'/></svg>");
    contains(&out, "<use href='#b-x-dot'/></svg>");
    text_release(&out);
    text_init(&out);
    document_to_markdown(&d, &out);
    contains(&out, "## whole\n\n### part\n\n");
    document_to_latex(&d, &out);
    contains(&out, "\\subsection{part}");
    text_release(&out);
    document_release(&d);
}

static void lacks(const text *t, const char *part) {
    if (strstr(text_string(t), part)) fail_msg("'%s' is in:\n%s", part, text_string(t));
}

// Renders the document into `out` again.
static void render(const document *d, void (*to)(const document *, text *), text *out) {
    text_release(out);
    to(d, out);
}

// Columns without a value are dropped, except the first; their cells' ids go with them.
static void empty_columns_are_dropped(void **state) {
    (void)state;
    document d;
    text out = {0};
    document_init(&d, "t", "en");
    document_table(&d, 4, "");
    for (const char *head = "abcd"; *head; head++) document_cell(&d, CELL_TEXT, "%c", *head);
    for (int row = 0; row < 2; row++) {
        document_cell(&d, CELL_STRONG, "%s", "");
        document_cell(&d, CELL_NUMBER, "%s", "");
        document_cell_id(&d, 0, "an.id");
        document_cell(&d, CELL_NUMBER, "%s", row ? "7" : "");
        document_cell(&d, CELL_TEXT, "%s", "");
    }
    document_end(&d);
    assert_int_equal(d.blocks[0].table.columns, 2);
    render(&d, document_to_markdown, &out);
    contains(&out, "| a | c |\n| --- | ---: |\n|  |  |\n|  | 7 |\n");
    text_release(&out);
    document_release(&d);
}

// The first screen, contents, a section and a folded one, byline and footnote.
static void pages_have_contents_and_folds(void **state) {
    (void)state;
    document d;
    text out = {0};
    document_init(&d, "t", "en");
    document_byline(&d, "A & B");
    document_footnote(&d, "† what it means");
    document_add(&d, BLOCK_LEAD, "%s", "1.2 s†");
    document_add(&d, BLOCK_HEADING, "%s", "One, two");
    document_fold(&d, "Files");
    document_add(&d, BLOCK_PARAGRAPH, "%s", "inside");
    render(&d, document_to_html, &out);
    contains(&out, "<p class=by>A &amp; B</p>\n<div class=first>\n<p class=lead>1.2 s<sup>"
                   "<a href=\"#footnote\">†</a></sup></p>\n</div>\n<nav>\n"
                   "<a href=\"#s1\">One, two</a>\n<a href=\"#s2\">Files</a>\n</nav>\n");
    contains(&out, "<h2 id=s1>One, two</h2>\n<details class=fold id=s2><summary><h2>Files</h2>"
                   "</summary></details>\n<div class=folded>\n<p>inside</p>\n</div>\n"
                   "<footer id=footnote>† what it means</footer>");
    contains(&out, "@media screen{details.fold:not([open],:target)+.folded{display:none}}");
    render(&d, document_to_markdown, &out);
    contains(&out, "# t\n\nA & B\n\n1.2 s†\n\n[One, two](#one-two) ·\n[Files](#files)\n\n## One");
    render(&d, document_to_latex, &out);
    contains(&out, "{\\small A \\& B\\par}");
    contains(&out, "1.2 s\\textsuperscript{\\dag}");
    contains(&out, "\\tableofcontents\n\n\\section{One, two}");
    render(&d, document_to_plain, &out);
    contains(&out, "\n† what it means\n");
    text_release(&out);
    document_release(&d);
}

// A small part of Markdown; everything else stays as it is, escaped.
static void discussions_are_escaped(void **state) {
    (void)state;
    static const char written[] =
        "# Why *so*\n\nA **b** `c<d>` <b>e</b> & snake_case 2*3*4 * f\nnext line\n\n"
        "- one\n- two\n  goes on\n\n1. first\n2. second\n```\nx  <y>\n\nz\n```\n第一行\n第二行";
    document d;
    text out = {0};
    document_init(&d, "t", "en");
    document_markdown(&d, written);
    document_end(&d);
    render(&d, document_to_html, &out);
    contains(&out, "<h3>Why <em>so</em></h3>\n<p>A <strong>b</strong> <code>c&lt;d&gt;</code> "
                   "&lt;b&gt;e&lt;/b&gt; &amp; snake_case 2<em>3</em>4 * f next line</p>\n"
                   "<ul>\n<li>one</li>\n<li>two goes on</li>\n</ul>\n"
                   "<ol>\n<li>first</li>\n<li>second</li>\n</ol>\n");
    contains(&out, "x  &lt;y&gt;\n\nz</pre>");
    contains(&out, "<p>第一行第二行</p>");
    lacks(&out, "<b>");
    render(&d, document_to_markdown, &out);
    contains(&out, "### Why *so*\n\nA **b** `c<d>` \\<b>e\\</b> & snake\\_case 2*3*4 \\* f next");
    contains(&out, "- one\n- two goes on\n\n1. first\n2. second\n\n");
    render(&d, document_to_latex, &out);
    contains(&out, "\\subsection{Why \\emph{so}}");
    contains(&out, "\\texttt{c\\textless{}d\\textgreater{}}");
    contains(&out, "\\begin{itemize}\n\\item one\n\\item two goes on\n\\end{itemize}\n\n"
                   "\\begin{enumerate}\n\\item first\n");
    text_release(&out);
    document_release(&d);
}

// Common variants: fences inside lists and lines, lists that continue after code, references.
static void discussions_of_all_kinds(void **state) {
    (void)state;
    static const char written[] =
        "1. run\n   ```py\n   if x:\n     y\n   ```\n2. look\n\n```a``` is code\n\n- [1] Peng†\n";
    document d;
    text out = {0};
    document_init(&d, "t", "en");
    document_markdown(&d, written);
    document_end(&d);
    render(&d, document_to_html, &out);
    contains(&out, "<ol>\n<li>run</li>\n</ol>\n<div class=scroll><pre class=wrap>   if x:\n     y"
                   "</pre></div>\n<ol start=2>\n<li>look</li>\n</ol>\n");
    contains(&out, "is code</p>\n<ul>\n<li>[1] Peng†</li>\n</ul>\n");
    render(&d, document_to_latex, &out);
    contains(&out, "\\raggedright ~~~if x:\\newline\n~~~~~y\\par}");
    contains(&out, "\\begin{enumerate}\n\\setcounter{enumi}{1}\n\\item look\n");
    contains(&out, "\\item {}[1] Peng");
    text_release(&out);
    document_release(&d);
}

// A name in Chinese on a page in English.
static void latex_requests_the_fonts_of_names(void **state) {
    (void)state;
    document d;
    text out = {0};
    document_init(&d, "t", "en");
    render(&d, document_to_latex, &out);
    lacks(&out, "ctex");
    document_byline(&d, "李明");
    render(&d, document_to_latex, &out);
    contains(&out, "\\usepackage{ctex}");
    text_release(&out);
    document_release(&d);
}

// The search for a mark's end is bounded: otherwise a file of unclosed marks would take quadratic
// time.
static void marks_have_a_bounded_length(void **state) {
    (void)state;
    for (int i = 0; i < 2; i++) {
        document d;
        text written, out = {0};
        text_init(&written);
        text_append(&written, "*");
        for (int k = 0; k < (i ? 3000 : 2000); k++) text_append(&written, "a");
        text_append(&written, "*");
        document_init(&d, "t", "en");
        document_markdown(&d, text_string(&written));
        render(&d, document_to_html, &out);
        (i ? contains : lacks)(&out, "*aaa");
        (i ? lacks : contains)(&out, "<em>aaa");
        text_release(&out);
        text_release(&written);
        document_release(&d);
    }
}

// A terminal of 100 columns: lines end at blanks and between wide characters, and so do cells.
static void plain_text_fits_a_terminal(void **state) {
    (void)state;
    document d;
    text out = {0};
    document_init(&d, "t", "en");
    for (int i = 0; i < 2; i++) {
        text line = {0};
        for (int k = 0; k < 60; k++) text_append(&line, i ? "字" : "word ");
        document_add(&d, BLOCK_PARAGRAPH, "%s", text_string(&line));
        document_table(&d, 2, "");
        document_cell(&d, CELL_TEXT, "head");
        document_cell(&d, CELL_TEXT, "text");
        document_cell(&d, CELL_NUMBER, "1.5");
        document_cell(&d, CELL_TEXT, "%s", text_string(&line));
        text_release(&line);
    }
    document_end(&d);
    render(&d, document_to_plain, &out);
    contains(&out, "\n 1.5  word word");
    contains(&out, "\n      word");
    for (const char *at = text_string(&out); *at;) {
        char line[512] = "";
        const size_t length = strcspn(at, "\n");
        assert_true(length < sizeof line);
        memcpy(line, at, length);
        assert_in_range(text_columns(line), 0, 100);
        at += length + 1;
    }
    text_release(&out);
    document_release(&d);
}

static void text_grows_and_replaces(void **state) {
    (void)state;
    text t = {0};
    assert_string_equal(text_string(&t), "");
    for (int i = 0; i < 1000; i++) text_format(&t, "%d,", i % 10);
    assert_int_equal(t.length, 2000);
    text_replace(&t, "9,", "nine ");
    assert_int_equal(t.length, 2300);
    char *taken = text_take(&t);
    assert_memory_equal(taken, "0,1,2,3,4,5,6,7,8,nine 0,", 25);
    free(taken);
    text_release(&t);
}

static void csv_quotes_where_necessary(void **state) {
    (void)state;
    char id[] = "a.b", note[] = "x, \"y\"\nz", source[] = "";
    const metric_row row = {.unit = "s"};
    figure f = {.id = id,
                .owner = "a",
                .metric = id + 2,
                .value = 0.1,
                .low = NAN,
                .high = NAN,
                .row = &row,
                .note = note,
                .source = source};
    figure_list list = {.items = &f, .count = 1};
    text out = {0};
    figures_to_csv(&list, &out);
    assert_string_equal(text_string(&out), "id,owner,metric,value,low,high,unit,note,source,model\n"
                                           "a.b,a,b,0.1,,,s,\"x, \"\"y\"\"\nz\",,\n");
    text_release(&out);
}

static void paths_are_tidied(void **state) {
    (void)state;
    static const struct {
        const char *folder, *path, *tidy;
    } cases[] = {
        {"a/b", "../c/f", "a/c/f"},
        {"a/b", "../../../f", "../f"},
        {"/a", "../../f", "/f"},
        {"a/./b//", "./f", "a/b/f"},
        {"a", "/x/../y/f", "/y/f"},
        {"..", "../f", "../../f"},
        {"a", "-", "-"},
        {".", "f", "f"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *tidy = origin_tidy_path(cases[i].folder, cases[i].path);
        assert_string_equal(tidy, cases[i].tidy);
        free(tidy);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(html),
        cmocka_unit_test(html_columns_are_narrow),
        cmocka_unit_test(markdown),
        cmocka_unit_test(latex),
        cmocka_unit_test(latex_breaks_lines_in_cells),
        cmocka_unit_test(parts_are_moved),
        cmocka_unit_test(empty_columns_are_dropped),
        cmocka_unit_test(pages_have_contents_and_folds),
        cmocka_unit_test(discussions_are_escaped),
        cmocka_unit_test(discussions_of_all_kinds),
        cmocka_unit_test(latex_requests_the_fonts_of_names),
        cmocka_unit_test(marks_have_a_bounded_length),
        cmocka_unit_test(plain_text_fits_a_terminal),
        cmocka_unit_test(text_grows_and_replaces),
        cmocka_unit_test(csv_quotes_where_necessary),
        cmocka_unit_test(paths_are_tidied),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
