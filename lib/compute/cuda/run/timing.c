// SPDX-License-Identifier: MIT
// Time of a step by phase: events inside the graphs, and the accounting of their times.
#include "compute/cuda/run/timing.h"

#include <string.h>

// The phase that a mark ends; MARK_COPY and MARK_UPDATE begin a chain of phases.
static const struct {
    bool begins;
    phase ended;
} marks[MARKS] = {
    [MARK_COPY] = {.begins = true},
    [MARK_BEGIN] = {.ended = PHASE_COPY},
    [MARK_LOADED] = {.ended = PHASE_LOAD},
    [MARK_FORWARD] = {.ended = PHASE_FORWARD},
    [MARK_BACKWARD] = {.ended = PHASE_BACKWARD},
    [MARK_REDUCED] = {.ended = PHASE_COMM}, // the part that backward did not hide
    [MARK_UPDATE] = {.begins = true},
    [MARK_UPDATED] = {.ended = PHASE_UPDATE},
};

status cuda_clock_open(step_clock *c, const cuda_device *d, error *err) {
    status rc = STATUS_OK;
    for (int m = 0; m < MARKS && rc == STATUS_OK; m++)
        rc = cuda_check(d, cudaEventCreate(&c->marks[m]), "creating an event", err);
    return rc;
}

void cuda_clock_close(step_clock *c) {
    for (int m = 0; m < MARKS; m++)
        if (c->marks[m]) (void)cudaEventDestroy(c->marks[m]);
}

void cuda_mark_event(const step_clock *c, cudaEvent_t event, launch_stream s) {
    if (!c->marking) return;
    launch_after_other(s); // in a graph the event is a node
    (void)cudaEventRecordWithFlags(event, s.stream,
                                   c->capturing ? cudaEventRecordExternal : cudaEventRecordDefault);
}

void cuda_mark(step_clock *c, int mark, launch_stream s) {
    cuda_mark_event(c, c->marks[mark], s);
    if (c->marking) c->marked |= 1u << mark;
}

// Reads the events of the step that recorded them last.
static void read_marks(step_clock *c, const comm_place *p) {
    memset(c->profile, 0, sizeof c->profile);
    for (int m = 0, last = -1; m < MARKS; m++) {
        if (!(c->marked >> m & 1)) continue;
        if (!marks[m].begins && last >= 0)
            c->profile[marks[m].ended] += cuda_time_between(c->marks[last], c->marks[m]);
        last = m;
    }
    const uint64_t comm = c->marked >> MARK_REDUCED & 1 ? p->hooks->time_of_buckets(p->comm) : 0;
    const uint64_t exposed = c->profile[PHASE_COMM];
    c->profile_hidden = comm > exposed ? comm - exposed : 0;
    c->marked = 0;
}

// The caller spent `inside` in this engine's calls. The device's own times are parts of that time;
// the rest was spent on launches and on waiting. Work that ran while the caller was elsewhere may
// make the parts exceed the whole: then all are scaled down by the same factor.
void cuda_book(step_clock *c, const comm_place *p, int steps) {
    uint64_t sum = 0, booked = 0;
    if (c->marked) read_marks(c, p);
    for (int i = 0; i < PHASES; i++) sum += c->profile[i] * (uint64_t)steps;
    const double part = sum > c->inside ? (double)c->inside / (double)sum : 1;
    for (int i = 0; i < PHASES; i++) {
        const uint64_t ns = (uint64_t)((double)(c->profile[i] * (uint64_t)steps) * part);
        c->times.ns[i] += ns;
        booked += ns;
    }
    if (c->inside > booked) c->times.ns[PHASE_WAIT] += c->inside - booked;
    c->times.hidden_comm += c->profile_hidden * (uint64_t)steps;
    c->inside = 0;
}
