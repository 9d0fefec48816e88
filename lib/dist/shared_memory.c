// SPDX-License-Identifier: MIT
#include "dist/shared_memory.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/cores.h"
#include "base/memory.h"
#include "base/reduction_tree.h"

// Points in a barrier where a rank may die or be stopped. A test that includes this file defines
// them to do that; otherwise they do nothing.
enum { BARRIER_ENTERED, BARRIER_COUNTED, BARRIER_LAST, BARRIER_OPENED, BARRIER_POINTS };
#ifndef BARRIER_POINT
#define BARRIER_POINT(s, rank, point) ((void)0)
#endif

static_assert(ATOMIC_INT_LOCK_FREE == 2, "atomic words are shared between processes");

enum {
    FAILED = 1,     // the lowest bit of the barrier word
    GENERATION = 2, // the bits above count barriers
    NO_BARRIER = 1, // a generation that no rank waits for
    // Some microseconds: about the cost of sleeping and being woken, so a wait never takes more
    // than twice the time of the better choice.
    SPINS = 100,
    // A vector of 16 floats for every node that a cover can have, so rounds are never empty.
    MIN_VECTORS = 2 * REDUCTION_TREE_MAX_DEPTH * 16,
};

typedef struct slot {
    _Alignas(SHARED_ALIGNMENT) atomic_int presence; // below
    atomic_uint counted; // the generation of the barrier that counts this rank, plus GENERATION
    atomic_int process;  // to find out whether it is stopped; 0: unknown
    error report;
} slot;

enum { ABSENT, PRESENT, GONE };

typedef struct control {
    uint64_t token;
    int size;
    size_t vector_room, result_room, gather_room;
    atomic_int first_failure; // rank + 1 and, from bit 16 on, how it failed; 0: none
    // On separate lines: all waiting ranks read `word`.
    _Alignas(SHARED_ALIGNMENT) atomic_uint word;
    _Alignas(SHARED_ALIGNMENT) atomic_int arrivals;
    atomic_int sleepers;
    slot slots[];
} control;

struct shared_memory {
    control *control;
    size_t bytes;
    size_t vectors, result, gather; // offsets
    int file;
    bool spin;
    int stall_seconds;
};

// ---- Making and mapping ----

static size_t round_up(size_t n, size_t to) {
    return (n + to - 1) / to * to;
}

// Offsets follow from the sizes in the control block; all are bounded, so nothing overflows.
static void find_places(shared_memory *s, int size, size_t vector, size_t result, size_t gather) {
    const size_t ranks = (size_t)size;
    s->vectors = round_up(sizeof(control) + ranks * sizeof(slot), SHARED_ALIGNMENT);
    s->result = s->vectors + ranks * vector * sizeof(float);
    s->gather = s->result + result * sizeof(float);
    s->bytes = s->gather + 2 * ranks * gather;
}

static status map(shared_memory *s, error *err) {
    void *at = mmap(NULL, s->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, s->file, 0);
    if (at == MAP_FAILED)
        return error_system(err, STATUS_FAILED, errno, "cannot map %zu bytes of shared memory",
                            s->bytes);
    s->control = at;
    return STATUS_OK;
}

static shared_memory *new_shared(void) {
    shared_memory *s = memory_new(1, sizeof *s);
    s->file = -1;
    s->stall_seconds = SHARED_STALL_SECONDS;
    return s;
}

status shared_create(int size, size_t n, size_t gather_bytes, shared_memory **out, error *err) {
    *out = NULL;
    const size_t most = (size_t)1 << 32;
    if (size < 1 || size > SHARED_MAX_RANKS || n > most || gather_bytes > most)
        return error_set(err, STATUS_USAGE,
                         "cannot share memory among %d ranks: at most %d ranks, vectors of %zu "
                         "floats and pieces of %zu bytes",
                         size, SHARED_MAX_RANKS, most, most);
    shared_memory *s = new_shared();
    status rc = STATUS_OK;
    const size_t vector = round_up(n ? n : 1, SHARED_ALIGNMENT);
    const size_t gather = round_up(gather_bytes ? gather_bytes : 1, SHARED_ALIGNMENT);
    const size_t room = SHARED_TERMS * vector > MIN_VECTORS ? SHARED_TERMS * vector : MIN_VECTORS;
    find_places(s, size, room, vector, gather);
    s->file = memfd_create("lockstep", MFD_CLOEXEC);
    if (s->file < 0 || ftruncate(s->file, (off_t)s->bytes) != 0) {
        rc = error_system(err, STATUS_FAILED, errno, "cannot create %zu bytes of shared memory",
                          s->bytes);
        goto out;
    }
    TRY(map(s, err));
    control *c = s->control;
    c->size = size;
    c->vector_room = room;
    c->result_room = vector;
    c->gather_room = gather;
    s->spin = cores_usable() >= size;
    if (getrandom(&c->token, sizeof c->token, 0) != sizeof c->token)
        rc = error_system(err, STATUS_FAILED, errno, "cannot get a random number");
out:
    if (rc != STATUS_OK) {
        shared_free(s);
        s = NULL;
    }
    *out = s;
    return rc;
}

// Returns true if the numbers in the control block describe this file.
static bool is_ours(shared_memory *s, uint64_t token) {
    const size_t bytes = s->bytes;
    const control *c = s->control;
    if (c->token != token || c->size < 1 || c->size > SHARED_MAX_RANKS) return false;
    find_places(s, c->size, c->vector_room, c->result_room, c->gather_room);
    const bool fits = s->bytes == bytes;
    s->bytes = bytes;
    return fits;
}

static status not_ours(error *err) {
    return error_set(err, STATUS_FAILED,
                     "cannot map shared memory: the file received is not this group's");
}

status shared_open(int file, uint64_t token, shared_memory **out, error *err) {
    struct stat info;
    status rc = STATUS_FAILED;
    *out = NULL;
    shared_memory *s = new_shared();
    s->file = file;
    if (fstat(file, &info) != 0 || !S_ISREG(info.st_mode) ||
        info.st_size < (off_t)sizeof(control)) {
        rc = not_ours(err);
        goto out;
    }
    s->bytes = (size_t)info.st_size;
    TRY(map(s, err));
    if (is_ours(s, token))
        s->spin = cores_usable() >= s->control->size;
    else
        rc = not_ours(err);
out:
    if (rc != STATUS_OK) {
        shared_free(s);
        s = NULL;
    }
    *out = s;
    return rc;
}

void shared_free(shared_memory *s) {
    if (!s) return;
    if (s->control) munmap(s->control, s->bytes);
    if (s->file >= 0) close(s->file);
    free(s);
}

// ---- Places ----

int shared_size(const shared_memory *s) {
    return s->control->size;
}

int shared_file(const shared_memory *s) {
    return s->file;
}

uint64_t shared_token(const shared_memory *s) {
    return s->control->token;
}

float *shared_vectors(const shared_memory *s, int rank, size_t *room) {
    *room = s->control->vector_room;
    return (float *)(void *)((char *)s->control + s->vectors) + (size_t)rank * *room;
}

float *shared_result(const shared_memory *s, size_t *room) {
    *room = s->control->result_room;
    return (float *)(void *)((char *)s->control + s->result);
}

unsigned char *shared_gather(const shared_memory *s, int parity, int rank, size_t *room) {
    *room = s->control->gather_room;
    const size_t piece = (size_t)parity * (size_t)s->control->size + (size_t)rank;
    return (unsigned char *)s->control + s->gather + piece * *room;
}

error *shared_report(const shared_memory *s, int rank) {
    return &s->control->slots[rank].report;
}

void shared_set_stall(shared_memory *s, int seconds) {
    s->stall_seconds = seconds;
}

// ---- Presence ----

static struct flock lock_of(int rank, short type) {
    return (struct flock){.l_type = type, .l_whence = SEEK_SET, .l_start = rank, .l_len = 1};
}

status shared_attach(shared_memory *s, int rank, error *err) {
    slot *mine = &s->control->slots[rank];
    struct flock lock = lock_of(rank, F_WRLCK);
    if (fcntl(s->file, F_SETLK, &lock) != 0)
        return error_system(err, STATUS_FAILED, errno, "cannot join the group as rank %d", rank);
    atomic_store(&mine->process, (int)getpid());
    atomic_store(&mine->presence, PRESENT);
    return STATUS_OK;
}

void shared_expect(shared_memory *s, int rank, pid_t process) {
    atomic_store(&s->control->slots[rank].process, (int)process);
}

static void wake(control *c) {
    syscall(SYS_futex, &c->word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

void shared_leave(shared_memory *s, int rank) {
    atomic_store(&s->control->slots[rank].presence, GONE);
    wake(s->control); // ranks that wait for this one look again
}

// A lock that can be acquired is held by no process. (A process does not see its own: ranks that
// are threads of one process never look dead to each other.)
static bool is_dead(const shared_memory *s, int rank) {
    struct flock lock = lock_of(rank, F_WRLCK);
    return fcntl(s->file, F_GETLK, &lock) == 0 && lock.l_type == F_UNLCK &&
           atomic_load(&s->control->slots[rank].process) != (int)getpid();
}

// Returns true if a signal stopped it: state T in /proc. An invisible process counts as running.
static bool is_stopped(const shared_memory *s, int rank) {
    char path[64], text[512];
    snprintf(path, sizeof path, "/proc/%d/stat", atomic_load(&s->control->slots[rank].process));
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return false;
    const ssize_t got = read(file, text, sizeof text - 1);
    close(file);
    if (got <= 0) return false;
    text[got] = 0;
    const char *state = strrchr(text, ')'); // after the name, which may contain anything
    return state && strncmp(state, ") T", 3) == 0;
}

// ---- Failing ----

void shared_fail(shared_memory *s, int rank, shared_failure how) {
    control *c = s->control;
    int nobody = 0;
    atomic_compare_exchange_strong(&c->first_failure, &nobody, (rank + 1) | (int)how << 16);
    atomic_fetch_or(&c->word, FAILED);
    wake(c);
}

int shared_failed(const shared_memory *s, shared_failure *how) {
    const int first_failure = atomic_load(&s->control->first_failure);
    *how = (shared_failure)(first_failure >> 16);
    return (first_failure & 0xffff) - 1;
}

static status failure(const shared_memory *s, error *err) {
    shared_failure how;
    const int rank = shared_failed(s, &how);
    const char *const what[] = {
        [SHARED_DIED] = "died",
        [SHARED_LEFT] = "left the group while other ranks waited for it",
        [SHARED_ERROR] = "failed",
        [SHARED_STALLED] = "is stopped and did not resume in time",
    };
    return error_set(err, STATUS_FAILED, "rank %d %s", rank, what[how]);
}

// ---- The barrier ----

// Returns true if the word has changed, so this barrier is over. NO_BARRIER is never over.
static bool is_over(const control *c, unsigned generation) {
    return generation != NO_BARRIER && atomic_load(&c->word) != generation;
}

// Looks for a reason why ranks that are not known to be counted never will be. `stalled` counts how
// often in a row one was found stopped: a clock would also count the time during which the whole
// job was stopped.
static void check_ranks(shared_memory *s, unsigned generation, int *stalled) {
    control *c = s->control;
    bool stopped = false;
    for (int r = 0; r < c->size; r++) {
        slot *other = &c->slots[r];
        // The order of the reads matters: a rank that was counted, or ended the barrier, and left
        // after that must not be reported as having left it.
        const int presence = atomic_load(&other->presence);
        const bool dead = presence == PRESENT && is_dead(s, r);
        if (atomic_load(&other->counted) == generation + GENERATION) continue;
        if (is_over(c, generation)) return;
        if (presence == GONE) shared_fail(s, r, SHARED_LEFT);
        if (dead) shared_fail(s, r, SHARED_DIED);
        if (presence == GONE || dead || !is_stopped(s, r)) continue;
        stopped = true;
        if ((int64_t)*stalled * SHARED_POLL_MS >= (int64_t)s->stall_seconds * 1000)
            shared_fail(s, r, SHARED_STALLED);
    }
    *stalled = stopped ? *stalled + 1 : 0;
}

status shared_check(shared_memory *s, int *stalled, error *err) {
    const control *c = s->control;
    if (!(atomic_load(&c->word) & FAILED)) check_ranks(s, NO_BARRIER, stalled);
    return atomic_load(&c->word) & FAILED ? failure(s, err) : STATUS_OK;
}

static void relax(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

// Waits until the word is no longer `word`.
static void wait_for_change(shared_memory *s, unsigned word) {
    control *c = s->control;
    const struct timespec patience = {.tv_nsec = SHARED_POLL_MS * 1000000L};
    for (int i = 0; s->spin && i < SPINS; i++) {
        if (atomic_load_explicit(&c->word, memory_order_acquire) != word) return;
        relax();
    }
    int stalled = 0;
    atomic_fetch_add(&c->sleepers, 1);
    while (atomic_load(&c->word) == word) {
        // Woken, timed out or interrupted: the word decides. If it has not changed, looking around
        // is cheap.
        const long rc = syscall(SYS_futex, &c->word, FUTEX_WAIT, word, &patience, NULL, 0);
        if ((rc == 0 || errno == ETIMEDOUT) && atomic_load(&c->word) == word)
            check_ranks(s, word, &stalled);
    }
    atomic_fetch_sub(&c->sleepers, 1);
}

// Opens the barrier as the last rank to arrive. That rank is never marked as counted: until the
// word has changed, the others must detect its death.
static status complete_barrier(shared_memory *s, int rank, unsigned word, error *err) {
    control *c = s->control;
    (void)rank; // used by tests
    atomic_store(&c->arrivals, 0);
    BARRIER_POINT(s, rank, BARRIER_LAST);
    if (!atomic_compare_exchange_strong(&c->word, &word, word + GENERATION)) return failure(s, err);
    BARRIER_POINT(s, rank, BARRIER_OPENED);
    if (atomic_load(&c->sleepers) > 0) wake(c);
    return STATUS_OK;
}

// A rank may die, or be stopped, anywhere in here. It is counted before it is marked: in the
// reverse order, a rank that died in between would pass for one that has arrived.
status shared_barrier(shared_memory *s, int rank, error *err) {
    control *c = s->control;
    const unsigned word = atomic_load(&c->word);
    if (word & FAILED) return failure(s, err);
    BARRIER_POINT(s, rank, BARRIER_ENTERED);
    const bool last = atomic_fetch_add(&c->arrivals, 1) == c->size - 1;
    BARRIER_POINT(s, rank, BARRIER_COUNTED);
    if (last) return complete_barrier(s, rank, word, err);
    atomic_store(&c->slots[rank].counted, word + GENERATION);
    wait_for_change(s, word);
    // A failure after the barrier was over belongs to the next one.
    return (atomic_load(&c->word) & ~(unsigned)FAILED) != word ? STATUS_OK : failure(s, err);
}
