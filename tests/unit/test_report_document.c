// SPDX-License-Identifier: MIT
// A document becomes the Markdown of a page; texts that grow, comma-separated values, and paths.
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
#include "report/report_page.h"
#include "results/figures.h"
#include "results/origin.h"

static void contains(const text *t, const char *part) {
    if (!strstr(text_string(t), part)) fail_msg("'%s' is not in:\n%s", part, text_string(t));
}

static const char nasty[] = "a<b>&\"c\" | *x* _y_ [z](u) 50 % $1 #2 {3} ~^ \\";

static void documents_become_pages(void **state) {
    (void)state;
    document d;
    text out = {0};
    document_init(&d, nasty, "en");
    document_byline(&d, "A & B");
    document_footnote(&d, "† what it means");
    document_add(&d, BLOCK_LEAD, "%s", "1.2 s†");
    document_add(&d, BLOCK_HEADING, "%s", nasty);
    document_add(&d, BLOCK_CODE, "%s", "run --all 'x|y'");
    document_add(&d, BLOCK_MARKDOWN, "%s", "as *is*\n");
    document_fold(&d, "Files");
    document_add(&d, BLOCK_NOTE, "%s", "small");
    document_to_markdown(&d, &out);
    contains(&out, "# a\\<b>&\"c\" \\| \\*x\\* \\_y\\_ [z\\](u) 50 % \\$1 #2 {3} ~^ \\\\\n\n"
                   "<small>A & B</small>\n\n1.2 s†\n\n## a\\<b>");
    contains(&out, "```\nrun --all 'x|y'\n```\n\nas *is*\n\n<!-- folded -->\n\n## Files\n\n"
                   "<small>small</small>\n\n† what it means\n");
    text_release(&out);
    document_release(&d);
}

static void tables_keep_ids_and_alignment(void **state) {
    (void)state;
    document d;
    text out = {0};
    document_init(&d, "t", "en");
    document_table(&d, 3, "");
    for (const char *head = "abc"; *head; head++) document_cell(&d, CELL_TEXT, "%c", *head);
    for (int row = 0; row < 2; row++) {
        document_cell(&d, CELL_STRONG, "%s", "a|b");
        document_cell(&d, CELL_NUMBER, "%s", row ? "7" : "");
        document_cell_id(&d, 0, "an_id");
        document_cell(&d, CELL_CODE, "%s", row ? "a06a" : "x`y");
    }
    document_table(&d, 1, "its caption");
    document_cell(&d, CELL_TEXT, "%s", "two\nlines\n");
    document_to_markdown(&d, &out);
    contains(&out, "| a | b | c |\n| --- | ---: | --- |\n| **a\\|b** |  | x\\`y |\n| **a\\|b** | "
                   "" MARK_FIGURE "an\\_id" MARK_SHOWN "7" MARK_END " | `a06a` |\n\n"
                   "<!-- matrix -->\n\nits caption\n\n| two lines  |\n");
    text_release(&out);
    document_release(&d);
}

static void parts_are_moved(void **state) {
    (void)state;
    document d, part;
    text out = {0};
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
    assert_string_equal(d.blocks[2].id, "a-x");
    assert_string_equal(d.blocks[2].svg,
                        "<svg aria-labelledby=\"a-x-title\"><title id=\"a-x-title\"/>"
                        "<circle id=\"a-x-dot\"/><use href='#a-x-dot'/></svg>");
    document_to_markdown(&d, &out);
    contains(&out,
             "## whole\n\n### part\n\n![a-x](figures/a-x.svg)\n\ndrawn\n\n### part\n\n![b-x]");
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
        cmocka_unit_test(documents_become_pages),
        cmocka_unit_test(tables_keep_ids_and_alignment),
        cmocka_unit_test(parts_are_moved),
        cmocka_unit_test(text_grows_and_replaces),
        cmocka_unit_test(csv_quotes_where_necessary),
        cmocka_unit_test(paths_are_tidied),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
