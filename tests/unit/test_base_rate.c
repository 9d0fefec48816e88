// SPDX-License-Identifier: MIT
// The accuracy that needs no model, and when another one is certainly higher.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "data/base_rate.h"

static void the_commonest_class_is_found(void **state) {
    (void)state;
    const int64_t counts[] = {2, 38, 38, 0};
    const base_rate b = base_rate_find(counts, 4), none = base_rate_find(counts, 0);
    assert_int_equal(b.label, 1); // the first of two
    assert_int_equal(b.samples, 38);
    assert_int_equal(b.of, 78);
    assert_true(base_rate_share(&b) == 38.0 / 78);
    assert_true(none.of == 0 && base_rate_share(&none) == 0);
}

// Newcombe (1998) has 0.0624 to 0.1605 for 15 / 148 (test_statistics.c).
static void an_accuracy_is_higher_if_its_interval_is(void **state) {
    (void)state;
    const base_rate within = {0, 10, 148}, below = {0, 9, 148}, most = {0, 38, 40};
    assert_false(base_rate_is_beaten(&within, 15)); // 0.0676
    assert_true(base_rate_is_beaten(&below, 15));   // 0.0608
    assert_false(base_rate_is_beaten(&most, 38));
    assert_false(base_rate_is_beaten(&most, 40)); // 0.9124 to 1
    assert_false(base_rate_is_beaten(&most, 0));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_commonest_class_is_found),
        cmocka_unit_test(an_accuracy_is_higher_if_its_interval_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
