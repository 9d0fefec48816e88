// trace.h - who did what, and when: spans of time on tracks, as JSON for Perfetto and
// chrome://tracing.
//
// A recorder holds the tracks of one process, a track the spans of one thread. Where there is no
// recorder nothing is recorded: every function below takes a NULL recorder or track, and then does
// nothing more than see that it is NULL.
//
// A track has room for a fixed number of spans, taken when it is made. What comes when it is full
// is left out and counted. There are no locks: a track is written by one thread at a time, and one
// that goes on where another has written must have met it before (at a barrier, or a join).
//
// There are two kinds of spans. *Phases* are what a thread's time is made of; those of one track
// never overlap, and one that goes on where the last one ended is the same span. *Operations* are
// what the phases were for: they enclose phases and each other ("step 17", "forward 2"). A span is
// recorded when it is over, so a phase comes before the operation around it.
//
// Times are those of clock_now: one clock for all processes of a host.
#ifndef LOCKSTEP_BASE_TRACE_H
#define LOCKSTEP_BASE_TRACE_H

#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/error.h"

typedef struct trace trace;
typedef struct trace_track trace_track;

// Names of processes, tracks and spans are plain text: no quotes, backslashes or control
// characters. Those of spans are not copied; names of processes and tracks are cut to this.
enum { TRACE_NAME_BYTES = 48 };

// ---- Recording ----

// A recorder for process `number` (from 0) of those whose traces will be put together. Each of its
// tracks has room for `room` spans of 40 bytes; memory is only used as it fills.
status trace_new(int number, const char *name, size_t room, trace **t, error *err) MUST_CHECK;
// Frees it and its tracks. NULL is fine.
void trace_free(trace *t);

// Adds a track, with a name as printf makes it. One thread at a time may do this. *track is NULL
// when `t` is.
status trace_track_new(trace *t, trace_track **track, error *err, const char *format, ...)
    PRINTF_LIKE(4, 5) MUST_CHECK;
// The track that was added first, or NULL.
trace_track *trace_first(const trace *t);

typedef enum trace_kind { TRACE_PHASE, TRACE_OPERATION } trace_kind;
enum { TRACE_UNNUMBERED = -1 };

// What the functions below are made of; the track must not be NULL.
void trace_record(trace_track *t, trace_kind kind, const char *name, int64_t number, uint64_t begin,
                  uint64_t end);
void trace_record_rest(trace_track *t, const char *name, uint64_t begin, uint64_t end);

// The time now, or 0 where nobody wants to know.
static inline uint64_t trace_clock(const trace_track *t) {
    return t ? clock_now() : 0;
}

static inline void trace_phase(trace_track *t, const char *name, uint64_t begin, uint64_t end) {
    if (t) trace_record(t, TRACE_PHASE, name, TRACE_UNNUMBERED, begin, end);
}

// `number` becomes a part of the name, unless it is TRACE_UNNUMBERED.
static inline void trace_operation(trace_track *t, const char *name, int64_t number, uint64_t begin,
                                   uint64_t end) {
    if (t) trace_record(t, TRACE_OPERATION, name, number, begin, end);
}

// The part of [begin, end) that lies behind all spans of the track so far, as a phase: what a
// thread did while nothing else was recorded, usually waiting.
static inline void trace_rest(trace_track *t, const char *name, uint64_t begin, uint64_t end) {
    if (t) trace_record_rest(t, name, begin, end);
}

// ---- Writing ----
//
// The file is an object with the list "traceEvents": of each track its name, then its spans in the
// order of their beginnings, each behind those that enclose it; times in microseconds. Traces of
// several processes are put together by writing their events one after the other:
//
//     trace_head   (trace_text until it is 0) for each process   trace_tail
//
// Each of these writes text that is not terminated into `room` bytes, at least TRACE_TEXT_BYTES,
// and returns its length.

// Ends the recording and sorts.
void trace_end(trace *t);

// When the first span begins (UINT64_MAX: there is none), and how many spans were left out.
uint64_t trace_begin(const trace *t);
uint64_t trace_left_out(const trace *t);

typedef struct trace_cursor {
    size_t track, item;
} trace_cursor;

enum { TRACE_TEXT_BYTES = 1024 };

// As many more whole events as fit; `origin` is time 0. Begin with a zeroed cursor.
size_t trace_text(const trace *t, uint64_t origin, trace_cursor *at, char *text, size_t room);

// `tool` is shown beside process 0; `left_out` is of all processes.
size_t trace_head(const char *tool, char *text, size_t room);
size_t trace_tail(const char *tool, uint64_t left_out, char *text, size_t room);

#endif
