// SPDX-License-Identifier: MIT
// The order of a kernel's threads: barriers, and fences with atomic operations.
//
// Blocks run one after another, so knowledge passes only from blocks that have ended to the one
// that runs. Each address with atomic operations has a log: an entry is what the thread of such an
// operation had released, by its own fence or by those of other threads before a barrier. A thread
// that does a later operation on the address may learn the log up to there, at its next fence.
#include "threads.h"

#include <algorithm>
#include <unordered_map>
#include <utility>
#include <vector>

#include "order.h"
#include "report.h"

namespace emulation {
namespace races {

struct log;
// The first entries of a log.
struct part {
    const log *of;
    size_t entries;
};
using knowledge = std::vector<part>;

// Which accesses of a block are released: those with smaller stamps than these.
struct bounds {
    uint32_t all = 0;                                  // of every thread
    std::shared_ptr<const std::vector<uint32_t>> each; // of each thread; null: no more than `all`

    bool cover(const place_in_kernel &a) const {
        return a.stamp < all || (each && a.stamp < (*each)[a.thread]);
    }
};

struct entry {
    bounds released;
    uint32_t thread, own; // and those of this thread before `own`
};

struct log {
    size_t size = 0;
    // Entries with their numbers.
    std::unordered_map<uint32_t, std::vector<std::pair<size_t, entry>>> of_block;
    std::vector<std::pair<size_t, part>> hearsay; // of other logs
};

// Of each thread, since the last barrier.
struct since_barrier {
    bool listed = false;      // in `changed`
    uint32_t fence = 0;       // stamp after its last fence; 0: none
    knowledge pending, known; // what it may learn at its next fence, and has learned
};

static struct {
    bool runs = false;
    size_t threads = 0;
    uint32_t block = 0, thread = 0;
    uint32_t barrier = 1, highest = 1; // stamps: at the last barrier, and of any thread
    std::vector<uint32_t> stamp;       // of the threads
    std::vector<uint32_t> warp;        // stamp at the warp's last barrier
    std::vector<bool> waited;
    std::vector<since_barrier> since;
    std::vector<uint32_t> changed; // threads with something in `since`
    bounds released;               // before the last barrier
    knowledge pending, known;      // before the last barrier, of all threads
    std::unordered_map<uintptr_t, log> logs;
} now;

// ---- Knowledge of other blocks ----

static void learn(knowledge *k, const part &news) {
    for (part &p : *k)
        if (p.of == news.of) {
            p.entries = std::max(p.entries, news.entries);
            return;
        }
    k->push_back(news);
}

static void learn_all(knowledge *k, const knowledge &news) {
    for (const part &p : news) learn(k, p);
}

static bool released_by(const entry &e, const place_in_kernel &a) {
    return e.released.cover(a) || (a.thread == e.thread && a.stamp < e.own);
}

static bool part_has(const part &p, const place_in_kernel &a) {
    const auto found = p.of->of_block.find(a.block);
    if (found != p.of->of_block.end())
        for (const auto &[number, e] : found->second)
            if (number < p.entries && released_by(e, a)) return true;
    return std::any_of(p.of->hearsay.begin(), p.of->hearsay.end(),
                       [&](const auto &h) { return h.first < p.entries && part_has(h.second, a); });
}

static bool knows(const knowledge &k, const place_in_kernel &a) {
    return std::any_of(k.begin(), k.end(), [&](const part &p) { return part_has(p, a); });
}

// ---- Asking ----

place_in_kernel running_thread() {
    if (!now.runs) return {0, 0, 0};
    return {now.block, now.thread, now.stamp[now.thread]};
}

bool in_running_block(const place_in_kernel &a) {
    return a.block == now.block;
}

bool happened_in_kernel(const place_in_kernel &a) {
    if (!now.runs) return true;
    if (a.block == now.block) {
        if (a.thread == now.thread || a.stamp < now.barrier) return true;
        const uint32_t mine = now.thread / WARP_LANES;
        if (a.thread / WARP_LANES == mine && a.stamp < now.warp[mine]) return true;
    }
    return knows(now.known, a) || knows(now.since[now.thread].known, a);
}

// ---- Fences and atomic operations ----

static void advance(uint32_t thread, uint32_t stamp) {
    now.stamp[thread] = stamp;
    now.highest = std::max(now.highest, stamp);
    check_stamp(now.highest);
}

static since_barrier *mine() {
    since_barrier *const s = &now.since[now.thread];
    if (!s->listed) now.changed.push_back(now.thread);
    s->listed = true;
    return s;
}

void fence() {
    if (!now.runs) return;
    since_barrier *s = mine();
    advance(now.thread, now.stamp[now.thread] + 1);
    s->fence = now.stamp[now.thread];
    learn_all(&s->known, now.pending);
    learn_all(&s->known, s->pending);
}

// A fence also covers what the other threads did before the last barrier.
static void release(log *l) {
    const since_barrier &s = now.since[now.thread];
    entry e = {now.released, now.thread, s.fence};
    if (s.fence) e.released.all = std::max(e.released.all, now.barrier);
    for (const knowledge *k : {(const knowledge *)&now.known, &s.known})
        for (const part &p : *k)
            if (p.of != l) l->hearsay.push_back({l->size, p});
    l->of_block[now.block].push_back({l->size++, e});
}

void atomic_at(uintptr_t address) {
    if (!now.runs) return;
    log *l = &now.logs[address];
    if (l->size > 0) learn(&mine()->pending, {l, l->size});
    release(l);
}

// ---- Barriers ----

// Joins what the threads have released since the last barrier.
static void join_releases() {
    bool fenced = false;
    std::vector<uint32_t> each(now.threads);
    for (const uint32_t t : now.changed) {
        each[t] = now.since[t].fence;
        fenced = fenced || each[t] > 0;
    }
    if (!fenced) return;
    now.released.all = now.barrier;
    for (uint32_t t = 0; t < now.threads; t++)
        if (now.released.each) each[t] = std::max(each[t], (*now.released.each)[t]);
    const auto [low, high] = std::minmax_element(each.begin(), each.end());
    const bool equal = *low == *high;
    if (equal) now.released.all = std::max(now.released.all, *low);
    now.released.each =
        equal ? nullptr : std::make_shared<const std::vector<uint32_t>>(std::move(each));
}

void block_met() {
    join_releases();
    for (const uint32_t t : now.changed) {
        learn_all(&now.pending, now.since[t].pending);
        learn_all(&now.known, now.since[t].known);
        now.since[t] = since_barrier();
    }
    now.changed.clear();
    now.barrier = now.highest + 1;
    for (uint32_t t = 0; t < now.threads; t++) advance(t, now.barrier);
}

void warp_met() {
    const uint32_t w = now.thread / WARP_LANES, stamp = now.highest + 1;
    now.warp[w] = stamp;
    for (uint32_t t = w * WARP_LANES; t < (w + 1) * WARP_LANES; t++) advance(t, stamp);
}

// ---- Blocks and kernels ----

void begin_kernel(const char *name, const char *file, dim3 grid, dim3 block, bool early) {
    running *const r = current();
    r->kernel = true;
    describe(this_kernel(name, file, grid, block));
    if (!early) r->early = r->now;
    now.runs = true;
    now.threads = (size_t)block.x * block.y * block.z;
    now.logs.clear();
}

void begin_block(size_t number) {
    now.block = (uint32_t)number;
    now.barrier = now.highest = 1;
    now.stamp.assign(now.threads, 1);
    now.warp.assign((now.threads + WARP_LANES - 1) / WARP_LANES, 1);
    now.waited.assign(now.threads, false);
    now.since.assign(now.threads, since_barrier());
    now.changed.clear();
    now.released = bounds();
    now.pending.clear();
    now.known.clear();
}

void end_kernel() {
    now.runs = false;
    current()->seen = &current()->now;
}

void turn_to(size_t thread) {
    running *const r = current();
    now.thread = (uint32_t)thread;
    r->seen = now.waited[thread] ? &r->now : &r->early;
}

void waited() {
    now.waited[now.thread] = true;
    current()->seen = &current()->now;
}

} // namespace races
} // namespace emulation
