// SPDX-License-Identifier: MIT
// SHA-256 against the examples of FIPS 180-4.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/sha256.h"

static const char empty[] = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
static const char abc[] = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
static const char two_blocks[] = "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1";
static const char million[] = "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0";

static void test_buffer(void **state) {
    (void)state;
    char text[SHA256_TEXT_BYTES];
    const char *message = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
    sha256_buffer("", 0, text);
    assert_string_equal(text, empty);
    sha256_buffer("abc", 3, text);
    assert_string_equal(text, abc);
    sha256_buffer(message, strlen(message), text);
    assert_string_equal(text, two_blocks);
}

static void test_parts(void **state) {
    (void)state;
    char chunk[1000], text[SHA256_TEXT_BYTES];
    memset(chunk, 'a', sizeof chunk);
    sha256 *h = sha256_new();
    assert_non_null(h);
    for (size_t left = 1000000, step = 1; left; step = step % sizeof chunk + 1) {
        size_t n = step < left ? step : left;
        sha256_update(h, chunk, n);
        left -= n;
    }
    sha256_finish(h, text);
    sha256_free(h);
    sha256_free(NULL);
    assert_string_equal(text, million);
}

static void test_file(void **state) {
    (void)state;
    error err = {0};
    char path[] = "/tmp/test_sha256.XXXXXX", text[SHA256_TEXT_BYTES], chunk[1000];
    memset(chunk, 'a', sizeof chunk);
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(sha256_file(path, text, &err), STATUS_OK);
    assert_string_equal(text, empty);
    for (int i = 0; i < 1000; i++) assert_int_equal(write(fd, chunk, sizeof chunk), sizeof chunk);
    assert_int_equal(sha256_file(path, text, &err), STATUS_OK);
    assert_string_equal(text, million);
    close(fd);
    unlink(path);
    assert_int_equal(sha256_file(path, text, &err), STATUS_INPUT);
    assert_non_null(strstr(err.message, path));
    assert_int_equal(sha256_file("/tmp", text, &err), STATUS_INPUT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_buffer),
        cmocka_unit_test(test_parts),
        cmocka_unit_test(test_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
