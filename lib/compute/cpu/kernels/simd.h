// SPDX-License-Identifier: MIT
// simd.h - the vector type that kernels are written in; included only by kernels/*.c.
//
// LANES samples, 16, 8 or 4, lie side by side in memory. A vector has VL floats: 16 (AVX-512), 8
// (AVX2) or 4, but no more than LANES, so that its lanes are samples of one element; LANE_SLICES
// vectors hold all samples. A file that defines SIMD_WIDE before including this one gets the widest
// vectors regardless of LANES: WIDTH lanes are then 16 / LANES neighbouring elements.
//
// The vector extensions of GCC and Clang do all arithmetic except the fused multiply-add, which is
// an intrinsic. fused.h replaces it on x86-64 processors without one; elsewhere, fmaf does.
#ifndef LOCKSTEP_COMPUTE_CPU_KERNELS_SIMD_H
#define LOCKSTEP_COMPUTE_CPU_KERNELS_SIMD_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__FMA__)
#include <immintrin.h>
#elif defined(__SSE2__)
#include "fused.h"
#endif

#include "compute/cpu/kernels.h"

enum { LANES = KERNEL_LANES };

#if !defined(SIMD_WIDE) && KERNEL_LANES == 4
#define VL 4
#elif defined(__AVX512F__) && (defined(SIMD_WIDE) || KERNEL_LANES >= 16)
#define VL 16
#elif defined(__AVX2__)
#define VL 8
#else
#define VL 4
#endif
#if defined(SIMD_WIDE)
enum { WIDTH = 16 }; // adjacent floats that are processed together
#else
enum { WIDTH = LANES };
#endif
enum { LANE_SLICES = LANES / VL };

// Without the instruction, a multiply-add takes some thirty of them, next to which loads and stores
// of sums hardly matter. So sizes stay variables there, and loops are not unrolled: the kernels are
// about as fast, and compiled in a fourth of the time.
#if defined(__SSE2__) && !defined(__FMA__)
#define COMPACT 1
#define INLINE  static inline
#define UNROLL
#else
#define COMPACT 0
#define UNROLL  _Pragma("GCC unroll 32")
// Without optimisation, a copy in each caller is no faster: it makes the kernels of a sanitizer
// thirty times as long.
#if defined(__OPTIMIZE__)
#define INLINE static inline __attribute__((always_inline))
#else
#define INLINE static inline
#endif
#endif

// AVX-512 and aarch64 have 32 registers for vectors; compact kernels keep their sums in memory.
#if defined(__AVX512VL__) || defined(__aarch64__) || COMPACT
#define REGISTERS 32
#else
#define REGISTERS 16
#endif

typedef float vec __attribute__((vector_size(VL * 4)));
typedef int32_t ivec __attribute__((vector_size(VL * 4)));
typedef float vec_unaligned __attribute__((vector_size(VL * 4), aligned(4), may_alias));
typedef float vec_aligned __attribute__((vector_size(VL * 4), may_alias));

// Every kernel is compiled several times. Its symbol names the instruction set and the lanes:
// KERNEL(conv) is conv_v4_16, conv_v3_4, …
#define KERNEL_PASTE2(name, isa, lanes) name##_##isa##_##lanes
#define KERNEL_PASTE(name, isa, lanes)  KERNEL_PASTE2(name, isa, lanes)
#define KERNEL(name)                    KERNEL_PASTE(name, KERNEL_ISA, KERNEL_LANES)

INLINE vec vload(const float *p) {
    return *(const vec_aligned *)p;
}
INLINE vec vload_unaligned(const float *p) {
    return *(const vec_unaligned *)p;
}
// Wide vectors may begin at any element.
INLINE vec vload_wide(const float *p) {
    return (int)WIDTH == (int)LANES ? vload(p) : vload_unaligned(p);
}
INLINE void vstore(float *p, vec v) {
    *(vec_aligned *)p = v;
}
INLINE void vstore_unaligned(float *p, vec v) {
    *(vec_unaligned *)p = v;
}
INLINE vec vset(float x) {
    return x - (vec){0};
}

INLINE int imin(int a, int b) {
    return a < b ? a : b;
}
INLINE int imax(int a, int b) {
    return a > b ? a : b;
}

// A vector that is multiplied many times: without the instruction, widened once.
#if COMPACT
typedef fused_operand operand;
INLINE operand voperand(vec v) {
    return fused_widen((__m128)v);
}
#else
typedef vec operand;
INLINE operand voperand(vec v) {
    return v;
}
#endif

// a·b + c with one rounding.
INLINE vec vfma_operands(operand a, operand b, vec c) {
#if VL == 16
    return (vec)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
#elif VL == 8
    return (vec)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
#elif defined(__FMA__)
    return (vec)_mm_fmadd_ps((__m128)a, (__m128)b, (__m128)c);
#elif COMPACT
    return (vec)fused(a, b, (__m128)c);
#else
    vec r;
    for (int i = 0; i < VL; i++) r[i] = fmaf(a[i], b[i], c[i]);
    return r;
#endif
}
INLINE vec vfma(vec a, vec b, vec c) {
    return vfma_operands(voperand(a), voperand(b), c);
}

INLINE vec vsqrt(vec a) {
#if VL == 16
    return (vec)_mm512_sqrt_ps((__m512)a);
#elif VL == 8
    return (vec)_mm256_sqrt_ps((__m256)a);
#elif defined(__AVX2__)
    return (vec)_mm_sqrt_ps((__m128)a);
#else
    for (int i = 0; i < VL; i++) a[i] = sqrtf(a[i]);
    return a;
#endif
}

// Per lane: `yes` where the mask is all ones, `no` where it is zero.
INLINE vec vselect(ivec mask, vec yes, vec no) {
    return (vec)(((ivec)yes & mask) | ((ivec)no & ~mask));
}
INLINE vec vmask(ivec mask, vec v) {
    return (vec)((ivec)v & mask);
}

// The larger value per lane; b if they are equal or one of them is a NaN.
INLINE vec vlarger(vec a, vec b) {
#if VL == 16
    return (vec)_mm512_max_ps((__m512)a, (__m512)b);
#elif VL == 8
    return (vec)_mm256_max_ps((__m256)a, (__m256)b);
#elif defined(__SSE2__)
    return (vec)_mm_max_ps((__m128)a, (__m128)b);
#else
    return vselect(a > b, a, b);
#endif
}

// Mask of the lanes in which a or b is a NaN.
INLINE ivec vunordered(vec a, vec b) {
#if VL == 16
    return (ivec)_mm512_movm_epi32(_mm512_cmp_ps_mask((__m512)a, (__m512)b, _CMP_UNORD_Q));
#elif VL == 8
    return (ivec)_mm256_cmp_ps((__m256)a, (__m256)b, _CMP_UNORD_Q);
#elif defined(__SSE2__)
    return (ivec)_mm_cmpunord_ps((__m128)a, (__m128)b);
#else
    return (a != a) | (b != b);
#endif
}

// VL bytes to integers, and integers 0 … 255 of all lanes to bytes. GCC 12 compiles
// __builtin_convertvector for these one element at a time.
INLINE ivec load_bytes(const uint8_t *p) {
#if VL == 16
    return (ivec)_mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)(const void *)p));
#elif VL == 8
    return (ivec)_mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)p));
#elif defined(__AVX2__)
    int32_t bytes;
    memcpy(&bytes, p, sizeof bytes);
    return (ivec)_mm_cvtepu8_epi32(_mm_cvtsi32_si128(bytes));
#else
    ivec r;
    for (int i = 0; i < VL; i++) r[i] = p[i];
    return r;
#endif
}
INLINE void store_bytes(uint8_t *p, const ivec v[LANE_SLICES]) {
#if VL == 16
    _mm_storeu_si128((__m128i *)(void *)p, _mm512_cvtepi32_epi8((__m512i)v[0]));
#elif VL == 8
    const __m256i pairs = // per 128 bits
        _mm256_packs_epi32((__m256i)v[0], (__m256i)v[LANE_SLICES > 1]);
    const __m128i fours =
        _mm_packus_epi16(_mm256_castsi256_si128(pairs), _mm256_extracti128_si256(pairs, 1));
    const __m128i bytes = _mm_shuffle_epi32(fours, _MM_SHUFFLE(3, 1, 2, 0));
    memcpy(p, &bytes, LANES);
#elif defined(__SSE2__)
    __m128i words[2];
    UNROLL for (int i = 0; i < 2; i++) words[i] =
        _mm_packs_epi32((__m128i)v[2 * i % LANE_SLICES], (__m128i)v[(2 * i + 1) % LANE_SLICES]);
    const __m128i bytes = _mm_packus_epi16(words[0], words[1]);
    memcpy(p, &bytes, LANES);
#else
    for (int i = 0; i < LANES; i++) p[i] = (uint8_t)v[i / VL][i % VL];
#endif
}
INLINE vec to_floats(ivec v) {
    return __builtin_convertvector(v, vec);
}

// Selects elements of two vectors. The builtin of Clang differs from the one that all versions of
// GCC have.
#if defined(__clang__)
#define SHUFFLE(type, a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define SHUFFLE(type, a, b, ...) __builtin_shuffle(a, b, (type){__VA_ARGS__})
#endif

// Interleaves the lower, or the upper, halves of a and b.
INLINE vec interleave_low(vec a, vec b) {
#if VL == 16
    return SHUFFLE(ivec, a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
#elif VL == 8
    return SHUFFLE(ivec, a, b, 0, 8, 1, 9, 2, 10, 3, 11);
#else
    return SHUFFLE(ivec, a, b, 0, 4, 1, 5);
#endif
}
INLINE vec interleave_high(vec a, vec b) {
#if VL == 16
    return SHUFFLE(ivec, a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
#elif VL == 8
    return SHUFFLE(ivec, a, b, 4, 12, 5, 13, 6, 14, 7, 15);
#else
    return SHUFFLE(ivec, a, b, 2, 6, 3, 7);
#endif
}

// Transposes VL rows of VL. Interleaving row i with row i + VL/2 is one of log2(VL) perfect
// shuffles of all elements; together they exchange the upper and the lower half of each element's
// address: its row and its column.
INLINE void transpose(vec rows[VL]) {
    vec next[VL];
    for (int n = VL; n > 1; n /= 2) {
        UNROLL for (int i = 0; i < VL / 2; i++) {
            next[2 * i] = interleave_low(rows[i], rows[i + VL / 2]);
            next[2 * i + 1] = interleave_high(rows[i], rows[i + VL / 2]);
        }
        UNROLL for (int i = 0; i < VL; i++) rows[i] = next[i];
    }
}

// Sum of WIDTH lanes by halves: 8+8, then 4+4, 2+2, 1+1. Zero lanes change nothing, so 4 samples
// give the same sum among 8 or 16 lanes.
INLINE float sum_by_halves(const float *lanes) {
    float s[WIDTH];
    memcpy(s, lanes, sizeof s);
    UNROLL for (int n = WIDTH / 2; n > 0; n /= 2) UNROLL for (int i = 0; i < n; i++) s[i] +=
        s[i + n];
    return s[0];
}

// The first halvings of WIDTH lanes, down to one vector.
INLINE vec fold(const float *lanes) {
    vec part[WIDTH / VL];
    UNROLL for (int i = 0; i < WIDTH / VL; i++) part[i] = vload(lanes + i * VL);
    UNROLL for (int n = WIDTH / VL / 2; n > 0; n /= 2) UNROLL for (int i = 0; i < n; i++) part[i] +=
        part[i + n];
    return part[0];
}

// Sums by halves of `count` consecutive sets of WIDTH lanes. VL sets are transposed at a time, so
// that the remaining additions run over columns.
INLINE void sums_by_halves(const float *lanes, int count, float *sums) {
    for (int first = 0; first < count; first += VL) {
        vec rows[VL];
        UNROLL for (int i = 0; i < VL; i++) rows[i] =
            fold(lanes + (first + i < count ? first + i : first) * WIDTH);
        transpose(rows);
        UNROLL for (int n = VL / 2; n > 0; n /= 2) UNROLL for (int i = 0; i < n; i++) rows[i] +=
            rows[i + n];
        if (first + VL <= count) {
            vstore_unaligned(sums + first, rows[0]);
        } else {
            float rest[VL];
            vstore_unaligned(rest, rows[0]);
            memcpy(sums + first, rest, (size_t)(count - first) * sizeof *sums);
        }
    }
}

// Sum along a row of `width` elements: four sums of every fourth element, so that no addition waits
// for the previous one, then the sum of the four.
enum { CHAINS = 4 };

INLINE vec chain_sum(const vec chain[CHAINS]) {
    return (chain[0] + chain[1]) + (chain[2] + chain[3]);
}

INLINE vec row_sum(const float *p, int width) {
    vec chain[CHAINS];
    UNROLL for (int k = 0; k < CHAINS; k++) chain[k] = vset(0.0f);
    int x = 0;
    for (; x + CHAINS <= width; x += CHAINS, p += CHAINS * LANES)
        UNROLL for (int k = 0; k < CHAINS; k++) chain[k] += vload(p + k * LANES);
    UNROLL for (int k = 0; k < CHAINS - 1; k++) if (x + k < width) chain[k] += vload(p + k * LANES);
    return chain_sum(chain);
}

typedef struct centred_sums {
    vec differences, squares;
} centred_sums;

// Likewise, of the differences from `centre` and of their squares.
INLINE centred_sums row_centred(const float *p, int width, vec centre) {
    vec sums[CHAINS], squares[CHAINS];
    UNROLL for (int k = 0; k < CHAINS; k++) sums[k] = squares[k] = vset(0.0f);
    int x = 0;
    for (; x + CHAINS <= width; x += CHAINS, p += CHAINS * LANES)
        UNROLL for (int k = 0; k < CHAINS; k++) {
            const vec d = vload(p + k * LANES) - centre;
            sums[k] += d;
            squares[k] = vfma(d, d, squares[k]);
        }
    UNROLL for (int k = 0; k < CHAINS - 1; k++) if (x + k < width) {
        const vec d = vload(p + k * LANES) - centre;
        sums[k] += d;
        squares[k] = vfma(d, d, squares[k]);
    }
    return (centred_sums){chain_sum(sums), chain_sum(squares)};
}

// Zeroes the lanes of absent samples.
INLINE void clear_lanes(float *lanes, int samples) {
    for (int n = samples; n < LANES; n++) lanes[n] = 0.0f;
}

// The functions of the table, and two that they share.
#define KERNEL_PROTOTYPE(suffix, result, name, parameters) result KERNEL(name) parameters;
KERNELS(KERNEL_PROTOTYPE, )
#define LAYER_PROTOTYPES(to, KIND, word, ...) \
    void KERNEL(word)(const layer_task *t);   \
    void KERNEL(word##_backward)(const layer_task *t);
UNFUSED_LAYERS(LAYER_PROTOTYPES, )
void KERNEL(conv_bias_gradient)(const conv_weight_task *t);
size_t KERNEL(winograd_weight_scratch)(const layer *l);

#endif
