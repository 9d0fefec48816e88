// SPDX-License-Identifier: MIT
// Durations are printed in units of their size.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/number_text.h"

static void expect(double seconds, const char *text) {
    char got[DURATION_TEXT_BYTES];
    assert_string_equal(duration_text(seconds, got), text);
}

static void units(void **state) {
    (void)state;
    expect(0, "0 s");
    expect(0.4, "0 s");
    expect(12.3, "12 s");
    expect(59.4, "59 s");
    expect(185, "3 min 5 s");
    expect(240, "4 min");
    expect(49 * 60 + 20, "49 min");
    expect(6540, "1 h 49 min");
    expect(7200, "2 h");
    expect(51 * 3600, "2 d 3 h");
}

static void rounding_carries(void **state) {
    (void)state;
    expect(59.7, "1 min");
    expect(599.6, "10 min");
    expect(3599, "1 h");
    expect(86399, "1 d");
}

static void bad_durations(void **state) {
    (void)state;
    expect(-3, "0 s");
    expect(NAN, "0 s");
    expect(INFINITY, "over 999 d");
    expect(1e300, "over 999 d");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(units),
        cmocka_unit_test(rounding_carries),
        cmocka_unit_test(bad_durations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
