// SPDX-License-Identifier: MIT
// The model of scaling: each part of an epoch scales as the header says.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "results/scaling.h"

static const epoch_parts one = {
    .load = 0.8, .compute = 8, .update = 0.4, .communication = 100}; // its own is not used

static void assert_parts(const epoch_parts *e, double load, double compute, double update,
                         double communication) {
    const double got[] = {e->load, e->compute, e->update, e->communication},
                 expected[] = {load, compute, update, communication};
    for (int i = 0; i < 4; i++)
        if (!(fabs(got[i] - expected[i]) < 1e-12))
            fail_msg("part %d is %g, not %g", i, got[i], expected[i]);
    assert_true(fabs(epoch_parts_sum(e) - (load + compute + update + communication)) < 1e-12);
}

static void ddp_divides_samples_and_repeats_the_update(void **state) {
    (void)state;
    const scaling_place from = {1, 1, 8}, to = {4, 1, 8};
    const epoch_parts e = scaling_predict(SCALING_DDP, &one, &from, &to, 0.5);
    assert_parts(&e, 0.2, 2, 0.4, 0.5);
}

// Eight ranks on two cores compute as fast as two do, and every core does four ranks' updates.
static void more_ranks_than_cores_share_them(void **state) {
    (void)state;
    const scaling_place from = {1, 1, 2}, to = {8, 1, 2};
    assert_int_equal(scaling_cores(&to), 2);
    const epoch_parts e = scaling_predict(SCALING_DDP, &one, &from, &to, 0);
    assert_parts(&e, 0.4, 4, 1.6, 0);
}

// The one-rank run already used both cores: two ranks of one thread each are no faster.
static void threads_of_the_one_rank_run_count(void **state) {
    (void)state;
    const scaling_place from = {1, 2, 2}, to = {2, 1, 2};
    const epoch_parts e = scaling_predict(SCALING_DDP, &one, &from, &to, 0);
    assert_parts(&e, 0.4, 8, 0.8, 0);
}

static void the_master_of_dp_loads_and_updates_alone(void **state) {
    (void)state;
    const scaling_place from = {1, 2, 8}, to = {4, 1, 8};
    const epoch_parts e = scaling_predict(SCALING_DP, &one, &from, &to, 0.25);
    assert_parts(&e, 0.8, 4, 0.8, 0.25);
}

// A device per rank, each like that of the one-rank run: the report's projection.
static void a_device_for_each_rank(void **state) {
    (void)state;
    const scaling_place from = {1, 2, 2}, to = {4, 2, 8};
    epoch_parts e = scaling_predict(SCALING_DDP, &one, &from, &to, 0.1);
    assert_parts(&e, 0.2, 2, 0.4, 0.1);
    e = scaling_predict(SCALING_DP, &one, &from, &to, 0.1);
    assert_parts(&e, 0.8, 2, 0.4, 0.1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ddp_divides_samples_and_repeats_the_update),
        cmocka_unit_test(more_ranks_than_cores_share_them),
        cmocka_unit_test(threads_of_the_one_rank_run_count),
        cmocka_unit_test(the_master_of_dp_loads_and_updates_alone),
        cmocka_unit_test(a_device_for_each_rank),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
