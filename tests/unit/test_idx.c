// SPDX-License-Identifier: MIT
// IDX headers: valid ones, and every kind of invalid one.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "data/source/idx.h"

static void accepts_images(void **state) {
    (void)state;
    uint8_t file[16 + 12] = {0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 2};
    npy x;
    assert_int_equal(idx_parse(file, sizeof file, "f", &x, NULL), STATUS_OK);
    assert_string_equal(x.type, "|u1");
    assert_int_equal(x.rank, 3);
    assert_int_equal(x.shape[0], 2);
    assert_int_equal(x.shape[1], 3);
    assert_int_equal(x.shape[2], 2);
    assert_ptr_equal(x.data, file + 16);
    assert_int_equal(x.data_bytes, 12);
}

static void reads_numbers_of_several_bytes(void **state) {
    (void)state;
    uint8_t shorts[8 + 4] = {0, 0, 0x0b, 1, 0, 0, 0, 2, 1, 2, 0xff, 0xfe};
    uint8_t floats[8 + 4] = {0, 0, 0x0d, 1, 0, 0, 0, 1, 0x3f, 0xc0, 0, 0};
    uint8_t bytes[8 + 1] = {0, 0, 0x09, 1, 0, 0, 0, 1, 0x80};
    npy x;
    assert_int_equal(idx_parse(shorts, sizeof shorts, "f", &x, NULL), STATUS_OK);
    assert_string_equal(x.type, "<i2");
    assert_true(npy_value(&x, 0) == 258 && npy_value(&x, 1) == -2);
    assert_int_equal(idx_parse(floats, sizeof floats, "f", &x, NULL), STATUS_OK);
    assert_true(npy_value(&x, 0) == 1.5);
    assert_int_equal(idx_parse(bytes, sizeof bytes, "f", &x, NULL), STATUS_OK);
    assert_true(npy_value(&x, 0) == -128);
}

static void refuses(uint8_t *file, size_t bytes, const char *why) {
    npy x;
    error err;
    assert_int_equal(idx_parse(file, bytes, "some-file", &x, &err), STATUS_INPUT);
    assert_non_null(strstr(err.message, "'some-file'"));
    if (!strstr(err.message, why)) fail_msg("'%s' lacks '%s'", err.message, why);
}

static void refuses_bad_files(void **state) {
    (void)state;
    uint8_t file[8 + 5] = {0, 0, 8, 1, 0, 0, 0, 5};
    refuses(file, 3, "bad magic number");
    refuses(file, 7, "ends inside its header");
    refuses(file, sizeof file - 1, "4 bytes of data, but its header says 5");
    file[1] = 1;
    refuses(file, sizeof file, "bad magic number");
    file[1] = 0;
    file[2] = 0x0a;
    refuses(file, sizeof file, "bad magic number");
    file[2] = 0x0d;
    refuses(file, sizeof file, "5 bytes of data, but its header says 20");
    file[3] = 9;
    refuses(file, sizeof file, "9 dimensions, not 1 to 8");
    file[3] = 0;
    refuses(file, sizeof file, "0 dimensions");
}

static void refuses_a_shape_that_overflows(void **state) {
    (void)state;
    uint8_t file[16] = {0, 0, 8, 3};
    memset(file + 4, 0xff, 12);
    refuses(file, sizeof file, "too large");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(accepts_images),
        cmocka_unit_test(reads_numbers_of_several_bytes),
        cmocka_unit_test(refuses_bad_files),
        cmocka_unit_test(refuses_a_shape_that_overflows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
