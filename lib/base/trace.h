// SPDX-License-Identifier: MIT
// trace.h - timelines of threads: spans of time on tracks, as JSON for Perfetto and
// chrome://tracing.
//
// A recorder holds the tracks of one process, a track the spans of one thread. Without a recorder
// nothing is recorded: every function below accepts a NULL recorder or track, and then only tests
// the pointer.
//
// A track has room for a fixed number of spans, allocated when it is made. Spans that come when it
// is full are left out and counted. There are no locks: one thread at a time writes a track, and a
// thread that continues another one's track must have synchronised with it before (at a barrier, or
// a join).
//
// There are two kinds of spans. *Phases* divide a thread's time; those of one track never overlap,
// and a phase that continues the last one extends its span. *Operations* name the purpose of the
// phases: they enclose phases and each other ("step 17", "forward 2"). A span is recorded when it
// is over, so a phase comes before the operation around it.
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
// characters. Names of spans are not copied; names of processes and tracks are cut to this.
enum { TRACE_NAME_BYTES = 48 };

// ---- Recording ----

// Makes a recorder for process `number` (from 0) of those whose traces will be merged. Each of its
// tracks has room for `room` spans of 40 bytes; memory is used only as a track fills.
trace *trace_new(int number, const char *name, size_t room);
// Frees the recorder and its tracks. NULL is fine.
void trace_free(trace *t);

// Adds a track, with a name formatted as printf does. Only one thread at a time may do this. *track
// is NULL if `t` is.
void trace_track_new(trace *t, trace_track **track, const char *format, ...) PRINTF_LIKE(3, 4);
// Returns the track that was added first, or NULL.
trace_track *trace_first(const trace *t);

typedef enum trace_kind { TRACE_PHASE, TRACE_OPERATION } trace_kind;
enum { TRACE_UNNUMBERED = -1 };

// Used by the functions below; the track must not be NULL.
void trace_record(trace_track *t, trace_kind kind, const char *name, int64_t number, uint64_t begin,
                  uint64_t end);
void trace_record_rest(trace_track *t, const char *name, uint64_t begin, uint64_t end);

// Returns the current time, or 0 if there is no track.
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

// Records as a phase the part of [begin, end) that lies after all spans of the track so far: the
// time in which the thread recorded nothing else, usually waiting.
static inline void trace_rest(trace_track *t, const char *name, uint64_t begin, uint64_t end) {
    if (t) trace_record_rest(t, name, begin, end);
}

// ---- Writing ----
//
// The file is an object with the list "traceEvents": for each track its name, then its spans by
// start time, each after those that enclose it; times are in microseconds. Traces of several
// processes are merged by writing their events one after the other:
//
//     trace_head   (trace_text until it is 0) for each process   trace_tail
//
// Each of these writes text without a terminating zero into `room` bytes, at least
// TRACE_TEXT_BYTES, and returns its length.

// Ends the recording and sorts the spans.
void trace_end(trace *t);

// Return when the first span begins (UINT64_MAX: there is none), and how many spans were left out.
uint64_t trace_begin(const trace *t);
uint64_t trace_left_out(const trace *t);

typedef struct trace_cursor {
    size_t track, item;
} trace_cursor;

enum { TRACE_TEXT_BYTES = 1024 };

// Writes as many more whole events as fit; `origin` is time 0. Begin with a zeroed cursor.
size_t trace_text(const trace *t, uint64_t origin, trace_cursor *at, char *text, size_t room);

// `tool` is shown next to process 0; `left_out` is the count of all processes.
size_t trace_head(const char *tool, char *text, size_t room);
size_t trace_tail(const char *tool, uint64_t left_out, char *text, size_t room);

#endif
