// segment.h - the memory that the ranks of one host share: where they meet, and where vectors lie.
//
//     control | a slot a rank | vectors of rank 0, 1, … | result | gather, even | gather, odd
//
// The segment is a nameless file in memory (memfd), so nothing remains when the last rank is gone,
// however it went.
//
// Meeting. The control word holds a generation, counted up by the last rank that arrives, and one
// bit that says "failed". Both live in one atomic word, so a meeting either succeeds for every rank
// or fails for every rank. Ranks wait for the word to change: for some microseconds with their eyes
// open when there is a processor for each, then asleep (futex).
//
// Death. Each rank holds a record lock on one byte of the file, byte r for rank r; the kernel
// releases it when the process ends, however it ends. A rank that has slept SEGMENT_PATIENCE_MS
// looks at the locks of those that are missing. That needs no process numbers, so it is safe from
// their reuse, and it costs nothing while all goes well. (A process loses its locks with the first
// descriptor of the file that it closes, so it opens the file once.)
#ifndef LOCKSTEP_DIST_SEGMENT_H
#define LOCKSTEP_DIST_SEGMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

enum {
    SEGMENT_PATIENCE_MS = 100,
    SEGMENT_STALL_SECONDS = 60, // how long a rank may be stopped (SIGSTOP) while others wait for it
    SEGMENT_MAX_RANKS = 1024,
    SEGMENT_TERMS = 4, // vectors that a rank can lay down at once; more go in several rounds
    SEGMENT_ALIGNMENT = 64,
};

typedef struct segment segment;

typedef enum segment_failure {
    SEGMENT_DIED = 1, // the process is gone
    SEGMENT_LEFT,     // it gave up its part while others still needed it
    SEGMENT_ERROR,    // it reported an error
    SEGMENT_STALLED,  // it is stopped
} segment_failure;

// A segment for `size` ranks, vectors of up to n floats and gathered pieces of up to gather_bytes
// (larger ones go in several rounds). Takes address space for 4 · size vectors, and memory only for
// what is used.
status segment_create(int size, size_t n, size_t gather_bytes, segment **s, error *err) MUST_CHECK;

// Maps the segment that another process of this user made: its file `fd` there. `token` must be
// that segment's, so that nothing else is mapped by accident.
status segment_open(pid_t process, int fd, uint64_t token, segment **s, error *err) MUST_CHECK;

// Unmaps and closes. NULL is fine.
void segment_free(segment *s);

int segment_size(const segment *s);
int segment_file(const segment *s);
uint64_t segment_token(const segment *s);

// This process is rank `rank` from now on.
status segment_attach(segment *s, int rank, error *err) MUST_CHECK;
// It is so no longer: from now on to wait for this rank is an error.
void segment_leave(segment *s, int rank);

// Returns when all ranks are here. What a rank has written before, others may read behind.
status segment_meet(segment *s, int rank, error *err) MUST_CHECK;

// Without waiting: has the group failed, or does a rank give a reason to say so now? Whoever asks
// every SEGMENT_PATIENCE_MS keeps *stalled, 0 at first, between the calls.
status segment_look(segment *s, int *stalled, error *err) MUST_CHECK;

// Says that `rank` has failed and wakes everybody; only the first word counts.
void segment_fail(segment *s, int rank, segment_failure how);
// The rank that failed first, or -1.
int segment_failed(const segment *s, segment_failure *how);

// Changes SEGMENT_STALL_SECONDS for this mapping; for tests.
void segment_set_stall(segment *s, int seconds);

// Places in the segment. `room` is in floats (bytes for the gather area).
float *segment_vectors(const segment *s, int rank, size_t *room);
float *segment_result(const segment *s, size_t *room);
unsigned char *segment_gather(const segment *s, int parity, int rank, size_t *room);

// Where rank `rank` leaves its last words for whoever started it.
error *segment_report(const segment *s, int rank);

#endif
