// SPDX-License-Identifier: MIT
// Time of a step by phase: events inside the graphs, and the accounting of their times.
#include <math.h>
#include <string.h>

#include "compute/cuda/group/group.h"

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

void cuda_mark_event(const engine *e, cudaEvent_t event, cudaStream_t s) {
    if (!e->marking) return;
    (void)cudaEventRecordWithFlags(event, s,
                                   e->capturing ? cudaEventRecordExternal : cudaEventRecordDefault);
}

void cuda_mark(engine *e, int mark) {
    cuda_mark_event(e, e->marks[mark], e->stream);
    if (e->marking) e->marked |= 1u << mark;
}

uint64_t cuda_time_between(cudaEvent_t begin, cudaEvent_t end) {
    float ms = 0;
    if (cudaEventElapsedTime(&ms, begin, end) != cudaSuccess) return 0;
    return (uint64_t)(fmax((double)ms, 0) * 1e6);
}

// Reads the events of the step that recorded them last.
static void read_marks(engine *e) {
    memset(e->profile, 0, sizeof e->profile);
    for (int m = 0, last = -1; m < MARKS; m++) {
        if (!(e->marked >> m & 1)) continue;
        if (!marks[m].begins && last >= 0)
            e->profile[marks[m].ended] += cuda_time_between(e->marks[last], e->marks[m]);
        last = m;
    }
    const uint64_t comm = e->marked >> MARK_REDUCED & 1 ? cuda_time_of_buckets(e) : 0;
    const uint64_t exposed = e->profile[PHASE_COMM];
    e->profile_hidden = comm > exposed ? comm - exposed : 0;
    e->marked = 0;
}

// The caller spent `inside` in this engine's calls. The device's own times are parts of that time;
// the rest was spent on launches and on waiting. Work that ran while the caller was elsewhere may
// make the parts exceed the whole: then all are scaled down by the same factor.
void cuda_book(engine *e, int steps) {
    uint64_t sum = 0, booked = 0;
    if (e->marked) read_marks(e);
    for (int p = 0; p < PHASES; p++) sum += e->profile[p] * (uint64_t)steps;
    const double part = sum > e->inside ? (double)e->inside / (double)sum : 1;
    for (int p = 0; p < PHASES; p++) {
        const uint64_t ns = (uint64_t)((double)(e->profile[p] * (uint64_t)steps) * part);
        e->ns[p] += ns;
        booked += ns;
    }
    if (e->inside > booked) e->ns[PHASE_WAIT] += e->inside - booked;
    e->hidden_comm += e->profile_hidden * (uint64_t)steps;
    e->inside = 0;
}
