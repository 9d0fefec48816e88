// SPDX-License-Identifier: MIT
#include "compute/cpu/team.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"

// About 0.1 ms of pauses: longer than the gap between two steps, too short to notice.
enum { SPINS = 3000 };

typedef struct member {
    team *owner;
    int number;
    pthread_t thread;
} member;

// The last member to arrive resets `arrived` and starts the next generation. Both are on separate
// cache lines.
typedef struct barrier {
    _Alignas(64) atomic_int arrived;
    _Alignas(64) atomic_uint generation;
    atomic_int sleepers;
} barrier;

struct team {
    int size, started;
    bool spin, quit;
    atomic_ullong slept; // of crews
    void (*body)(void *, int);
    void *argument;
    member *members;
    barrier all, *of_crews; // of the crew whose first member has this number
};

static void relax(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

static void sleep_while(atomic_uint *word, unsigned value) {
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

// Returns how long the caller slept.
static uint64_t meet(barrier *b, int size, bool spin) {
    const unsigned generation = atomic_load(&b->generation);
    if (atomic_fetch_add(&b->arrived, 1) == size - 1) {
        atomic_store(&b->arrived, 0);
        atomic_store(&b->generation, generation + 1);
        if (atomic_load(&b->sleepers) > 0)
            syscall(SYS_futex, &b->generation, FUTEX_WAKE_PRIVATE, size, NULL, NULL, 0);
        return 0;
    }
    for (int i = 0; spin && i < SPINS; i++) {
        if (atomic_load_explicit(&b->generation, memory_order_acquire) != generation) return 0;
        relax();
    }
    const uint64_t start = clock_now();
    atomic_fetch_add(&b->sleepers, 1);
    while (atomic_load(&b->generation) == generation) sleep_while(&b->generation, generation);
    atomic_fetch_sub(&b->sleepers, 1);
    return clock_now() - start;
}

void team_barrier(team *t) {
    if (t->size > 1) (void)meet(&t->all, t->size, t->spin);
}

void team_meet(team *t, crew c) {
    if (c.size == 1) return;
    const uint64_t slept = meet(&t->of_crews[c.first], c.size, c.spin);
    if (slept > 0) atomic_fetch_add(&t->slept, slept);
}

uint64_t team_slept(team *t) {
    return atomic_exchange(&t->slept, 0);
}

static void *serve(void *argument) {
    const member *m = argument;
    for (;;) {
        team_barrier(m->owner); // released by team_run
        if (m->owner->quit) return NULL;
        m->owner->body(m->owner->argument, m->number);
        team_barrier(m->owner);
    }
}

void team_run(team *t, void (*body)(void *, int), void *argument) {
    t->body = body;
    t->argument = argument;
    team_barrier(t);
    body(argument, 0);
    team_barrier(t);
}

status team_new(int size, bool spin, team **out, error *err) {
    *out = NULL;
    team *t = memory_new_aligned(1, sizeof *t);
    t->size = size;
    t->spin = spin;
    t->members = memory_new((size_t)size, sizeof *t->members);
    t->of_crews = memory_new_aligned((size_t)size, sizeof *t->of_crews);
    // Only the main thread handles signals.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed = 0;
    for (t->started = 1; t->started < size && !failed; t->started++) {
        t->members[t->started] = (member){.owner = t, .number = t->started};
        failed =
            pthread_create(&t->members[t->started].thread, NULL, serve, &t->members[t->started]);
        if (failed) break;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (failed) {
        error_system(err, STATUS_FAILED, failed, "cannot start thread %d of %d", t->started + 1,
                     size);
        // The started threads wait at a barrier for all `size` members. Reduce the size to complete
        // it.
        t->size = t->started;
        team_free(t);
        return STATUS_FAILED;
    }
    *out = t;
    return STATUS_OK;
}

void team_free(team *t) {
    if (!t) return;
    t->quit = true;
    team_barrier(t);
    for (int i = 1; i < t->started; i++) pthread_join(t->members[i].thread, NULL);
    free(t->members);
    free(t->of_crews);
    free(t);
}

int team_size(const team *t) {
    return t->size;
}
