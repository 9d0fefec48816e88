// process.h - what a program may be started with that its libraries should not have to think of.
#ifndef LOCKSTEP_BASE_PROCESS_H
#define LOCKSTEP_BASE_PROCESS_H

#include <stdbool.h>
#include <sys/types.h>

// To be called before the first file is opened; a second call changes nothing.
//
// A standard stream that the caller closed is filled with one that cannot be used either, so that
// no file gets its number: messages and results would go into a lock, a model or shared memory.
// A file that outgrows the limit on file sizes (ulimit -f) makes a write fail, as a full disk
// does, instead of ending the process without a word.
void process_begin(void);

// From now on the kernel sends this process `signal` when its parent ends, however it does. False:
// that process is not its parent, or no more.
bool process_end_with(pid_t parent, int signal);

enum { PROCESS_HOST_BYTES = 256 };
// The name of this machine; "unknown" where it has none.
void process_host(char name[PROCESS_HOST_BYTES]);

#endif
