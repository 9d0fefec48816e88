// SPDX-License-Identifier: MIT
#include "train/thread_number.h"

#include <math.h>

// A span lasts for several turns of a scheduler, 3 to 10 ms each. While nothing happens it becomes
// longer, since a caller that asks many threads for what they lack needs time for that.
enum { SPAN_NS = 30000000, LONGEST_SPAN_NS = 4 * SPAN_NS };
// A trial whose outcome is not clear is as long as TRIAL_SPANS; as many are averaged.
enum { TRIAL_SPANS = 4 };
// In lengths of the trial: the first wait; the longest one after a number that did not last; how
// long one lasts. The longest wait after a trial that failed, in losses by the trial.
enum { FIRST_WAIT = 4, LONGEST_WAIT = 64, LASTING = 8 };
enum { CROWDED_SPANS = 2 };

static const double CROWDED = 0.10;            // share of the time
static const double CLEAR = 0.2, LEAST = 0.02; // parts of the cost

void thread_number_init(thread_number *t, int most, bool follows) {
    *t = (thread_number){.goal = SPAN_NS};
    for (int n = 1; follows && n < most; n *= 2) t->candidates[t->count++] = n;
    t->candidates[t->count] = most;
    t->at = t->tried = t->count++;
}

int thread_number_next(const thread_number *t) {
    return t->candidates[t->tried];
}

static void begin_span(thread_number *t, uint64_t goal) {
    t->ns = t->samples = 0;
    t->goal = goal;
}

static void change_to(thread_number *t, int candidate) {
    t->tried = candidate;
    t->settled = false;
    t->crowded = 0;
    begin_span(t, SPAN_NS);
}

bool thread_number_step(thread_number *t, uint64_t ns, uint64_t samples) {
    t->used[t->tried].steps++;
    t->used[t->tried].ns += ns;
    if (t->count == 1) return false;
    t->clock += ns;
    if (t->settled || ns >= SPAN_NS) {
        t->ns += ns;
        t->samples += samples;
    }
    t->settled = true;
    return t->ns >= t->goal;
}

// ---- Trials ----

static void postpone(const thread_number *t, thread_trials *d, double wait) {
    d->wait = (uint64_t)fmax(wait, FIRST_WAIT * (double)t->ns);
    d->due = t->clock + d->wait;
}

static void fail(thread_number *t, thread_trials *d) {
    const double lost = (double)t->ns - t->cost * (double)t->samples;
    postpone(t, d, fmin(2 * (double)d->wait, LONGEST_WAIT * lost));
    t->spans = TRIAL_SPANS;
    change_to(t, t->at);
}

static void adopt(thread_number *t, double cost) {
    const bool lower = t->tried < t->at;
    if (lower) {
        const bool lasted = t->clock - t->risen >= LASTING * t->ns;
        const double longest = LONGEST_WAIT * (double)t->ns;
        postpone(t, &t->up, lasted ? 0 : fmin(2 * (double)t->up.wait, longest));
        t->down.wait = t->down.due = 0;
    } else {
        t->risen = t->clock;
        t->up.due = t->clock;
    }
    t->at = t->tried;
    t->cost = cost;
    change_to(t, t->at);
}

// The span of a trial goes on as long as its outcome is open.
static void judge_trial(thread_number *t, double cost) {
    const double gain = 1 - cost / t->cost;
    t->spans++;
    if (gain > CLEAR || (gain > LEAST && t->spans == TRIAL_SPANS))
        adopt(t, cost);
    else if (gain > LEAST)
        t->goal += SPAN_NS;
    else
        fail(t, t->tried < t->at ? &t->down : &t->up);
}

static void try(thread_number *t, int candidate) {
    t->spans = 0;
    change_to(t, candidate);
}

// ---- The number that stays ----

// What is clearly another cost is that of other circumstances.
static void learn(thread_number *t, double cost) {
    if (!(fabs(cost / t->cost - 1) <= CLEAR)) t->spans = 0;
    if (t->spans < TRIAL_SPANS) t->spans++;
    t->cost += (cost - t->cost) / t->spans;
}

void thread_number_judge(thread_number *t, double without_core) {
    const double cost = (double)t->ns / (double)t->samples;
    if (t->tried != t->at) {
        judge_trial(t, cost);
        return;
    }
    learn(t, cost);
    t->crowded = without_core > CROWDED ? t->crowded + 1 : 0;
    if (t->crowded >= CROWDED_SPANS && t->at > 0 && t->clock >= t->down.due)
        try(t, t->at - 1);
    else if (t->at + 1 < t->count && t->clock >= t->up.due)
        try(t, t->at + 1);
    else
        begin_span(t, t->crowded                      ? SPAN_NS
                      : 2 * t->goal < LONGEST_SPAN_NS ? 2 * t->goal
                                                      : LONGEST_SPAN_NS);
}
