// SPDX-License-Identifier: MIT
// thread_number.h - how many threads compute, where other programs come and go.
//
// The bits do not depend on it, so it may follow the machine. The threads of a step wait for each
// other: one that has no core delays all, and fewer may be faster. Candidates are 1, 2, 4 … and the
// most, which an idle machine gets.
//
// Steps are judged in *spans*, in which the scheduler's turns even out. If threads were ready to
// run and had no core in two spans, the next lower number is tried. The next higher one is tried
// from time to time, because a core that becomes free shows in no other way. The faster number
// stays. The wait for the next trial in a direction doubles with each trial that fails, until
// trials take less than a hundredth of the time. A machine without other programs sees none.
//
// Nothing here reads a clock: the caller says how long a step took, and what its threads lacked.
#ifndef LOCKSTEP_TRAIN_THREAD_NUMBER_H
#define LOCKSTEP_TRAIN_THREAD_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

enum { THREAD_CANDIDATES = 12 };

// What a candidate was used for.
typedef struct thread_use {
    uint64_t steps, ns;
} thread_use;

// Trials of the next lower or the next higher number.
typedef struct thread_trials {
    uint64_t wait, due; // ns until the next one; its time on the clock of steps
} thread_trials;

typedef struct thread_number {
    int count, candidates[THREAD_CANDIDATES]; // in order; a single one never changes
    thread_use used[THREAD_CANDIDATES];
    int at, tried;     // indices: of the number that stays; during a trial, of another one
    uint64_t clock;    // ns of all steps
    uint64_t risen;    // when the number last became higher
    double cost;       // ns per sample with `at`: a mean over the latest `spans`
    int spans;         // of the mean; during a trial, of the trial
    int crowded;       // of the latest spans: in a row
    uint64_t ns, goal; // of the current span; how long it is to be
    uint64_t samples;  // in it
    bool settled;      // a short first step with another number is not judged
    thread_trials down, up;
} thread_number;

// `most`: 1 … 1024. `follows`: the number may change.
void thread_number_init(thread_number *t, int most, bool follows);
// Returns the number for the next step.
int thread_number_next(const thread_number *t);
// Books a step. Returns true at the end of a span, which is then to be judged.
bool thread_number_step(thread_number *t, uint64_t ns, uint64_t samples);
// `without_core`: since the last call, the time for which threads were ready to run and had no
// core, of all threads together, as a share of the time; NAN: unknown, and the number stays.
void thread_number_judge(thread_number *t, double without_core);

#endif
