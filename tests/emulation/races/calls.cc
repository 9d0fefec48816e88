// SPDX-License-Identifier: MIT
// The functions that -fsanitize=thread makes the compiler call, and those of the C library that
// touch memory (-Wl,--wrap).
//
// This file itself is compiled without the option. Memory that is not watched costs two loads.
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "order.h"
#include "shadow.h"
#include "threads.h"

namespace emulation {
namespace races {

static void access(const void *at, size_t size, bool writes, bool atomic, const void *from) {
    if (!is_watched(at)) return;
    if (current() != &host) {
        touch(at, size, writes, atomic, from);
        return;
    }
    hold lock(everything);
    touch(at, size, writes, atomic, from);
}

static void atomic_access(const volatile void *at, size_t size, bool writes, const void *from) {
    access((const void *)at, size, writes, true, from);
    if (current() != &host) atomic_at((uintptr_t)at);
}

} // namespace races
} // namespace emulation

using namespace emulation;

#define HERE __builtin_return_address(0)

extern "C" {

void __tsan_init();
void __tsan_init() {}
void __tsan_func_entry(void *);
void __tsan_func_entry(void *) {}
void __tsan_func_exit();
void __tsan_func_exit() {}

// ---- Plain accesses ----

#define PLAIN(name, size, writes)                     \
    void name(void *at);                              \
    void name(void *at) {                             \
        races::access(at, size, writes, false, HERE); \
    }
#define BOTH(infix, size)                          \
    PLAIN(__tsan_##infix##read##size, size, false) \
    PLAIN(__tsan_##infix##write##size, size, true)
BOTH(, 1)
BOTH(, 2)
BOTH(, 4)
BOTH(, 8)
BOTH(, 16)
BOTH(unaligned_, 2)
BOTH(unaligned_, 4)
BOTH(unaligned_, 8)
BOTH(unaligned_, 16)
PLAIN(__tsan_vptr_read, 8, false)

void __tsan_vptr_update(void *at, void *);
void __tsan_vptr_update(void *at, void *) {
    races::access(at, 8, true, false, HERE);
}

void __tsan_read_range(void *at, size_t size);
void __tsan_read_range(void *at, size_t size) {
    races::access(at, size, false, false, HERE);
}

void __tsan_write_range(void *at, size_t size);
void __tsan_write_range(void *at, size_t size) {
    races::access(at, size, true, false, HERE);
}

// ---- Atomic operations ----

// Whatever order they ask for: between blocks only fences order.
#define ATOMIC(bits)                                                                           \
    typedef uint##bits##_t a##bits;                                                            \
    a##bits __tsan_atomic##bits##_load(const volatile a##bits *at, int);                       \
    a##bits __tsan_atomic##bits##_load(const volatile a##bits *at, int) {                      \
        races::atomic_access(at, bits / 8, false, HERE);                                       \
        return __atomic_load_n(at, __ATOMIC_SEQ_CST);                                          \
    }                                                                                          \
    void __tsan_atomic##bits##_store(volatile a##bits *at, a##bits value, int);                \
    void __tsan_atomic##bits##_store(volatile a##bits *at, a##bits value, int) {               \
        races::atomic_access(at, bits / 8, true, HERE);                                        \
        __atomic_store_n(at, value, __ATOMIC_SEQ_CST);                                         \
    }                                                                                          \
    a##bits __tsan_atomic##bits##_fetch_add(volatile a##bits *at, a##bits value, int);         \
    a##bits __tsan_atomic##bits##_fetch_add(volatile a##bits *at, a##bits value, int) {        \
        races::atomic_access(at, bits / 8, true, HERE);                                        \
        return __atomic_fetch_add(at, value, __ATOMIC_SEQ_CST);                                \
    }                                                                                          \
    int __tsan_atomic##bits##_compare_exchange_strong(volatile a##bits *at, a##bits *expected, \
                                                      a##bits value, int, int);                \
    int __tsan_atomic##bits##_compare_exchange_strong(volatile a##bits *at, a##bits *expected, \
                                                      a##bits value, int, int) {               \
        races::atomic_access(at, bits / 8, true, HERE);                                        \
        return __atomic_compare_exchange_n(at, expected, value, false, __ATOMIC_SEQ_CST,       \
                                           __ATOMIC_SEQ_CST);                                  \
    }
ATOMIC(8)
ATOMIC(32)
ATOMIC(64)

// ---- The C library ----

void *__real_memcpy(void *to, const void *from, size_t size);
void *__wrap_memcpy(void *to, const void *from, size_t size);
void *__wrap_memcpy(void *to, const void *from, size_t size) {
    races::access(from, size, false, false, HERE);
    races::access(to, size, true, false, HERE);
    return __real_memcpy(to, from, size);
}

void *__real_memmove(void *to, const void *from, size_t size);
void *__wrap_memmove(void *to, const void *from, size_t size);
void *__wrap_memmove(void *to, const void *from, size_t size) {
    races::access(from, size, false, false, HERE);
    races::access(to, size, true, false, HERE);
    return __real_memmove(to, from, size);
}

void *__real_memset(void *to, int value, size_t size);
void *__wrap_memset(void *to, int value, size_t size);
void *__wrap_memset(void *to, int value, size_t size) {
    races::access(to, size, true, false, HERE);
    return __real_memset(to, value, size);
}

} // extern "C"
