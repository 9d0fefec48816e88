// SPDX-License-Identifier: MIT
// What is made of a page in Markdown: HTML, report.md, text for a terminal. An author's Markdown,
// and strangers' texts in all of them.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "report/markdown.h"
#include "report/report_page.h"
#include "report/written.h"

static void contains(const text *t, const char *part) {
    if (!strstr(text_string(t), part)) fail_msg("'%s' is not in:\n%s", part, text_string(t));
}

static void lacks(const text *t, const char *part) {
    if (strstr(text_string(t), part)) fail_msg("'%s' is in:\n%s", part, text_string(t));
}

// Renders into `out` again, without the head of the page.
static void html_of(const char *page, text *out) {
    static const drawing drawings[] = {{.id = "loss", .svg = "<svg id=loss></svg>"},
                                       {.id = "b", .svg = "<svg></svg>"}};
    text whole = {0};
    text_release(out);
    page_to_html(page, "en", drawings, 2, &whole);
    text_append(out, strstr(text_string(&whole), "<body>"));
    text_release(&whole);
}

static void text_of(const char *page, text *out) {
    text_release(out);
    page_to_text(page, out);
}

// ---- Pages ----

static void pages_have_contents_and_folds(void **state) {
    (void)state;
    text out = {0};
    html_of("# t & u\n\n<small>A & B</small>\n\n1.2 s†\n\n## One, two\n\n<!-- folded -->\n\n"
            "## Files\n\ninside\n\n† what it means\n",
            &out);
    contains(&out, "<h1>t &amp; u</h1>\n<p class=by>A &amp; B</p>\n<div class=first>\n"
                   "<p class=lead>1.2 s<sup><a href=\"#footnote\">†</a></sup></p>\n</div>\n<nav>\n"
                   "<a href=\"#s1\">One, two</a>\n<a href=\"#s2\">Files</a>\n</nav>\n");
    contains(&out, "<h2 id=s1>One, two</h2>\n<details class=fold id=s2><summary><h2>Files</h2>"
                   "</summary></details>\n<div class=folded>\n<p>inside</p>\n</div>\n"
                   "<footer id=footnote>† what it means</footer>");
    // Without a byline, contents and a footnote.
    html_of("# t\n\n1.2 s†\n", &out);
    contains(&out, "</h1>\n<div class=first>\n<p class=lead>1.2 s†</p>\n</div>\n</body>");
    text_release(&out);
}

static void pages_stand_alone(void **state) {
    (void)state;
    text out = {0};
    page_to_html("# t & u\n\nx\n", "zh", NULL, 0, &out);
    contains(&out, "<!doctype html>\n<html lang=zh>\n<head>\n<meta charset=utf-8>\n");
    contains(&out, "<title>t &amp; u</title>\n<style>\n");
    contains(&out, "@media screen {\n    details.fold:not([open],:target) + .folded");
    text_release(&out);
}

static void pictures_have_captions(void **state) {
    (void)state;
    text out = {0};
    html_of("# t\n\nlead\n\n![loss](figures/loss.svg)\n\nA *caption*.\n\n![b](figures/b.svg)\n\n"
            "Another.\n\n<small>small</small>\n\nno lead ![loss](figures/loss.svg)\n\n"
            "![no](figures/no.svg)\n",
            &out);
    contains(&out, "<p class=lead>lead</p>\n<div class=figures>\n<figure>\n<svg id=loss></svg>"
                   "<figcaption>A <em>caption</em>.</figcaption></figure>\n<figure>\n<svg></svg>"
                   "<figcaption>Another.</figcaption></figure>\n</div>\n<p class=note>small</p>\n"
                   "<p>no lead loss</p>\n<div class=figures>\n<figure>\n</figure>\n</div>\n");
    text_of("# t\n\nlead\n\n![loss](figures/loss.svg)\n\nA caption.\n\n<small>s</small>\n\nlast\n",
            &out);
    assert_string_equal(text_string(&out), "t\nlead\n\ns\nlast\n");
    text_release(&out);
}

static void subsections_are_folded(void **state) {
    text out = {0};
    (void)state;
    html_of("# t\n\n## a\n\n<!-- folded -->\n\n### b\n\nin\n\n### c\n\nout\n\n"
            "<!-- folded -->\n\n### d\n\nin\n\n## e\n",
            &out);
    contains(&out, "<details class=fold><summary><h3>b</h3></summary></details>\n"
                   "<div class=folded>\n<p>in</p>\n</div>\n<h3>c</h3>\n<p>out</p>\n"
                   "<details class=fold><summary><h3>d</h3></summary></details>\n"
                   "<div class=folded>\n<p>in</p>\n</div>\n<h2 id=s2>e</h2>\n");
    text_release(&out);
}

static void long_small_print_is_folded(void **state) {
    (void)state;
    text page = {0}, out = {0};
    text_append(&page, "# t\n\nx\n\n<small>First *a. b* sentence. Second");
    for (int i = 0; i < 100; i++) text_append(&page, " word");
    text_append(&page, ".</small>\n");
    html_of(text_string(&page), &out);
    contains(&out, "<details class=fold><summary class=note>First <em>a. b</em> sentence.</summary>"
                   "</details>\n<p class=\"note folded\"> Second word");
    text_release(&page);
    text_release(&out);
}

// ---- Tables ----

static void tables_have_heads_and_names(void **state) {
    (void)state;
    text out = {0};
    html_of("# t\n\n| name | s / epoch |\n| --- | ---: |\n| **a-b** | 99.19 %; 99.08 % |\n"
            "| `a06a` | 85 % not reached |\n| x\\|y | 0.95×† |\n\n† f\n",
            &out);
    contains(&out, "<table>\n<thead><tr><th scope=col>name</th>"
                   "<th class=n scope=col>s&nbsp;/&nbsp;epoch</th></tr></thead>\n<tbody>\n"
                   "<tr><th scope=row>a-b</th><td class=n>99.19&nbsp;%;<br>99.08&nbsp;%</td></tr>\n"
                   "<tr><td class=code>a06a</td><td class=\"n s\">85&nbsp;% not reached</td></tr>\n"
                   "<tr><td>x|y</td><td class=n>0.95×<sup><a href=\"#footnote\">†</a></sup></td>"
                   "</tr></tbody></table></div>\n");
    html_of("# t\n\n|Speed-up|b|c|d|e|f|g|h|i|\n|---|---|---|---|---|---|---|---|---|\n"
            "|a text of words|a text that is long enough to be broken into lines|"
            "`a06a7aeea786a06a7aeea786a06a7aeea786a06a7aeea786`|d|e|f|g|h|i|\n",
            &out);
    contains(&out, "<table class=w>\n<thead><tr><th scope=col>Speed&#8209;up</th>");
    contains(&out, "<td class=s>a text of words</td><td class=t>a text that");
    contains(&out, "<td class=\"code l\">a06a");
    text_release(&out);
}

static void matrices_are_shaded(void **state) {
    (void)state;
    text out = {0};
    html_of("# t\n\n<!-- matrix -->\n\nRows: *true*.\n\n| | cat | dog |\n| --- | ---: | ---: |\n"
            "| **cat** | 3 | 1 |\n| **dog** | 0 | 0 |\n",
            &out);
    contains(&out, "<table class=m><caption>Rows: <em>true</em>.</caption>\n");
    contains(&out, "<th scope=row>cat</th>"
                   "<td class=n style=\"background:rgba(var(--shade),0.64)\">3</td>"
                   "<td class=n style=\"background:rgba(var(--shade),0.21)\">1</td></tr>\n"
                   "<tr><th scope=row>dog</th><td class=n>0</td><td class=n>0</td></tr>");
    text_release(&out);
}

#define SHOWN(id, string) MARK_FIGURE id MARK_SHOWN string MARK_END

static void figures_have_ids(void **state) {
    (void)state;
    static const char page[] = "# t\n\nIt is " SHOWN(
        "a\\*b.x", "**5**") ".\n\n| a | b |\n"
                            "| --- | ---: |\n| "
                            "**" SHOWN("r.n", "(r)") "**"
                                                     " | " SHOWN("r.a", "7 %") " |\n| `c` | " SHOWN(
                                                         "r.b", "1") " to " SHOWN("r.c",
                                                                                  "2") " |\n";
    text out = {0};
    html_of(page, &out);
    contains(&out, "It is <span title=\"report DIR... --why a*b.x\"><strong>5</strong></span>.");
    contains(&out, "<th scope=row title=\"report DIR... --why r.n\">(r)</th>"
                   "<td class=n title=\"report DIR... --why r.a\">7&nbsp;%</td>");
    contains(&out, "<td class=n><span title=\"report DIR... --why r.b\">1</span> to "
                   "<span title=\"report DIR... --why r.c\">2</span></td>");
    text_release(&out);
    page_to_markdown(page, &out);
    assert_string_equal(text_string(&out), "# t\n\nIt is **5**.\n\n| a | b |\n| --- | ---: |\n"
                                           "| **(r)** | 7 % |\n| `c` | 1 to 2 |\n");
    text_of(page, &out);
    assert_string_equal(text_string(&out),
                        "t\nIt is 5.\n\na         b\n(r)     7 %\nc    1 to 2\n");
    // Marks that are not closed, or not opened.
    html_of("# t\n\nx" MARK_END " " MARK_FIGURE "a" MARK_SHOWN "y\n\n" MARK_FIGURE "z\n", &out);
    contains(&out,
             "<p class=lead>x <span title=\"report DIR... --why a\">y</span></p>\n<p class=lead>");
    text_release(&out);
}

static void empty_columns_are_dropped(void **state) {
    (void)state;
    static const char code[] = "```\n| a | b |\n| --- | --- |\n|  |  |\n```\n";
    text page = {0}, out = {0};
    text_append(&page, "# t\n\n| a | b\\|c | d | e |\n| --- | ---: | --- | --- |\n"
                       "|  | " SHOWN("x", "") " | 1 | \\| |\n|  |  |  |  |\n\n");
    text_append(&page, code);
    page_to_markdown(text_string(&page), &out);
    contains(&out, "| a | d | e |\n| --- | --- | --- |\n|  | 1 | \\| |\n|  |  |  |\n\n");
    contains(&out, code);
    text_append(&page, "\n| without | a row |\n| --- | --- |\n\nAfter.\n");
    page_to_markdown(text_string(&page), &out);
    contains(&out, "```\n\nAfter.");
    lacks(&out, "without");
    html_of(text_string(&page), &out);
    contains(&out, "<th scope=col>a</th><th scope=col>d</th><th scope=col>e</th></tr>");
    text_release(&page);
    text_release(&out);
}

// 80 columns, and 100 for tables: lines end at blanks and between wide characters, and so do cells.
static void plain_text_fits_a_terminal(void **state) {
    (void)state;
    text page = {0}, out = {0};
    text_append(&page, "# t\n\n");
    for (int i = 0; i < 2; i++) {
        text line = {0};
        for (int k = 0; k < 60; k++) text_append(&line, !i ? "word " : k % 2 ? "，" : "字");
        text_format(&page, "%s\n\n| head | text |\n| ---: | --- |\n| 1.5 | %s |\n\n",
                    text_string(&line), text_string(&line));
        text_release(&line);
    }
    text_of(text_string(&page), &out);
    contains(&out, "\n 1.5  word word");
    contains(&out, "\n      word");
    for (const char *at = text_string(&out); *at;) {
        char line[512] = "";
        const size_t length = strcspn(at, "\n");
        assert_true(length < sizeof line);
        memcpy(line, at, length);
        assert_in_range(text_columns(line), 0, strncmp(line, " ", 1) == 0 ? 100 : 80);
        // Chinese punctuation does not begin a line.
        assert_int_not_equal(strncmp(line + strspn(line, " "), "，", strlen("，")), 0);
        at += length + 1;
    }
    text_of("# t\n\n1.2 s†\n\n## h\n\n- one\n- two\n\n```\n| x\n```\n\n† what it means\n", &out);
    assert_string_equal(text_string(&out),
                        "t\n1.2 s†\n\nh\n- one\n- two\n| x\n\n† what it means\n");
    text_of("# t\n\n1.2 s\n\n† what it means\n", &out);
    assert_string_equal(text_string(&out), "t\n1.2 s\n");
    text_release(&page);
    text_release(&out);
}

// ---- Strangers' texts ----

static const char *const strange[] = {"<script>alert(1)</script>",
                                      "\"><img src=x onerror=alert(1)>",
                                      "--><script>alert(1)</script>",
                                      "<!-- folded -->",
                                      "<small>x</small>",
                                      "[x](javascript:alert(1))",
                                      "![x](figures/loss.svg)",
                                      "[x]: javascript:alert(1)",
                                      "](javascript:alert(1)) <b>x</b>",
                                      "<javascript:alert(1)>",
                                      "`<b>`",
                                      "``` x",
                                      "~~~",
                                      "a | b | c",
                                      "|---|",
                                      "# x",
                                      "## x ##",
                                      "x #",
                                      "- x",
                                      "+ x",
                                      "* x",
                                      "1. x",
                                      "12) x",
                                      "> x",
                                      "---",
                                      "===",
                                      "***",
                                      "__x__",
                                      "*x*",
                                      "a_b_c",
                                      "&lt;b&gt;",
                                      "&#60;b&#62;",
                                      "\\<b>",
                                      "\\",
                                      "x\\",
                                      "$x$",
                                      "~~x~~",
                                      "    x",
                                      "\tx",
                                      "x  ",
                                      "{{x}}",
                                      "%s%n",
                                      "†",
                                      "字\\字"};

// As the HTML of a text, and as plain text, in which blanks at both ends are dropped.
static void expect(const char *string, const text *html, const text *plain) {
    text shown = {0};
    string += strspn(string, " \t");
    text_markup(&shown, string);
    while (shown.length && shown.data[shown.length - 1] == ' ') shown.data[--shown.length] = 0;
    contains(html, text_string(&shown));
    text_release(&shown);
    text_append(&shown, string);
    while (shown.length && shown.data[shown.length - 1] == ' ') shown.data[--shown.length] = 0;
    contains(plain, text_string(&shown));
    text_release(&shown);
}

static void strangers_texts_stay_texts(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof strange / sizeof *strange; i++) {
        text page = {0}, out = {0}, plain = {0}, name = {0};
        markdown_escape(&name, strange[i]);
        text_append(&page, "# ");
        markdown_escape(&page, strange[i]);
        text_append(&page, "\n\n");
        markdown_escape(&page, strange[i]);
        text_format(&page,
                    "\n\n<small>%s</small>\n\n| a | b |\n| --- | --- |\n| **%s** | %s |\n\n## ",
                    text_string(&name), text_string(&name), text_string(&name));
        markdown_escape(&page, strange[i]);
        text_append(&page, "\n\nx ");
        markdown_code(&page, strange[i]);
        text_append(&page, "\n\n");
        markdown_code_block(&page, strange[i]);
        html_of(text_string(&page), &out);
        text_of(text_string(&page), &plain);
        expect(strange[i], &out, &plain);
        contains(&out, "<div class=scroll tabindex=0><table>");
        contains(&out, "<h2 id=s1>");
        contains(&out, "<p>x <code>");
        contains(&out, "<pre class=wrap>");
        static const char *const tags[] = {"<script",     "<img", "<b>",   "href=\"j", "href=\"h",
                                           "<svg",        "<em>", "<h3",   "<ul",      "<ol",
                                           "<blockquote", "<hr",  "id=s2", "<details"};
        for (size_t k = 0; k < sizeof tags / sizeof *tags; k++) lacks(&out, tags[k]);
        text_release(&page);
        text_release(&name);
        text_release(&out);
        text_release(&plain);
    }
}

static void marks_are_not_let_in(void **state) {
    (void)state;
    static const char forged[] = "a" SHOWN("x", "y");
    text out = {0};
    markdown_escape(&out, forged);
    markdown_code(&out, forged);
    markdown_code_block(&out, forged);
    written_append(&out, forged);
    lacks(&out, "\xee\x80");
    contains(&out, "a?x?y?`a?x?y?`");
    text_release(&out);
    markdown_escape(&out, "cut \xee\x80 \xee\x80\x83 \x1b[0m \xe2\x80\xae");
    assert_string_equal(text_string(&out), "cut ?? \xee\x80\x83 ?[0m ?");
    text_release(&out);
}

// ---- An author's Markdown ----

static void discussions_are_lowered_and_escaped(void **state) {
    (void)state;
    text page = {0}, out = {0};
    text_append(&page, "# t\n\n## Discussion\n\n");
    written_append(&page,
                   "# Why *so*\n\nA **b** `c<d>` <b>e</b> & snake_case 2*3*4 * f\nnext line\n\n"
                   "- one\n- two\n  goes on\n\n1. first\n2. second\n```\nx  <y>\n\nz\n```\n"
                   "第一行\n第二行\n\nUnder\n-----\n");
    contains(&page,
             "### Why *so*\n\nA **b** `c<d>` \\<b>e\\</b> & snake\\_case 2*3*4 \\* f next line\n");
    contains(&page, "- one\n- two goes on\n\n1. first\n2. second\n\n```\nx  <y>\n\nz\n```\n");
    html_of(text_string(&page), &out);
    contains(&out, "<h3>Why <em>so</em></h3>\n<p>A <strong>b</strong> <code>c&lt;d&gt;</code> "
                   "&lt;b&gt;e&lt;/b&gt; &amp; snake_case 2<em>3</em>4 * f next line</p>\n"
                   "<ul>\n<li>one</li>\n<li>two goes on</li>\n</ul>\n"
                   "<ol>\n<li>first</li>\n<li>second</li>\n</ol>\n");
    contains(&out, "x  &lt;y&gt;\n\nz\n</pre>");
    contains(&out, "<p>第一行第二行</p>\n<h4>Under</h4>\n");
    text_release(&page);
    text_release(&out);
}

// Lists inside lists, code inside lists, quotes, breaks.
static void discussions_of_all_kinds(void **state) {
    (void)state;
    text page = {0}, out = {0};
    text_append(&page, "# t\n\n## D\n\n");
    written_append(
        &page, "# T\n\n3. run\n   ```py\n   if x:\n     y\n   ```\n   - in\n4. look\n\n   more\n\n"
               "```a``` is code\n\n> said\n> - so\n\na\\\nb\n\n***\n\n- [1] Peng†\n");
    contains(&page,
             "3. run\n\n   ```\n   if x:\n     y\n   ```\n\n   - in\n\n4. look\n\n   more\n\n"
             "`a` is code\n\n> said\n>\n> - so\n\na\\\nb\n\n---\n\n- [1] Peng†\n");
    html_of(text_string(&page), &out);
    contains(&out, "<ol start=3>\n<li><p>run</p>\n<div class=scroll><pre class=wrap>if x:\n  y\n");
    contains(&out, "<blockquote>\n<p>said</p>\n<ul>\n<li>so</li>\n</ul>\n</blockquote>\n");
    contains(&out, "<p>a<br>\nb</p>\n<hr>\n<ul>\n<li>[1] Peng†</li>\n</ul>\n");
    text_release(&page);
    text_release(&out);
}

// All that is not the author's text stays as it was written.
static void discussions_bring_nothing_in(void **state) {
    (void)state;
    static const struct {
        const char *written, *shown;
    } cases[] = {
        {"[x](javascript:alert(1))", "[x](javascript:alert(1))"},
        {"![x](http://a/b.png \"t\")", "![x](http://a/b.png)"},
        {"<http://a.b>", "http://a.b"},
        {"[x][y]\n\n[y]: http://a.b", "[x](http://a.b)"},
        {"<script>\nalert(1)\n</script>", "&lt;script&gt; alert(1) &lt;/script&gt;"},
        {"<!-- folded -->\n\n# x", "&lt;!-- folded --&gt;"},
        {"<small>x</small>", "&lt;small&gt;x&lt;/small&gt;"},
        {"| a | b |\n| --- | --- |\n| 1 | 2 |", "| a | b | | --- | --- | | 1 | 2 |"},
        {"x <!-- y", "x &lt;!-- y"},
        {"```\nno end", "no end"},
        {"<!-- no end\n\ntext", "&lt;!-- no end"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        text page = {0}, out = {0};
        text_append(&page, "# t\n\nx\n\n## D\n\n");
        written_append(&page, cases[i].written);
        text_append(&page, "\n## Next\n");
        html_of(text_string(&page), &out);
        contains(&out, cases[i].shown);
        contains(&out, "<h2 id=s2>Next</h2>");
        lacks(&out, "<script");
        lacks(&out, "<p><a ");
        lacks(&out, "<figure>");
        lacks(&out, "<table");
        lacks(&out, "<details");
        text_release(&page);
        text_release(&out);
    }
}

// What is nested without end is no tree without end.
static void deep_texts_end(void **state) {
    (void)state;
    static const char *const nested[] = {"> ",  "- ",  "*a ", "[",     "![",
                                         "1. ", "<a>", "`a ", "**a_b "};
    for (size_t i = 0; i < sizeof nested / sizeof *nested; i++) {
        text author = {0}, page = {0}, out = {0};
        for (int k = 0; k < 5000; k++) text_append(&author, nested[i]);
        text_append(&author, "the end");
        text_append(&page, "# t\n\n");
        written_append(&page, text_string(&author));
        html_of(text_string(&page), &out);
        contains(&out, "the end");
        text_release(&author);
        text_release(&page);
        text_release(&out);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pages_have_contents_and_folds),
        cmocka_unit_test(pages_stand_alone),
        cmocka_unit_test(pictures_have_captions),
        cmocka_unit_test(subsections_are_folded),
        cmocka_unit_test(long_small_print_is_folded),
        cmocka_unit_test(tables_have_heads_and_names),
        cmocka_unit_test(matrices_are_shaded),
        cmocka_unit_test(figures_have_ids),
        cmocka_unit_test(empty_columns_are_dropped),
        cmocka_unit_test(plain_text_fits_a_terminal),
        cmocka_unit_test(strangers_texts_stay_texts),
        cmocka_unit_test(marks_are_not_let_in),
        cmocka_unit_test(discussions_are_lowered_and_escaped),
        cmocka_unit_test(discussions_of_all_kinds),
        cmocka_unit_test(discussions_bring_nothing_in),
        cmocka_unit_test(deep_texts_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
