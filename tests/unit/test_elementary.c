// SPDX-License-Identifier: MIT
// Elementary functions: their errors against the C library's in long double, special values, and
// the bits that every machine must give.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/elementary.h"
#include "base/random.h"

enum { N = 400000 };

// The difference in ulps of the exact value.
static double ulps(double got, long double exact) {
    int exponent;
    (void)frexpl(exact, &exponent);
    return (double)(fabsl((long double)got - exact) / ldexpl(1, exponent - DBL_MANT_DIG));
}

static double between(uint64_t i, double low, double high) {
    const random_stream s = {.seed = 1, .purpose = RANDOM_DROPOUT};
    return low + (high - low) *
                     ((random_bits(&s, 2 * i) + random_bits(&s, 2 * i + 1) * 0x1p-32) * 0x1p-32);
}

static uint64_t bits_of(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

typedef struct measured {
    double worst, at;
    uint64_t sum; // of the results' bits
} measured;

static void note(measured *m, double x, double got, long double exact) {
    const double error = ulps(got, exact);
    if (!(error <= m->worst)) *m = (measured){error, x, m->sum};
    m->sum = m->sum * UINT64_C(6364136223846793005) + bits_of(got);
}

static void check(const char *name, const measured *m, double most, uint64_t sum) {
    print_message("%s: %.4f ulp, at %a\n", name, m->worst, m->at);
    if (!(m->worst <= most)) fail_msg("%s: %g ulp, at %a", name, m->worst, m->at);
    if (m->sum != sum)
        fail_msg("%s: the sum of bits is 0x%016llx", name, (unsigned long long)m->sum);
}

static void exponentials(void **state) {
    (void)state;
    const double ranges[] = {1, 30, 708};
    measured m = {0};
    for (uint64_t i = 0; i < N; i++) {
        const double x = between(i, -ranges[i % 3], ranges[i % 3]);
        note(&m, x, elementary_exp(x), expl((long double)x));
    }
    check("exp", &m, 0.7, UINT64_C(0xfc5b6e22ddbaad8f));
    assert_true(elementary_exp(0) == 1 && elementary_exp(-0.0) == 1);
    assert_true(elementary_exp(-709) == 0 && elementary_exp(-(double)INFINITY) == 0);
    assert_true(isinf(elementary_exp(710)) && isinf(elementary_exp((double)INFINITY)));
    assert_true(isnan(elementary_exp((double)NAN)));
}

static void logarithms(void **state) {
    (void)state;
    measured m = {0};
    for (uint64_t i = 0; i < N; i++) {
        const double small = between(i, 0, 1) + 0x1p-60, near = between(i, 0.5, 2);
        const double wide = ldexp(near, (int)(i % 2000) - 1000);
        const double x = i % 3 == 0 ? small : i % 3 == 1 ? near : wide;
        note(&m, x, elementary_log(x), logl((long double)x));
    }
    check("log", &m, 0.6, UINT64_C(0x6199324751cd5d89));
    assert_true(elementary_log(1) == 0);
}

static void powers(void **state) {
    (void)state;
    const double bases[] = {0.9, (double)0.9f, (double)0.999f, (double)0.9999f, 0.5, 0.99999999};
    measured m = {0};
    for (uint64_t i = 0; i < N; i++) {
        const double base = i % 7 < 6 ? bases[i % 7] : between(i, 0, 1);
        const uint64_t n = i % 2 ? i / 10 : (uint64_t)between(i, 0, 300);
        const long double exact = powl((long double)base, (long double)n);
        if (exact > 1e-290L) note(&m, base, elementary_power(base, n), exact);
    }
    check("power", &m, 0.51, UINT64_C(0x0205f7ee87fbbd4f));
    assert_true(elementary_power(0.25, 0) == 1 && elementary_power(0, 0) == 1);
    assert_true(elementary_power(0, 3) == 0 && elementary_power(1, UINT64_MAX) == 1);
    assert_true(elementary_power(0.9, 1) == 0.9 && elementary_power(0.5, 10) == 0x1p-10);
    assert_true(elementary_power(0.9, 1000000) == 0);
}

// Returns the sine of x right angles, 0 ≤ x ≤ 1.
static long double exact_sine(double x) {
    const long double half_pi = 1.57079632679489661923132169163975144L;
    return x <= 0.5 ? sinl((long double)x * half_pi) : cosl((1 - (long double)x) * half_pi);
}

static void sines_and_cosines(void **state) {
    (void)state;
    measured sine = {0}, cosine = {0};
    for (uint64_t i = 0; i < N; i++) {
        double x = between(i, 0, 1);
        if (i % 4 == 0) x = ldexp(x, -(int)(i % 200));
        note(&sine, x, elementary_sine(x), exact_sine(x));
        // 1 - x is exact in long double for all x but the smallest, whose cosine is 1.
        const long double half_pi = 1.57079632679489661923132169163975144L;
        const long double exact =
            x <= 0.5 ? cosl((long double)x * half_pi) : sinl((1 - (long double)x) * half_pi);
        note(&cosine, x, elementary_cosine(x), exact);
    }
    check("sine", &sine, 0.75, UINT64_C(0x9dbfef1bd7f5c773));
    check("cosine", &cosine, 0.75, UINT64_C(0xe5753e3c8c7e779f));
    assert_true(elementary_sine(0) == 0 && elementary_sine(1) == 1);
    assert_true(elementary_cosine(0) == 1 && elementary_cosine(1) == 0);
    assert_true(elementary_short_sine(-0.25) == -elementary_short_sine(0.25));
    assert_true(elementary_short_cosine(-0.25) == elementary_short_cosine(0.25));
    assert_true(elementary_sine(0.5) == elementary_cosine(0.5));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exponentials),
        cmocka_unit_test(logarithms),
        cmocka_unit_test(powers),
        cmocka_unit_test(sines_and_cosines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
