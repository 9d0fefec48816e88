// SPDX-License-Identifier: MIT
// Counts the float multiply-adds and the loads of kernels, for a model of their time
// (tests/bench/exact-cost). Only in a build with EMULATION_COUNTS.
//
// LOCKSTEP_EMULATED_KERNELS=FILE: each kernel appends a line "BLOCKS THREADS ALL BLOCK THREAD LOADS
// ALL_LOADS WAITS NAME": the blocks of its grid, the threads of a block; the multiply-adds of all
// threads, of the block with the most, and of the thread with the most; the loads of the thread
// with the most, and of all; and the most waits of a thread. The loads between two multiply-adds
// can be under way together, so they are one wait.
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
    unsigned long long multiply_adds, loads, waits;
    bool loading; // since its last multiply-add
};

static struct {
    thread_counts thread[THREADS_MAX]; // of the block that runs
    unsigned long long all, block, longest, all_loads, loads, waits;
    size_t blocks; // that ran
} counts;

static thread_counts &own() {
    return counts.thread[threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)];
}

void note_multiply_add() {
    thread_counts &t = own();
    t.multiply_adds++;
    t.loading = false;
}

// Variables of the thread itself are registers on a GPU.
[[maybe_unused]] static void note_load(const void *from) {
    const char *here = (const char *)__builtin_frame_address(0);
    if ((const char *)from > here - STACK && (const char *)from < here + STACK) return;
    thread_counts &t = own();
    t.loads++;
    t.waits += !t.loading;
    t.loading = true;
}

size_t blocks_to_run(size_t blocks) {
    const char *text = getenv("LOCKSTEP_EMULATED_BLOCKS");
    const size_t most = text ? strtoul(text, nullptr, 10) : 0;
    return most > 0 ? std::min(blocks, most) : blocks;
}

void count_block(size_t threads) {
    unsigned long long block = 0;
    for (size_t i = 0; i < threads; i++) {
        thread_counts &t = counts.thread[i];
        block += t.multiply_adds;
        counts.longest = std::max(counts.longest, t.multiply_adds);
        counts.loads = std::max(counts.loads, t.loads);
        counts.waits = std::max(counts.waits, t.waits);
        counts.all_loads += t.loads;
        t = {};
    }
    counts.all += block;
    counts.block = std::max(counts.block, block);
    counts.blocks++;
}

void list_kernel(const char *kernel, size_t blocks, size_t threads) {
    FILE *list = open_list("LOCKSTEP_EMULATED_KERNELS");
    if (list) {
        const double each = (double)blocks / (double)std::max<size_t>(counts.blocks, 1);
        fprintf(list, "%zu %zu %.0f %llu %llu %llu %.0f %llu %s\n", blocks, threads,
                (double)counts.all * each, counts.block, counts.longest, counts.loads,
                (double)counts.all_loads * each, counts.waits, kernel);
        fclose(list);
    }
    counts = {};
}

} // namespace emulation

// ---- What the compiler calls before an access (make/cuda.mk) ----

#ifdef EMULATION_COUNTS
#define LOAD(size)                                 \
    void __asan_load##size##_noabort(void *from);  \
    void __asan_load##size##_noabort(void *from) { \
        emulation::note_load(from);                \
    }                                              \
    void __asan_store##size##_noabort(void *to);   \
    void __asan_store##size##_noabort(void *) {}
extern "C" {
LOAD(1)
LOAD(2)
LOAD(4)
LOAD(8)
LOAD(16)
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
