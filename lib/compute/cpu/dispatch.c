// SPDX-License-Identifier: MIT
// Selection of the kernels for this processor, and the packed copies of weights that they read.
#include <string.h>

#include "compute/cpu/kernels.h"

extern const kernels kernel_table_baseline_16, kernel_table_baseline_4;
#if defined(__x86_64__)
extern const kernels kernel_table_v3_16, kernel_table_v3_4;
extern const kernels kernel_table_v4_16, kernel_table_v4_4;
#endif

const kernels *kernels_find(const char *isa, int lanes) {
    const bool few = lanes == LANES_FEW;
#if defined(__x86_64__)
    __builtin_cpu_init();
    const bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                    __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
    const bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                    __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                    __builtin_cpu_supports("avx512vl");
    if (v4 && (!isa || strcmp(isa, "v4") == 0))
        return few ? &kernel_table_v4_4 : &kernel_table_v4_16;
    if (v3 && (!isa || strcmp(isa, "v3") == 0))
        return few ? &kernel_table_v3_4 : &kernel_table_v3_16;
#endif
    if (isa && strcmp(isa, "baseline") != 0) return NULL;
    return few ? &kernel_table_baseline_4 : &kernel_table_baseline_16;
}

static int blocks_of(int channels, int block) {
    return (channels + block - 1) / block;
}

size_t conv_packed_floats(const layer *l, int block, bool transpose) {
    int out = transpose ? l->in.channels : l->out.channels;
    int in = transpose ? l->out.channels : l->in.channels;
    return (size_t)(blocks_of(out, block) * block) * (size_t)(in * l->kernel_h * l->kernel_w);
}

// The transforms cost as much as the products of a few channels; tiles at the edges are computed in
// full.
bool winograd_pays(const layer *l) {
    enum { CHANNELS = 16 };
    const int height = (l->out.height + 3) / 4 * 4, width = (l->out.width + 3) / 4 * 4;
    return l->kind == LAYER_CONV && l->kernel_h == 3 && l->kernel_w == 3 && l->stride_h == 1 &&
           l->stride_w == 1 && l->pad_h <= 2 && l->pad_w <= 2 && l->in.channels >= CHANNELS &&
           l->out.channels >= CHANNELS && 2 * l->out.height * l->out.width >= height * width;
}

size_t winograd_packed_floats(const layer *l, bool transpose) {
    const int out = transpose ? l->in.channels : l->out.channels;
    const int in = transpose ? l->out.channels : l->in.channels;
    return (size_t)(blocks_of(out, WINOGRAD_OUTPUTS) * WINOGRAD_OUTPUTS) * (size_t)in * 36;
}

void conv_pack(const layer *l, const float *weight, int block, bool transpose, float *packed) {
    const int out = transpose ? l->in.channels : l->out.channels;
    const int in = transpose ? l->out.channels : l->in.channels;
    const int window = l->kernel_h * l->kernel_w;
    for (int first = 0; first < out; first += block)
        for (int c = 0; c < in; c++)
            for (int k = 0; k < window; k++)
                for (int o = first; o < first + block; o++) {
                    // The layer's tensor is [out][in][window].
                    int row = transpose ? c : o, column = transpose ? o : c;
                    int at = transpose ? window - 1 - k : k;
                    *packed++ =
                        o < out ? weight[(row * l->in.channels + column) * window + at] : 0.0f;
                }
}
