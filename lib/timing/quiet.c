// SPDX-License-Identifier: MIT
#include <math.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/demand.h"
#include "base/memory.h"
#include "dist/endpoint.h"
#include "timing/session.h"

uint32_t session_demand(const session *s) {
    size_t count = 0;
    if (!s->unlike) return DEMAND_UNKNOWN;
    for (size_t a = 0; a < s->t->count; a++) count += s->t->arms[a].count;
    pid_t *own = memory_new(count, sizeof *own);
    count = 0;
    for (size_t a = 0; a < s->t->count; a++)
        for (uint32_t r = 0; r < s->t->arms[a].count; r++)
            own[count++] = s->t->arms[a].processes[r];
    const uint32_t demand = demand_of_others(own, count);
    free(own);
    return demand;
}

status session_await_quiet(session *s, uint32_t *demand, error *err) {
    static const double longest = 4, shortest = 0.05;
    const uint64_t deadline = clock_now() + (uint64_t)(s->patience * 1e9);
    *demand = session_demand(s);
    if (!s->unlike || *demand == DEMAND_UNKNOWN) return STATUS_OK;
    while (*demand > s->quiet && clock_now() < deadline) {
        enum { LOOK_NS = 5000000 };
        bool ready;
        NEED(endpoint_wait(NULL, 0, clock_now() + LOOK_NS, &ready, err));
        s->disturbed = true;
        *demand = session_demand(s);
    }
    s->patience =
        *demand > s->quiet ? fmax(shortest, s->patience / 2) : fmin(longest, s->patience * 2);
    return STATUS_OK;
}
