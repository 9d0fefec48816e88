// SPDX-License-Identifier: MIT
// shared_memory.h - the memory that the ranks of one host share: their barrier and their vectors.
//
//     control | one slot per rank | vectors of rank 0, 1, … | result | gather, even | gather, odd
//
// It is a nameless file in memory (memfd), so nothing remains after the last rank, however it
// ended.
//
// Barrier. The control word holds a generation, incremented by the last rank that arrives, and a
// failure bit. Both are in one atomic word, so a barrier either succeeds for every rank or fails
// for every rank. Ranks wait for the word to change: they spin for some microseconds if there is a
// processor for each, then sleep (futex).
//
// Death. Each rank holds a record lock on one byte of the file, byte r for rank r; the kernel
// releases it when the process ends, however it ends. A rank that has slept SHARED_POLL_MS
// checks the locks of those that are not known to be counted in the barrier. That needs no process
// numbers, so it is safe from their reuse, and it costs nothing as long as no rank is late. (A
// process loses its locks with the first descriptor of the file that it closes, so it opens the
// file once.)
#ifndef LOCKSTEP_DIST_SHARED_MEMORY_H
#define LOCKSTEP_DIST_SHARED_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

enum {
    SHARED_POLL_MS = 100,
    SHARED_STALL_SECONDS = 60, // how long a rank may be stopped (SIGSTOP) while others wait for it
    SHARED_MAX_RANKS = 1024,
    SHARED_TERMS = 4, // vectors that a rank can write at once; more go in several rounds
    SHARED_ALIGNMENT = 64,
};

typedef struct shared_memory shared_memory;

typedef enum shared_failure {
    SHARED_DIED = 1, // the process is gone
    SHARED_LEFT,     // it detached while others still needed it
    SHARED_ERROR,    // it reported an error
    SHARED_STALLED,  // it is stopped
} shared_failure;

// Makes shared memory for `size` ranks, vectors of up to n floats and gathered pieces of up to
// gather_bytes (larger ones go in several rounds). Takes address space for 4 · size vectors, but
// memory only as it is used.
status shared_create(int size, size_t n, size_t gather_bytes, shared_memory **s,
                     error *err) MUST_CHECK;

// Maps another process's shared memory from its file, which is closed along with *s, also if this
// fails. `token` must match, so that nothing else is mapped by accident.
status shared_open(int file, uint64_t token, shared_memory **s, error *err) MUST_CHECK;

// Unmaps and closes. NULL is fine.
void shared_free(shared_memory *s);

int shared_size(const shared_memory *s);
int shared_file(const shared_memory *s);
uint64_t shared_token(const shared_memory *s);

// Announces that `process` will become rank `rank`, so that a stop before it attaches is detected.
void shared_expect(shared_memory *s, int rank, pid_t process);
// Makes this process rank `rank`.
status shared_attach(shared_memory *s, int rank, error *err) MUST_CHECK;
// Detaches: from now on, waiting for this rank is an error.
void shared_leave(shared_memory *s, int rank);

// Returns when all ranks are here. The data that a rank wrote before are then visible to all.
status shared_barrier(shared_memory *s, int rank, error *err) MUST_CHECK;

// Checks without waiting whether the group has failed, or a rank has died, left or stalled. The
// caller repeats it every SHARED_POLL_MS and keeps *stalled, 0 at first, between the calls.
status shared_check(shared_memory *s, int *stalled, error *err) MUST_CHECK;

// Marks `rank` as failed and wakes all ranks; only the first failure counts.
void shared_fail(shared_memory *s, int rank, shared_failure how);
// Returns the rank that failed first, or -1.
int shared_failed(const shared_memory *s, shared_failure *how);

// Changes SHARED_STALL_SECONDS for this mapping; for tests.
void shared_set_stall(shared_memory *s, int seconds);

// Return the areas of the memory. `room` is in floats (bytes for the gather area).
float *shared_vectors(const shared_memory *s, int rank, size_t *room);
float *shared_result(const shared_memory *s, size_t *room);
unsigned char *shared_gather(const shared_memory *s, int parity, int rank, size_t *room);

// Returns the place for rank `rank`'s final error, which the process that started it reads.
error *shared_report(const shared_memory *s, int rank);

#endif
