// SPDX-License-Identifier: MIT
// exact_correlation.cuh - correlations whose sums have the order of the CPU's engine: what
// convolutions, linear layers and the products of Winograd's algorithm are made of.
//
// The terms of a padded border are zeros here, which change no sum.
#ifndef LOCKSTEP_COMPUTE_CUDA_KERNELS_EXACT_EXACT_CORRELATION_CUH
#define LOCKSTEP_COMPUTE_CUDA_KERNELS_EXACT_EXACT_CORRELATION_CUH

#include "compute/cuda/kernels/conv_correlation.cuh"

// Its sums are cut into parts of `part` terms; the first one begins with the bias.
typedef struct ordered_correlation {
    correlation product;
    int part;
    const float *bias; // NULL: none
    float *to;
    // The positions in `to`, if they are not all of them: then there is one part. width 0: all.
    output_phase phase;
} ordered_correlation;

void cuda_exact_correlate(launch_stream s, const cut *c, const ordered_correlation *t);

// A part of it, for few sums (exact_sums.cu).
bool cuda_exact_has_few_sums(const cut *c, const ordered_correlation *t);
void cuda_exact_correlate_few_sums(launch_stream s, const cut *c, const ordered_correlation *t);

#endif
