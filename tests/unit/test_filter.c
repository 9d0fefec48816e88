// SPDX-License-Identifier: MIT
// Other programs as filters: their output, and every way in which they produce none.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/filter.h"

enum { LONG = 120 };

// Runs a shell script on "input"; `output` receives what it writes.
static status run_script(const char *script, int seconds, text *output, error *err) {
    char shell[] = "sh", option[] = "-c", body[256];
    char *arguments[] = {shell, option, body, NULL};
    bool found;
    text input = {0};
    strcpy(body, script);
    *output = (text){0};
    text_append(&input, "input");
    const status rc = filter_run(arguments, &input, seconds, output, &found, err);
    assert_true(found);
    text_release(&input);
    return rc;
}

static void assert_fails(const char *script, int seconds, const char *message) {
    error err = {0};
    text output;
    assert_int_equal(run_script(script, seconds, &output, &err), STATUS_FAILED);
    assert_string_equal(err.message, message);
    assert_string_equal(text_string(&output), "half\n");
    text_release(&output);
}

static void output_is_returned(void **state) {
    (void)state;
    error err = {0};
    text output;
    assert_int_equal(
        run_script("tr a-z A-Z; echo \" $LC_ALL $HOME\"; echo talk >&2", LONG, &output, &err),
        STATUS_OK);
    assert_string_equal(text_string(&output), "INPUT C.UTF-8 \n");
    text_release(&output);
}

static void failures_are_reported(void **state) {
    (void)state;
    assert_fails("echo half; exit 3", LONG, "'sh' failed with exit code 3");
    assert_fails("echo half; kill -SEGV $$", LONG, "'sh' was killed by signal 11");
}

static void a_program_that_hangs_is_killed(void **state) {
    (void)state;
    assert_fails("echo half; exec sleep 600", 1, "'sh' took longer than 1 s and was killed");
}

static void a_missing_program_is_not_a_failure(void **state) {
    (void)state;
    error err = {0};
    char name[] = "lockstep-no-such-program";
    char *arguments[] = {name, NULL};
    bool found = true;
    text input = {0}, output = {0};
    assert_int_equal(filter_run(arguments, &input, LONG, &output, &found, &err), STATUS_OK);
    assert_false(found);
    assert_int_equal(output.length, 0);
    assert_false(filter_exists(name));
    assert_true(filter_exists("sh"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(output_is_returned),
        cmocka_unit_test(failures_are_reported),
        cmocka_unit_test(a_program_that_hangs_is_killed),
        cmocka_unit_test(a_missing_program_is_not_a_failure),
    };
    return cmocka_run_group_tests_name("filter", tests, NULL, NULL);
}
