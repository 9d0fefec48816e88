// child.h - runs a program and waits for it.
//
// A child that is running ends with its parent: the kernel sends it SIGTERM when the parent dies,
// however that happens, and a training then saves its state. SIGINT of a terminal reaches both; the
// parent ignores it while it waits, so that the child can save and speak last.
#ifndef LOCKSTEP_PIPELINE_CHILD_H
#define LOCKSTEP_PIPELINE_CHILD_H

#include "base/error.h"
#include "pipeline/words.h"

// Runs the command; its output goes where ours goes.
//
// The status is the exit code of the child, where it is one of error.h, else STATUS_FAILED; the
// message in err is empty then, because the child has said why. A command that cannot be started,
// and a child that a signal ended, have a message. A child that SIGINT ended ends this process in
// the same way.
status child_run(const words *command, error *err) MUST_CHECK;

// Runs the command and gives what it printed on standard output, without the newline at the end;
// free() it.
status child_output(const words *command, char **text, error *err) MUST_CHECK;

// The same, but its messages are kept from standard error: *said is their first line, also after
// a failure; free() both.
status child_try(const words *command, char **text, char **said, error *err) MUST_CHECK;

#endif
