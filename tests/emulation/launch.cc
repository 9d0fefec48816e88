// SPDX-License-Identifier: MIT
// Kernels: the blocks of the grid run one after another; the threads of a block run in turn, each
// until it ends or waits for others.
//
// A fiber runs threads one after another as long as they end without waiting, so a kernel without
// barriers needs only one fiber. A thread that waits keeps its fiber until it continues, and the
// next thread gets another one.
//
// No kernel begins before the earlier ones have ended, even if its launch allows that. Such a
// kernel must still wait before it touches anything that the earlier ones may touch. So in such a
// launch each thread must have waited before it ends, or before it meets others. The threads of the
// first block all stop where they wait: until all of them are there none may touch device memory,
// and AddressSanitizer, if enabled, reports one that does.
#include "cuda_runtime.h"

#include <algorithm>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>

#include "emulation.h"
#include "fibers.h"
#include "races.h"
#include "streams.h"

uint3 threadIdx, blockIdx;
dim3 blockDim, gridDim;

// All __shared__ variables (shared.ld).
struct shared_page {
    volatile uint64_t words[64]; // volatile: see forget()
};
extern "C" {
__attribute__((visibility("hidden"))) extern shared_page emulation_shared_begin[];
__attribute__((visibility("hidden"))) extern shared_page emulation_shared_end[];
}

namespace emulation {

enum { WARP_THREADS = 32 };

enum class state { fresh, runnable, at_barrier, in_exchange, ended };

struct thread {
    state is = state::fresh;
    fiber *on = nullptr; // while it waits
    place at = {};       // where
    bool waited = false; // for earlier grids
};

// The values that a warp's lanes exchange. Two sets, so that a lane can write its next value before
// all others have read this one.
struct warp {
    unsigned long long value[2][WARP_THREADS];
    unsigned set = 0, waiting = 0;
    place at = {}; // the first place at which one waits
};

// The block that runs.
static struct {
    const char *kernel;
    const std::function<void()> *body;
    std::vector<thread> threads;
    std::vector<uint3> index; // of threads
    std::vector<warp> warps;
    std::vector<size_t> order;         // of threads; `turn` is the position of the one that runs
    size_t turn, self, ended, waiting; // `self`: the thread that runs, order[turn]
    place barrier;                     // where threads wait at a barrier
    bool met;                          // was there a barrier or an exchange?
    bool must_wait;                    // for earlier grids
    kernel_access *closed; // none may touch device memory before all have waited; NULL: all may
    fiber *host;
} now;

static std::vector<fiber *> idle; // without a thread

// ---- Messages ----

static const char *name(char (&text)[64], size_t thread) {
    const uint3 i = now.index[thread];
    snprintf(text, sizeof text, "thread (%u, %u, %u)", i.x, i.y, i.z);
    return text;
}

// Returns the first thread in that state, or the number of threads.
static size_t find(state wanted) {
    size_t i = 0;
    while (i < now.threads.size() && now.threads[i].is != wanted) i++;
    return i;
}

static const char STUCK[] = "a barrier or a shuffle that not all threads reach";

static void describe(state wanted, const char *does) {
    char text[64];
    size_t count = 0;
    for (const thread &t : now.threads) count += t.is == wanted;
    if (count == 0) return;
    const size_t first = find(wanted);
    fprintf(stderr, "    %zu of %zu threads %s: %s", count, now.threads.size(), does,
            name(text, first));
    if (wanted != state::ended)
        fprintf(stderr, " at %s:%d", now.threads[first].at.file, now.threads[first].at.line);
    fputc('\n', stderr);
}

[[noreturn]] __attribute__((format(printf, 1, 2))) static void refuse(const char *format, ...) {
    fprintf(stderr, "emulation: kernel %s, block (%u, %u, %u): ", now.kernel, blockIdx.x,
            blockIdx.y, blockIdx.z);
    va_list arguments;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    describe(state::at_barrier, "wait at a barrier");
    describe(state::in_exchange, "wait in a shuffle");
    describe(state::ended, "have ended");
    abort();
}

// ---- Taking turns ----

// Selects the next thread that can run; false: there is none.
static bool next_turn() {
    const size_t n = now.order.size();
    size_t turn = now.turn;
    for (size_t i = 0; i < n; i++) {
        turn = turn + 1 < n ? turn + 1 : 0;
        const state is = now.threads[now.order[turn]].is;
        if (is == state::fresh || is == state::runnable) {
            now.turn = turn;
            now.self = now.order[turn];
            threadIdx = now.index[now.self];
            races::turn_to(now.self);
            return true;
        }
    }
    return false;
}

[[noreturn]] static void refuse_early(const char *does) {
    char text[64];
    refuse("%s %s, and has not waited for the kernels in front", name(text, now.self), does);
}

static inline void check_waited(const char *does) {
    if (now.must_wait && !now.threads[now.self].waited) refuse_early(does);
}

// The body of each fiber: starts threads, one after another.
static void run_threads() {
    for (;;) {
        (*now.body)();
        check_waited("ends");
        now.threads[now.self].is = state::ended;
        now.ended++;
        if (now.waiting > 0) refuse(STUCK);
        const bool more = next_turn();
        if (!more && now.ended < now.threads.size()) refuse(STUCK);
        if (more && now.threads[now.self].is == state::fresh) continue;
        idle.push_back(running_fiber());
        switch_to(more ? now.threads[now.self].on : now.host);
    }
}

static fiber *idle_fiber() {
    if (idle.empty()) return new_fiber(run_threads);
    fiber *const f = idle.back();
    idle.pop_back();
    return f;
}

// Suspends the calling thread until another makes it runnable.
static void wait(state why) {
    thread &me = now.threads[now.self];
    me.is = why;
    me.on = running_fiber();
    if (!next_turn()) refuse(STUCK);
    const thread &next = now.threads[now.self];
    switch_to(next.is == state::fresh ? idle_fiber() : next.on);
}

static bool is_same(place a, place b) {
    return a.line == b.line && (a.file == b.file || strcmp(a.file, b.file) == 0);
}

[[noreturn]] static void refuse_other(place here) {
    refuse("one thread waits at the barrier %s:%d, another one at %s:%d", now.barrier.file,
           now.barrier.line, here.file, here.line);
}

// Waits for all threads of the block; true: this one is the last.
static bool meet(place here) {
    thread &me = now.threads[now.self];
    me.at = here;
    if (now.ended > 0) refuse(STUCK);
    if (now.waiting == 0) now.barrier = here;
    if (!is_same(now.barrier, here)) refuse_other(here);
    if (++now.waiting < now.threads.size()) {
        wait(state::at_barrier);
        return false;
    }
    now.waiting = 0;
    for (thread &t : now.threads)
        if (t.is == state::at_barrier) t.is = state::runnable;
    me.is = state::runnable;
    return true;
}

void barrier(place here) {
    check_waited("comes to a barrier");
    now.met = true;
    if (meet(here)) races::block_met();
}

void wait_for_grids(place here) {
    thread &me = now.threads[now.self];
    if (me.waited) return;
    me.waited = true;
    races::waited();
    if (!now.closed) return;
    (void)meet(here);
    if (now.closed) now.closed->open();
    now.closed = nullptr;
}

unsigned lane() {
    return (unsigned)(now.self % WARP_THREADS);
}

// Sets *last for the last lane that arrives.
static unsigned long long meet_lanes(unsigned mask, unsigned long long value, unsigned from,
                                     place here, bool *last) {
    check_waited("comes to a shuffle");
    now.met = true;
    const size_t first = now.self / WARP_THREADS * WARP_THREADS;
    thread *const lanes = &now.threads[first];
    warp &w = now.warps[first / WARP_THREADS];
    lanes[lane()].at = here;
    if (mask != 0xffffffffu) refuse("a shuffle with the mask %#x: all lanes must take part", mask);
    if (first + WARP_THREADS > now.threads.size()) refuse("a shuffle in a warp that is not whole");
    const unsigned set = w.set;
    w.value[set][lane()] = value;
    if (w.waiting == 0) w.at = here;
    if (w.at.line != here.line)
        refuse("one lane of a warp is in the shuffle of line %d, another one in that of line %d",
               w.at.line, here.line);
    *last = ++w.waiting == WARP_THREADS;
    if (!*last) {
        wait(state::in_exchange);
    } else {
        w.waiting = 0;
        w.set = !w.set;
        for (size_t i = 0; i < WARP_THREADS; i++)
            if (lanes[i].is == state::in_exchange) lanes[i].is = state::runnable;
    }
    return w.value[set][from];
}

unsigned long long exchange(unsigned mask, unsigned long long value, unsigned from, place here) {
    bool last;
    return meet_lanes(mask, value, from, here, &last);
}

void warp_barrier(unsigned mask, place here) {
    bool last;
    (void)meet_lanes(mask, 0, 0, here, &last);
    if (last) races::warp_met();
}

void fence() {
    races::fence();
}

// ---- Blocks and grids ----

static std::vector<shared_page *> all_shared() {
    std::vector<shared_page *> pages;
    races::add_shared(emulation_shared_begin, emulation_shared_end);
    for (shared_page *p = emulation_shared_begin; p < emulation_shared_end; p++) pages.push_back(p);
    return pages;
}

// Volatile, so that it does not become a memset: AddressSanitizer keeps gaps between the variables,
// and would report it.
__attribute__((no_sanitize("address"))) static void forget(shared_page *page) {
    for (volatile uint64_t &word : page->words) word = UINT64_MAX; // NaN
}

__attribute__((no_sanitize("address"))) static bool is_forgotten(const shared_page *page) {
    uint64_t all = UINT64_MAX; // not volatile: read as vectors
    for (size_t i = 0; i < sizeof page->words / sizeof *page->words; i++)
        all &= const_cast<const uint64_t *>(page->words)[i];
    return all == UINT64_MAX;
}

// The section is large, and a kernel uses little of it: only these are cleared again.
static std::vector<shared_page *> used_pages() {
    static const std::vector<shared_page *> all = all_shared();
    std::vector<shared_page *> used;
    std::remove_copy_if(all.begin(), all.end(), std::back_inserter(used), is_forgotten);
    return used;
}

static void number_threads(dim3 block) {
    now.index.clear();
    for (unsigned z = 0; z < block.z; z++)
        for (unsigned y = 0; y < block.y; y++)
            for (unsigned x = 0; x < block.x; x++) now.index.push_back({x, y, z});
}

static void run_block() {
    const size_t n = now.index.size();
    now.threads.assign(n, thread());
    now.warps.resize((n + WARP_THREADS - 1) / WARP_THREADS);
    arrange(&now.order, n);
    now.turn = n - 1;
    now.ended = now.waiting = 0;
    now.met = false;
    (void)next_turn();
    switch_to(idle_fiber());
}

static cudaError_t run_grid(const char *kernel, place from, dim3 grid, dim3 block,
                            const std::function<void()> &body, kernel_access *must_wait,
                            bool early) {
    gridDim = grid;
    blockDim = block;
    now.kernel = kernel;
    now.body = &body;
    now.must_wait = must_wait;
    now.closed = must_wait;
    now.host = running_fiber();
    races::begin_kernel(kernel, from.file, grid, block, early);
    if (must_wait) must_wait->close();
    number_threads(block);
    bool shared = true; // a kernel without barriers shares nothing
    static std::vector<shared_page *> pages = used_pages(); // by the kernel before, at first
    std::vector<size_t> order;
    const size_t blocks = (size_t)grid.x * grid.y * grid.z;
    arrange(&order, blocks);
    if (COUNTS) order.resize(blocks_to_run(blocks));
    for (const size_t b : order) {
        blockIdx = {(unsigned)(b % grid.x), (unsigned)(b / grid.x % grid.y),
                    (unsigned)(b / grid.x / grid.y)};
        if (shared) std::for_each(pages.begin(), pages.end(), forget);
        races::begin_block(b);
        run_block();
        if (b == order.front() || b == order.back()) pages = used_pages();
        shared = now.met;
        if (COUNTS) count_block(now.index.size());
    }
    races::end_kernel();
    if (COUNTS) list_kernel(kernel, blocks, now.index.size());
    return cudaSuccess;
}

static bool within(dim3 d, unsigned x, unsigned y, unsigned z) {
    return d.x > 0 && d.y > 0 && d.z > 0 && d.x <= x && d.y <= y && d.z <= z;
}

// Finds whether the kernel may start before the one in front has ended.
static cudaError_t read_attributes(const cudaLaunchConfig_t &config, bool *early) {
    *early = false;
    for (unsigned i = 0; i < config.numAttrs; i++) {
        const cudaLaunchAttribute &a = config.attrs[i];
        if (a.id != cudaLaunchAttributeProgrammaticStreamSerialization)
            return cudaErrorInvalidValue;
        *early = a.val.programmaticStreamSerializationAllowed;
    }
    return config.dynamicSmemBytes == 0 ? cudaSuccess : cudaErrorInvalidValue;
}

static bool is_set_to(const char *variable, const char *value) {
    const char *text = getenv(variable);
    return text && strcmp(text, value) == 0;
}

// A launch that may start early: it must follow a kernel.
// LOCKSTEP_EMULATED_PROGRAMMATIC=uncaptured: emulates a driver that does not capture such launches.
static cudaError_t check_early(const CUstream_st *stream) {
    if (!stream->after_kernel) return cudaErrorInvalidValue;
    if (!stream->capture || !is_set_to("LOCKSTEP_EMULATED_PROGRAMMATIC", "uncaptured"))
        return cudaSuccess;
    return lose(stream->capture.get(), cudaErrorNotSupported);
}

cudaError_t launch(const char *kernel, place from, const cudaLaunchConfig_t &config,
                   std::function<void()> body) {
    hold lock(everything);
    const dim3 grid = config.gridDim, block = config.blockDim;
    bool early;
    int device;
    CUstream_st *stream;
    cudaError_t result = read_attributes(config, &early);
    if (result == cudaSuccess) result = current_device(&device);
    if (result == cudaSuccess) result = stream_is_here(config.stream);
    if (result == cudaSuccess) result = find_stream(config.stream, &stream);
    if (result == cudaSuccess && early) result = check_early(stream);
    const bool must_wait = early || !is_set_to("LOCKSTEP_EMULATED_WAITS", "early");
    if (result == cudaSuccess &&
        (!within(grid, 0x7fffffff, 65535, 65535) || !within(block, 1024, 1024, 64) ||
         (size_t)block.x * block.y * block.z > 1024))
        result = cudaErrorInvalidConfiguration;
    if (result == cudaSuccess)
        result = submit(config.stream, [=] {
            kernel_access access(device);
            return run_grid(kernel, from, grid, block, body, must_wait ? &access : nullptr, early);
        });
    if (result == cudaSuccess) stream->after_kernel = true;
    return done(result);
}

} // namespace emulation
