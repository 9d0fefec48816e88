// SPDX-License-Identifier: MIT
#include "base/trace.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

typedef struct span {
    uint64_t begin, end;
    const char *name;
    int64_t number;
    uint32_t order; // in which they were recorded
    uint32_t kind;
} span;

struct trace_track {
    char name[TRACE_NAME_BYTES];
    span *spans;
    size_t count, room;
    uint64_t end; // of the latest span, recorded or left out
    uint64_t left_out, first_left_out;
};

struct trace {
    int number;
    char name[TRACE_NAME_BYTES];
    size_t room;
    trace_track **tracks;
    size_t count, capacity;
};

// ---- Recording ----

trace *trace_new(int number, const char *name, size_t room) {
    trace *t = memory_new(1, sizeof *t);
    t->number = number;
    t->room = room;
    snprintf(t->name, sizeof t->name, "%s", name);
    return t;
}

void trace_free(trace *t) {
    if (!t) return;
    for (size_t i = 0; i < t->count; i++) {
        free(t->tracks[i]->spans);
        free(t->tracks[i]);
    }
    free(t->tracks);
    free(t);
}

void trace_track_new(trace *t, trace_track **out, const char *format, ...) {
    *out = NULL;
    if (!t) return;
    t->tracks = memory_grow(t->tracks, &t->capacity, t->count + 1, sizeof(trace_track *));
    // Aligned: threads that write their tracks at the same time share no cache line.
    trace_track *track = memory_new_aligned(1, sizeof *track);
    track->spans = memory_new(t->room, sizeof *track->spans);
    track->room = t->room;
    va_list args;
    va_start(args, format);
    vsnprintf(track->name, sizeof track->name, format, args);
    va_end(args);
    t->tracks[t->count++] = *out = track;
}

trace_track *trace_first(const trace *t) {
    return t && t->count ? t->tracks[0] : NULL;
}

void trace_record(trace_track *t, trace_kind kind, const char *name, int64_t number, uint64_t begin,
                  uint64_t end) {
    if (end > t->end) t->end = end;
    if (kind == TRACE_PHASE) {
        span *last = t->count ? &t->spans[t->count - 1] : NULL;
        if (begin == end) return;
        if (last && last->end == begin && last->kind == kind && strcmp(last->name, name) == 0) {
            last->end = end;
            return;
        }
    }
    if (t->count == t->room) {
        if (t->left_out++ == 0) t->first_left_out = begin;
        return;
    }
    t->spans[t->count] = (span){begin, end, name, number, (uint32_t)t->count, kind};
    t->count++;
}

void trace_record_rest(trace_track *t, const char *name, uint64_t begin, uint64_t end) {
    if (begin < t->end) begin = t->end;
    if (begin < end) trace_record(t, TRACE_PHASE, name, TRACE_UNNUMBERED, begin, end);
}

// ---- Writing ----

// By start time; of spans that begin together the enclosing one comes first: it is longer or, if
// equally long, was recorded later.
static int by_nesting(const void *a, const void *b) {
    const span *x = a, *y = b;
    if (x->begin != y->begin) return x->begin < y->begin ? -1 : 1;
    if (x->end != y->end) return x->end > y->end ? -1 : 1;
    return x->order > y->order ? -1 : 1;
}

void trace_end(trace *t) {
    for (size_t i = 0; i < t->count; i++)
        qsort(t->tracks[i]->spans, t->tracks[i]->count, sizeof(span), by_nesting);
}

uint64_t trace_begin(const trace *t) {
    uint64_t first = UINT64_MAX;
    for (size_t i = 0; i < t->count; i++)
        if (t->tracks[i]->count && t->tracks[i]->spans[0].begin < first)
            first = t->tracks[i]->spans[0].begin;
    return first;
}

uint64_t trace_left_out(const trace *t) {
    uint64_t sum = 0;
    for (size_t i = 0; i < t->count; i++) sum += t->tracks[i]->left_out;
    return sum;
}

// Viewers take process 0 and thread 0 for the system's idle process, so numbers begin at 1.
#define EVENT         ",\n{\"name\":\"%s\",\"ph\":\"%s\",\"pid\":%d,\"tid\":%zu,"
#define TIME          "%" PRIu64 ".%03" PRIu64
#define TIME_ARGS(ns) (ns) / 1000, (ns) % 1000

static int name_text(const trace *t, size_t track, char *text, size_t room) {
    const int pid = t->number + 1;
    const size_t tid = track + 1;
    int n = 0;
    if (track == 0)
        n = snprintf(
            text, room, EVENT "\"args\":{\"name\":\"%s\"}}" EVENT "\"args\":{\"sort_index\":%d}}",
            "process_name", "M", pid, tid, t->name, "process_sort_index", "M", pid, tid, pid);
    if (n < 0 || (size_t)n >= room) return n;
    int more = snprintf(text + n, room - (size_t)n,
                        EVENT "\"args\":{\"name\":\"%s\"}}" EVENT "\"args\":{\"sort_index\":%zu}}",
                        "thread_name", "M", pid, tid, t->tracks[track]->name, "thread_sort_index",
                        "M", pid, tid, tid);
    return more < 0 ? more : n + more;
}

static int span_text(const trace *t, size_t track, const span *s, uint64_t origin, char *text,
                     size_t room) {
    char name[128];
    const uint64_t at = s->begin - origin, ns = s->end - s->begin;
    if (s->number == TRACE_UNNUMBERED)
        snprintf(name, sizeof name, "%s", s->name);
    else
        snprintf(name, sizeof name, "%s %" PRId64, s->name, s->number);
    return snprintf(text, room, EVENT "\"cat\":\"%s\",\"ts\":" TIME ",\"dur\":" TIME "}", name, "X",
                    t->number + 1, track + 1, s->kind == TRACE_PHASE ? "phase" : "operation",
                    TIME_ARGS(at), TIME_ARGS(ns));
}

// A mark at the time from which on spans are missing.
static int left_out_text(const trace *t, size_t track, uint64_t origin, char *text, size_t room) {
    const trace_track *k = t->tracks[track];
    char name[64];
    if (!k->left_out) return 0;
    const uint64_t at = k->first_left_out > origin ? k->first_left_out - origin : 0;
    snprintf(name, sizeof name, "track full: %" PRIu64 " spans dropped", k->left_out);
    return snprintf(text, room, EVENT "\"s\":\"t\",\"ts\":" TIME "}", name, "i", t->number + 1,
                    track + 1, TIME_ARGS(at));
}

// The items of a track are its name, its spans, and the count of spans left out.
size_t trace_text(const trace *t, uint64_t origin, trace_cursor *at, char *text, size_t room) {
    size_t used = 0;
    while (at->track < t->count) {
        const trace_track *track = t->tracks[at->track];
        char *to = text + used;
        const size_t left = room - used;
        int n;
        if (at->item == 0)
            n = name_text(t, at->track, to, left);
        else if (at->item <= track->count)
            n = span_text(t, at->track, &track->spans[at->item - 1], origin, to, left);
        else
            n = left_out_text(t, at->track, origin, to, left);
        if (n < 0 || (size_t)n >= left) break;
        used += (size_t)n;
        if (at->item++ > track->count) *at = (trace_cursor){.track = at->track + 1};
    }
    return used;
}

size_t trace_head(const char *tool, char *text, size_t room) {
    return (size_t)snprintf(text, room,
                            "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n"
                            "{\"name\":\"process_labels\",\"ph\":\"M\",\"pid\":1,\"tid\":1,"
                            "\"args\":{\"labels\":\"%.*s\"}}",
                            TRACE_NAME_BYTES, tool);
}

size_t trace_tail(const char *tool, uint64_t left_out, char *text, size_t room) {
    return (size_t)snprintf(text, room,
                            "\n],\"otherData\":{\"tool\":\"%.*s\",\"left_out\":%" PRIu64 "}}\n",
                            TRACE_NAME_BYTES, tool, left_out);
}
