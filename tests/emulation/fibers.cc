// SPDX-License-Identifier: MIT
// Fibers. They are switched by a few instructions of our own: swapcontext makes a system call,
// sanitizers intercept the library's setjmp and longjmp, and after a longjmp, the compiler's own
// too, a processor predicts no return right, as calls and returns no longer pair. Here they do.
#include "fibers.h"

#include <sys/mman.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "emulation.h"

#ifdef EMULATION_ASAN
#include <sanitizer/common_interface_defs.h>
#endif

namespace emulation {

static const size_t STACK_BYTES = 256 << 10; // untouched pages take no memory
static const size_t GUARD_BYTES = 64 << 10; // below it, so that an overflow is a segmentation fault
// Stacks begin so many bytes further down, one after another: at the same place in their pages,
// they would all take the same few lines of the processor's caches.
static const size_t STAGGER_BYTES = 5 * 64, STAGGERED_BYTES = 64 << 10;

struct fiber {
    void (*body)() = nullptr;
    const void *stack = nullptr; // its lowest address and size, for AddressSanitizer
    size_t size = 0;
    void *top = nullptr; // of the stack, while another fiber runs
    void *fake_stack = nullptr;
};

static fiber host;
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

// emulation_switch(TOP, TO): saves the registers that a call preserves on the stack, and the
// stack's top in *TOP; continues at the top TO, which was saved so.
extern "C" __attribute__((visibility("hidden"))) void emulation_switch(void **top, void *to);
#if defined(__x86_64__)
enum { FIRST_WORDS = 8, RETURN_TO = -2 }; // a call leaves 8 bytes above a multiple of 16
asm(".text\n.hidden emulation_switch\n.globl emulation_switch\nemulation_switch:\n"
    "push %rbp\npush %rbx\npush %r12\npush %r13\npush %r14\npush %r15\n"
    "mov %rsp, (%rdi)\nmov %rsi, %rsp\n"
    "pop %r15\npop %r14\npop %r13\npop %r12\npop %rbx\npop %rbp\nret\n");
#elif defined(__aarch64__)
enum { FIRST_WORDS = 20, RETURN_TO = -1 }; // x30
asm(".text\n.hidden emulation_switch\n.globl emulation_switch\nemulation_switch:\n"
    "sub sp, sp, #160\n"
    "stp d8, d9, [sp]\nstp d10, d11, [sp, #16]\nstp d12, d13, [sp, #32]\nstp d14, d15, [sp, #48]\n"
    "stp x19, x20, [sp, #64]\nstp x21, x22, [sp, #80]\nstp x23, x24, [sp, #96]\n"
    "stp x25, x26, [sp, #112]\nstp x27, x28, [sp, #128]\nstp x29, x30, [sp, #144]\n"
    "mov x9, sp\nstr x9, [x0]\nmov sp, x1\n"
    "ldp d8, d9, [sp]\nldp d10, d11, [sp, #16]\nldp d12, d13, [sp, #32]\nldp d14, d15, [sp, #48]\n"
    "ldp x19, x20, [sp, #64]\nldp x21, x22, [sp, #80]\nldp x23, x24, [sp, #96]\n"
    "ldp x25, x26, [sp, #112]\nldp x27, x28, [sp, #128]\nldp x29, x30, [sp, #144]\n"
    "add sp, sp, #160\nret\n");
#else
#error "the emulation runs on x86-64 and aarch64"
#endif

static void begin() {
    arrived();
    running->body();
    abort(); // a body does not return
}

// A function that leaves a stack must not be instrumented: its frame would stay marked as in use.
__attribute__((noinline, no_sanitize("address"))) void switch_to(fiber *to) {
    leaving(running, to);
    left = running;
    running = to;
    emulation_switch(&left->top, to->top);
    arrived();
}

// The top of a new stack: as emulation_switch leaves one that `begin` has just been called on.
static void *first_top(char *stack, size_t size) {
    void **const end = (void **)(stack + size);
    memset(end - FIRST_WORDS, 0, FIRST_WORDS * sizeof *end);
    end[RETURN_TO] = (void *)begin;
    return end - FIRST_WORDS;
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
    const size_t stagger = all.size() * STAGGER_BYTES % STAGGERED_BYTES;
    all.back()->top = first_top(memory + GUARD_BYTES, STACK_BYTES - stagger);
    return all.back().get();
}

} // namespace emulation
