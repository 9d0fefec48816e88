// SPDX-License-Identifier: MIT
// launch_local.h - starting the ranks of a group here.
#ifndef LOCKSTEP_DIST_LAUNCH_LOCAL_H
#define LOCKSTEP_DIST_LAUNCH_LOCAL_H

#include <stdbool.h>

#include "base/error.h"
#include "base/log.h"
#include "dist/comm.h"

// The body of one rank.
typedef status (*launch_body)(void *argument, comm *c, error *err);

// The death of a rank: it did not return from its body, and nothing had failed before.
typedef struct launch_death {
    bool happened;
    char text[64]; // "rank 2 died (killed by SIGKILL)"
} launch_death;

// Starts `size` ranks as children of this process (fork: they share the data read so far), runs
// `body` in each and waits for all of them. They die with their parent. Call it before any thread
// exists. Among several, rank 2 of train-ddp is the process "train-ddp:2" to ps, top and pgrep.
// A rank's standard output is flushed at its end, its other streams are not.
//
// Returns the common status of the ranks. If one fails, the first failure decides: err gets its
// message, after "rank 2: " unless every rank reports the same one. For a rank that did not return
// from its body the message is "rank 2 was killed by signal 9 (Killed)". The others are ended
// (TERM, then KILL after LAUNCH_GRACE_SECONDS) and reaped. `death` (NULL: not wanted) distinguishes
// such an end from all others: then the caller may start the ranks again.
//
// While it waits, SIGINT, SIGTERM and SIGUSR1 that reach this process are passed on to the ranks,
// once. When all ranks have ended, this process receives the signal itself, as if it came only
// then: signals_watch notes it, or it ends the process. SIGINT is passed on as SIGTERM, because a
// terminal sends it to the ranks as well, and a second SIGINT would end them before they have
// saved. A second SIGINT here kills the ranks.
enum { LAUNCH_GRACE_SECONDS = 2 };
status launch_local(int size, size_t n, size_t gather_bytes, launch_body body, void *argument,
                    launch_death *death, const logger *log, error *err) MUST_CHECK;

#endif
