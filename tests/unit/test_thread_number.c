// SPDX-License-Identifier: MIT
// The number of threads on a made-up machine: what it costs against the best number at each time.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/random.h"
#include "train/thread_number.h"

enum { SAMPLES = 64, NUMBERS = 4 }; // of a step; 1, 2, 4, 8 threads

// How a sample is computed by each number: its time as a part of that of one thread on an idle
// machine; the time for which threads have no core, as a share of the step's.
typedef struct situation {
    const char *name;
    double cost[NUMBERS], lack[NUMBERS];
} situation;

static const situation idle = {"idle", {1, 0.52, 0.28, 0.16}, {0, 0.005, 0.01, 0.01}},
                       one_neighbour = {"one neighbour on two cores", {1, 1.9}, {0, 0.6}},
                       two_neighbours = {"two neighbours on two cores", {1.6, 2.1}, {0.4, 1.1}},
                       // A thread that waits gives its core away: little is lost by two.
    close = {"one neighbour, close", {1, 1.06}, {0.01, 0.5}},
                       // Steps so long that the scheduler moves what is left of one.
    long_steps = {"two are best although one lacks a core", {1, 0.75}, {0, 0.5}},
                       many_cores = {"a neighbour on eight cores",
                                     {1, 0.52, 0.28, 0.4},
                                     {0, 0.01, 0.02, 0.5}};

typedef struct machine {
    thread_number threads;
    double step;    // ns of one thread on an idle machine
    double noise;   // of steps beside neighbours: uniform within ± this part, of long ones less
    uint64_t steps; // so far
    double lacked, since; // ns since the last judgement
    int changes, shortest;
} machine;

static machine new_machine(int most, double step, double noise) {
    machine m = {.step = step, .noise = noise};
    thread_number_init(&m.threads, most, true);
    return m;
}

// Returns the time that the steps would have taken with the best number, as a part of what they
// did.
static double run(machine *m, const situation *s, double seconds) {
    const random_stream stream = {.seed = 3, .purpose = RANDOM_TRIAL};
    double time = 0, best = INFINITY, ideal = 0;
    for (int i = 0; i < m->threads.count; i++) best = fmin(best, s->cost[i]);
    m->changes = 0;
    while (time < seconds * 1e9) {
        const int at = (int)log2(thread_number_next(&m->threads));
        const double quiet = m->step * s->cost[at], turn = 1e7; // of a scheduler
        const double noise = s->lack[at] > 0.02 ? m->noise * fmin(1, sqrt(turn / quiet)) : 0;
        const double drawn = 2 * (double)random_uniform(&stream, m->steps) - 1;
        const double ns = quiet * (1 + noise * drawn);
        m->steps++;
        time += ns;
        ideal += m->step * best;
        m->since += ns;
        m->lacked += s->lack[at] * ns;
        const bool judged = thread_number_step(&m->threads, (uint64_t)ns, SAMPLES);
        if (judged) {
            thread_number_judge(&m->threads, m->lacked / m->since);
            m->lacked = m->since = 0;
        }
        m->changes += (int)log2(thread_number_next(&m->threads)) != at;
    }
    return ideal / time;
}

static void expect(machine *m, const situation *s, double seconds, double least, int number) {
    const double got = run(m, s, seconds);
    if (got < least)
        fail_msg("%s, steps of %.1f ms: %.3f of the best, expected %.3f", s->name, m->step / 1e6,
                 got, least);
    const thread_number *t = &m->threads;
    if (t->candidates[t->at] != number)
        fail_msg("%s, steps of %.1f ms: %d threads, expected %d", s->name, m->step / 1e6,
                 t->candidates[t->at], number);
}

static void test_candidates(void **state) {
    (void)state;
    static const int expected[][5] = {
        {1, 1}, {2, 1, 2}, {3, 1, 2, 3}, {6, 1, 2, 4, 6}, {8, 1, 2, 4, 8}};
    thread_number t;
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        thread_number_init(&t, expected[i][0], true);
        for (int k = 0; k < t.count; k++) assert_int_equal(t.candidates[k], expected[i][k + 1]);
        assert_int_equal(thread_number_next(&t), expected[i][0]);
    }
    thread_number_init(&t, 1024, true);
    assert_int_equal(t.count, 11);
    thread_number_init(&t, 1023, true);
    assert_int_equal(t.count, 11);
}

// A number that was asked for never changes, nor does one that cannot be judged.
static void test_fixed(void **state) {
    (void)state;
    thread_number t;
    thread_number_init(&t, 8, false);
    for (int i = 0; i < 1000; i++) {
        assert_false(thread_number_step(&t, 100000000, SAMPLES));
        assert_int_equal(thread_number_next(&t), 8);
    }
    assert_int_equal(t.used[0].steps, 1000);
    assert_int_equal(t.used[0].ns, 100000000000);
    thread_number_init(&t, 8, true);
    for (int i = 0; i < 1000; i++) {
        if (thread_number_step(&t, 100000000, SAMPLES)) thread_number_judge(&t, NAN);
        assert_int_equal(thread_number_next(&t), 8);
    }
}

// An idle machine sees no trial at all.
static void test_idle(void **state) {
    (void)state;
    for (double step = 3e5; step < 3e9; step *= 30) {
        machine m = new_machine(8, step, 0);
        expect(&m, &idle, 100 + 20 * step / 1e9, 1, 8);
        assert_int_equal(m.changes, 0);
    }
}

static void test_neighbours(void **state) {
    (void)state;
    for (double step = 4e5; step < 1e9; step *= 20) {
        for (double noise = 0; noise < 0.7; noise += 0.3) {
            const double seconds = 20 + 200 * step / 1e9;
            machine m = new_machine(2, step, noise);
            expect(&m, &idle, seconds, 0.999, 2);
            expect(&m, &one_neighbour, seconds, 0.95, 1); // arrives,
            expect(&m, &idle, seconds, 0.9, 2);           // leaves,
            expect(&m, &two_neighbours, seconds, 0.95, 1);
            expect(&m, &one_neighbour, 10 * seconds, 0.97, 1); // and stays
            expect(&m, &idle, seconds, 0.9, 2);
            run(&m, &close, seconds); // either will do
            expect(&m, &idle, seconds, 0.9, 2);
            expect(&m, &long_steps, 10 * seconds, 0.95, 2);
        }
    }
}

// A higher number that is only good until it is judged is tried ever less often.
static void test_bursts(void **state) {
    (void)state;
    machine m = new_machine(2, 2e6, 0.3);
    double time = 0;
    for (int i = 0; i < 100; i++) time += 1 / run(&m, &one_neighbour, 1) + 1 / run(&m, &idle, 0.8);
    if (200 / time < 0.85) fail_msg("bursts: %.3f of the best", 200 / time);
}

static void test_many_cores(void **state) {
    (void)state;
    machine m = new_machine(8, 1e6, 0.2);
    expect(&m, &idle, 10, 1, 8);
    expect(&m, &many_cores, 10, 0.95, 4);
    expect(&m, &idle, 10, 0.9, 8);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_candidates), cmocka_unit_test(test_fixed),
        cmocka_unit_test(test_idle),       cmocka_unit_test(test_neighbours),
        cmocka_unit_test(test_bursts),     cmocka_unit_test(test_many_cores),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
