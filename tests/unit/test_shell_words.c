// SPDX-License-Identifier: MIT
// Words printed for retyping read back as the same words.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/shell_words.h"

static void expect(const char *word, const char *quoted) {
    char *got = shell_quote(word);
    assert_string_equal(got, quoted);
    free(got);
}

static void words(void **state) {
    (void)state;
    expect("--out=a/b_1.yaml", "--out=a/b_1.yaml");
    expect("", "''");
    expect("two words", "'two words'");
    expect("$(rm x)", "'$(rm x)'");
    expect("~", "'~'");
    expect("it's 'so'", "'it'\\''s '\\''so'\\'''");
}

static void lines(void **state) {
    (void)state;
    char *list[] = {"train-single", "--set", "schedule={kind: constant}", ""};
    char *got = shell_join(list, 4);
    assert_string_equal(got, "train-single --set 'schedule={kind: constant}' ''");
    free(got);
    got = shell_join(list, 0);
    assert_string_equal(got, "");
    free(got);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(words), cmocka_unit_test(lines)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
