// SPDX-License-Identifier: MIT
#include "pipeline/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/process.h"
#include "base/signals.h"
#include "base/text.h"

typedef struct child {
    const strvec *command;
    const char *folder; // to run in; NULL: this process's
    int out, said;      // standard output and standard error; -1: inherited
    int report;         // pipe on which the child reports that it could not start
    pid_t parent;
} child;

// ---- Signals ----

void child_signals_ignore(child_signals *before) {
    const struct sigaction ignore = {.sa_handler = SIG_IGN};
    sigaction(SIGINT, &ignore, &before->interrupt);
    sigaction(SIGQUIT, &ignore, &before->quit);
}

void child_signals_restore(const child_signals *before) {
    sigaction(SIGINT, &before->interrupt, NULL);
    sigaction(SIGQUIT, &before->quit, NULL);
}

void child_begin(pid_t parent) {
    signal(SIGINT, SIG_DFL);
    signal(SIGQUIT, SIG_DFL);
    if (!process_end_with_parent(parent, SIGTERM)) _exit(STATUS_FAILED);
}

// ---- In the child ----

static _Noreturn void become(const child *c) {
    int reason;
    child_begin(c->parent);
    signal(SIGXFSZ, SIG_DFL);
    if (c->out >= 0) dup2(c->out, STDOUT_FILENO);
    if (c->said >= 0) dup2(c->said, STDERR_FILENO);
    if (!c->folder || chdir(c->folder) == 0) execvp(c->command->items[0], c->command->items);
    reason = errno;
    if (write(c->report, &reason, sizeof reason) != sizeof reason) _exit(STATUS_FAILED);
    _exit(STATUS_FAILED);
}

// ---- In the parent ----

static status cannot_start(const strvec *command, int reason, error *err) {
    return error_system(err, STATUS_FAILED, reason, "cannot start program: '%s'",
                        command->items[0]);
}

static status start(child *c, pid_t *pid, error *err) {
    int report[2], reason = 0;
    c->parent = getpid();
    if (pipe2(report, O_CLOEXEC)) return cannot_start(c->command, errno, err);
    c->report = report[1];
    fflush(NULL);
    *pid = fork();
    if (*pid == 0) become(c);
    if (*pid < 0) reason = errno;
    close(report[1]);
    if (*pid > 0 && read(report[0], &reason, sizeof reason) == sizeof reason)
        (void)waitpid(*pid, NULL, 0);
    close(report[0]);
    return reason ? cannot_start(c->command, reason, err) : STATUS_OK;
}

static status interpret(const strvec *command, int ended, error *err) {
    const char *slash = strrchr(command->items[0], '/');
    const char *name = slash ? slash + 1 : command->items[0];
    error_set(err, STATUS_FAILED, "%s", "");
    if (WIFSIGNALED(ended)) {
        if (WTERMSIG(ended) == SIGINT) signals_end_process(SIGINT);
        const char *known = sigabbrev_np(WTERMSIG(ended));
        return error_set(err, STATUS_FAILED, "'%s' was ended by signal %d (SIG%s)", name,
                         WTERMSIG(ended), known ? known : "?");
    }
    int code = WEXITSTATUS(ended);
    if (code > STATUS_STOPPED) return STATUS_FAILED;
    if (err) err->code = (status)code;
    return (status)code;
}

static status wait_for(const strvec *command, pid_t pid, error *err) {
    int ended;
    while (waitpid(pid, &ended, 0) < 0)
        if (errno != EINTR)
            return error_system(err, STATUS_FAILED, errno, "cannot wait for '%s'",
                                command->items[0]);
    return interpret(command, ended, err);
}

status child_run(const strvec *command, error *err) {
    child c = {.command = command, .out = -1, .said = -1};
    child_signals before;
    pid_t pid;
    child_signals_ignore(&before);
    status rc = start(&c, &pid, err);
    if (rc == STATUS_OK) rc = wait_for(command, pid, err);
    child_signals_restore(&before);
    return rc;
}

// ---- Output ----

// *answer is NULL after a failure; `answer` NULL: it is dropped.
static status run_and_read(child *c, char **answer, error *err) {
    text all = {0};
    child_signals before;
    int out[2];
    pid_t pid;
    if (answer) *answer = NULL;
    if (pipe2(out, O_CLOEXEC)) return cannot_start(c->command, errno, err);
    c->out = out[1];
    child_signals_ignore(&before);
    status rc = start(c, &pid, err);
    close(out[1]);
    if (rc == STATUS_OK) {
        if (!text_read(&all, out[0], SIZE_MAX))
            rc = error_system(err, STATUS_FAILED, errno, "cannot read from a child");
        status ended = wait_for(c->command, pid, rc == STATUS_OK ? err : NULL);
        if (rc == STATUS_OK) rc = ended;
    }
    child_signals_restore(&before);
    close(out[0]);
    while (all.length && all.data[all.length - 1] == '\n') all.data[--all.length] = 0;
    if (rc == STATUS_OK && answer) *answer = text_take(&all);
    text_release(&all);
    return rc;
}

status child_output(const strvec *command, char **answer, error *err) {
    child c = {.command = command, .said = -1};
    return run_and_read(&c, answer, err);
}

status child_run_quietly(const char *folder, const strvec *command, error *err) {
    char line[2048] = "";
    error failure = {0};
    int memory = memfd_create("messages", MFD_CLOEXEC);
    FILE *messages = memory < 0 ? NULL : fdopen(memory, "w+");
    if (!messages) return cannot_start(command, errno, err);
    child c = {.command = command, .folder = folder, .said = memory};
    status rc = run_and_read(&c, NULL, &failure);
    rewind(messages);
    if (!fgets(line, sizeof line, messages)) *line = 0;
    fclose(messages);
    line[strcspn(line, "\n")] = 0;
    if (rc != STATUS_OK) rc = error_set(err, rc, "%s", *line ? line : failure.message);
    return rc;
}
