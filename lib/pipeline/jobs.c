// SPDX-License-Identifier: MIT
#include "pipeline/jobs.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/signals.h"
#include "pipeline/child.h"

typedef struct job {
    pid_t pid; // 0: not started, or ended
    error *failure;
} job;

typedef struct job_pool {
    job *jobs;
    error *failures; // shared with the jobs, one each
    size_t count, next, running, ended;
    const error *first; // failure; NULL: none yet
    bool interrupted;
} job_pool;

static _Noreturn void work_in_child(job_work *work, void *context, size_t number, error *failure,
                                    pid_t parent) {
    child_begin(parent);
    const status rc = work(context, number, failure);
    fflush(NULL);
    _exit((int)rc);
}

static void start_next(job_pool *p, job_work *work, void *context) {
    job *j = &p->jobs[p->next];
    const pid_t parent = getpid();
    fflush(NULL);
    const pid_t pid = fork();
    if (pid == 0) work_in_child(work, context, p->next, j->failure, parent);
    p->next++;
    if (pid < 0) {
        error_system(j->failure, STATUS_FAILED, errno, "cannot start a process");
        p->first = p->first ? p->first : j->failure;
        return;
    }
    j->pid = pid;
    p->running++;
}

static void stop_all(const job_pool *p) {
    for (size_t i = 0; i < p->count; i++)
        if (p->jobs[i].pid > 0) kill(p->jobs[i].pid, SIGTERM);
}

static void take_end(job_pool *p, job *j, int how) {
    const bool stopped = p->first || p->interrupted; // by stop_all, or with the others
    j->pid = 0;
    p->running--;
    p->ended++;
    if (WIFEXITED(how) && WEXITSTATUS(how) == STATUS_OK) return;
    if (WIFSIGNALED(how) && WTERMSIG(how) == SIGINT) p->interrupted = true;
    if (WIFSIGNALED(how) && !stopped && !p->interrupted)
        error_set(j->failure, STATUS_FAILED, "a job was ended by signal %d", WTERMSIG(how));
    if (WIFEXITED(how)) j->failure->code = (status)WEXITSTATUS(how);
    if (!stopped && !p->interrupted) p->first = j->failure;
    if (!stopped) stop_all(p);
}

// Waits until a process ends: a job, or what a job that was stopped has left behind, which is this
// process's child then. False if there is none.
static bool wait_for_one(job_pool *p) {
    int how;
    const pid_t pid = waitpid(-1, &how, 0);
    if (pid < 0) return errno == EINTR;
    for (size_t i = 0; i < p->count; i++)
        if (p->jobs[i].pid == pid) take_end(p, &p->jobs[i], how);
    return true;
}

static void run_all(job_pool *p, size_t at_once, job_work *work, void *context,
                    void (*ended)(void *context, size_t count)) {
    for (;;) {
        while (!p->first && !p->interrupted && p->next < p->count && p->running < at_once)
            start_next(p, work, context);
        const size_t before = p->ended;
        if (!wait_for_one(p)) return;
        if (ended && p->ended > before) ended(context, p->ended);
    }
}

status jobs_run(size_t count, size_t at_once, job_work *work, void *context,
                void (*ended)(void *context, size_t count), error *err) {
    job_pool p = {.count = count};
    child_signals before;
    const size_t bytes = (count ? count : 1) * sizeof *p.failures;
    p.failures = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (p.failures == MAP_FAILED)
        return error_system(err, STATUS_FAILED, errno, "cannot start processes");
    p.jobs = memory_new(count, sizeof *p.jobs);
    for (size_t i = 0; i < count; i++) p.jobs[i].failure = &p.failures[i];
    // What a stopped job leaves behind, a training that saves its state, is waited for.
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1L, 0L, 0L, 0L);
    child_signals_ignore(&before);
    run_all(&p, at_once, work, context, ended);
    child_signals_restore(&before);
    (void)prctl(PR_SET_CHILD_SUBREAPER, 0L, 0L, 0L, 0L);
    if (p.interrupted) signals_end_process(SIGINT);
    const status rc = p.first ? error_pass(p.first, err) : STATUS_OK;
    munmap(p.failures, bytes);
    free(p.jobs);
    return rc;
}
