// SPDX-License-Identifier: MIT
// Characters that a terminal would interpret become question marks; ordinary text stays.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/printable.h"
#include "base/text.h"

static void assert_shown(const char *string, const char *expected, bool one_line) {
    char copy[64];
    snprintf(copy, sizeof copy, "%s", string);
    assert_int_equal(printable(copy, one_line), strlen(expected));
    assert_string_equal(copy, expected);
}

static void text_is_kept(void **state) {
    (void)state;
    assert_shown("", "", true);
    assert_shown("a b, é § 训练 ± 🙂", "a b, é § 训练 ± 🙂", true);
    assert_shown("two\n\tlines", "two\n\tlines", false);
}

static void control_characters_are_replaced(void **state) {
    (void)state;
    assert_shown("\x1b[2Jx\a\x7f", "?[2Jx??", false);
    assert_shown("two\n\tlines", "two??lines", true);
    assert_shown("a\r", "a?", false);
    assert_shown("\xc2\x9b"
                 "31m\xc2\x80\xc2\xa0",
                 "?31m?\xc2\xa0", true); // C1, and the first character after it
    assert_shown("a\xe2\x80\xae"
                 "b\xe2\x81\xa6",
                 "a?b?", true); // right to left
}

static void invalid_bytes_are_replaced(void **state) {
    (void)state;
    assert_shown("\x9b"
                 "31m\xff",
                 "?31m?", true);
    assert_shown("caf\xe9", "caf?", true);
    assert_shown("\xc1\x9b|\xe0\x80\x9b|\xed\xa0\x80", "??|???|???", true); // too long, half a pair
    assert_shown("\xe8\xae", "??", true);                                   // cut
    assert_shown("\xf4\x90\x80\x80", "????", true);
}

static void messages_are_printable(void **state) {
    (void)state;
    error err = {0};
    error_set(&err, STATUS_INPUT, "cannot read '%s', said:\n%s", "\x1b]0;x", "\xc2\x9b 1");
    assert_string_equal(err.message, "cannot read '?]0;x', said:?? 1");
}

static void assert_escaped(const char *string, const char *expected) {
    char *shown = text_escaped(string);
    assert_string_equal(shown, expected);
    free(shown);
}

static void names_are_escaped(void **state) {
    (void)state;
    assert_escaped("", "");
    assert_escaped("h\xc3\xa9 a", "h\xc3\xa9 a");
    assert_escaped("caf\xe9", "caf\\xe9");
    assert_escaped("\xc3\xa8\xb1", "\xc3\xa8\\xb1");
    assert_escaped("a\n\xc2\x9b", "a\\x0a\\xc2\\x9b");
}

static void assert_field(const char *string, const char *expected) {
    text out = {0};
    text_csv(&out, string);
    assert_string_equal(text_string(&out), expected);
    text_release(&out);
}

static void fields_are_not_formulas(void **state) {
    (void)state;
    assert_field("", "");
    assert_field("plain", "plain");
    assert_field("a,\"b\"", "\"a,\"\"b\"\"\"");
    assert_field("=1+1", "'=1+1");
    assert_field("+a", "'+a");
    assert_field("-a", "'-a");
    assert_field("@a", "'@a");
    assert_field("=a,b", "\"'=a,b\"");
    assert_field("two\nlines\x1b", "\"two\nlines?\"");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_is_kept),
        cmocka_unit_test(control_characters_are_replaced),
        cmocka_unit_test(invalid_bytes_are_replaced),
        cmocka_unit_test(messages_are_printable),
        cmocka_unit_test(names_are_escaped),
        cmocka_unit_test(fields_are_not_formulas),
    };
    return cmocka_run_group_tests_name("printable", tests, NULL, NULL);
}
