// SPDX-License-Identifier: MIT
// Selection of the kernels for this processor, and the packed copies of weights that they read.
#include <string.h>

#include "compute/cpu/kernels.h"

// The tables of an instruction set, by their lanes.
#define PROTOTYPE(suffix, result, name, parameters) result name##_##suffix parameters;
#define MEMBER(suffix, result, name, parameters)    .name = name##_##suffix,
#define LAYER_PROTOTYPES(suffix, KIND, word, ...) \
    void word##_##suffix(const layer_task *t);    \
    void word##_backward_##suffix(const layer_task *t);
#define LAYER_MEMBER(suffix, KIND, word, ...) \
    [LAYER_##KIND] = {word##_##suffix, word##_backward_##suffix},
#define TABLE(set, width)                           \
    KERNELS(PROTOTYPE, set##_##width)               \
    UNFUSED_LAYERS(LAYER_PROTOTYPES, set##_##width) \
    static const kernels table_##set##_##width = {  \
        .isa = #set,                                \
        .lanes = width,                             \
        KERNELS(MEMBER, set##_##width).layers = {UNFUSED_LAYERS(LAYER_MEMBER, set##_##width)}};
#define TABLES(set) TABLE(set, 16) TABLE(set, 8) TABLE(set, 4)
#define FIND_TABLE(set, lanes) \
    ((lanes) == 4 ? &table_##set##_4 : (lanes) == 8 ? &table_##set##_8 : &table_##set##_16)

TABLES(baseline)
#if defined(KERNELS_OF_X86) // make/build.mk
TABLES(v3)
TABLES(v4)
#endif

int kernels_lanes(int samples) {
    return samples <= 4 ? 4 : samples <= 8 ? 8 : GROUP;
}

const kernels *kernels_find(const char *isa, int lanes) {
#if defined(KERNELS_OF_X86)
    __builtin_cpu_init();
    const bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                    __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
    const bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                    __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                    __builtin_cpu_supports("avx512vl");
    if (v4 && (!isa || strcmp(isa, "v4") == 0)) return FIND_TABLE(v4, lanes);
    if (v3 && (!isa || strcmp(isa, "v3") == 0)) return FIND_TABLE(v3, lanes);
#endif
    if (isa && strcmp(isa, "baseline") != 0) return NULL;
    return FIND_TABLE(baseline, lanes);
}

// ---- Weights of convolutions ----

size_t conv_packed_floats(const layer *l, int block, bool transpose) {
    const int out = transpose ? l->in.channels : l->out.channels;
    const int in = transpose ? l->out.channels : l->in.channels;
    return (size_t)(blocks_of(out, block) * block) * (size_t)(in * l->kernel_h * l->kernel_w);
}

// The weights of kernel elements y, y + step_y, … and x, x + step_x, …, for `conv`. The layer's
// tensor is [out][in][window].
typedef struct taps {
    int y, step_y, rows, x, step_x, columns;
} taps;

static float *pack_taps(const layer *l, const float *weight, int block, bool transpose, taps t,
                        float *packed) {
    const int out = transpose ? l->in.channels : l->out.channels;
    const int in = transpose ? l->out.channels : l->in.channels;
    const int window = l->kernel_h * l->kernel_w;
    for (int first = 0; first < out; first += block)
        for (int c = 0; c < in; c++)
            for (int k = 0; k < t.rows * t.columns; k++)
                for (int o = first; o < first + block; o++) {
                    const int row = transpose ? c : o, column = transpose ? o : c;
                    const int at = (t.y + k / t.columns * t.step_y) * l->kernel_w + t.x +
                                   k % t.columns * t.step_x;
                    *packed++ =
                        o < out ? weight[(row * l->in.channels + column) * window + at] : 0.0f;
                }
    return packed;
}

void conv_pack(const layer *l, const float *weight, int block, bool transpose, float *packed) {
    if (!transpose) {
        const taps all = {0, 1, l->kernel_h, 0, 1, l->kernel_w};
        pack_taps(l, weight, block, false, all, packed);
        return;
    }
    for (int i = 0; i < l->stride_h; i++)
        for (int j = 0; j < l->stride_w; j++) {
            const int rows = conv_phase_of(l->kernel_h, l->stride_h, l->pad_h, i, 1).taps;
            const int columns = conv_phase_of(l->kernel_w, l->stride_w, l->pad_w, j, 1).taps;
            const taps last_first = {i + (rows - 1) * l->stride_h,    -l->stride_h, rows,
                                     j + (columns - 1) * l->stride_w, -l->stride_w, columns};
            packed = pack_taps(l, weight, block, true, last_first, packed);
        }
}

// ---- Winograd's algorithm ----

int winograd_groups(const layer *l) {
    const int tiles = (l->out.height + 3) / 4 * ((l->out.width + 3) / 4);
    int groups = 1;
    while (tiles * groups % WINOGRAD_TILES != 0) groups *= 2;
    return groups;
}

int winograd_packed_blocks(const layer *l, bool transpose) {
    return blocks_of(transpose ? l->in.channels : l->out.channels, WINOGRAD_OUTPUTS);
}

size_t winograd_packed_floats(const layer *l, bool transpose) {
    const int in = transpose ? l->out.channels : l->in.channels;
    return (size_t)(winograd_packed_blocks(l, transpose) * WINOGRAD_OUTPUTS) * (size_t)in * 36;
}
