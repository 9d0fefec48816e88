// SPDX-License-Identifier: MIT
// Errors: codes, messages, and messages that are too long.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "base/error.h"

static void test_set(void **state) {
    (void)state;
    error err = {0};
    assert_int_equal(error_set(&err, STATUS_INPUT, "cannot read: '%s': %d", "x", 3), STATUS_INPUT);
    assert_int_equal(err.code, STATUS_INPUT);
    assert_string_equal(err.message, "cannot read: 'x': 3");
    assert_int_equal(error_set(NULL, STATUS_USAGE, "nobody looks"), STATUS_USAGE);
}

static void test_system(void **state) {
    (void)state;
    error err = {0};
    assert_int_equal(error_system(&err, STATUS_FAILED, ENOSPC, "cannot write: '%s'", "x"),
                     STATUS_FAILED);
    assert_string_equal(err.message, "cannot write: 'x': No space left on device");
    assert_int_equal(error_system(NULL, STATUS_INPUT, ENOENT, "nobody looks"), STATUS_INPUT);
}

static void test_prefix(void **state) {
    (void)state;
    error err = {0};
    error_set(&err, STATUS_FINDING, "what");
    assert_int_equal(error_prefix(&err, "rank %d: ", 2), STATUS_FINDING);
    assert_string_equal(err.message, "rank 2: what");
    assert_int_equal(error_prefix(NULL, "nobody looks"), STATUS_FAILED);
}

static void test_append(void **state) {
    (void)state;
    error err = {0}, copy;
    error_set(&err, STATUS_INPUT, "x.yaml: what");
    err.origin = ERROR_IN_FILE;
    err.place = 8;
    assert_int_equal(error_append(&err, ": write %d", 3), STATUS_INPUT);
    assert_string_equal(err.message, "x.yaml: what: write 3");
    assert_string_equal(error_reason(&err), "what: write 3");
    assert_int_equal(error_append(NULL, "nobody looks"), STATUS_FAILED);
    assert_int_equal(error_pass(&err, NULL), STATUS_INPUT);
    assert_int_equal(error_pass(&err, &copy), STATUS_INPUT);
    assert_int_equal(copy.origin, ERROR_IN_FILE);
    assert_string_equal(error_reason(&copy), "what: write 3");
}

// Another message has another origin, and so has one with something before its place.
static void test_origin_belongs_to_the_message(void **state) {
    (void)state;
    error err = {.origin = ERROR_IN_ASSIGNMENT, .assignment = 2, .place = 9, .says_way_out = true};
    error_set(&err, STATUS_INPUT, "what");
    assert_int_equal(err.origin, ERROR_ELSEWHERE);
    assert_int_equal(err.assignment, 0);
    assert_false(err.says_way_out);
    assert_string_equal(error_reason(&err), "what");
    err.origin = ERROR_IN_FILE;
    err.place = 2;
    error_prefix(&err, "rank 2: ");
    assert_int_equal(err.origin, ERROR_ELSEWHERE);
    assert_string_equal(error_reason(&err), "rank 2: what");
    err.place = sizeof err.message; // of a message that was cut
    assert_string_equal(error_reason(&err), "");
}

// Text from a file may contain line feeds; a message is one line.
static void test_one_line(void **state) {
    (void)state;
    error err = {0};
    error_set(&err, STATUS_INPUT, "unknown name: '%s'", "a\nb\x1b[31m\x7f");
    assert_string_equal(err.message, "unknown name: 'a?b?[31m?'");
}

// A message that is too long is cut, and remains a string.
static void test_long(void **state) {
    (void)state;
    struct {
        error err;
        char guard[8];
    } s = {.guard = "guard"};
    char text[2 * sizeof s.err.message];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    error_set(&s.err, STATUS_FAILED, "%s", text);
    assert_int_equal(strlen(s.err.message), sizeof s.err.message - 1);
    error_prefix(&s.err, "%s", text);
    assert_int_equal(strlen(s.err.message), sizeof s.err.message - 1);
    error_system(&s.err, STATUS_FAILED, ENOENT, "%s", text);
    assert_int_equal(strlen(s.err.message), sizeof s.err.message - 1);
    assert_string_equal(s.guard, "guard");
}

static status fail_second(int *calls) {
    status rc = STATUS_OK;
    ++*calls;
    TRY(STATUS_STOPPED);
    ++*calls;
out:
    return rc;
}

static status need_second(int *calls) {
    NEED(STATUS_OK);
    ++*calls;
    NEED(STATUS_STOPPED);
    ++*calls;
    return STATUS_OK;
}

static void test_try(void **state) {
    (void)state;
    int calls = 0;
    assert_int_equal(fail_second(&calls), STATUS_STOPPED);
    assert_int_equal(calls, 1);
    assert_int_equal(need_second(&calls), STATUS_STOPPED);
    assert_int_equal(calls, 2);
}

// The values are the exit codes that the manual promises.
static void test_codes(void **state) {
    (void)state;
    assert_int_equal(STATUS_OK, 0);
    assert_int_equal(STATUS_FAILED, 1);
    assert_int_equal(STATUS_USAGE, 2);
    assert_int_equal(STATUS_INPUT, 3);
    assert_int_equal(STATUS_FINDING, 4);
    assert_int_equal(STATUS_STOPPED, 5);
}

static void out_of_memory_is_not_bad_input(void **state) {
    (void)state;
    error err = {0};
    assert_int_equal(error_system(&err, STATUS_INPUT, ENOMEM, "cannot read"), STATUS_FAILED);
    assert_int_equal(err.code, STATUS_FAILED);
    assert_int_equal(error_system(NULL, STATUS_INPUT, ENOMEM, "cannot read"), STATUS_FAILED);
    assert_int_equal(error_system(&err, STATUS_INPUT, ENOENT, "cannot read"), STATUS_INPUT);
    assert_int_equal(error_status(&err), STATUS_INPUT);
    assert_int_equal(error_status(NULL), STATUS_OK);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_set),
        cmocka_unit_test(test_system),
        cmocka_unit_test(test_prefix),
        cmocka_unit_test(test_append),
        cmocka_unit_test(test_origin_belongs_to_the_message),
        cmocka_unit_test(test_one_line),
        cmocka_unit_test(test_long),
        cmocka_unit_test(test_try),
        cmocka_unit_test(test_codes),
        cmocka_unit_test(out_of_memory_is_not_bad_input),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
