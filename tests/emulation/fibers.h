// fibers.h - stacks that take turns on one thread of the host.
#ifndef LOCKSTEP_EMULATION_FIBERS_H
#define LOCKSTEP_EMULATION_FIBERS_H

namespace emulation {

struct fiber;

// The one that runs; outside of all fibers, one that stands for the caller's own stack.
fiber *running_fiber();

// A fiber that will run `body`, which must never return. Fibers are never freed: whoever has done
// its work is kept, and given something else to do.
fiber *new_fiber(void (*body)());

// Goes on there, and comes back when somebody switches to this one.
void switch_to(fiber *to);

} // namespace emulation

#endif
