// SPDX-License-Identifier: MIT
// fibers.h - stacks that take turns on one thread of the host.
#ifndef LOCKSTEP_EMULATION_FIBERS_H
#define LOCKSTEP_EMULATION_FIBERS_H

namespace emulation {

struct fiber;

// Returns the fiber that runs; outside all fibers, one that stands for the caller's own stack.
fiber *running_fiber();

// Returns a fiber that will run `body`, which must never return. Fibers are never freed: one that
// has done its work is kept for other work.
fiber *new_fiber(void (*body)());

// Switches to that fiber; returns when another one switches back to this one.
void switch_to(fiber *to);

} // namespace emulation

#endif
