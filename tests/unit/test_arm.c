// SPDX-License-Identifier: MIT
// Arms: their keys, their ranks and their turns, and how they end.
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/signals.h"
#include "dist/endpoint.h"
#include "timing/arm.h"

#define KEY "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static int begin(void **state) {
    (void)state;
    signals_watch(); // forgets earlier signals
    return 0;
}

static void assert_no_children(void) {
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
}

// ---- Keys ----

static void test_reads_a_key(void **state) {
    (void)state;
    error err = {0};
    arm a = {.command = "printf '%s\\n' " KEY " | head -n 1 #"};
    assert_int_equal(arm_read_key(&a, &err), STATUS_OK);
    assert_string_equal(a.key, KEY);
    arm_release(&a);
    assert_no_children();
}

static void test_what_is_no_training(void **state) {
    (void)state;
    static const struct {
        const char *command;
        status rc;
        const char *message;
    } cases[] = {
        {"true", STATUS_USAGE, "arm 1 is no training: 'true'"},
        {"echo", STATUS_USAGE, "arm 1 is no training: 'echo'"},
        {"echo " KEY, STATUS_USAGE, "arm 1 is no training"},
        {"printf '%s\\n\\n' " KEY " #", STATUS_USAGE, "arm 1 is no training"},
        {"printf " KEY " #", STATUS_USAGE, "arm 1 is no training"},
        {"echo x" KEY " #", STATUS_USAGE, "arm 1 is no training"},
        {"yes #", STATUS_USAGE, "arm 1 is no training"},
        {"cat #", STATUS_USAGE, "arm 1 is no training"}, // standard input is empty
        {"false", STATUS_FAILED, "arm 1 ended with exit code 1: 'false'"},
        {"exit 3; ", STATUS_INPUT, "arm 1 ended with exit code 3"},
        {"kill -KILL $$; ", STATUS_FAILED, "arm 1 was killed by SIGKILL"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        error err = {0};
        arm a = {.command = cases[i].command};
        assert_int_equal(arm_read_key(&a, &err), cases[i].rc);
        if (!strstr(err.message, cases[i].message)) fail_msg("'%s'", err.message);
        arm_release(&a);
        assert_no_children();
    }
}

static void test_a_signal_ends_the_reading(void **state) {
    (void)state;
    error err = {0};
    arm a = {.command = "kill -TERM $PPID; sleep 100 #"};
    assert_int_equal(arm_read_key(&a, &err), STATUS_STOPPED);
    arm_release(&a);
    assert_no_children();
}

// ---- Ranks ----

// A connection: [0] is the program's end, [1] the rank's.
static void connect_rank(int ends[2]) {
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
}

static void send_hello(int connection, const turn_hello *hello, const char *text) {
    const int file = text ? memfd_create("manifest", MFD_CLOEXEC) : -1;
    if (text) assert_int_equal(write(file, text, strlen(text)), strlen(text));
    endpoint_send(connection, hello, sizeof *hello, file);
    if (file >= 0) close(file);
}

// Leaves the rank's end in *rank.
static status admit(arm *arms, size_t count, const turn_hello *hello, const char *text, int *rank,
                    error *err) {
    int ends[2];
    connect_rank(ends);
    send_hello(ends[1], hello, text);
    *rank = ends[1];
    return arm_admit(arms, count, ends[0], err);
}

static void test_admits_ranks_in_any_order(void **state) {
    (void)state;
    error err = {0};
    arm arms[2] = {{.command = "a"}, {.command = "b", .number = 1}};
    static const turn_hello hellos[3] = {{1, 1, 2}, {0, 0, 1}, {1, 0, 2}};
    int ranks[3];
    for (int i = 0; i < 3; i++) {
        assert_false(arm_is_ready(&arms[1]));
        const char *text = hellos[i].rank ? NULL : "key: k\n";
        assert_int_equal(admit(arms, 2, &hellos[i], text, &ranks[i], &err), STATUS_OK);
    }
    for (int i = 0; i < 2; i++) {
        assert_true(arm_is_ready(&arms[i]));
        assert_string_equal(yaml_text_at(arms[i].manifest, "key"), "k");
    }
    close(ranks[0]);
    assert_int_equal(arm_check(&arms[0], &err), STATUS_OK);
    assert_int_equal(arm_check(&arms[1], &err), STATUS_FAILED);
    assert_string_equal(err.message, "rank 1 of arm 2 died: 'b'");
    for (int i = 0; i < 2; i++) arm_release(&arms[i]);
    close(ranks[1]);
    close(ranks[2]);
}

// A manifest may be longer than a message.
static void test_admits_a_long_manifest(void **state) {
    (void)state;
    enum { BYTES = 500000 };
    static char text[BYTES + 1] = "key: ";
    error err = {0};
    arm a = {.command = "a"};
    const turn_hello hello = {0, 0, 1};
    int rank;
    memset(text + 5, 'k', BYTES - 5);
    assert_int_equal(admit(&a, 1, &hello, text, &rank, &err), STATUS_OK);
    assert_int_equal(strlen(yaml_text_at(a.manifest, "key")), BYTES - 5);
    arm_release(&a);
    close(rank);
}

// It is another program's, and the arms go on.
static void test_turns_others_away(void **state) {
    (void)state;
    error err = {0};
    arm a = {.command = "a"};
    int ends[2];
    char byte = 0;
    static const turn_hello unknown = {1, 0, 1};
    connect_rank(ends);
    endpoint_send(ends[1], &byte, 1, -1);
    assert_int_equal(arm_admit(&a, 1, ends[0], &err), STATUS_OK);
    assert_true(endpoint_closed(ends[1]));
    close(ends[1]);
    connect_rank(ends);
    close(ends[1]);
    assert_int_equal(arm_admit(&a, 1, ends[0], &err), STATUS_OK);
    assert_int_equal(admit(&a, 1, &unknown, "key: k\n", &ends[1], &err), STATUS_OK);
    assert_true(endpoint_closed(ends[1]));
    close(ends[1]);
    assert_false(arm_is_ready(&a));
    arm_release(&a);
}

static void test_refuses_ranks_that_do_not_fit(void **state) {
    (void)state;
    static const struct {
        turn_hello hello;
        const char *manifest, *message;
    } cases[] = {
        {{0, 0, 2}, "key: k\n", "arm 1 is not a single training"}, // it is there
        {{0, 1, 3}, NULL, "arm 1 is not a single training"},
        {{0, 2, 2}, NULL, "arm 1 is not a single training"},
        {{0, 1, 2}, "key: k\n", "arm 1 is not a single training"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        error err = {0};
        arm a = {.command = "a"};
        static const turn_hello first = {0, 0, 2};
        int ranks[2];
        assert_int_equal(admit(&a, 1, &first, "key: k\n", &ranks[0], &err), STATUS_OK);
        assert_int_equal(admit(&a, 1, &cases[i].hello, cases[i].manifest, &ranks[1], &err),
                         STATUS_FAILED);
        if (!strstr(err.message, cases[i].message)) fail_msg("'%s'", err.message);
        arm_release(&a);
        for (int r = 0; r < 2; r++) close(ranks[r]);
    }
}

static void test_refuses_a_rank_0_without_its_manifest(void **state) {
    (void)state;
    static const turn_hello hellos[] = {{0, 0, 1}, {0, 0, 0}, {0, 0, 5000}};
    for (size_t i = 0; i < sizeof hellos / sizeof *hellos; i++) {
        error err = {0};
        arm a = {.command = "a"};
        int rank;
        assert_int_equal(admit(&a, 1, &hellos[i], i ? "key: k\n" : NULL, &rank, &err),
                         STATUS_FAILED);
        arm_release(&a);
        close(rank);
    }
}

// ---- Turns ----

// An arm of one rank, whose end is in *rank.
static arm ready_arm(int *rank) {
    error err = {0};
    arm a = {.command = "a"};
    static const turn_hello hello = {0, 0, 1};
    assert_int_equal(admit(&a, 1, &hello, "key: k\n", rank, &err), STATUS_OK);
    return a;
}

static turn_step room[TURN_STEPS];

static void test_a_turn(void **state) {
    (void)state;
    error err = {0};
    static turn_step steps[TURN_STEPS];
    int rank;
    arm a = ready_arm(&rank);
    const turn_report report = {TURN_STEPS}; // the most, in one message
    for (size_t i = 0; i < TURN_STEPS; i++) steps[i] = (turn_step){i + 1, 1, 7};
    endpoint_send(rank, &report, sizeof report, -1);
    endpoint_send(rank, steps, sizeof steps, -1);
    uint32_t entries;
    assert_int_equal(arm_turn(&a, TURN_STEPS, 60, room, &entries, &err), STATUS_OK);
    assert_int_equal(entries, TURN_STEPS);
    assert_memory_equal(room, steps, sizeof steps);
    turn_order order;
    assert_int_equal(endpoint_try_receive(rank, &order, sizeof order, NULL), ENDPOINT_WHOLE);
    assert_int_equal(order.steps, TURN_STEPS);
    arm_release(&a);
    assert_int_equal(endpoint_try_receive(rank, &order, sizeof order, NULL), ENDPOINT_WHOLE);
    assert_int_equal(order.steps, 0);
    close(rank);
}

static void test_patience_ends(void **state) {
    (void)state;
    error err = {0};
    int rank;
    arm a = ready_arm(&rank);
    uint32_t entries;
    const uint64_t begin = clock_now();
    assert_int_equal(arm_turn(&a, 5, 0.1, room, &entries, &err), STATUS_FAILED);
    assert_true(clock_now() - begin >= 100000000);
    assert_string_equal(err.message, "arm 1 has not finished its turn for 0 s: 'a'");
    arm_release(&a);
    close(rank);
}

static void test_an_arm_that_closes_has_died(void **state) {
    (void)state;
    error err = {0};
    int rank;
    arm a = ready_arm(&rank);
    uint32_t entries;
    close(rank);
    assert_int_equal(arm_turn(&a, 5, 60, room, &entries, &err), STATUS_FAILED);
    assert_string_equal(err.message, "rank 0 of arm 1 died: 'a'");
    arm_release(&a);
}

static void test_a_signal_ends_a_turn(void **state) {
    (void)state;
    error err = {0};
    int rank;
    arm a = ready_arm(&rank);
    uint32_t entries;
    raise(SIGTERM);
    assert_int_equal(arm_turn(&a, 5, 60, room, &entries, &err), STATUS_STOPPED);
    arm_release(&a);
    close(rank);
}

static void test_refuses_reports_that_are_none(void **state) {
    (void)state;
    static const uint64_t counts[] = {0, TURN_STEPS + 1, UINT64_MAX};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        error err = {0};
        int rank;
        arm a = ready_arm(&rank);
        uint32_t entries;
        const turn_report report = {counts[i]};
        endpoint_send(rank, &report, sizeof report, -1);
        assert_int_equal(arm_turn(&a, 5, 60, room, &entries, &err), STATUS_FAILED);
        arm_release(&a);
        close(rank);
    }
}

// ---- The end ----

// A command that makes the arm's process group end when all of its processes have: they hold the
// pipe whose other end is returned.
static int start_with_pipe(arm *a, char *command, const char *script) {
    error err = {0};
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    sprintf(command, "(%s) 9>&%d #", script, ends[1]);
    *a = (arm){.command = command};
    assert_int_equal(arm_start(a, 1, &err), STATUS_OK);
    close(ends[1]);
    return ends[0];
}

static void assert_group_has_ended(int pipe_end) {
    enum { SOON_MS = 15000 };
    struct pollfd at = {.fd = pipe_end, .events = POLLIN};
    char byte;
    assert_int_equal(poll(&at, 1, SOON_MS), 1);
    assert_int_equal(read(pipe_end, &byte, 1), 0);
    close(pipe_end);
    assert_no_children();
}

static void test_what_outlives_the_process_ends_with_it(void **state) {
    (void)state;
    error err = {0};
    char command[200];
    arm a;
    const int held = start_with_pipe(&a, command, "sleep 100 & exit 4");
    status rc = STATUS_OK;
    while ((rc = arm_check(&a, &err)) == STATUS_OK) usleep(1000);
    assert_int_equal(rc, STATUS_FAILED);
    assert_non_null(strstr(err.message, "arm 1 ended with exit code 4"));
    assert_group_has_ended(held);
    arm_release(&a);
}

static void test_ends_arms_at_once(void **state) {
    (void)state;
    char command[200];
    arm a;
    for (int i = 0; i < 20; i++) { // also before its process has begun
        const int held = start_with_pipe(&a, command, "sleep 100 & sleep 100");
        const uint64_t begin = clock_now();
        arm_end(&a);
        assert_true(clock_now() - begin < 900000000);
        assert_group_has_ended(held);
        arm_release(&a);
    }
}

static void test_ends_a_stopped_arm(void **state) {
    (void)state;
    int rank;
    char command[200];
    arm a = ready_arm(&rank), other;
    const int held = start_with_pipe(&other, command, "trap '' TERM; sleep 100");
    a.process = other.process;
    kill(-a.process, SIGSTOP);
    arm_end(&a);
    assert_group_has_ended(held);
    arm_release(&a);
    close(rank);
}

int main(void) {
#define TEST(function) cmocka_unit_test_setup(function, begin)
    const struct CMUnitTest tests[] = {
        TEST(test_reads_a_key),
        TEST(test_what_is_no_training),
        TEST(test_a_signal_ends_the_reading),
        TEST(test_admits_ranks_in_any_order),
        TEST(test_admits_a_long_manifest),
        TEST(test_turns_others_away),
        TEST(test_refuses_ranks_that_do_not_fit),
        TEST(test_refuses_a_rank_0_without_its_manifest),
        TEST(test_a_turn),
        TEST(test_patience_ends),
        TEST(test_an_arm_that_closes_has_died),
        TEST(test_a_signal_ends_a_turn),
        TEST(test_refuses_reports_that_are_none),
        TEST(test_what_outlives_the_process_ends_with_it),
        TEST(test_ends_arms_at_once),
        TEST(test_ends_a_stopped_arm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
