// SPDX-License-Identifier: MIT
// Fibers: started by makecontext, switched by the compiler's own setjmp and longjmp. These make no
// system call, unlike swapcontext. Sanitizers do not intercept them, unlike the library's setjmp
// and longjmp, and so keep the state of the stack that is left.
#include "fibers.h"

#include <sys/mman.h>
#include <ucontext.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#include "emulation.h"

#ifdef EMULATION_ASAN
#include <sanitizer/common_interface_defs.h>
#endif

namespace emulation {

static const size_t STACK_BYTES = 256 << 10; // untouched pages take no memory
static const size_t GUARD_BYTES = 64 << 10; // below it, so that an overflow is a segmentation fault

struct fiber {
    void (*body)() = nullptr;
    const void *stack = nullptr; // its lowest address and size, for AddressSanitizer
    size_t size = 0;
    bool started = false;
    void *place[5] = {}; // for __builtin_setjmp
    void *fake_stack = nullptr;
};

static fiber host = {nullptr, nullptr, 0, true, {}, nullptr};
static fiber *running = &host, *left = &host; // `left`: the fiber that ran before

fiber *running_fiber() {
    return running;
}

#ifdef EMULATION_ASAN
static void leaving(fiber *from, const fiber *to) {
    __sanitizer_start_switch_fiber(&from->fake_stack, to->stack, to->size);
}

// If the stack that was left is not a fiber's, it is the host's: only here can its place be found.
static void arrived() {
    __sanitizer_finish_switch_fiber(running->fake_stack, &left->stack, &left->size);
}
#else
static void leaving(fiber *, const fiber *) {}
static void arrived() {}
#endif

static void begin() {
    arrived();
    running->body();
    abort(); // a body does not return
}

// Functions that leave a stack must not be instrumented: their frame would stay marked as in use.
#define LEAVES_STACK __attribute__((noinline, no_sanitize("address")))

[[noreturn]] LEAVES_STACK static void start(fiber *f) {
    static ucontext_t context;
    getcontext(&context);
    context.uc_stack.ss_sp = const_cast<void *>(f->stack);
    context.uc_stack.ss_size = f->size;
    context.uc_link = nullptr;
    makecontext(&context, begin, 0);
    f->started = true;
    setcontext(&context);
    abort();
}

// A separate function, as __builtin_longjmp must not be in the function that it jumps to; noreturn,
// as switch_to's frame must be kept for the jump back.
[[noreturn]] LEAVES_STACK static void go_on(fiber *to) {
    if (to->started) __builtin_longjmp(to->place, 1);
    start(to);
}

LEAVES_STACK void switch_to(fiber *to) {
    leaving(running, to);
    left = running;
    running = to;
    if (__builtin_setjmp(left->place) == 0) go_on(to);
    arrived();
}

fiber *new_fiber(void (*body)()) {
    static std::vector<std::unique_ptr<fiber>> all;
    char *memory = (char *)mmap(nullptr, GUARD_BYTES + STACK_BYTES, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED || mprotect(memory, GUARD_BYTES, PROT_NONE) != 0) {
        perror("emulation: no stack for a fiber");
        abort();
    }
    all.push_back(std::make_unique<fiber>());
    all.back()->body = body;
    all.back()->stack = memory + GUARD_BYTES;
    all.back()->size = STACK_BYTES;
    return all.back().get();
}

} // namespace emulation
