// SPDX-License-Identifier: MIT
// races.h - finds data races in kernels, streams and graphs: `make check-races`.
//
// Two accesses race if they touch the same byte, at least one writes, not both are atomic, and
// nothing orders one before the other, whatever the order was in this run. `make check-races`
// compiles the backend with -fsanitize=thread: the compiler then calls a function for each access.
// In place of its runtime library, which has too few fibers, races/ supplies these functions. All
// other builds are linked with races_absent.cc instead, where every hook does nothing.
//
// **What is checked.** Every access to device memory, page-locked memory and __shared__ variables:
// by kernels, by cuBLAS and NCCL (their emulations), by copies and fills, and by the host code of
// the backend. Each 4 bytes have a cell of their own, each byte where a program touches single
// bytes. A cell holds the last write and the reads since then. No access is left out.
//
// **What orders.** Between pieces of work (a kernel, a copy, a fill, an event that is recorded or
// waited for, a function on the host, a product, a node of a graph):
//
// - A stream runs one after another. A graph's nodes follow those that the capture says. A launched
//   graph follows its stream's earlier work and its own earlier launches.
// - Work follows what the host did, or has waited for, before it submitted the work.
// - A wait for an event follows the work before the event's last record.
// - A device's default stream and its blocking streams follow each other.
// - The host follows work after it has synchronized with the device, the stream or the event, after
//   a query that says "done", and after a copy to pageable memory or a cudaMemcpy. It does not
//   after a cudaFree, nor because a queue is full.
// - A kernel that may start early (programmatic dependent launch) follows the kernel before it only
//   from cudaGridDependencySynchronize() on, in each thread.
//
// Within a kernel, between threads:
//
// - of a block: __syncthreads(). Of a warp: __syncwarp(), which a shuffle is not: it "does not
//   guarantee any memory ordering" (CUDA C++ Programming Guide).
// - of two blocks: __threadfence(), then an atomic operation by the same thread, or by another one
//   after a barrier; on the other side an atomic operation on the same address later, then a fence,
//   by the same thread or by another one after a barrier.
// - The thread with the last atomic operation on an address may touch that address plainly.
//
// **What it cannot see.** Only code that runs is checked, and only with its data: a race needs both
// accesses in one run. All host threads count as one (`make sanitize` looks at them), and other
// processes are not seen: what ranks write into each other's memory is checked within each rank
// only. Kernels' local variables are private. Functions of the C library are checked only for
// memcpy, memmove and memset. A plain write is forgotten at the next atomic operation on its
// address. Of the reads that one kernel makes of a cell, the last ones count: two by different
// threads of the last block that read it, and one by a block before. A write by the same kernel is
// compared with these; by another kernel, one would do.
//
// **What it costs.** 80 bytes for every cell of a page (4096 bytes) that was touched, and 12 bytes
// for every piece of work.
//
// **What it reports.** Each pair of source lines once: both accesses, with their lines (addr2line
// names them), kernel, block and thread, or the place where a copy was submitted.
// LOCKSTEP_EMULATED_RACES=FILE: reports are appended to this file, and each kernel that ran appends
// a line "ran NAME"; without it reports go to standard error.
#ifndef LOCKSTEP_EMULATION_RACES_H
#define LOCKSTEP_EMULATION_RACES_H

#include <memory>
#include <string>
#include <vector>

#include "emulation.h"

namespace emulation {
namespace races {

// All of these need the lock that guards everything.

// ---- Between pieces of work ----

struct clock;
// What has happened before a certain point. Null: nothing.
using moment = std::shared_ptr<const clock>;

struct sequence;
// Work that runs one after another: of a stream, or of a branch of a graph. Null: none yet.
using timeline = std::shared_ptr<sequence>;

// What the host has done, and waited for, before now. Its later accesses are not part of it.
moment host_now();
void host_follows(const moment &before);
// What happened up to the end of the last piece of a line.
moment end_of(const timeline &l);
// The next piece of a line follows these, too.
void line_follows(timeline *l, const moment &before);

// Returns the work, made to follow what the host has done so far; reports name the caller's caller.
work after_host(work what);

// While one exists, the calling thread runs a new piece of work of a line.
class piece {
  public:
    explicit piece(timeline *on);
    ~piece();
    piece(const piece &) = delete;
    piece &operator=(const piece &) = delete;

  private:
    void *before_; // the piece that this one interrupts
};

// What has happened before the end of the running piece of work.
moment here();
// The running piece follows these, too.
void follow(const moment &before);

// ---- Graphs ----

// The lines of a graph's branches. Launches of one executable graph follow each other.
struct branches;
std::shared_ptr<branches> new_branches();

// One launch of a graph.
struct graph_run;
std::shared_ptr<graph_run> begin_graph(const std::shared_ptr<branches> &of, size_t nodes);
// Runs node i, which follows the nodes `after`, or else the piece of work that launched the graph.
cudaError_t run_node(graph_run *run, size_t i, const std::vector<size_t> &after, const work &what);
// The running piece follows the whole graph.
void end_graph(graph_run *run);

// ---- Within a kernel ----

// `file`: where it is launched. `early`: it may start before the kernels in front have ended.
void begin_kernel(const char *name, const char *file, dim3 grid, dim3 block, bool early);
void begin_block(size_t number);
void end_kernel();
// The thread that runs from now on, by its number in the block.
void turn_to(size_t thread);
// The running thread has waited for earlier kernels.
void waited();
// All threads of the block have arrived at a barrier; all lanes of the running thread's warp.
void block_met();
void warp_met();
// The running thread has passed a fence.
void fence();

// ---- Memory ----

void add_memory(void *at, size_t size);
void remove_memory(void *at, size_t size);
// __shared__ variables: each block has its own.
void add_shared(void *begin, void *end);

} // namespace races
} // namespace emulation

#endif
