// SPDX-License-Identifier: MIT
// order.h - shared by the files that look for races: which piece of work runs, and what it follows.
#ifndef LOCKSTEP_EMULATION_RACES_ORDER_H
#define LOCKSTEP_EMULATION_RACES_ORDER_H

#include <cstdint>

#include "../races.h"

namespace emulation {
namespace races {

// A vector clock: for each line, by its number, the last of its pieces that has happened.
struct clock {
    std::vector<uint32_t> at;

    uint32_t of(uint32_t line) const { return line < at.size() ? at[line] : 0; }
    void set(uint32_t line, uint32_t piece);
    void join(const clock &other);
};

// A piece of work that runs, or what the host does between two submissions.
struct running {
    sequence *on = nullptr;
    uint32_t line = 0, number = 1; // the piece's place: lines are numbered, and their pieces
    uint32_t task = 0;             // in the table of tasks
    clock now;                     // what it follows, and itself
    clock early;                   // what it follows before it has waited for earlier kernels
    const clock *seen = &now;      // one of these two: of the thread that runs
    bool kernel = false;
};

// Of the calling thread.
running *current();
// The piece that stands for the host, for all of its threads.
extern running host;

// All pieces ever run; their numbers, from 1 on, are in shadow memory.
struct task {
    uint32_t line, number;
    uint32_t what; // in report.cc
};
// The number of the running piece there.
uint32_t current_task();
const task &task_of(uint32_t number);
// Says what the running piece does.
void describe(uint32_t what);

// Whether another piece of work happened before the running thread's next access.
inline bool happened(const task &t) {
    return current()->seen->of(t.line) >= t.number;
}

} // namespace races
} // namespace emulation

#endif
