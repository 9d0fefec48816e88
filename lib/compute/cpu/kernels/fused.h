// SPDX-License-Identifier: MIT
// fused.h - a·b + c with one rounding, four lanes at a time, on x86-64 processors without a fused
// multiply-add. For simd.h.
//
// The product of two floats is exact in double. Its sum with c is rounded to double, and then to
// float. Two roundings give another result than one only if the first one ends half-way between two
// floats, or if the result is so small that floats have fewer digits there. In both cases, which
// are rare, the C library computes the lanes. (S. Boldo, G. Melquiond, "Emulation of a FMA and
// correctly rounded sums", 2008, describe the problem.)
#ifndef LOCKSTEP_COMPUTE_CPU_KERNELS_FUSED_H
#define LOCKSTEP_COMPUTE_CPU_KERNELS_FUSED_H

#include <emmintrin.h>
#include <math.h>
#include <stdint.h>

// Four floats, or four sums, as doubles.
typedef struct fused_operand {
    __m128d low, high;
} fused_operand;

static inline fused_operand fused_widen(__m128 a) {
    return (fused_operand){_mm_cvtps_pd(a), _mm_cvtps_pd(_mm_movehl_ps(a, a))};
}

static inline __m128 fused_round(fused_operand a) {
    return _mm_movelh_ps(_mm_cvtpd_ps(a.low), _mm_cvtpd_ps(a.high));
}

static inline fused_operand fused_sum(fused_operand a, fused_operand b, fused_operand c) {
    return (fused_operand){_mm_add_pd(_mm_mul_pd(a.low, b.low), c.low),
                           _mm_add_pd(_mm_mul_pd(a.high, b.high), c.high)};
}

// Returns true unless it is certain that all four sums are `rounded` as they should.
// A sum that becomes zero is: c is a multiple of the smallest float, so such a sum has no digits
// below those of the product, and is exact in double.
static inline int fused_doubtful(fused_operand sum, __m128 rounded) {
    enum { TAIL = 0x1fffffff, HALF = 0x10000000, LIMIT = 2 * 0x00800000 };
    // The 29 bits that a float lacks are in the lower words of the doubles.
    const __m128i lower = _mm_castps_si128(
        _mm_shuffle_ps(_mm_castpd_ps(sum.low), _mm_castpd_ps(sum.high), _MM_SHUFFLE(2, 0, 2, 0)));
    const __m128i half =
        _mm_cmpeq_epi32(_mm_and_si128(lower, _mm_set1_epi32(TAIL)), _mm_set1_epi32(HALF));
    // Results up to the smallest normal float, except zero: without the sign, from 2 to LIMIT. The
    // sum takes these, and no others, to the end of the signed integers.
    const __m128i last = _mm_set1_epi32(INT32_MAX - LIMIT);
    const __m128i magnitude = _mm_slli_epi32(_mm_castps_si128(rounded), 1);
    const __m128i small = _mm_cmpgt_epi32(_mm_add_epi32(magnitude, last), last);
    return _mm_movemask_epi8(_mm_or_si128(half, small));
}

static __attribute__((noinline, cold)) __m128 fused_each(__m128 a, __m128 b, __m128 c) {
    float x[4], y[4], z[4];
    _mm_storeu_ps(x, a);
    _mm_storeu_ps(y, b);
    _mm_storeu_ps(z, c);
    for (int i = 0; i < 4; i++) z[i] = fmaf(x[i], y[i], z[i]);
    return _mm_loadu_ps(z);
}

static inline __m128 fused(fused_operand a, fused_operand b, __m128 c) {
    const fused_operand sum = fused_sum(a, b, fused_widen(c));
    const __m128 rounded = fused_round(sum);
    if (__builtin_expect(fused_doubtful(sum, rounded), 0))
        return fused_each(fused_round(a), fused_round(b), c);
    return rounded;
}

#endif
