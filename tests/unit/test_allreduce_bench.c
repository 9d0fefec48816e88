// SPDX-License-Identifier: MIT
// The all-reduce benchmark: which sizes it measures, how often, and the figures computed from a
// time. The benchmark itself checks that the sums are right.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dist/allreduce_bench.h"

enum { SIZES = 5 };

static void measure(int world_size, bool fast) {
    // 5 sizes: 36, 72, 144, 288, 576; 600 is above the last. Odd numbers of cache lines and ranks.
    const allreduce_options o = {
        .world_size = world_size, .fast = fast, .min_bytes = 36, .max_bytes = 600, .iterations = 3};
    const logger log = {"test", LOG_QUIET};
    allreduce_time rows[SIZES] = {{0}};
    error err;
    assert_int_equal(allreduce_bench_sizes(&o), SIZES);
    assert_int_equal(allreduce_bench(&o, rows, &log, &err), STATUS_OK);
    for (size_t i = 0; i < SIZES; i++) {
        assert_int_equal(rows[i].bytes, 36u << i);
        assert_int_equal(rows[i].iterations, 3);
        assert_true(rows[i].seconds > 0 && rows[i].seconds < 10);
    }
}

static void every_size_is_measured(void **state) {
    (void)state;
    for (int world_size = 1; world_size <= 3; world_size++) {
        measure(world_size, false);
        measure(world_size, true);
    }
}

static void iterations_have_a_default(void **state) {
    (void)state;
    const allreduce_options o = {.world_size = 2, .min_bytes = 64, .max_bytes = 64};
    const logger log = {"test", LOG_QUIET};
    allreduce_time row;
    error err;
    assert_int_equal(allreduce_bench(&o, &row, &log, &err), STATUS_OK);
    assert_true(row.iterations >= 7 && row.iterations <= 1000);
}

static void bandwidths(void **state) {
    (void)state;
    const allreduce_time row = {.bytes = 1000000, .seconds = 1e-3};
    assert_true(fabs(allreduce_algorithm_bandwidth(&row) - 1e9) < 1);
    assert_true(fabs(allreduce_bus_bandwidth(&row, 4) - 1.5e9) < 1);
    assert_true(allreduce_bus_bandwidth(&row, 1) == 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_size_is_measured),
        cmocka_unit_test(iterations_have_a_default),
        cmocka_unit_test(bandwidths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
