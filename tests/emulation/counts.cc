// SPDX-License-Identifier: MIT
// Counts what the threads of kernels do, for a model of their time (tests/bench/exact-cost). Only
// in a build with EMULATION_COUNTS.
//
// LOCKSTEP_EMULATED_KERNELS=FILE: each kernel appends a line "BLOCKS THREADS ALL BLOCK THREAD LOADS
// ALL_LOADS EXCHANGES JOINS NAME": the blocks of its grid, the threads of a block; the float
// multiply-adds of all threads, of the block with the most, and of the thread with the most; the
// loads of the thread with the most, and of all; and the most exchanges with its warp, and joins of
// its block with others, of a thread.
//
// LOCKSTEP_EMULATED_BLOCKS=N: only about N blocks of a kernel run, and the sums over all blocks are
// extrapolated. The results are then wrong.
#include "cuda_runtime.h"

#include <algorithm>
#include <cstdlib>
#include <math.h>

#include "emulation.h"

namespace emulation {

enum { THREADS_MAX = 1024, STACK = 1 << 16 };

struct thread_counts {
    unsigned long long of[COUNTED];
};

static struct {
    thread_counts thread[THREADS_MAX]; // of the block that runs
    thread_counts most, all;
    unsigned long long block;
    size_t blocks; // that ran
} counts;

#ifdef EMULATION_COUNTS
void note(counted what) {
    const unsigned own = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    counts.thread[own].of[what]++;
}

// Variables of the thread itself are registers on a GPU.
static void note_load(const void *from) {
    const char *here = (const char *)__builtin_frame_address(0);
    if ((const char *)from > here - STACK && (const char *)from < here + STACK) return;
    note(LOAD);
}
#endif

size_t blocks_to_run(size_t blocks) {
    const char *text = getenv("LOCKSTEP_EMULATED_BLOCKS");
    const size_t most = text ? strtoul(text, nullptr, 10) : 0;
    return most > 0 ? std::min(blocks, most) : blocks;
}

void count_block(size_t threads) {
    unsigned long long block = 0;
    for (size_t i = 0; i < threads; i++) {
        thread_counts &t = counts.thread[i];
        block += t.of[MULTIPLY_ADD];
        for (int k = 0; k < COUNTED; k++) {
            counts.most.of[k] = std::max(counts.most.of[k], t.of[k]);
            counts.all.of[k] += t.of[k];
        }
        t = {};
    }
    counts.block = std::max(counts.block, block);
    counts.blocks++;
}

void list_kernel(const char *kernel, size_t blocks, size_t threads) {
    FILE *list = open_list("LOCKSTEP_EMULATED_KERNELS");
    if (list) {
        const double each = (double)blocks / (double)std::max<size_t>(counts.blocks, 1);
        const auto &most = counts.most.of, &all = counts.all.of;
        fprintf(list, "%zu %zu %.0f %llu %llu %llu %.0f %llu %llu %s\n", blocks, threads,
                (double)all[MULTIPLY_ADD] * each, counts.block, most[MULTIPLY_ADD], most[LOAD],
                (double)all[LOAD] * each, most[EXCHANGE], most[JOIN], kernel);
        fclose(list);
    }
    counts = {};
}

} // namespace emulation

// ---- What the compiler calls before an access (make/cuda.mk) ----

#ifdef EMULATION_COUNTS
#define LOADS(size)                                \
    void __asan_load##size##_noabort(void *from);  \
    void __asan_load##size##_noabort(void *from) { \
        emulation::note_load(from);                \
    }                                              \
    void __asan_store##size##_noabort(void *to);   \
    void __asan_store##size##_noabort(void *) {}
extern "C" {
LOADS(1)
LOADS(2)
LOADS(4)
LOADS(8)
LOADS(16)
void __asan_loadN_noabort(void *from, size_t size);
void __asan_loadN_noabort(void *from, size_t) {
    emulation::note_load(from);
}
void __asan_storeN_noabort(void *to, size_t size);
void __asan_storeN_noabort(void *, size_t) {}
void __asan_handle_no_return();
void __asan_handle_no_return() {}
}
#endif
