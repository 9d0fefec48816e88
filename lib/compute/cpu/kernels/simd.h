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
