// SPDX-License-Identifier: MIT
// process.h - the state that a process inherits, made safe for its libraries.
#ifndef LOCKSTEP_BASE_PROCESS_H
#define LOCKSTEP_BASE_PROCESS_H

#include <stdbool.h>
#include <sys/types.h>

// Call this before the first file is opened; a second call changes nothing.
//
// A standard stream that the caller closed is replaced by one that cannot be used either, so that
// no file gets its number; otherwise messages and results would go into a lock, a model or shared
// memory. A write that exceeds the limit on file sizes (ulimit -f) fails, as on a full disk,
// instead of ending the process without a message.
void process_begin(void);

// Makes the kernel send this process `signal` when its parent ends, however it ends. Returns false
// if `parent` is not, or is no longer, its parent.
bool process_end_with_parent(pid_t parent, int signal);

enum { PROCESS_HOST_BYTES = 256 };
// Writes the name of this machine, or "unknown" if it has none.
void process_host(char name[PROCESS_HOST_BYTES]);

#endif
