// SPDX-License-Identifier: MIT
// child.h - runs a program and waits for it.
//
// A running child ends with its parent: the kernel sends it SIGTERM when the parent dies, for any
// reason, and a training then saves its state. SIGINT from a terminal reaches both; the parent
// ignores it while it waits, so that the child can save and print the last message.
#ifndef LOCKSTEP_PIPELINE_CHILD_H
#define LOCKSTEP_PIPELINE_CHILD_H

#include <signal.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/strvec.h"

// Runs the command; it inherits standard output and standard error.
//
// The status is the child's exit code, if it is one of error.h, else STATUS_FAILED; the message in
// `err` is then empty, because the child printed one. A command that cannot be started, or a child
// killed by a signal, has a message. If SIGINT killed the child, this process ends by SIGINT, too.
status child_run(const strvec *command, error *err) MUST_CHECK;

// Runs the command and returns its standard output in *answer, without trailing newlines; free()
// it. `answer` NULL: the output is dropped.
status child_output(const strvec *command, char **answer, error *err) MUST_CHECK;

// Runs the command in this folder (NULL: that of this process; else the program's path must be
// absolute), and drops its output. After a failure, the first line that it printed on standard
// error is the message.
status child_run_quietly(const char *folder, const strvec *command, error *err) MUST_CHECK;

// The same for a process that is forked to go on in this program. Its parent ignores SIGINT and
// SIGQUIT while it waits, and then restores what there was.
typedef struct child_signals {
    struct sigaction interrupt, quit;
} child_signals;
void child_signals_ignore(child_signals *before);
void child_signals_restore(const child_signals *before);
// In the child, first: takes these signals again, and ends with `parent`, or now if that has ended.
void child_begin(pid_t parent);

#endif
