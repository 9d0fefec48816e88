// SPDX-License-Identifier: MIT
// Growing strings: base64, replacement, and cuts.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/text.h"

// The vectors of RFC 4648, section 10, and bytes that need both last digits.
static void writes_base64(void **state) {
    (void)state;
    static const char *const vectors[][2] = {
        {"", ""},
        {"f", "Zg=="},
        {"fo", "Zm8="},
        {"foo", "Zm9v"},
        {"foob", "Zm9vYg=="},
        {"fooba", "Zm9vYmE="},
        {"foobar", "Zm9vYmFy"},
        {"\xfb\xef\xff", "++//"},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        text t = {0};
        text_base64(&t, vectors[i][0], strlen(vectors[i][0]));
        assert_string_equal(text_string(&t), vectors[i][1]);
        text_release(&t);
    }
}

static void replaces_all(void **state) {
    (void)state;
    text t = {0};
    text_append(&t, "aXbXX");
    text_replace(&t, "X", "--");
    assert_string_equal(text_string(&t), "a--b----");
    text_release(&t);
}

static void cut_to(size_t columns, const char *expected) {
    text t = {0};
    text_append(&t, "a→b中c");
    text_cut_columns(&t, columns);
    assert_string_equal(text_string(&t), expected);
    text_release(&t);
}

static void cuts_at_columns(void **state) {
    (void)state;
    cut_to(6, "a→b中c");
    cut_to(5, "a→b…");
    cut_to(3, "a→…");
    cut_to(1, "…");
    cut_to(0, "");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes_base64),
        cmocka_unit_test(replaces_all),
        cmocka_unit_test(cuts_at_columns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
