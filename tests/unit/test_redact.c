// SPDX-License-Identifier: MIT
// The parts of URLs that manifests and messages keep.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/redact.h"

static void gives(const char *text, const char *expected) {
    char *redacted = redact_urls(text);
    assert_non_null(redacted);
    assert_string_equal(redacted, expected);
    free(redacted);
}

static void text_without_a_secret_is_kept(void **state) {
    (void)state;
    static const char *const plain[] = {
        "",
        "train.st.zst",
        "a@b:c?d=e#f",
        "--set=optimizer.lr=0.1",
        "https://host/",
        "http://host:8080/a@b/c:d",
        "http://[::1]:80/x",
        "file:///home/me/cifar.tar.gz",
        "://",
        "https://host/a?",
    };
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++) gives(plain[i], plain[i]);
}

static void user_and_password_are_removed(void **state) {
    (void)state;
    gives("https://me:pw@host/a", "https://***@host/a");
    gives("https://token@host", "https://***@host");
    gives("--from=https://me:p@w@host:80/a@b", "--from=https://***@host:80/a@b");
    gives("http://@host", "http://***@host");
    gives("http://me:pw@[::1]:80/", "http://***@[::1]:80/");
}

// Such a URL is invalid, and appears in a message.
static void a_password_with_url_characters_is_removed(void **state) {
    (void)state;
    gives("https://me:a/b?c#d@host/x", "https://***@host/x");
    gives("https://me:secret/", "https://***");
}

static void query_and_fragment_are_removed(void **state) {
    (void)state;
    gives("https://host/a?token=x", "https://host/a?token=***");
    gives("https://host/a?a=1&b;c=&=d#e", "https://host/a?a=***&***;c=***&=***#***");
    gives("https://host?x/y@z", "https://host?***");
}

static void every_url_of_a_text(void **state) {
    (void)state;
    gives("bad proxy in 'http://a:b@p:1': trying http://c:d@q/?e f://g:h@i",
          "bad proxy in 'http://***@p:1': trying http://***@q/?*** f://***@i");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_without_a_secret_is_kept),
        cmocka_unit_test(user_and_password_are_removed),
        cmocka_unit_test(a_password_with_url_characters_is_removed),
        cmocka_unit_test(query_and_fragment_are_removed),
        cmocka_unit_test(every_url_of_a_text),
    };
    return cmocka_run_group_tests_name("redact", tests, NULL, NULL);
}
