// SPDX-License-Identifier: MIT
#include "timing/arm.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/process.h"
#include "base/tool_list.h"
#include "dist/endpoint.h"

// What a rank sends at once arrives at once.
static uint64_t soon(void) {
    return clock_now() + 5 * 1000000000ull;
}

// ---- The process ----

status arms_find_tools(error *err) {
    char folder[PATH_MAX];
    const char *path = getenv("PATH");
    status rc = tool_folder(folder, err);
    if (rc != STATUS_OK) return rc;
    char *longer = memory_format("%s:%s", folder, path ? path : "/usr/bin:/bin");
    if (setenv("PATH", longer, 1))
        rc = error_system(err, STATUS_FAILED, errno, "cannot set the environment");
    free(longer);
    return rc;
}

// In the child: becomes the shell.
_Noreturn static void become(const char *line, int out, pid_t parent) {
    setpgid(0, 0);
    const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (!process_end_with_parent(parent, SIGTERM) || null < 0) _exit(STATUS_FAILED);
    dup2(null, STDIN_FILENO);
    dup2(out < 0 ? null : out, STDOUT_FILENO);
    execl("/bin/sh", "sh", "-c", line, (char *)NULL);
    _exit(STATUS_FAILED);
}

// Without memory for this process, the arms end with it, and say nothing.
static bool kill_at_death(void *argument, const char *message) {
    const arm *a = argument;
    (void)message;
    if (a->process) kill(-a->process, SIGKILL);
    return false;
}

// The arm is a process group of its own, so that Ctrl-C reaches only the program that gives the
// turns, and all of the arm can be ended. Whoever is first makes the group.
static status start(arm *a, const char *line, int out, error *err) {
    const pid_t parent = getpid(), process = fork();
    if (process == 0) become(line, out, parent);
    if (process < 0)
        return error_system(err, STATUS_FAILED, errno, "cannot start: '%s'", a->command);
    setpgid(process, process);
    a->process = process;
    memory_at_death(kill_at_death, a);
    return STATUS_OK;
}

status arm_start(arm *a, int endpoint, error *err) {
    char *line =
        memory_format("%s --quiet --turns %d/%u", a->command, endpoint, (unsigned)a->number);
    status rc = start(a, line, -1, err);
    free(line);
    return rc;
}

// What is left of its group ends with it.
static bool has_ended(arm *a, int *state) {
    *state = 0;
    if (waitpid(a->process, state, WNOHANG) == 0) return false;
    kill(-a->process, SIGKILL);
    a->process = 0;
    memory_forget(kill_at_death, a);
    return true;
}

static status describe_death(const arm *a, int state, error *err) {
    const unsigned number = a->number + 1;
    if (WIFSIGNALED(state)) {
        const char *name = sigabbrev_np(WTERMSIG(state));
        return error_set(err, STATUS_FAILED, "arm %u was killed by SIG%s: '%s'", number,
                         name ? name : "RT", a->command);
    }
    const int code = WEXITSTATUS(state);
    const bool refused = code == STATUS_USAGE || code == STATUS_INPUT;
    return error_set(err, refused ? (status)code : STATUS_FAILED,
                     "arm %u ended with exit code %d: '%s'", number, code, a->command);
}

static status describe_rank_death(const arm *a, uint32_t rank, error *err) {
    return error_set(err, STATUS_FAILED, "rank %u of arm %u died: '%s'", (unsigned)rank,
                     (unsigned)a->number + 1, a->command);
}

status arm_check(arm *a, error *err) {
    int state;
    if (a->process && has_ended(a, &state)) return describe_death(a, state, err);
    for (uint32_t r = 0; r < a->count; r++)
        if (a->ranks[r] >= 0 && endpoint_closed(a->ranks[r])) return describe_rank_death(a, r, err);
    return STATUS_OK;
}

// ---- Its key ----

// Reads until the end, or until `room` is full.
static status read_answer(int file, char *text, size_t room, size_t *length, error *err) {
    for (*length = 0; *length < room;) {
        struct pollfd at = {.fd = file, .events = POLLIN};
        bool ready;
        NEED(endpoint_wait(&at, 1, UINT64_MAX, &ready, err));
        const ssize_t n = read(file, text + *length, room - *length);
        if (n <= 0) return STATUS_OK;
        *length += (size_t)n;
    }
    return STATUS_OK;
}

// A kernel that cannot wait for a process is asked a thousand times a second.
static status await_end(arm *a, error *err) {
    enum { LOOK_NS = 1000000 };
    struct pollfd at = {.fd = (int)syscall(SYS_pidfd_open, a->process, 0), .events = POLLIN};
    const bool known = at.fd >= 0;
    int state = 0;
    status rc = STATUS_OK;
    while (rc == STATUS_OK && !has_ended(a, &state)) {
        bool ready;
        const uint64_t deadline = known ? UINT64_MAX : clock_now() + LOOK_NS;
        rc = endpoint_wait(&at, known, deadline, &ready, err);
    }
    if (known) close(at.fd);
    return rc == STATUS_OK && state ? describe_death(a, state, err) : rc;
}

// Under a launcher, each rank may say it.
static bool is_key(const char *text, size_t length) {
    enum { DIGITS = SHA256_TEXT_BYTES - 1, LINE = DIGITS + 1 };
    if (!length || length % LINE || strspn(text, "0123456789abcdef") != DIGITS) return false;
    for (size_t at = 0; at < length; at += LINE)
        if (text[at + DIGITS] != '\n' || memcmp(text + at, text, LINE) != 0) return false;
    return true;
}

static status ask(arm *a, char *text, size_t room, error *err) {
    int ends[2];
    size_t length = 0;
    if (pipe2(ends, O_CLOEXEC))
        return error_system(err, STATUS_FAILED, errno, "cannot start: '%s'", a->command);
    char *line = memory_format("%s --quiet --print-key", a->command);
    status rc = start(a, line, ends[1], err);
    close(ends[1]);
    if (rc == STATUS_OK) rc = read_answer(ends[0], text, room, &length, err);
    close(ends[0]);
    if (rc == STATUS_OK && length < room) rc = await_end(a, err); // it may say more
    if (rc == STATUS_OK && !is_key(text, length))
        rc = error_set(err, STATUS_USAGE, "arm %u is no training: '%s'", (unsigned)a->number + 1,
                       a->command);
    free(line);
    return rc;
}

status arm_read_key(arm *a, error *err) {
    enum { ROOM = 1 << 18 }; // for 4032 ranks
    char *text = memory_new(ROOM + 1, 1);
    const status rc = ask(a, text, ROOM, err);
    if (rc == STATUS_OK) memcpy(a->key, text, SHA256_TEXT_BYTES - 1);
    free(text);
    return rc;
}

// ---- A whole run ----

// Does a word of the command end with this name?
static bool names_tool(const char *command, const char *name) {
    const size_t length = strlen(name);
    for (const char *at = command; (at = strstr(at, name)); at += length) {
        const char before = at == command ? ' ' : at[-1], after = at[length];
        if (strchr(" \t\n/'\"(;&|", before) && (!after || strchr(" \t\n'\");&|", after)))
            return true;
    }
    return false;
}

bool arm_is_training(const arm *a) {
    for (size_t i = 0; i < tool_count; i++)
        if (tool_list[i].group == TOOLS_TRAIN && names_tool(a->command, tool_list[i].name))
            return true;
    return false;
}

// Waits for up to a second.
static bool ends_soon(arm *a) {
    const struct timespec moment = {.tv_nsec = 5000000};
    int state;
    for (int i = 0; i < 200; i++) {
        if (has_ended(a, &state)) return true;
        nanosleep(&moment, NULL);
    }
    return false;
}

// A stopped process takes no SIGTERM before it goes on.
static void stop(arm *a) {
    kill(-a->process, SIGTERM);
    kill(-a->process, SIGCONT);
    if (ends_soon(a)) return;
    kill(-a->process, SIGKILL);
    (void)ends_soon(a);
    memory_forget(kill_at_death, a);
    a->process = 0;
}

status arm_run(arm *a, const char *more, uint64_t *ns, error *err) {
    char *line = memory_format("%s%s", a->command, more);
    const uint64_t begin = clock_now();
    status rc = start(a, line, -1, err);
    if (rc == STATUS_OK) rc = await_end(a, err);
    *ns = clock_now() - begin;
    if (a->process) stop(a);
    free(line);
    return rc;
}

// ---- Its ranks ----

static status foreign(const arm *a, error *err) {
    return error_set(err, STATUS_FAILED, "arm %u is not a single training of this version: '%s'",
                     (unsigned)a->number + 1, a->command);
}

static status read_file(int file, char *text, size_t bytes, error *err) {
    for (size_t done = 0; done < bytes;) {
        const ssize_t n = pread(file, text + done, bytes - done, (off_t)done);
        if (n <= 0)
            return error_system(err, STATUS_FAILED, n ? errno : EIO,
                                "cannot read the manifest of an arm");
        done += (size_t)n;
    }
    return STATUS_OK;
}

static status read_manifest(arm *a, int file, error *err) {
    struct stat about;
    if (fstat(file, &about) || about.st_size > YAML_MAX_BYTES) return foreign(a, err);
    const size_t bytes = (size_t)about.st_size;
    char *text = memory_new(bytes + 1, 1);
    status rc = read_file(file, text, bytes, err);
    yaml_free(a->manifest);
    a->manifest = NULL;
    if (rc == STATUS_OK) rc = yaml_read_text(text, bytes, "manifest of an arm", &a->manifest, err);
    free(text);
    return rc;
}

static status place_rank(arm *a, int connection, const turn_hello *hello, int file, error *err) {
    enum { RANKS = 4096 };
    if (!a->ranks && hello->ranks <= RANKS) {
        a->ranks = memory_new(hello->ranks, sizeof *a->ranks);
        a->processes = memory_new(hello->ranks, sizeof *a->processes);
        a->count = hello->ranks;
        for (uint32_t r = 0; r < a->count; r++) a->ranks[r] = -1;
    }
    if (hello->ranks != a->count || hello->rank >= a->count || a->ranks[hello->rank] >= 0 ||
        (file >= 0) != (hello->rank == 0))
        return foreign(a, err);
    NEED(file >= 0 ? read_manifest(a, file, err) : STATUS_OK);
    a->ranks[hello->rank] = connection;
    a->processes[hello->rank] = endpoint_process(connection);
    a->connected++;
    return STATUS_OK;
}

status arm_admit(arm *arms, size_t count, int connection, error *err) {
    turn_hello hello;
    endpoint_outcome outcome;
    int file;
    bool placed = false;
    status rc = endpoint_receive(connection, &hello, sizeof hello, &file, soon(), &outcome, err);
    if (rc == STATUS_OK && outcome == ENDPOINT_WHOLE && hello.arm < count) {
        rc = place_rank(&arms[hello.arm], connection, &hello, file, err);
        placed = rc == STATUS_OK;
    }
    if (file >= 0) close(file);
    if (!placed) close(connection);
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
    for (int i = 0; a->process && i < 100; i++) {
        int state;
        if (has_ended(a, &state)) return describe_death(a, state, err);
        nanosleep(&moment, NULL);
    }
    return describe_rank_death(a, rank, err);
}

static status receive(arm *a, uint32_t rank, void *data, size_t bytes, uint64_t deadline,
                      double patience, error *err) {
    endpoint_outcome outcome;
    NEED(endpoint_receive(a->ranks[rank], data, bytes, NULL, deadline, &outcome, err));
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
        NEED(receive(a, r, &report, sizeof report, deadline, patience, err));
        if (report.count > TURN_STEPS || !report.count != (r > 0)) return foreign(a, err);
        if (!report.count) continue;
        NEED(receive(a, r, steps, report.count * sizeof *steps, deadline, patience, err));
        for (uint64_t i = 0; i < report.count; i++)
            if (!steps[i].ns || !steps[i].samples) return foreign(a, err);
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

void arm_end(arm *a) {
    arm_dismiss(a);
    for (uint32_t r = 0; r < a->count; r++)
        if (a->ranks[r] >= 0) close(a->ranks[r]);
    free(a->ranks);
    free(a->processes);
    a->ranks = NULL;
    a->processes = NULL;
    a->count = a->connected = 0;
    if (a->process && !ends_soon(a)) stop(a);
}

void arm_release(arm *a) {
    arm_end(a);
    yaml_free(a->manifest);
    a->manifest = NULL;
}
