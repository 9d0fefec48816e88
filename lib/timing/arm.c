// SPDX-License-Identifier: MIT
#include "timing/arm.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/process.h"
#include "base/program.h"
#include "dist/endpoint.h"

// What a rank sends at once arrives at once.
static uint64_t soon(void) {
    return clock_now() + 5 * 1000000000ull;
}

// ---- The process ----

status arms_find_tools(error *err) {
    char folder[PATH_MAX];
    const char *path = getenv("PATH");
    status rc = program_folder(folder, err);
    char *longer =
        rc == STATUS_OK ? memory_format(err, "%s:%s", folder, path ? path : "/usr/bin:/bin") : NULL;
    if (!longer) return STATUS_FAILED;
    if (setenv("PATH", longer, 1))
        rc = error_system(err, STATUS_FAILED, errno, "cannot set the environment");
    free(longer);
    return rc;
}

// In the child: becomes the shell. The arm is a process group of its own, so that Ctrl-C reaches
// only the program that gives the turns, and all of the arm can be ended.
_Noreturn static void become(const char *line, pid_t parent) {
    setpgid(0, 0);
    const int null = open("/dev/null", O_RDWR);
    if (!process_end_with_parent(parent, SIGTERM) || null < 0) _exit(STATUS_FAILED);
    dup2(null, STDIN_FILENO);
    dup2(null, STDOUT_FILENO);
    execl("/bin/sh", "sh", "-c", line, (char *)NULL);
    _exit(STATUS_FAILED);
}

status arm_start(arm *a, int endpoint, error *err) {
    char *line =
        memory_format(err, "%s --quiet --turns %d/%u", a->command, endpoint, (unsigned)a->number);
    status rc = line ? STATUS_OK : STATUS_FAILED;
    const pid_t parent = getpid();
    if (rc == STATUS_OK) {
        a->process = fork();
        if (a->process == 0) become(line, parent);
        if (a->process < 0) {
            a->process = 0;
            rc = error_system(err, STATUS_FAILED, errno, "cannot start: '%s'", a->command);
        }
    }
    free(line);
    return rc;
}

static status describe_death(const arm *a, int state, error *err) {
    if (WIFSIGNALED(state))
        return error_set(err, STATUS_FAILED, "arm %u was killed by SIG%s: '%s'",
                         (unsigned)a->number + 1, sigabbrev_np(WTERMSIG(state)), a->command);
    const int code = WEXITSTATUS(state);
    const bool refused = code == STATUS_USAGE || code == STATUS_INPUT;
    return error_set(err, refused ? (status)code : STATUS_FAILED,
                     "arm %u ended with exit code %d before its turns were over: '%s'",
                     (unsigned)a->number + 1, code, a->command);
}

status arm_read_key(arm *a, error *err) {
    char *line = memory_format(err, "%s --quiet --print-key </dev/null", a->command);
    FILE *answer = line ? popen(line, "re") : NULL;
    status rc = STATUS_FAILED;
    char format[16];
    if (!line) return rc;
    snprintf(format, sizeof format, "%%%ds", SHA256_TEXT_BYTES - 1);
    const bool read = answer && fscanf(answer, format, a->key) == 1; // NOLINT
    const int state = answer ? pclose(answer) : -1;
    if (!answer)
        rc = error_system(err, STATUS_FAILED, errno, "cannot start: '%s'", a->command);
    else if (state)
        rc = describe_death(a, state, err);
    else if (!read || strlen(a->key) != SHA256_TEXT_BYTES - 1)
        rc = error_set(err, STATUS_USAGE, "arm %u is no training: '%s'", (unsigned)a->number + 1,
                       a->command);
    else
        rc = STATUS_OK;
    free(line);
    return rc;
}

status arm_check(arm *a, error *err) {
    int state;
    if (a->process && waitpid(a->process, &state, WNOHANG) == a->process) {
        kill(-a->process, SIGKILL); // ranks that outlived it
        a->process = 0;
        return describe_death(a, state, err);
    }
    for (uint32_t r = 0; r < a->count; r++)
        if (a->ranks[r] >= 0 && endpoint_closed(a->ranks[r]))
            return error_set(err, STATUS_FAILED, "rank %u of arm %u died: '%s'", (unsigned)r,
                             (unsigned)a->number + 1, a->command);
    return STATUS_OK;
}

// ---- Its ranks ----

static status foreign(error *err) {
    return error_set(err, STATUS_FAILED,
                     "cannot take turns: a program of another version connected");
}

static status read_manifest(arm *a, int connection, uint32_t bytes, error *err) {
    endpoint_outcome outcome;
    char *text = memory_new((size_t)bytes + 1, 1, err);
    status rc = text ? STATUS_OK : STATUS_FAILED;
    if (!text) return rc;
    TRY(endpoint_receive(connection, text, bytes, NULL, soon(), &outcome, err));
    TRY(outcome == ENDPOINT_WHOLE ? STATUS_OK : foreign(err));
    yaml_free(a->manifest);
    a->manifest = NULL;
    rc = yaml_read_text(text, bytes, "manifest of an arm", &a->manifest, err);
out:
    free(text);
    return rc;
}

static status place_rank(arm *a, int connection, const turn_hello *hello, error *err) {
    if (!a->ranks) {
        a->ranks = memory_new(hello->ranks, sizeof *a->ranks, err);
        if (!a->ranks) return STATUS_FAILED;
        a->count = hello->ranks;
        for (uint32_t r = 0; r < a->count; r++) a->ranks[r] = -1;
    }
    if (hello->ranks != a->count || hello->rank >= a->count || a->ranks[hello->rank] >= 0)
        return foreign(err);
    if (hello->bytes) {
        status rc = read_manifest(a, connection, hello->bytes, err);
        if (rc != STATUS_OK) return rc;
    }
    a->ranks[hello->rank] = connection;
    a->connected++;
    return STATUS_OK;
}

status arm_admit(arm *arms, size_t count, int connection, error *err) {
    enum { RANKS = 4096, MANIFEST = 1 << 20 };
    turn_hello hello;
    endpoint_outcome outcome;
    status rc = endpoint_receive(connection, &hello, sizeof hello, NULL, soon(), &outcome, err);
    if (rc == STATUS_OK && (outcome != ENDPOINT_WHOLE || hello.arm >= count || !hello.ranks ||
                            hello.ranks > RANKS || hello.bytes > MANIFEST))
        rc = foreign(err);
    if (rc == STATUS_OK) rc = place_rank(&arms[hello.arm], connection, &hello, err);
    if (rc != STATUS_OK) close(connection);
    return rc;
}

bool arm_is_ready(const arm *a) {
    return a->count && a->connected == a->count;
}

// ---- A turn ----

static status late(const arm *a, double patience, error *err) {
    return error_set(err, STATUS_FAILED, "arm %u has not finished its turn for %.0f s: '%s'",
                     (unsigned)a->number + 1, patience, a->command);
}

// Why a connection closed: the process may end a moment later.
static status find_death(arm *a, uint32_t rank, error *err) {
    const struct timespec moment = {.tv_nsec = 10000000};
    for (int i = 0; i < 100; i++) {
        int state;
        if (a->process && waitpid(a->process, &state, WNOHANG) == a->process) {
            a->process = 0;
            return describe_death(a, state, err);
        }
        nanosleep(&moment, NULL);
    }
    return error_set(err, STATUS_FAILED, "rank %u of arm %u died: '%s'", (unsigned)rank,
                     (unsigned)a->number + 1, a->command);
}

static status receive(arm *a, uint32_t rank, void *data, size_t bytes, uint64_t deadline,
                      double patience, error *err) {
    endpoint_outcome outcome;
    status rc = endpoint_receive(a->ranks[rank], data, bytes, NULL, deadline, &outcome, err);
    if (rc != STATUS_OK) return rc;
    if (outcome == ENDPOINT_LATE) return late(a, patience, err);
    return outcome == ENDPOINT_WHOLE ? STATUS_OK : find_death(a, rank, err);
}

status arm_turn(arm *a, uint64_t count, double patience, turn_step *steps, uint32_t *entries,
                error *err) {
    const turn_order order = {count};
    const uint64_t deadline = clock_now() + (uint64_t)(patience * 1e9);
    *entries = 0;
    for (uint32_t r = 0; r < a->count; r++) endpoint_send(a->ranks[r], &order, sizeof order, -1);
    for (uint32_t r = 0; r < a->count; r++) {
        turn_report report;
        status rc = receive(a, r, &report, sizeof report, deadline, patience, err);
        if (rc != STATUS_OK) return rc;
        if (report.count > TURN_STEPS || !report.count != (r > 0)) return foreign(err);
        if (!report.count) continue;
        rc = receive(a, r, steps, report.count * sizeof *steps, deadline, patience, err);
        if (rc != STATUS_OK) return rc;
        *entries = (uint32_t)report.count;
    }
    return STATUS_OK;
}

// ---- The end ----

void arm_dismiss(arm *a) {
    const turn_order over = {0};
    if (a->process && !arm_is_ready(a)) kill(-a->process, SIGKILL);
    for (uint32_t r = 0; r < a->count; r++)
        if (a->ranks[r] >= 0) endpoint_send(a->ranks[r], &over, sizeof over, -1);
}

// Waits for up to a second.
static bool has_ended(pid_t process) {
    const struct timespec moment = {.tv_nsec = 5000000};
    for (int i = 0; i < 200; i++) {
        if (waitpid(process, NULL, WNOHANG) != 0) return true;
        nanosleep(&moment, NULL);
    }
    return false;
}

void arm_end(arm *a) {
    arm_dismiss(a);
    for (uint32_t r = 0; r < a->count; r++)
        if (a->ranks[r] >= 0) close(a->ranks[r]);
    free(a->ranks);
    a->ranks = NULL;
    a->count = a->connected = 0;
    if (!a->process) return;
    // A stopped process does not end before it goes on.
    for (int attempt = 0; attempt < 3; attempt++) {
        if (has_ended(a->process)) break;
        kill(-a->process, attempt == 0 ? SIGTERM : SIGKILL);
        kill(-a->process, SIGCONT);
    }
    kill(-a->process, SIGKILL); // what is left of the group
    a->process = 0;
}

void arm_release(arm *a) {
    arm_end(a);
    yaml_free(a->manifest);
    a->manifest = NULL;
}
