// SPDX-License-Identifier: MIT
// tensor_half.h - two-byte floats, as other programs store weights. They are read, never written:
// each converts exactly to a binary32.
#ifndef LOCKSTEP_DATA_TENSOR_TENSOR_HALF_H
#define LOCKSTEP_DATA_TENSOR_TENSOR_HALF_H

#include <math.h>
#include <stdint.h>
#include <string.h>

static inline float float_from_bits(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

// IEEE 754 binary16: 5 bits of exponent, 10 of fraction.
static inline float float_from_f16(uint16_t half) {
    enum { ALL = 31, REBASE = 127 - 15, SUBNORMAL_UNIT = -24 };
    const uint32_t sign = (uint32_t)(half >> 15) << 31, exponent = half >> 10 & ALL;
    const uint32_t fraction = half & 0x3ffu;
    if (exponent == 0) return copysignf(ldexpf((float)fraction, SUBNORMAL_UNIT), sign ? -1 : 1);
    const uint32_t wide = exponent == ALL ? 255 : exponent + REBASE;
    return float_from_bits(sign | wide << 23 | fraction << 13);
}

// bfloat16: the upper half of a binary32.
static inline float float_from_bf16(uint16_t half) {
    return float_from_bits((uint32_t)half << 16);
}

#endif
