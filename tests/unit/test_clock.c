// SPDX-License-Identifier: MIT
// The wall clock as text, and back.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <time.h>

#include "base/clock.h"

static void reads(const char *text, int64_t expected) {
    int64_t seconds = -1;
    if (!clock_read_utc(text, &seconds)) fail_msg("refused: '%s'", text);
    assert_int_equal(seconds, expected);
}

static void times_are_read(void **state) {
    (void)state;
    reads("1970-01-01T00:00:00Z", 0);
    reads("2001-09-09T01:46:40Z", 1000000000);
    reads("2028-02-29T23:59:59Z", 1835481599);
}

static void written_times_read_back(void **state) {
    (void)state;
    char text[CLOCK_TEXT_BYTES];
    int64_t seconds = 0;
    const time_t before = time(NULL);
    clock_utc(text);
    assert_true(clock_read_utc(text, &seconds));
    assert_true(seconds >= before && seconds <= time(NULL));
}

static void other_texts_are_refused(void **state) {
    (void)state;
    static const char *const texts[] = {"",
                                        "today",
                                        "2026-01-31",
                                        "2026-01-31T12:00:00",
                                        "2026-01-31T12:00:00Z ",
                                        "2026-02-30T12:00:00Z",
                                        "2026-13-01T12:00:00Z",
                                        " 2026-01-31T12:00:00Z"};
    int64_t seconds;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (clock_read_utc(texts[i], &seconds)) fail_msg("accepted: '%s'", texts[i]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_are_read),
        cmocka_unit_test(written_times_read_back),
        cmocka_unit_test(other_texts_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
