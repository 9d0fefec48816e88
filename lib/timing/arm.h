// SPDX-License-Identifier: MIT
// arm.h - one of the commands that take turns: its process, and the connections of its ranks.
#ifndef LOCKSTEP_TIMING_ARM_H
#define LOCKSTEP_TIMING_ARM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/sha256.h"
#include "base/yaml_tree.h"
#include "dist/turn_messages.h"

typedef struct arm {
    const char *command; // for the shell; not owned
    uint32_t number;
    pid_t process;               // leads a process group; 0: not running
    int *ranks;                  // connections; NULL before the first rank has come
    pid_t *processes;            // of the ranks
    uint32_t count;              // of the ranks; 0: not known yet
    uint32_t connected;          // of them
    char key[SHA256_TEXT_BYTES]; // of its stage; "" before arm_read_key
    yaml_node *manifest;         // of the training, without results if rank 0 said it; NULL: none
} arm;

// Makes the tools beside this program those that a command means. Call it once, first.
status arms_find_tools(error *err) MUST_CHECK;

// Does the command name a train tool, which takes more options at its end?
bool arm_is_training(const arm *a);
// Asks the command of a training for its stage key, and so finds out whether it can train.
// STATUS_STOPPED after a signal; then, as after a failure, call arm_end.
status arm_read_key(arm *a, error *err) MUST_CHECK;
// Runs the command once, with more words at its end, and takes its time. STATUS_FAILED if it ends
// with another exit code than 0; STATUS_STOPPED after a signal; then, too, call arm_end.
status arm_run(arm *a, const char *more, uint64_t *ns, error *err) MUST_CHECK;

// ---- An arm that rests between its turns ----

// Starts the training, which will connect to `endpoint` (dist/endpoint.h).
status arm_start(arm *a, int endpoint, error *err) MUST_CHECK;
// Takes in a rank that connected. The arms are those that were started, in order. Whoever is none
// of their ranks is turned away.
status arm_admit(arm *arms, size_t count, int connection, error *err) MUST_CHECK;
// Are all its ranks ready?
bool arm_is_ready(const arm *a);
// STATUS_FAILED if its process has ended, or a rank.
status arm_check(arm *a, error *err) MUST_CHECK;

// Lets it train so many steps, and returns when it rests again; *entries of `steps`, which has room
// for TURN_STEPS. STATUS_FAILED if it dies, or does not answer for `patience` seconds;
// STATUS_STOPPED after a signal.
status arm_turn(arm *a, uint64_t count, double patience, turn_step *steps, uint32_t *entries,
                error *err) MUST_CHECK;

// Tells it that its turns are over; kills one that is not ready yet. Then arm_end waits for its
// processes, and kills those that do not end. A zeroed arm is fine; it can be started again.
void arm_dismiss(arm *a);
void arm_end(arm *a);
void arm_release(arm *a);

#endif
