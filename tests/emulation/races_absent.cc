// SPDX-License-Identifier: MIT
// The hooks of races.h in builds that do not look for races.
#include "races.h"

namespace emulation {
namespace races {

moment host_now() {
    return nullptr;
}

void host_follows(const moment &) {}

moment end_of(const timeline &) {
    return nullptr;
}

void line_follows(timeline *, const moment &) {}

work after_host(work what) {
    return what;
}

piece::piece(timeline *) : before_(nullptr) {}

piece::~piece() {
    (void)before_;
}

moment here() {
    return nullptr;
}

void follow(const moment &) {}

std::shared_ptr<branches> new_branches() {
    return nullptr;
}

std::shared_ptr<graph_run> begin_graph(const std::shared_ptr<branches> &, size_t) {
    return nullptr;
}

cudaError_t run_node(graph_run *, size_t, const std::vector<size_t> &, const work &what) {
    return what();
}

void end_graph(graph_run *) {}

void begin_kernel(const char *, const char *, dim3, dim3, bool) {}

void begin_block(size_t) {}

void end_kernel() {}

void turn_to(size_t) {}

void waited() {}

void block_met() {}

void warp_met() {}

void fence() {}

void add_memory(void *, size_t) {}

void remove_memory(void *, size_t) {}

void add_shared(void *, void *) {}

} // namespace races
} // namespace emulation
