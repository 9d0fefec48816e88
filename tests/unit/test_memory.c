// SPDX-License-Identifier: MIT
// Allocation: zeroed, aligned, growing; sizes that overflow are refused.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

// AddressSanitizer ends a program that requests too much, unless it is configured to return NULL
// like malloc.
const char *__asan_default_options(void);
const char *__asan_default_options(void) {
    return "allocator_may_return_null=1";
}

static void test_new(void **state) {
    (void)state;
    error err = {0};
    unsigned char *p = memory_new(1000, 3, &err);
    assert_non_null(p);
    for (int i = 0; i < 3000; i++) assert_int_equal(p[i], 0);
    free(p);
    p = memory_new(0, 8, &err);
    assert_non_null(p);
    free(p);
}

static void test_overflow(void **state) {
    (void)state;
    error err = {0};
    assert_null(memory_new(SIZE_MAX / 2, 4, &err));
    assert_int_equal(err.code, STATUS_FAILED);
    assert_non_null(strstr(err.message, "out of memory"));
    assert_null(memory_new_aligned(SIZE_MAX / 2, 4, &err));
    assert_null(memory_new_aligned(SIZE_MAX, 1, NULL));
}

static void test_aligned(void **state) {
    (void)state;
    const size_t sizes[] = {0, 1, 63, 64, 65, 1 << 20, (2 << 20) + 1};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        unsigned char *p = memory_new_aligned(sizes[i], 1, NULL);
        assert_non_null(p);
        assert_int_equal((uintptr_t)p % MEMORY_ALIGNMENT, 0);
        for (size_t k = 0; k < sizes[i]; k++) assert_int_equal(p[k], 0);
        memset(p, 1, sizes[i]);
        free(p);
    }
}

static void test_grow(void **state) {
    (void)state;
    error err = {0};
    void *array = NULL;
    size_t capacity = 0;
    for (size_t i = 0; i < 1000; i++) {
        assert_int_equal(memory_grow(&array, &capacity, i + 1, sizeof(size_t), &err), STATUS_OK);
        assert_true(capacity > i);
        ((size_t *)array)[i] = i;
    }
    for (size_t i = 0; i < 1000; i++) assert_int_equal(((size_t *)array)[i], i);
    // A failed allocation leaves the array unchanged.
    void *before = array;
    size_t room = capacity;
    assert_int_equal(memory_grow(&array, &capacity, SIZE_MAX, 8, &err), STATUS_FAILED);
    assert_int_equal(memory_grow(&array, &capacity, SIZE_MAX / 4, 8, &err), STATUS_FAILED);
    assert_ptr_equal(array, before);
    assert_int_equal(capacity, room);
    free(array);
}

static void test_text(void **state) {
    (void)state;
    error err = {0};
    char *copy = memory_string("text", &err), *made = memory_format(&err, "%s-%03d", "a", 7);
    assert_string_equal(copy, "text");
    assert_string_equal(made, "a-007");
    free(copy);
    free(made);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_new),     cmocka_unit_test(test_overflow),
        cmocka_unit_test(test_aligned), cmocka_unit_test(test_grow),
        cmocka_unit_test(test_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
