// SPDX-License-Identifier: MIT
// slow_steps.c - makes the steps of a training longer by real work, for tests/bench/calibrate.
//
//     LD_PRELOAD=slow_steps.so SLOW_CYCLES=300 SLOW_CALLS_FILE=calls train-single ...
//
// A train tool reads the clock a fixed number of times in every step, on the thread that leads the
// step. After each reading on the main thread, this library works for about SLOW_CYCLES cycles. At
// the end of the process it appends the number of such readings to SLOW_CALLS_FILE.
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

typedef int clock_reader(clockid_t which, struct timespec *now);

static clock_reader *real;
static uint64_t cycles, calls;
static _Thread_local bool is_main; // the thread that loads the library is the main one

__attribute__((constructor)) static void begin(void) {
    const char *text = getenv("SLOW_CYCLES");
    cycles = text ? strtoull(text, NULL, 10) : 0;
    is_main = true;
}

__attribute__((destructor)) static void end(void) {
    const char *path = getenv("SLOW_CALLS_FILE");
    FILE *file = path ? fopen(path, "a") : NULL;
    if (!file) return;
    fprintf(file, "%llu\n", (unsigned long long)calls);
    fclose(file);
}

// Two operations, of a cycle each on any processor, and each needs the result of the one before it.
// The empty statement keeps the compiler from shortening the chain.
static void work(void) {
    static uint64_t chain;
    for (uint64_t i = 0; i < cycles; i += 2) {
        chain ^= chain >> 1;
        __asm__ volatile("" : "+r"(chain));
    }
}

int clock_gettime(clockid_t which, struct timespec *now) {
    if (!real) *(void **)&real = dlsym(RTLD_NEXT, "clock_gettime");
    const int result = real(which, now);
    if (is_main) {
        calls++;
        work();
    }
    return result;
}
