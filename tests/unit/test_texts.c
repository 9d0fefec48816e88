// SPDX-License-Identifier: MIT
// Texts that grow, comma-separated values, and paths.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "results/figures.h"
#include "results/origin.h"

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
        cmocka_unit_test(text_grows_and_replaces),
        cmocka_unit_test(csv_quotes_where_necessary),
        cmocka_unit_test(paths_are_tidied),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
