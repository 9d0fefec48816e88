// SPDX-License-Identifier: MIT
// The fused multiply-add of processors that have none, against the C library's: every bit.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#if defined(__SSE2__)
#include "base/random.h"
#include "compute/cpu/kernels/fused.h"

enum { FOURS = 200000, LANES = 4 };

// A range of exponents, and a mask of the bits that numbers may have.
typedef struct operand {
    uint32_t exponent, exponents, mask;
} operand;

static float draw(const random_stream *s, uint64_t element, operand o) {
    const uint32_t bits = random_bits(s, element);
    const uint32_t exponent = o.exponent + random_below(s, element + 1, o.exponents);
    const uint32_t number = (bits & 0x807fffff & o.mask) | exponent << 23;
    float value;
    memcpy(&value, &number, sizeof value);
    return value;
}

static bool same(float a, float b) {
    return memcmp(&a, &b, sizeof a) == 0 || (isnan(a) && isnan(b));
}

// Compares FOURS times four lanes. Returns how many fours the C library computed.
static int compare(uint32_t layer, operand a, operand b, operand c) {
    const random_stream s = {.seed = 1, .purpose = RANDOM_INIT, .layer = layer};
    int doubtful = 0;
    for (uint64_t i = 0; i < FOURS; i++) {
        float x[LANES], y[LANES], z[LANES], r[LANES];
        for (uint64_t k = 0; k < LANES; k++) {
            const uint64_t at = (i * LANES + k) * 6;
            x[k] = draw(&s, at, a);
            y[k] = draw(&s, at + 2, b);
            z[k] = draw(&s, at + 4, c);
        }
        const fused_operand u = fused_widen(_mm_loadu_ps(x)), v = fused_widen(_mm_loadu_ps(y));
        const __m128 w = _mm_loadu_ps(z);
        _mm_storeu_ps(r, fused(u, v, w));
        for (int k = 0; k < LANES; k++)
            if (!same(r[k], fmaf(x[k], y[k], z[k])))
                fail_msg("%a · %a + %a: %a, not %a", (double)x[k], (double)y[k], (double)z[k],
                         (double)r[k], (double)fmaf(x[k], y[k], z[k]));
        const fused_operand sum = fused_sum(u, v, fused_widen(w));
        doubtful += fused_doubtful(sum, fused_round(sum)) != 0;
    }
    return doubtful;
}

static const operand any = {0, 256, UINT32_MAX}, usual = {110, 20, UINT32_MAX};

static void all_numbers(void **state) {
    (void)state;
    compare(0, any, any, any);
}

// Almost never in doubt: that is why it is fast.
static void usual_numbers_are_fast(void **state) {
    (void)state;
    assert_in_range(compare(1, usual, usual, usual), 0, FOURS / 100000);
}

// Products of short numbers and sums of the other sign end half-way between two floats.
static void halves(void **state) {
    (void)state;
    const operand brief = {127, 1, 0xfffff000}, far = {127, 30, UINT32_MAX};
    assert_in_range(compare(2, brief, brief, far), 1000, FOURS);
}

// Results with fewer digits, down to zero.
static void small_results(void **state) {
    (void)state;
    const operand small = {40, 30, UINT32_MAX}, smaller = {20, 40, UINT32_MAX};
    const operand least = {0, 2, UINT32_MAX};
    assert_in_range(compare(3, small, smaller, least), FOURS / 2, FOURS);
}

// Products near the smallest float, and c of a few of it: sums that are rounded to zero.
static void sums_that_become_zero(void **state) {
    (void)state;
    const operand root = {51, 3, UINT32_MAX}, least = {0, 1, 0x80000007};
    compare(4, root, root, least);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_numbers),
        cmocka_unit_test(usual_numbers_are_fast),
        cmocka_unit_test(halves),
        cmocka_unit_test(small_results),
        cmocka_unit_test(sums_that_become_zero),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
#else
static void other_processors(void **state) {
    (void)state;
    skip(); // other processors have the instruction
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(other_processors)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
#endif
