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
    idx x;
    assert_int_equal(idx_parse(file, sizeof file, "f", 3, &x, NULL), STATUS_OK);
    assert_int_equal(x.rank, 3);
    assert_int_equal(x.shape[0], 2);
    assert_int_equal(x.shape[1], 3);
    assert_int_equal(x.shape[2], 2);
    assert_ptr_equal(x.data, file + 16);
    assert_int_equal(x.bytes, 12);
}

static void refuses(uint8_t *file, size_t bytes, int rank, const char *why) {
    idx x;
    error err;
    assert_int_equal(idx_parse(file, bytes, "some-file", rank, &x, &err), STATUS_INPUT);
    assert_non_null(strstr(err.message, "'some-file'"));
    if (!strstr(err.message, why)) fail_msg("'%s' lacks '%s'", err.message, why);
}

static void refuses_bad_files(void **state) {
    (void)state;
    uint8_t file[8 + 5] = {0, 0, 8, 1, 0, 0, 0, 5};
    refuses(file, 3, 1, "bad magic number");
    refuses(file, 7, 1, "ends inside its header");
    refuses(file, sizeof file - 1, 1, "4 bytes of data, but its header says 5");
    refuses(file, sizeof file, 3, "1 dimensions, expected 3");
    file[1] = 1;
    refuses(file, sizeof file, 1, "bad magic number");
    file[1] = 0;
    file[2] = 0x0d;
    refuses(file, sizeof file, 1, "type 0x0d");
}

static void refuses_a_shape_that_overflows(void **state) {
    (void)state;
    uint8_t file[16] = {0, 0, 8, 3};
    memset(file + 4, 0xff, 12);
    refuses(file, sizeof file, 3, "too large");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(accepts_images),
        cmocka_unit_test(refuses_bad_files),
        cmocka_unit_test(refuses_a_shape_that_overflows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
