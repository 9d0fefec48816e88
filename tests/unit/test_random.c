// SPDX-License-Identifier: MIT
// Philox4x32-10 against its published known answers, and the functions based on it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/random.h"

// Counter, key and result as in the known-answer file of Random123, the code that came with the
// paper.
typedef struct known {
    uint32_t counter[4], key[2], result[4];
} known;

static const known answers[] = {
    {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
    {{~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}, {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
    {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
     {0xa4093822, 0x299f31d0},
     {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
};

static void test_known_answers(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
        const known *k = &answers[i];
        random_stream s = {.seed = (uint64_t)k->key[1] << 32 | k->key[0],
                           .purpose = (random_purpose)(k->counter[0] >> 24),
                           .layer = k->counter[0] & 0xffffff,
                           .epoch = k->counter[1],
                           .sample = k->counter[2]};
        uint32_t out[4];
        random_block(&s, k->counter[3], out);
        assert_memory_equal(out, k->result, sizeof out);
        uint64_t first = (uint64_t)k->counter[3] * 4;
        for (unsigned e = 0; e < 4; e++) assert_int_equal(random_bits(&s, first + e), k->result[e]);
    }
}

static void test_streams_differ(void **state) {
    (void)state;
    const random_stream base = {
        .seed = 1, .purpose = RANDOM_INIT, .layer = 2, .epoch = 3, .sample = 4};
    random_stream other[5] = {base, base, base, base, base};
    other[0].seed++;
    other[1].purpose = RANDOM_PARTITION;
    other[2].layer++;
    other[3].epoch++;
    other[4].sample++;
    for (int i = 0; i < 5; i++) {
        int same = 0;
        for (uint64_t e = 0; e < 64; e++)
            same += random_bits(&base, e) == random_bits(&other[i], e);
        assert_int_equal(same, 0);
    }
}

static void test_uniform(void **state) {
    (void)state;
    const random_stream s = {.seed = 42, .purpose = RANDOM_DROPOUT};
    enum { N = 100000 };
    double sum = 0, squares = 0;
    for (uint64_t e = 0; e < N; e++) {
        float u = random_uniform(&s, e);
        assert_true(u >= 0 && u < 1);
        assert_true(u == (float)(random_bits(&s, e) >> 8) / 16777216.0f);
        sum += (double)u;
        squares += (double)u * (double)u;
    }
    // Mean 1/2 and mean square 1/3, each within five standard deviations.
    const double mean = sum / (double)N, mean_square = squares / (double)N;
    assert_true(mean > 0.4954 && mean < 0.5046);
    assert_true(mean_square > 0.3286 && mean_square < 0.3381);
}

static void test_below(void **state) {
    (void)state;
    const random_stream s = {.seed = 7, .purpose = RANDOM_CROP};
    int count[9] = {0};
    for (uint64_t e = 0; e < 9000; e++) {
        uint32_t x = random_below(&s, e, 9);
        assert_true(x < 9);
        count[x]++;
    }
    for (int i = 0; i < 9; i++) assert_in_range(count[i], 850, 1150);
    for (uint64_t e = 0; e < 100; e++) assert_int_equal(random_below(&s, e, 1), 0);
}

// The permutation as defined in random.h: Fisher-Yates downward, element n-1-i for place i.
static void test_permutation(void **state) {
    (void)state;
    const random_stream s = {.seed = 9, .purpose = RANDOM_ORDER, .layer = 3, .epoch = 1};
    uint32_t order[1001], slow[1001], seen[1001] = {0};
    const uint32_t sizes[] = {0, 1, 2, 3, 16, 1001};
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        uint32_t n = sizes[k];
        random_permutation(&s, order, n);
        for (uint32_t i = 0; i < n; i++) slow[i] = i;
        for (uint32_t i = n; i-- > 1;) {
            uint32_t j = random_below(&s, n - 1 - i, i + 1), swap = slow[i];
            slow[i] = slow[j];
            slow[j] = swap;
        }
        if (n) assert_memory_equal(order, slow, n * sizeof *order);
    }
    for (uint32_t i = 0; i < 1001; i++) seen[order[i]]++;
    for (uint32_t i = 0; i < 1001; i++) assert_int_equal(seen[i], 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_answers), cmocka_unit_test(test_streams_differ),
        cmocka_unit_test(test_uniform),       cmocka_unit_test(test_below),
        cmocka_unit_test(test_permutation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
