// SPDX-License-Identifier: MIT
#include "pipeline/busy.h"

#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#include "base/clock.h"

// A tenth of a processor counts, as in a report. The kernel counts in ticks of a hundredth of a
// second on each core: fewer than three are within its error.
static const double share = 0.1, tick_error = 0.03;
static const double least_seconds = 0.3;

static double seconds_of(int who) {
    struct rusage use;
    if (getrusage(who, &use)) return 0;
    return (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
           (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec) / 1e6;
}

void busy_begin(busy_moment *begin) {
    begin->clock = clock_now();
    begin->own = seconds_of(RUSAGE_SELF) + seconds_of(RUSAGE_CHILDREN);
    core_use_read(&begin->cores);
}

// The threads of the widest run: without THREADS, a run uses all cores.
static double threads_of(const pipeline *p, const planned_runs *runs, int cores) {
    const char *given = p->settings->values[SETTING_THREADS];
    int ranks = 1;
    if (!given) return cores;
    for (size_t i = 0; i < runs->count; i++) {
        const experiment *e = &runs->items[i].e;
        if (e->strategy != STRATEGY_SINGLE && e->world_size > ranks) ranks = e->world_size;
    }
    return fmin(cores, strtod(given, NULL) * ranks);
}

// The processors that other programs used on average, on the cores available here; NAN: unknown.
static double others_since(const busy_moment *begin, const busy_moment *now, int *cores) {
    cpu_set_t own;
    double used = 0;
    if (sched_getaffinity(0, sizeof own, &own)) return NAN;
    *cores = CPU_COUNT(&own);
    for (size_t i = 0; i < CORE_USE_CORES && i < CPU_SETSIZE; i++)
        if (CPU_ISSET(i, &own)) used += now->cores.used[i] - begin->cores.used[i];
    const double wall = (double)(now->clock - begin->clock) / 1e9;
    return (used - (now->own - begin->own) - tick_error * *cores) / wall;
}

void busy_warn(const pipeline *p, const planned_runs *runs, const busy_moment *begin) {
    busy_moment now;
    char what[300];
    int cores;
    const double passed = (double)(clock_now() - begin->clock) / 1e9;
    if (passed < least_seconds) {
        const struct timespec rest = {.tv_nsec = (long)((least_seconds - passed) * 1e9)};
        nanosleep(&rest, NULL);
    }
    busy_begin(&now);
    const double others = others_since(begin, &now, &cores);
    if (!(others > share) || others + threads_of(p, runs, cores) <= cores) return;
    snprintf(what, sizeof what,
             "busy: other programs use %.1f of its %d cores; the report gives no verdict on times "
             "measured while they slow the runs down: end them first, or run this later",
             fmin(others, cores), cores);
    p->say("note", "machine", what);
}
