// SPDX-License-Identifier: MIT
// Mixup: shares from Beta(alpha, alpha), blended bytes, and the pairs of a shard.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <math.h>

#include "data/mixup.h"

// Mean 1/2 and variance 1 / (4·(2·alpha + 1)), within five standard errors.
static void test_shares_have_the_moments_of_beta(void **state) {
    (void)state;
    static const double alphas[] = {1e-300, 0.01, 0.2, 0.5, 1, 2, MIXUP_MOST};
    enum { DRAWS = 20000 };
    for (size_t a = 0; a < sizeof alphas / sizeof *alphas; a++) {
        double sum = 0, squares = 0, fourths = 0;
        for (uint32_t id = 0; id < DRAWS; id++) {
            const augment_key key = {7, id % 3, id};
            const uint32_t share = mixup_share(alphas[a], &key);
            assert_true(share <= MIXUP_ONE);
            const double x = (double)share / MIXUP_ONE - 0.5;
            sum += x, squares += x * x, fourths += x * x * x * x;
        }
        const double variance = 1 / (4 * (2 * alphas[a] + 1)), found = squares / DRAWS;
        const double error = sqrt((fourths / DRAWS - found * found) / DRAWS);
        if (fabs(sum / DRAWS) > 5 * sqrt(variance / DRAWS)) fail_msg("mean %g", sum / DRAWS);
        if (fabs(found - variance) > 5 * error)
            fail_msg("alpha %g: variance %g, not %g", alphas[a], found, variance);
    }
}

// The third quarter of Beta(2, 2) has probability 3·(9/16 - 1/4) - 2·(27/64 - 1/8) = 11/32.
static void test_shares_have_the_distribution_of_beta(void **state) {
    (void)state;
    enum { DRAWS = 20000 };
    int inside = 0;
    for (uint32_t id = 0; id < DRAWS; id++) {
        const augment_key key = {1, 0, id};
        const uint32_t share = mixup_share(2, &key);
        inside += share >= MIXUP_ONE / 2 && share < MIXUP_ONE / 4 * 3;
    }
    const double expected = 11.0 / 32, error = sqrt(expected * (1 - expected) / DRAWS);
    if (fabs((double)inside / DRAWS - expected) > 5 * error) fail_msg("%d", inside);
}

static void test_shares_depend_on_seed_epoch_and_sample(void **state) {
    (void)state;
    const augment_key keys[] = {{1, 0, 5}, {2, 0, 5}, {1, 1, 5}, {1, 0, 6}};
    const uint32_t first = mixup_share(0.8, &keys[0]);
    assert_int_equal(first, mixup_share(0.8, &keys[0]));
    for (int i = 1; i < 4; i++) assert_int_not_equal(first, mixup_share(0.8, &keys[i]));
    assert_int_equal(first, 41095); // equal on every processor
}

static void test_bytes_are_rounded_to_the_nearest(void **state) {
    (void)state;
    const uint8_t other[4] = {255, 0, 10, 11};
    for (uint32_t share = 0; share <= MIXUP_ONE; share += 1 << 12) {
        uint8_t image[4] = {0, 255, 10, 10};
        const double s = (double)share / MIXUP_ONE;
        mixup_blend(share, 4, other, image);
        assert_int_equal(image[0], (int)floor(255 * s + 0.5));
        assert_int_equal(image[1], (int)floor(255 * (1 - s) + 0.5));
        assert_int_equal(image[2], 10);
        assert_int_equal(image[3], s < 0.5 ? 10 : 11);
    }
}

// Each sample is blended with the one before it as that was, the first with the last.
static void test_a_shard_is_mixed_in_a_circle(void **state) {
    (void)state;
    enum { COUNT = 4, BYTES = 3 };
    static const uint8_t before[COUNT][BYTES] = {
        {0, 50, 255}, {90, 1, 2}, {7, 200, 31}, {64, 0, 9}};
    static const uint32_t ids[COUNT] = {11, 3, 8, 100};
    uint8_t images[COUNT][BYTES], scratch[BYTES];
    sample_target targets[COUNT] = {{.label = 5}, {.label = 6}, {.label = 7}, {.label = 8}};
    memcpy(images, before, sizeof before);
    const mixup_shard shard = {0.4, 9, 2, COUNT, BYTES, ids, images[0], targets, scratch};
    mixup_apply(&shard);
    for (int n = 0; n < COUNT; n++) {
        const int other = (n + COUNT - 1) % COUNT;
        const augment_key key = {9, 2, ids[n]};
        const uint32_t share = mixup_share(0.4, &key);
        uint8_t expected[BYTES];
        memcpy(expected, before[n], BYTES);
        mixup_blend(share, BYTES, before[other], expected);
        assert_memory_equal(images[n], expected, BYTES);
        assert_int_equal(targets[n].label, 5 + n);
        assert_int_equal(targets[n].other, 5 + other);
        assert_true(targets[n].share == (float)share / MIXUP_ONE);
    }
}

static void test_a_shard_of_one_sample_stays(void **state) {
    (void)state;
    static const uint32_t id = 4;
    uint8_t image[2] = {9, 200}, scratch[2];
    sample_target only = {.label = 3};
    const mixup_shard shard = {0.4, 9, 2, 1, 2, &id, image, &only, scratch};
    mixup_apply(&shard);
    assert_int_equal(image[0], 9);
    assert_int_equal(image[1], 200);
    assert_int_equal(only.label, 3);
    assert_true(only.share == 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shares_have_the_moments_of_beta),
        cmocka_unit_test(test_shares_have_the_distribution_of_beta),
        cmocka_unit_test(test_shares_depend_on_seed_epoch_and_sample),
        cmocka_unit_test(test_bytes_are_rounded_to_the_nearest),
        cmocka_unit_test(test_a_shard_is_mixed_in_a_circle),
        cmocka_unit_test(test_a_shard_of_one_sample_stays),
    };
    return cmocka_run_group_tests_name("mixup", tests, NULL, NULL);
}
