// SPDX-License-Identifier: MIT
// cache_line.c - measures a cache line's round trip between two cores, in nanoseconds.
//
//     cc -O2 -pthread cache_line.c -o cache_line && ./cache_line [CORE CORE]
//
// Two threads, each bound to a core (by default the first two that this process may use), pass a
// ball to and fro: each waits until the ball is on its side, and moves it to the other. Prints the
// median of several rallies.
//
// Everything that threads do together waits for such round trips: barriers, locks, reductions. On a
// shared virtual machine the figure depends on where the host has placed the virtual cores at the
// moment, so it belongs next to every time that was measured on more than one core.
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifdef QUICK // shows that it works
enum { RALLIES = 1, STROKES = 200, WARM_UP = 10 };
#else
enum { RALLIES = 9, STROKES = 20000, WARM_UP = 1000 };
#endif

typedef struct table {
    _Alignas(128) atomic_int side; // of the ball: 0 or 1
    char apart[128 - sizeof(atomic_int)];
} table;

typedef struct player {
    table *table;
    int side, core;
    double nanoseconds; // a round trip
    int failed;
} player;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

// Spins: this measures the cache line alone, without a wake-up.
static void strokes(player *p, int count) {
    for (int i = 0; i < count; i++) {
        while (atomic_load_explicit(&p->table->side, memory_order_acquire) != p->side) continue;
        atomic_store_explicit(&p->table->side, !p->side, memory_order_release);
    }
}

static void *play(void *context) {
    player *p = context;
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET((size_t)p->core, &set);
    p->failed = pthread_setaffinity_np(pthread_self(), sizeof set, &set);
    strokes(p, WARM_UP);
    double start = now();
    strokes(p, STROKES);
    p->nanoseconds = (now() - start) / (double)STROKES;
    return NULL;
}

static double rally(const int core[2]) {
    static table shared; // zero: the ball is on side 0
    player players[2] = {{&shared, 0, core[0], 0, 0}, {&shared, 1, core[1], 0, 0}};
    pthread_t thread[2];
    for (int i = 0; i < 2; i++)
        if (pthread_create(&thread[i], NULL, play, &players[i])) {
            fprintf(stderr, "cache_line: cannot start a thread\n");
            exit(1);
        }
    for (int i = 0; i < 2; i++) pthread_join(thread[i], NULL);
    for (int i = 0; i < 2; i++)
        if (players[i].failed) {
            fprintf(stderr, "cache_line: cannot run on core %d: %s\n", core[i],
                    strerror(players[i].failed));
            exit(1);
        }
    return players[0].nanoseconds;
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

// Finds the first two cores that this process may use; returns 0 if there are fewer.
static int find_cores(int core[2]) {
    cpu_set_t set;
    int found = 0;
    if (sched_getaffinity(0, sizeof set, &set)) return 0;
    for (int i = 0; i < CPU_SETSIZE && found < 2; i++)
        if (CPU_ISSET((size_t)i, &set)) core[found++] = i;
    return found == 2;
}

int main(int argc, char **argv) {
    int core[2];
    if (argc == 3) {
        core[0] = atoi(argv[1]);
        core[1] = atoi(argv[2]);
    } else if (argc != 1 || !find_cores(core)) {
        fprintf(stderr,
                argc == 1 ? "cache_line: only one core\n" : "usage: cache_line [CORE CORE]\n");
        return argc == 1 ? 1 : 2;
    }
    if (core[0] < 0 || core[1] < 0 || core[0] == core[1]) {
        fprintf(stderr, "cache_line: two different cores are needed\n");
        return 2;
    }
    double time[RALLIES];
    for (int i = 0; i < RALLIES; i++) time[i] = rally(core);
    qsort(time, RALLIES, sizeof *time, by_value);
    printf("%.0f\n", time[RALLIES / 2]);
    return 0;
}
