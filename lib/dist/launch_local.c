// SPDX-License-Identifier: MIT
// Ranks as children of this process. It waits for them, passes signals on, ends all of them if one
// fails, and finds the first error.
#include "dist/launch_local.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/process.h"
#include "dist/comm_shm.h"

static const int passed_on[] = {SIGINT, SIGTERM, SIGUSR1};
enum { PASSED_ON = sizeof passed_on / sizeof *passed_on };

typedef struct child {
    pid_t process; // 0: not started, or reaped
    int ended;     // status from waitpid
} child;

typedef struct job {
    int size, running;
    shared_memory *shared;
    child *children;
    pid_t parent;
    sigset_t watched, mask_before;
    struct sigaction child_before;
    int received;           // the signal to raise in this process at the end; 0: none
    bool interrupted_twice; // a second SIGINT has arrived: nothing was saved
    int first_bad;          // the first rank that ended badly, or -1
    uint64_t kill_at;       // deadline of the remaining ranks; 0: none was asked to end
} job;

// ---- A rank ----

static status run_rank(job *j, int rank, launch_body body, void *argument, error *err) {
    comm *c = NULL;
    status rc = STATUS_OK;
    if (j->size == 1)
        c = comm_self();
    else
        TRY(comm_shm(j->shared, rank, false, &c, err));
    rc = body(argument, c, err);
    // When the others fail too, the parent's SIGTERM must not end this rank before it has reported.
    sigprocmask(SIG_BLOCK, &j->watched, NULL);
out: // Before leaving, so that the others report the error and not the leaving.
    if (rc != STATUS_OK && rc != STATUS_STOPPED) shared_fail(j->shared, rank, SHARED_ERROR);
    comm_free(c);
    return rc;
}

// The parent prints the report.
static bool report_at_death(void *argument, const char *message) {
    error *report = argument;
    strncpy(report->message, message, sizeof report->message - 1);
    report->code = STATUS_FAILED;
    return true;
}

// ps, top and pgrep then tell the ranks apart: "train-ddp:2".
static void name_process(int rank) {
    char name[32]; // the kernel keeps 15 characters
    snprintf(name, sizeof name, "%.10s:%d", program_invocation_short_name, rank);
    (void)prctl(PR_SET_NAME, name);
}

_Noreturn static void run_as_rank(job *j, int rank, launch_body body, void *argument) {
    if (!process_end_with_parent(j->parent, SIGKILL)) _exit(STATUS_FAILED);
    sigaction(SIGCHLD, &j->child_before, NULL);
    sigprocmask(SIG_SETMASK, &j->mask_before, NULL);
    if (j->size > 1) name_process(rank);
    error *report = shared_report(j->shared, rank);
    memory_at_death(report_at_death, report);
    status rc = run_rank(j, rank, body, argument, report);
    if (fflush(stdout) != 0 && rc == STATUS_OK)
        rc = error_system(report, STATUS_FAILED, errno, "cannot write to standard output");
    report->code = rc;
    _exit((int)rc);
}

// ---- The parent ----

// Signals are taken one at a time with sigtimedwait, so there are no handlers and no races. Signals
// that this process ignored stay ignored.
static void block_signals(job *j) {
    struct sigaction usual = {.sa_handler = SIG_DFL}, now;
    sigemptyset(&usual.sa_mask);
    sigemptyset(&j->watched);
    sigaddset(&j->watched, SIGCHLD);
    for (int i = 0; i < PASSED_ON; i++)
        if (sigaction(passed_on[i], NULL, &now) == 0 && now.sa_handler != SIG_IGN)
            sigaddset(&j->watched, passed_on[i]);
    sigaction(SIGCHLD, &usual, &j->child_before);
    sigprocmask(SIG_BLOCK, &j->watched, &j->mask_before);
}

static void restore_signals(const job *j) {
    if (j->received) raise(j->received); // delivered by the next line
    sigprocmask(SIG_SETMASK, &j->mask_before, NULL);
    sigaction(SIGCHLD, &j->child_before, NULL);
    // The caller's handler needs a second SIGINT to end the process, as it does without ranks.
    if (j->interrupted_twice) raise(SIGINT);
}

static void signal_all(const job *j, int number) {
    for (int r = 0; r < j->size; r++)
        if (j->children[r].process) kill(j->children[r].process, number);
}

static void end_all(job *j) {
    if (j->kill_at) return;
    j->kill_at = clock_now() + LAUNCH_GRACE_SECONDS * UINT64_C(1000000000);
    signal_all(j, SIGTERM);
}

static bool ended_well(int ended) {
    if (!WIFEXITED(ended)) return false;
    const int code = WEXITSTATUS(ended);
    return code == STATUS_OK || code == STATUS_STOPPED;
}

// Returns true if the rank reached the end of its body.
static bool has_reported(const job *j, int rank) {
    const int ended = j->children[rank].ended;
    const error *report = shared_report(j->shared, rank);
    return WIFEXITED(ended) && WEXITSTATUS(ended) == (int)report->code && report->message[0];
}

static void reap(job *j) {
    for (int r = 0; r < j->size; r++) {
        child *c = &j->children[r];
        if (!c->process || waitpid(c->process, &c->ended, WNOHANG) != c->process) continue;
        c->process = 0;
        j->running--;
        if (ended_well(c->ended)) continue;
        if (j->first_bad < 0) j->first_bad = r;
        shared_fail(j->shared, r, SHARED_DIED); // unless a rank has already failed
        end_all(j);
    }
}

static void pass_on(job *j, int number) {
    if (j->received == SIGINT && number == SIGINT) {
        signal_all(j, SIGKILL);
        j->interrupted_twice = true;
    }
    if (!j->received) signal_all(j, number == SIGINT ? SIGTERM : number);
    if (j->received != SIGINT) j->received = number;
}

static void wait_for_all(job *j) {
    const struct timespec tick = {.tv_nsec = 100 * 1000000L};
    for (reap(j); j->running > 0; reap(j)) {
        const int number = sigtimedwait(&j->watched, NULL, &tick);
        if (number > 0 && number != SIGCHLD) pass_on(j, number);
        if (j->kill_at && clock_now() > j->kill_at) signal_all(j, SIGKILL);
    }
}

static status start(job *j, launch_body body, void *argument, const logger *log, error *err) {
    fflush(NULL); // or the ranks would write the buffers again
    for (int r = 0; r < j->size; r++) {
        const pid_t process = fork();
        if (process == 0) run_as_rank(j, r, body, argument);
        if (process < 0) {
            const int why = errno;
            end_all(j);
            return error_system(err, STATUS_FAILED, why, "cannot start rank %d of %d", r, j->size);
        }
        j->children[r].process = process;
        shared_expect(j->shared, r, process);
        j->running++;
        log_debug(log, "rank %d is process %d", r, (int)process);
    }
    return STATUS_OK;
}

// ---- The outcome ----

static status describe_death(const job *j, int rank, launch_death *death, error *err) {
    const int ended = j->children[rank].ended;
    char process_name[32] = "the process";
    if (j->size > 1) snprintf(process_name, sizeof process_name, "rank %d", rank);
    death->happened = true;
    if (WIFSIGNALED(ended)) {
        const int number = WTERMSIG(ended);
        const char *name = sigabbrev_np(number);
        snprintf(death->text, sizeof death->text, "%s died (killed by SIG%s)", process_name,
                 name ? name : "RT"); // real-time signals have no names of their own
        return error_set(err, STATUS_FAILED, "%s was killed by signal %d (%s)", process_name,
                         number, strsignal(number));
    }
    snprintf(death->text, sizeof death->text, "%s died (exit code %d)", process_name,
             WEXITSTATUS(ended));
    return error_set(err, STATUS_FAILED, "%s ended early with exit code %d", process_name,
                     WEXITSTATUS(ended));
}

static bool all_report_the_same(const job *j, const error *what) {
    for (int r = 0; r < j->size; r++)
        if (!has_reported(j, r) || strcmp(shared_report(j->shared, r)->message, what->message))
            return false;
    return true;
}

// The rank that failed first has the reason; the others only report that it failed.
static status find_outcome(const job *j, launch_death *death, error *err) {
    shared_failure how;
    int rank = shared_failed(j->shared, &how);
    if (rank < 0 || how == SHARED_STALLED || ended_well(j->children[rank].ended))
        rank = j->first_bad; // its report names the one that failed
    if (rank < 0) {          // no failure: stopped, or done
        for (rank = 0; rank < j->size - 1 && !WEXITSTATUS(j->children[rank].ended);) rank++;
        const status rc = (status)WEXITSTATUS(j->children[rank].ended);
        if (rc != STATUS_OK && err) *err = *shared_report(j->shared, rank);
        return rc;
    }
    if (!has_reported(j, rank)) return describe_death(j, rank, death, err);
    const error *report = shared_report(j->shared, rank);
    if (err) *err = *report;
    if (j->size > 1 && !all_report_the_same(j, report)) error_prefix(err, "rank %d: ", rank);
    return report->code;
}

status launch_local(int size, size_t n, size_t gather_bytes, launch_body body, void *argument,
                    launch_death *death, const logger *log, error *err) {
    launch_death ignored, *found = death ? death : &ignored;
    job j = {.size = size, .first_bad = -1, .parent = getpid()};
    status rc;
    *found = (launch_death){.happened = false};
    TRY(shared_create(size, n, gather_bytes, &j.shared, err));
    j.children = memory_new((size_t)size, sizeof *j.children);
    block_signals(&j);
    rc = start(&j, body, argument, log, err);
    wait_for_all(&j);
    if (rc == STATUS_OK) rc = find_outcome(&j, found, err);
    restore_signals(&j);
out:
    free(j.children);
    shared_free(j.shared);
    return rc;
}
