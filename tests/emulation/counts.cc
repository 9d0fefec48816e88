// SPDX-License-Identifier: MIT
// Counts the float multiply-adds of kernels, for an estimate of the time that they need at least
// (tests/bench/exact-cost). Only in a build with EMULATION_COUNTS.
//
// LOCKSTEP_EMULATED_KERNELS=FILE: each kernel appends a line "BLOCKS THREADS ALL BLOCK THREAD
// NAME": the blocks of its grid, the threads of a block, and the multiply-adds of all threads, of
// the block with the most, and of the thread with the most.
#include "cuda_runtime.h"

#include <algorithm>
#include <math.h>

#include "emulation.h"

namespace emulation {

enum { THREADS_MAX = 1024 };

static struct {
    unsigned long long thread[THREADS_MAX]; // of the block that runs
    unsigned long long all, block, longest;
} counts;

void note_multiply_add() {
    counts.thread[threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)]++;
}

void count_block(size_t threads) {
    unsigned long long block = 0;
    for (size_t t = 0; t < threads; t++) {
        block += counts.thread[t];
        counts.longest = std::max(counts.longest, counts.thread[t]);
        counts.thread[t] = 0;
    }
    counts.all += block;
    counts.block = std::max(counts.block, block);
}

void list_kernel(const char *kernel, size_t blocks, size_t threads) {
    FILE *list = open_list("LOCKSTEP_EMULATED_KERNELS");
    if (list) {
        fprintf(list, "%zu %zu %llu %llu %llu %s\n", blocks, threads, counts.all, counts.block,
                counts.longest, kernel);
        fclose(list);
    }
    counts = {};
}

} // namespace emulation
