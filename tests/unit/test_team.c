// SPDX-License-Identifier: MIT
// Teams whose size changes from run to run.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/random.h"
#include "compute/cpu/team.h"

enum { ROOM = 5, RUNS = 3000, ROUNDS = 3 };

typedef struct work {
    team *team;
    int runs[ROOM];         // of each member
    int round[ROOM], wrong; // barriers that each has passed; those found to be behind
} work;

// Behind a barrier, a member sees what all members of the run did before it, and the next barrier
// keeps them from going on.
static void body(void *argument, int member) {
    work *w = argument;
    w->runs[member]++;
    for (int round = 1; round <= ROUNDS; round++) {
        w->round[member] = round;
        team_barrier(w->team);
        for (int i = 0; member == 0 && i < team_size(w->team); i++)
            w->wrong += w->round[i] != round;
        team_barrier(w->team);
    }
}

static void check_sizes(bool spin) {
    work w = {.runs = {0}};
    int expected[ROOM] = {0};
    const random_stream s = {.seed = 7, .purpose = RANDOM_TRIAL};
    error err;
    assert_int_equal(team_new(ROOM, spin, &w.team, &err), STATUS_OK);
    for (uint64_t run = 0; run < RUNS; run++) {
        // Half of the runs have the size of the one before.
        if (random_below(&s, 2 * run, 2))
            team_resize(w.team, 1 + (int)random_below(&s, 2 * run + 1, ROOM));
        for (int i = 0; i < team_size(w.team); i++) expected[i]++;
        team_run(w.team, body, &w);
    }
    for (int i = 0; i < ROOM; i++) assert_int_equal(w.runs[i], expected[i]);
    assert_int_equal(w.wrong, 0);
    team_resize(w.team, 1); // and is freed with members asleep
    team_run(w.team, body, &w);
    team_free(w.team);
}

static void test_sizes(void **state) {
    (void)state;
    check_sizes(false);
    check_sizes(true);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_sizes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
