// shared_memory.h - the memory that the ranks of one host share: where they meet, and where vectors
// lie.
//
//     control | a slot a rank | vectors of rank 0, 1, … | result | gather, even | gather, odd
//
// It is a nameless file in memory (memfd), so nothing remains when the last rank is gone,
// however it went.
//
// Meeting. The control word holds a generation, counted up by the last rank that arrives, and one
// bit that says "failed". Both live in one atomic word, so a meeting either succeeds for every rank
// or fails for every rank. Ranks wait for the word to change: for some microseconds with their eyes
// open when there is a processor for each, then asleep (futex).
//
// Death. Each rank holds a record lock on one byte of the file, byte r for rank r; the kernel
// releases it when the process ends, however it ends. A rank that has slept SHARED_PATIENCE_MS
// looks at the locks of those that are not known to be counted in the meeting. That needs no
// process numbers, so it is safe from their reuse, and it costs nothing while all goes well. (A
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
    SHARED_PATIENCE_MS = 100,
    SHARED_STALL_SECONDS = 60, // how long a rank may be stopped (SIGSTOP) while others wait for it
    SHARED_MAX_RANKS = 1024,
    SHARED_TERMS = 4, // vectors that a rank can lay down at once; more go in several rounds
    SHARED_ALIGNMENT = 64,
};

typedef struct shared_memory shared_memory;

typedef enum shared_failure {
    SHARED_DIED = 1, // the process is gone
    SHARED_LEFT,     // it gave up its part while others still needed it
    SHARED_ERROR,    // it reported an error
    SHARED_STALLED,  // it is stopped
} shared_failure;

// Shared memory for `size` ranks, vectors of up to n floats and gathered pieces of up to
// gather_bytes (larger ones go in several rounds). Takes address space for 4 · size vectors, and
// memory only for what is used.
status shared_create(int size, size_t n, size_t gather_bytes, shared_memory **s,
                     error *err) MUST_CHECK;

// Maps the one that another process made, whose file this is; it is closed along with *s, also when
// this fails. `token` must be its own, so that nothing else is mapped by accident.
status shared_open(int file, uint64_t token, shared_memory **s, error *err) MUST_CHECK;

// Unmaps and closes. NULL is fine.
void shared_free(shared_memory *s);

int shared_size(const shared_memory *s);
int shared_file(const shared_memory *s);
uint64_t shared_token(const shared_memory *s);

// That process will be rank `rank`: should it be stopped before it is, the others learn of it.
void shared_expect(shared_memory *s, int rank, pid_t process);
// This process is rank `rank` from now on.
status shared_attach(shared_memory *s, int rank, error *err) MUST_CHECK;
// It is so no longer: from now on to wait for this rank is an error.
void shared_leave(shared_memory *s, int rank);

// Returns when all ranks are here. What a rank has written before, others may read behind.
status shared_meet(shared_memory *s, int rank, error *err) MUST_CHECK;

// Without waiting: has the group failed, or does a rank give a reason to say so now? Whoever asks
// every SHARED_PATIENCE_MS keeps *stalled, 0 at first, between the calls.
status shared_look(shared_memory *s, int *stalled, error *err) MUST_CHECK;

// Says that `rank` has failed and wakes everybody; only the first word counts.
void shared_fail(shared_memory *s, int rank, shared_failure how);
// The rank that failed first, or -1.
int shared_failed(const shared_memory *s, shared_failure *how);

// Changes SHARED_STALL_SECONDS for this mapping; for tests.
void shared_set_stall(shared_memory *s, int seconds);

// Places in it. `room` is in floats (bytes for the gather area).
float *shared_vectors(const shared_memory *s, int rank, size_t *room);
float *shared_result(const shared_memory *s, size_t *room);
unsigned char *shared_gather(const shared_memory *s, int parity, int rank, size_t *room);

// Where rank `rank` leaves its last words for whoever started it.
error *shared_report(const shared_memory *s, int rank);

#endif
