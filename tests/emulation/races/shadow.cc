// SPDX-License-Identifier: MIT
// Shadow memory: the last accesses to each cell, and what a new access must follow.
#include "shadow.h"

#include <algorithm>
#include <cstdlib>
#include <unordered_map>
#include <utility>

#include "order.h"
#include "report.h"
#include "threads.h"

namespace emulation {
namespace races {

enum { PAGE = 4096, READS = 4, GIB_PAGES = 1 << 18, GIBS = 1 << 17 };

struct cell {
    access write;
    access reads[READS];
};

struct page {
    cell *cells = nullptr; // null: never touched
    uint32_t begin, end;   // bytes that belong to the memory
    bool shared;           // __shared__
    bool fine = false;     // a cell for each byte, not for 4
};

// ---- Pages ----

static page **gibs[GIBS]; // of the address space; null: none is watched

static page *find(uintptr_t address) {
    page **const gib = address >> 47 ? nullptr : gibs[address >> 30];
    return gib ? gib[address / PAGE % GIB_PAGES] : nullptr;
}

static page **slot(uintptr_t address) {
    page ***const gib = &gibs[address >> 30];
    if (!*gib) *gib = (page **)calloc(GIB_PAGES, sizeof(page *));
    if (!*gib) abort();
    return &(*gib)[address / PAGE % GIB_PAGES];
}

static cell *new_cells(size_t n) {
    cell *const cells = (cell *)calloc(n, sizeof(cell));
    if (!cells) abort();
    return cells;
}

// Reads that no longer fit into their cells. The cell's write says that there are some.
static std::unordered_map<const cell *, std::vector<access>> &more_reads() {
    static auto *const all = new std::unordered_map<const cell *, std::vector<access>>;
    return *all;
}

// Gives each byte a cell of its own.
static void refine(page *p) {
    cell *const fine = new_cells(PAGE);
    for (size_t i = 0; i < PAGE; i++) {
        const cell *const coarse = &p->cells[i / 4];
        fine[i] = *coarse;
        if (coarse->write.more) more_reads()[&fine[i]] = more_reads()[coarse];
    }
    for (size_t i = 0; i < PAGE / 4; i++)
        if (p->cells[i].write.more) more_reads().erase(&p->cells[i]);
    free(p->cells);
    p->cells = fine;
    p->fine = true;
}

static void watch(uintptr_t begin, uintptr_t end, bool shared) {
    for (uintptr_t at = begin / PAGE * PAGE; at < end; at += PAGE) {
        page *const p = new page;
        p->begin = at < begin ? (uint32_t)(begin - at) : 0;
        p->end = (uint32_t)std::min<uintptr_t>(PAGE, end - at);
        p->shared = shared;
        *slot(at) = p;
    }
}

static void forget(page *p) {
    const size_t cells = p->cells ? (p->fine ? PAGE : PAGE / 4) : 0;
    for (size_t i = 0; i < cells; i++)
        if (p->cells[i].write.more) more_reads().erase(&p->cells[i]);
    free(p->cells);
    delete p;
}

void add_memory(void *at, size_t size) {
    watch((uintptr_t)at, (uintptr_t)at + size, false);
}

// Memory begins at a page, and an allocation's pages are followed by another one's, or by none.
void remove_memory(void *at, size_t size) {
    for (uintptr_t a = (uintptr_t)at; a < (uintptr_t)at + size; a += PAGE) {
        page **const p = slot(a);
        if (*p) forget(*p);
        *p = nullptr;
    }
}

void add_shared(void *begin, void *end) {
    watch((uintptr_t)begin, (uintptr_t)end, true);
}

// ---- Order ----

static place_in_kernel where_in_kernel(const access &a) {
    return {a.block, a.thread, a.stamp};
}

// The access that is being made.
struct attempt {
    access self;
    bool writes, shared;
};

static bool ordered(const access &before, const attempt &now) {
    if (now.shared && (before.task != now.self.task || !in_running_block(where_in_kernel(before))))
        return true; // another block's variable
    return before.task == now.self.task ? happened_in_kernel(where_in_kernel(before))
                                        : happened(task_of(before.task));
}

static void compare(const access &before, bool before_writes, const attempt &now) {
    if (before.task == 0 || (before.atomic && now.self.atomic) || ordered(before, now)) return;
    report({&before, &now.self, before_writes, now.writes, now.shared});
}

// ---- Reads ----

static bool same_block(const access &a, const access &b) {
    return a.task == b.task && a.block == b.block;
}

static uint32_t warp_of(const access &a) {
    return a.thread / WARP_LANES;
}

// The reads in a cell that a new one does not replace, and a place for it.
struct kept_reads {
    access *here[2] = {}; // by threads of the running block
    access *place = nullptr;
    bool other_block = false; // one by another block of this kernel
};

// One read of each other piece of work is enough, and one of another block of this kernel.
static bool is_needed(const cell *c, const access &a, const attempt &now, kept_reads *kept) {
    if (a.task == 0 || ordered(a, now)) return false;
    if (same_block(a, now.self)) {
        if (kept->here[1]) return false;
        kept->here[kept->here[0] != nullptr] = const_cast<access *>(&a);
        return true;
    }
    if (a.task == now.self.task) return !std::exchange(kept->other_block, true);
    return std::none_of(c->reads, &a, [&](const access &b) { return b.task == a.task; });
}

// Two reads by different threads of the running block are enough, of different warps if possible: a
// later write by a third thread races with one of them if it races with any.
static bool takes_seat(const kept_reads &kept, const attempt &now) {
    if (!kept.here[1]) return false;
    if (warp_of(*kept.here[0]) == warp_of(*kept.here[1]) &&
        warp_of(*kept.here[0]) != warp_of(now.self))
        *kept.here[1] = now.self;
    return true;
}

// Reads by so many pieces of work at once that the cell has no place for them.
static void keep_outside(cell *c, const attempt &now) {
    std::vector<access> &more = more_reads()[c];
    more.erase(
        std::remove_if(more.begin(), more.end(),
                       [&](const access &a) { return a.task == now.self.task || ordered(a, now); }),
        more.end());
    access *const other = std::find_if(c->reads, c->reads + READS,
                                       [&](const access &a) { return a.task != now.self.task; });
    more.push_back(*other);
    *other = now.self;
    c->write.more = 1;
}

static void read(cell *c, const attempt &now) {
    compare(c->write, true, now);
    kept_reads kept;
    for (access &a : c->reads)
        if (!is_needed(c, a, now, &kept)) kept.place = &a;
    if (takes_seat(kept, now)) return;
    if (kept.place)
        *kept.place = now.self;
    else
        keep_outside(c, now);
}

// ---- Writes ----

static void write(cell *c, const attempt &now) {
    compare(c->write, true, now);
    for (const access &a : c->reads) compare(a, false, now);
    if (c->write.more) {
        for (const access &a : more_reads()[c]) compare(a, false, now);
        more_reads().erase(c);
    }
    *c = cell();
    c->write = now.self;
}

// ---- All accesses ----

static bool is_same(const access &a, const access &b) {
    return a.task == b.task && a.block == b.block && a.thread == b.thread && a.stamp == b.stamp;
}

static void touch_cell(cell *c, const attempt &now) {
    if (now.writes) {
        if (!is_same(c->write, now.self) || c->reads[0].task) write(c, now);
    } else if (!is_same(c->write, now.self) && !is_same(c->reads[0], now.self)) {
        read(c, now);
    }
}

// `at` lies in one page.
static void touch_page(page *p, uintptr_t at, size_t size, const attempt &now) {
    if (!p->cells) p->cells = new_cells(PAGE / 4);
    const size_t from = at % PAGE, end = std::min<size_t>(from + size, p->end);
    if (from < p->begin) return;
    if (!p->fine && (from % 4 || (end % 4 && end < p->end))) refine(p);
    const size_t bytes = p->fine ? 1 : 4;
    for (size_t i = from / bytes; i * bytes < end; i++) touch_cell(&p->cells[i], now);
}

bool is_watched(const void *at) {
    const page *const p = find((uintptr_t)at);
    const size_t in_page = (uintptr_t)at % PAGE;
    return p && in_page >= p->begin && in_page < p->end;
}

void touch(const void *at, size_t size, bool writes, bool atomic, const void *instruction) {
    const place_in_kernel where = running_thread();
    attempt now = {};
    now.self.task = current_task();
    now.self.block = where.block;
    now.self.thread = where.thread % BLOCK_THREADS;
    now.self.atomic = atomic;
    now.self.stamp = where.stamp & 0xfffff;
    now.self.place = place_of(instruction);
    now.writes = writes;
    for (uintptr_t a = (uintptr_t)at, end = a + size; a < end;) {
        const size_t part = std::min<uintptr_t>(end - a, PAGE - a % PAGE);
        if (page *const p = find(a)) {
            now.shared = p->shared;
            touch_page(p, a, part, now);
        }
        a += part;
    }
}

} // namespace races
} // namespace emulation
