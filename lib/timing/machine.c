// SPDX-License-Identifier: MIT
#include "timing/machine.h"

#include <math.h>
#include <sched.h>
#include <sys/resource.h>

static double seconds_of(int who) {
    struct rusage use;
    if (getrusage(who, &use)) return 0;
    return (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
           (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec) / 1e6;
}

void machine_note(machine_moment *now) {
    now->clock = clock_now();
    now->own = seconds_of(RUSAGE_SELF) + seconds_of(RUSAGE_CHILDREN);
    core_use_read(&now->cores);
}

double machine_others(const machine_moment *begin, const machine_moment *end) {
    cpu_set_t own;
    double used = 0;
    if (sched_getaffinity(0, sizeof own, &own)) return NAN;
    for (size_t i = 0; i < CORE_USE_CORES && i < CPU_SETSIZE; i++)
        if (CPU_ISSET(i, &own)) used += end->cores.used[i] - begin->cores.used[i];
    const double wall = (double)(end->clock - begin->clock) / 1e9;
    return fmax(0, (used - (end->own - begin->own)) / wall);
}
