// SPDX-License-Identifier: MIT
// tool.h - the tools: how they are started, and what they answer.
//
// Work is done by a tool as a program of its own. A question that changes nothing, such as the key
// of a command line, is answered by the same function of the library in this process.
#ifndef LOCKSTEP_PIPELINE_TOOL_H
#define LOCKSTEP_PIPELINE_TOOL_H

#include "base/error.h"
#include "base/sha256.h"
#include "base/strvec.h"
#include "pipeline/pipeline.h"

// Makes the words to start: "BIN/TOOL ARGUMENTS". `command` is the tool's name, without a folder,
// and its arguments. STATUS_FAILED if the tool was not built.
status tool_program(const pipeline *p, const strvec *command, strvec *program,
                    error *err) MUST_CHECK;
// Starts it as child_output and child_run_quietly do.
status tool_output(const pipeline *p, const strvec *command, char **answer, error *err) MUST_CHECK;
status tool_run_quietly(const pipeline *p, const char *folder, const strvec *command,
                        error *err) MUST_CHECK;

// Asks the tool what it prints for this command, without a newline at the end; free() *answer,
// which is NULL after a failure. The message of a failure is the tool's, without its name; it is
// empty if the tool was started, and printed it.
status tool_ask(const pipeline *p, const strvec *command, char **answer, error *err) MUST_CHECK;
// Prints the message of a failed tool_ask, as the tool prints it, and empties it.
void tool_complain(const strvec *command, error *err);

// Gets the key that the tool prints for these arguments. After a failure, the message was printed
// and is empty.
status tool_key(pipeline *p, const strvec *command, char key[SHA256_TEXT_BYTES],
                error *err) MUST_CHECK;

#endif
