// SPDX-License-Identifier: MIT
#include "compute/cpu/team.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"

// About 0.1 ms of pauses: longer than the gap between two steps, too short to notice. After the
// first few, most waits are over.
enum { SPINS = 3000, FEW_SPINS = 64 };

typedef struct member {
    _Alignas(64) atomic_int core; // on which it began the current run
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

// The members of a run wait at `start` for the next one. Those that are not among it go on to sleep
// until `size` is above their number.
struct team {
    int room, started;
    int wanted;       // members of the next run, or of the current one
    int waiting;      // of the last one: at `start`, or on their way there
    atomic_uint size; // of the current one
    bool spin, quit;
    atomic_ullong slept; // of crews
    void (*body)(void *, int);
    void *argument;
    member *members;
    barrier start, all, *of_crews; // of the crew whose first member has this number
};

static void relax(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

static void sleep_while(atomic_uint *word, unsigned value) {
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

static void wake_all(atomic_uint *word) {
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

// Did another member begin the run on this core? Then that one cannot arrive while the caller
// spins, or its core is another one by now.
static bool shares_core(const team *t) {
    const int here = sched_getcpu();
    const unsigned size = atomic_load_explicit(&t->size, memory_order_relaxed);
    int members = 0;
    for (unsigned i = 0; i < size; i++)
        members += atomic_load_explicit(&t->members[i].core, memory_order_relaxed) == here;
    return members > 1;
}

// Returns how long the caller slept.
static uint64_t meet(const team *t, barrier *b, int size, bool spin) {
    const unsigned generation = atomic_load(&b->generation);
    if (atomic_fetch_add(&b->arrived, 1) == size - 1) {
        atomic_store(&b->arrived, 0);
        atomic_store(&b->generation, generation + 1);
        if (atomic_load(&b->sleepers) > 0) wake_all(&b->generation);
        return 0;
    }
    for (int i = 0; spin && i < SPINS; i++) {
        if (atomic_load_explicit(&b->generation, memory_order_acquire) != generation) return 0;
        if (i == FEW_SPINS && shares_core(t)) break;
        relax();
    }
    const uint64_t start = clock_now();
    atomic_fetch_add(&b->sleepers, 1);
    while (atomic_load(&b->generation) == generation) sleep_while(&b->generation, generation);
    atomic_fetch_sub(&b->sleepers, 1);
    return clock_now() - start;
}

void team_barrier(team *t) {
    const int size = team_size(t);
    if (size > 1) (void)meet(t, &t->all, size, t->spin);
}

void team_meet(team *t, crew c) {
    if (c.size == 1) return;
    const uint64_t slept = meet(t, &t->of_crews[c.first], c.size, c.spin);
    if (slept > 0) atomic_fetch_add(&t->slept, slept);
}

uint64_t team_slept(team *t) {
    return atomic_exchange(&t->slept, 0);
}

static void run_body(team *t, int number) {
    atomic_store_explicit(&t->members[number].core, sched_getcpu(), memory_order_relaxed);
    t->body(t->argument, number);
    team_barrier(t);
}

// A member that is late to sleep may find that a later run needs it, and takes part in that one.
static void *serve(void *argument) {
    const member *m = argument;
    team *t = m->owner;
    for (;;) {
        (void)meet(t, &t->start, t->waiting, t->spin); // released by begin_run
        for (unsigned size; (size = atomic_load(&t->size)) <= (unsigned)m->number;)
            sleep_while(&t->size, size);
        if (t->quit) return NULL;
        run_body(t, m->number);
    }
}

// Until all members of this run have met at its end, none reads `waiting`.
static void begin_run(team *t) {
    const unsigned before = atomic_load(&t->size), size = (unsigned)t->wanted;
    if (size != before) atomic_store(&t->size, size);
    if (size > before) wake_all(&t->size);
    if (t->waiting > 1) (void)meet(t, &t->start, t->waiting, t->spin);
    t->waiting = t->wanted;
}

void team_run(team *t, void (*body)(void *, int), void *argument) {
    t->body = body;
    t->argument = argument;
    begin_run(t);
    run_body(t, 0);
}

void team_resize(team *t, int size) {
    t->wanted = size;
}

status team_new(int room, bool spin, team **out, error *err) {
    *out = NULL;
    team *t = memory_new_aligned(1, sizeof *t);
    t->room = t->wanted = t->waiting = room;
    t->size = (unsigned)room;
    t->spin = spin;
    t->members = memory_new_aligned((size_t)room, sizeof *t->members);
    t->of_crews = memory_new_aligned((size_t)room, sizeof *t->of_crews);
    // Only the main thread handles signals.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed = 0;
    for (t->started = 1; t->started < room && !failed; t->started++) {
        member *m = &t->members[t->started];
        m->owner = t;
        m->number = t->started;
        failed = pthread_create(&m->thread, NULL, serve, m);
        if (failed) break;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (failed) {
        error_system(err, STATUS_FAILED, failed, "cannot start thread %d of %d", t->started + 1,
                     room);
        // The started threads wait at `start` for all members: the last to arrive there, with
        // fewer, is this one.
        t->room = t->waiting = t->started;
        while (atomic_load(&t->start.arrived) < t->started - 1) sched_yield();
        team_free(t);
        return STATUS_FAILED;
    }
    *out = t;
    return STATUS_OK;
}

void team_free(team *t) {
    if (!t) return;
    t->quit = true;
    t->wanted = t->room;
    begin_run(t);
    for (int i = 1; i < t->started; i++) pthread_join(t->members[i].thread, NULL);
    free(t->members);
    free(t->of_crews);
    free(t);
}

int team_size(const team *t) {
    return t->wanted;
}
