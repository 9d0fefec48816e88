// simd.h - the vector type that kernels are written in; included only by kernels/*.c.
//
// VL floats a vector: 16 (AVX-512), 8 (AVX2) or 4. A group's 16 samples are LANE_SLICES vectors.
// GCC's and Clang's vector extensions do all arithmetic but the fused multiply-add, which is an
// intrinsic, or the C library's where there is none.
#ifndef LOCKSTEP_COMPUTE_CPU_KERNELS_SIMD_H
#define LOCKSTEP_COMPUTE_CPU_KERNELS_SIMD_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__AVX512F__) || defined(__AVX2__)
#include <immintrin.h>
#endif

#include "compute/cpu/kernels.h"

#if defined(__AVX512F__)
enum { VL = 16 };
#elif defined(__AVX2__)
enum { VL = 8 };
#else
enum { VL = 4 };
#endif
enum { LANE_SLICES = GROUP / VL };

typedef float vec __attribute__((vector_size(VL * 4)));
typedef int32_t ivec __attribute__((vector_size(VL * 4)));
typedef float vec_unaligned __attribute__((vector_size(VL * 4), aligned(4), may_alias));
typedef float vec_aligned __attribute__((vector_size(VL * 4), may_alias));

// Every kernel is compiled several times; the symbol says for what: KERNEL(conv) is conv_v4,
// conv_v3, conv_baseline.
#define KERNEL_PASTE2(name, isa) name##_##isa
#define KERNEL_PASTE(name, isa)  KERNEL_PASTE2(name, isa)
#define KERNEL(name)             KERNEL_PASTE(name, KERNEL_ISA)

#define INLINE static inline __attribute__((always_inline))
#define UNROLL _Pragma("GCC unroll 32")

INLINE vec vload(const float *p) {
    return *(const vec_aligned *)p;
}
INLINE vec vload_unaligned(const float *p) {
    return *(const vec_unaligned *)p;
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

// a·b + c with one rounding.
INLINE vec vfma(vec a, vec b, vec c) {
#if defined(__AVX512F__)
    return (vec)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
#elif defined(__AVX2__)
    return (vec)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
#else
    vec r;
    for (int i = 0; i < VL; i++) r[i] = fmaf(a[i], b[i], c[i]);
    return r;
#endif
}

INLINE vec vsqrt(vec a) {
#if defined(__AVX512F__)
    return (vec)_mm512_sqrt_ps((__m512)a);
#elif defined(__AVX2__)
    return (vec)_mm256_sqrt_ps((__m256)a);
#else
    vec r;
    for (int i = 0; i < VL; i++) r[i] = sqrtf(a[i]);
    return r;
#endif
}

// Lane by lane: yes where the mask is all ones, no where it is zero.
INLINE vec vselect(ivec mask, vec yes, vec no) {
    return (vec)(((ivec)yes & mask) | ((ivec)no & ~mask));
}
INLINE vec vmask(ivec mask, vec v) {
    return (vec)((ivec)v & mask);
}

// VL bytes as integers, and integers 0 … 127 as bytes. GCC 12 makes __builtin_convertvector of
// these one element at a time.
INLINE ivec load_bytes(const uint8_t *p) {
#if defined(__AVX512F__)
    return (ivec)_mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)(const void *)p));
#elif defined(__AVX2__)
    return (ivec)_mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)p));
#else
    ivec r;
    for (int i = 0; i < VL; i++) r[i] = p[i];
    return r;
#endif
}
INLINE void store_bytes(uint8_t *p, ivec v) {
#if defined(__AVX512F__)
    _mm_storeu_si128((__m128i *)(void *)p, _mm512_cvtepi32_epi8((__m512i)v));
#elif defined(__AVX2__)
    const __m256i pairs = _mm256_packs_epi32((__m256i)v, (__m256i)v); // within 128 bits each
    const __m128i words =
        _mm_unpacklo_epi64(_mm256_castsi256_si128(pairs), _mm256_extracti128_si256(pairs, 1));
    _mm_storel_epi64((__m128i *)(void *)p, _mm_packus_epi16(words, words));
#else
    for (int i = 0; i < VL; i++) p[i] = (uint8_t)v[i];
#endif
}
INLINE vec to_floats(ivec v) {
    return __builtin_convertvector(v, vec);
}

// Clang has one way to say which elements of two vectors a third one has, all versions of GCC
// another.
#if defined(__clang__)
#define SHUFFLE(type, a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define SHUFFLE(type, a, b, ...) __builtin_shuffle(a, b, (type){__VA_ARGS__})
#endif

// Elements in turn from the lower, or the upper, halves of a and b.
INLINE vec interleave_low(vec a, vec b) {
#if defined(__AVX512F__)
    return SHUFFLE(ivec, a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
#elif defined(__AVX2__)
    return SHUFFLE(ivec, a, b, 0, 8, 1, 9, 2, 10, 3, 11);
#else
    return SHUFFLE(ivec, a, b, 0, 4, 1, 5);
#endif
}
INLINE vec interleave_high(vec a, vec b) {
#if defined(__AVX512F__)
    return SHUFFLE(ivec, a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
#elif defined(__AVX2__)
    return SHUFFLE(ivec, a, b, 4, 12, 5, 13, 6, 14, 7, 15);
#else
    return SHUFFLE(ivec, a, b, 2, 6, 3, 7);
#endif
}

// VL rows of VL become columns. Interleaving row i with row i + VL/2 is one of log2(VL) perfect
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

// Sum of 16 lanes by halves: 8+8, then 4+4, 2+2, 1+1.
INLINE float sum_by_halves(const float *lanes) {
    float s[8], u[4];
    for (int i = 0; i < 8; i++) s[i] = lanes[i] + lanes[i + 8];
    for (int i = 0; i < 4; i++) u[i] = s[i] + s[i + 4];
    return (u[0] + u[2]) + (u[1] + u[3]);
}

// The same of `count` groups of lanes, one behind the other: sums[i] of lanes[16·i …]. By halves as
// long as a sum fills a vector; then VL of them are turned, and the rest is added column by column.
INLINE void sums_by_halves(const float *lanes, int count, float *sums) {
    for (int first = 0; first < count; first += VL) {
        vec rows[VL];
        UNROLL for (int i = 0; i < VL; i++) {
            const float *p = lanes + (first + i < count ? first + i : first) * GROUP;
            rows[i] = vload(p);
            if (VL == 8) rows[i] += vload(p + 8 % GROUP);
            if (VL == 4) rows[i] = (rows[i] + vload(p + 8)) + (vload(p + 4) + vload(p + 12));
        }
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

// Sums along a row of `width` elements: of every fourth one, so that no addition waits for the one
// before it, then of the four.
enum { CHAINS = 4 };

INLINE vec chain_sum(const vec chain[CHAINS]) {
    return (chain[0] + chain[1]) + (chain[2] + chain[3]);
}

INLINE vec row_sum(const float *p, int width) {
    vec chain[CHAINS];
    UNROLL for (int k = 0; k < CHAINS; k++) chain[k] = vset(0.0f);
    int x = 0;
    for (; x + CHAINS <= width; x += CHAINS, p += CHAINS * GROUP)
        UNROLL for (int k = 0; k < CHAINS; k++) chain[k] += vload(p + k * GROUP);
    UNROLL for (int k = 0; k < CHAINS - 1; k++) if (x + k < width) chain[k] += vload(p + k * GROUP);
    return chain_sum(chain);
}

// Likewise, of the squared differences from `centre`.
INLINE vec row_squares(const float *p, int width, vec centre) {
    vec chain[CHAINS];
    UNROLL for (int k = 0; k < CHAINS; k++) chain[k] = vset(0.0f);
    int x = 0;
    for (; x + CHAINS <= width; x += CHAINS, p += CHAINS * GROUP)
        UNROLL for (int k = 0; k < CHAINS; k++) {
            const vec d = vload(p + k * GROUP) - centre;
            chain[k] = vfma(d, d, chain[k]);
        }
    UNROLL for (int k = 0; k < CHAINS - 1; k++) if (x + k < width) {
        const vec d = vload(p + k * GROUP) - centre;
        chain[k] = vfma(d, d, chain[k]);
    }
    return chain_sum(chain);
}

// Lanes of samples that do not exist, zeroed.
INLINE void clear_lanes(float *lanes, int samples) {
    for (int n = samples; n < GROUP; n++) lanes[n] = 0.0f;
}

// What table.c collects.
int KERNEL(conv_block_size)(int outputs, int width);
void KERNEL(conv)(const conv_task *t, int block);
void KERNEL(conv_strided_input)(const conv_task *t);
void KERNEL(conv_weight)(const conv_weight_task *t);
void KERNEL(conv_bias_gradient)(const conv_weight_task *t);
size_t KERNEL(winograd_scratch)(const layer *l);
size_t KERNEL(winograd_weight_scratch)(int channels, int outputs);
void KERNEL(winograd_pack)(const layer *l, const float *weight, bool transpose, float *packed);
void KERNEL(winograd)(const conv_task *t);
void KERNEL(winograd_weight)(const conv_weight_task *t);
void KERNEL(linear)(const linear_task *t);
void KERNEL(linear_transposed)(const linear_task *t);
void KERNEL(linear_weight)(const linear_weight_task *t);
void KERNEL(load)(const uint8_t *const *pixels, int samples, const float *scale, const float *shift,
                  const view *x);
void KERNEL(moments)(const view *z, int samples, double *mean, double *m2);
void KERNEL(tail_forward)(const tail_task *t);
void KERNEL(tail_backward_sums)(const tail_task *t);
void KERNEL(tail_backward)(const tail_task *t);
void KERNEL(max_pool)(const pool_task *t);
void KERNEL(max_pool_backward)(const pool_task *t);
void KERNEL(average_pool)(const pool_task *t);
void KERNEL(average_pool_backward)(const pool_task *t);
void KERNEL(dropout)(const dropout_task *t);
void KERNEL(dropout_backward)(const dropout_task *t);
float KERNEL(loss)(const loss_task *t);
void KERNEL(update)(const update_task *t);
uint64_t KERNEL(digest)(const float *parameters, size_t first, size_t count);
void KERNEL(add)(float *restrict sum, const float *restrict term, size_t n);

#endif
