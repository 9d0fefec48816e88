// SPDX-License-Identifier: MIT
// A rank is killed or stopped in the middle of a barrier, at each point of it: the others end, and
// name that rank. The hook is a macro of shared_memory.c, which is compiled into this test, so that
// it costs nothing elsewhere.
//
// LOCKSTEP_TEST_STALL_SECONDS=60: how long the others wait for a stopped rank; 1 here.
#include <stdbool.h>

struct shared_memory;
static void barrier_point(struct shared_memory *s, int rank, int point);
#define BARRIER_POINT(s, rank, point) barrier_point(s, rank, point)
#include "dist/shared_memory.c"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "base/clock.h"
#include "dist/launch_join.h"
#include "dist/launch_local.h"

// Far more than needed on any busy machine; a group that sleeps for ever is ended.
enum { RANKS = 3, VICTIM = 1, BARRIERS = 20, LIMIT_SECONDS = 60 };

typedef enum launcher { LOCAL, ENVIRONMENT, LAUNCHERS } launcher;

// The event that hits VICTIM in its barrier number BARRIERS / 2.
typedef struct ordeal {
    launcher launcher;
    int point, signal;
    bool last; // it arrives last
} ordeal;

typedef struct rank_result {
    bool ended;
    status rc;
    error err;
} rank_result;

// The state of one group, shared by all its processes.
typedef struct trial {
    ordeal ordeal;
    rank_result ranks[RANKS];
    rank_result group; // returned by launch_local
    bool reached;      // the victim has reached the point
} trial;

static trial *current; // in a process of a group

static int stall_seconds(void) {
    const char *text = getenv("LOCKSTEP_TEST_STALL_SECONDS");
    return text ? atoi(text) : 1;
}

static bool is_marked(const shared_memory *s, int rank) {
    return atomic_load(&s->control->slots[rank].counted) ==
           atomic_load(&s->control->word) + GENERATION;
}

// Makes the victim arrive last, or first.
static void keep_order(shared_memory *s, int rank) {
    const control *c = s->control;
    if (rank == VICTIM && current->ordeal.last)
        for (int r = 0; r < RANKS; r++)
            while (r != VICTIM && !is_marked(s, r)) usleep(1000);
    if (rank != VICTIM && !current->ordeal.last)
        while (atomic_load(&c->arrivals) == 0 && !current->reached) usleep(1000);
}

static void barrier_point(shared_memory *s, int rank, int point) {
    shared_set_stall(s, stall_seconds());
    const bool now =
        atomic_load(&s->control->word) / GENERATION == BARRIERS / 2 + (point == BARRIER_OPENED);
    if (!current || !now) return;
    if (point == BARRIER_ENTERED) keep_order(s, rank);
    if (rank != VICTIM || point != current->ordeal.point) return;
    current->reached = true;
    kill(getpid(), current->ordeal.signal);
}

// ---- A group ----

static status meet_often(comm *c, error *err) {
    status rc = STATUS_OK;
    for (int i = 0; i < BARRIERS && rc == STATUS_OK; i++) rc = c->ops->barrier(c, err);
    return rc;
}

static status local_body(void *argument, comm *c, error *err) {
    (void)argument;
    rank_result *own = &current->ranks[c->rank];
    own->rc = meet_often(c, &own->err);
    own->ended = true;
    if (own->rc != STATUS_OK && err) *err = own->err;
    return own->rc;
}

static void run_local(void) {
    rank_result *group = &current->group;
    group->rc = launch_local(RANKS, 16, 8, local_body, NULL, NULL, NULL, &group->err);
    group->ended = true;
}

static void join_and_meet(int rank, int port) {
    rank_result *own = &current->ranks[rank];
    launch_environment env = {.joined = true,
                              .rank = rank,
                              .size = RANKS,
                              .local_size = RANKS,
                              .address = "127.0.0.1",
                              .port = port,
                              .seconds = LIMIT_SECONDS};
    comm *c = NULL;
    own->rc = launch_join(&env, 16, 8, &c, &own->err);
    if (own->rc == STATUS_OK) own->rc = meet_often(c, &own->err);
    comm_free(c);
    own->ended = true;
}

static bool all_others_have_ended(void) {
    for (int r = 0; r < RANKS; r++)
        if (r != VICTIM && !current->ranks[r].ended) return false;
    return true;
}

// A stopped rank finally continues, and ends as well.
static void run_joined(void) {
    const int port = 1 + getpid() % 65535; // used by no other process
    pid_t processes[RANKS];
    for (int r = 0; r < RANKS; r++) {
        processes[r] = fork();
        if (processes[r] == 0) {
            alarm((unsigned)(LIMIT_SECONDS + stall_seconds()));
            join_and_meet(r, port);
            _exit(0);
        }
    }
    for (int r = 0; r < RANKS; r++)
        if (r != VICTIM) waitpid(processes[r], NULL, 0);
    if (all_others_have_ended()) kill(processes[VICTIM], SIGCONT);
    waitpid(processes[VICTIM], NULL, 0);
}

static pid_t begin(trial *t) {
    const pid_t process = fork();
    if (process != 0) return process;
    current = t;
    // A local group ends with its parent.
    alarm((unsigned)(2 * (LIMIT_SECONDS + stall_seconds())));
    t->ordeal.launcher == LOCAL ? run_local() : run_joined();
    _exit(0);
}

// ---- Expected results ----

static void describe(const trial *t, char *text, size_t bytes) {
    static const char *const points[] = {"entered", "counted", "last", "opened"};
    snprintf(text, bytes, "%s, %s %s at '%s'", t->ordeal.launcher == LOCAL ? "local" : "joined",
             t->ordeal.last ? "the last" : "the first",
             t->ordeal.signal == SIGKILL ? "killed" : "stopped", points[t->ordeal.point]);
}

static bool says(const rank_result *r, const char *message) {
    return r->ended && r->rc == STATUS_FAILED && strcmp(r->err.message, message) == 0;
}

static bool is_as_it_should_be(const trial *t) {
    const bool killed = t->ordeal.signal == SIGKILL, local = t->ordeal.launcher == LOCAL;
    const char *const stopped = "rank 1 is stopped and did not resume in time";
    if (!t->reached) return false;
    if (local)
        return killed ? says(&t->group, "rank 1 was killed by signal 9 (Killed)")
                      : t->group.ended && strstr(t->group.err.message, stopped);
    for (int r = 0; r < RANKS; r++)
        if (!(killed && r == VICTIM) && !says(&t->ranks[r], killed ? "rank 1 died" : stopped))
            return false;
    return true;
}

static void print(const trial *t) {
    char text[128];
    describe(t, text, sizeof text);
    print_error("%s:%s\n", text, t->reached ? "" : " did not reach the point");
    if (t->ordeal.launcher == LOCAL)
        print_error("    group: %s\n", t->group.ended ? t->group.err.message : "never ended");
    for (int r = 0; r < RANKS; r++)
        print_error("    rank %d: %s\n", r,
                    t->ranks[r].ended ? t->ranks[r].err.message : "did not end");
}

static trial *new_trial(ordeal o) {
    trial *t = mmap(NULL, sizeof *t, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(t, MAP_FAILED);
    t->ordeal = o;
    return t;
}

// All at once: they sleep most of the time.
static void try_all(int signal) {
    enum { CASES = LAUNCHERS * BARRIER_POINTS * 2 };
    trial *trials[CASES];
    pid_t processes[CASES];
    int count = 0, wrong = 0;
    for (int i = 0; i < CASES; i++) {
        const ordeal o = {.launcher = (launcher)(i % LAUNCHERS),
                          .point = i / LAUNCHERS % BARRIER_POINTS,
                          .signal = signal,
                          .last = i / LAUNCHERS / BARRIER_POINTS};
        // The first to arrive is not the one that opens.
        if (!o.last && o.point >= BARRIER_LAST) continue;
        trials[count] = new_trial(o);
        processes[count] = begin(trials[count]);
        count++;
    }
    for (int i = 0; i < count; i++) {
        waitpid(processes[i], NULL, 0);
        if (is_as_it_should_be(trials[i])) continue;
        print(trials[i]);
        wrong++;
    }
    for (int i = 0; i < count; i++) munmap(trials[i], sizeof *trials[i]);
    assert_int_equal(wrong, 0);
}

static void a_rank_is_killed_at_each_point(void **state) {
    (void)state;
    try_all(SIGKILL);
}

static void a_rank_is_stopped_at_each_point(void **state) {
    (void)state;
    try_all(SIGSTOP);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rank_is_killed_at_each_point),
        cmocka_unit_test(a_rank_is_stopped_at_each_point),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
