// SPDX-License-Identifier: MIT
// report.h - shared by the files that look for races: names of places and of work, and reports.
#ifndef LOCKSTEP_EMULATION_RACES_REPORT_H
#define LOCKSTEP_EMULATION_RACES_REPORT_H

#include <cstdint>
#include <string>
#include <vector>

#include "../races.h"

namespace emulation {
namespace races {

// ---- Work ----

enum : uint32_t { THE_HOST }; // the number of "the host"

// Equal ones get equal numbers. The place is that of the caller of the CUDA function.
uint32_t this_submission();
uint32_t this_kernel(const char *name, const char *file, dim3 grid, dim3 block);

// ---- Places ----

// An instruction, as its distance from the program's or library's beginning.
uint32_t place_of(const void *instruction);

// ---- Accesses ----

// 16 bytes, because each cell of shadow memory holds several.
struct access {
    uint32_t task; // 0: none
    uint32_t block;
    uint32_t thread : 10, atomic : 1, more : 1, stamp : 20;
    uint32_t place;
};
static_assert(sizeof(access) == 16, "an access has 16 bytes");
// Ends the program if a thread has more barriers and fences than fit.
void check_stamp(uint32_t stamp);

struct finding {
    const access *before, *after;
    bool before_writes, after_writes, shared;
};
void report(const finding &f);

// Returns the reports since the last call; from the first call on they are printed nowhere else.
std::vector<std::string> take_reports();

} // namespace races
} // namespace emulation

#endif
