// launch.h - how ranks come to be: started here, or joined by name.
#ifndef LOCKSTEP_DIST_LAUNCH_H
#define LOCKSTEP_DIST_LAUNCH_H

#include <stdbool.h>

#include "base/error.h"
#include "base/log.h"
#include "dist/comm.h"

// One rank of a group that somebody else started: torchrun's family RANK, WORLD_SIZE, MASTER_ADDR,
// MASTER_PORT. The doors for others (OMPI_COMM_WORLD_*, PMI_*, SLURM_*) are rows in a table.
typedef struct launch_environment {
    bool joined; // false: the environment names no group
    int rank, size;
    char address[256];
    int port;
} launch_environment;

// Reads the environment. An incomplete family or nonsense in it is STATUS_USAGE, naming the
// variable.
status launch_detect(launch_environment *env, error *err) MUST_CHECK;

// Joins the group: rank 0 listens on the port, the others connect (60 s at most, then STATUS_FAILED
// naming who is missing), and all map one shared memory segment. All ranks must be on this host;
// else STATUS_USAGE. `n` is the largest vector (floats) and `gather_bytes` the largest all_gather
// contribution that will be used.
status launch_join(const launch_environment *env, size_t n, size_t gather_bytes, comm **c,
                   error *err) MUST_CHECK;

// The body of one rank.
typedef status (*launch_body)(void *argument, comm *c, error *err);

// Starts `size` ranks as children of this process (fork: they share what was read so far), runs
// `body` in each and waits. The first failure decides: its message (from the rank that failed,
// through a pipe, prefixed "rank 2: " if the rank itself died: "rank 2 was killed by signal 9") is
// put into err, the others are ended (TERM, then KILL after 2 s) and reaped. SIGINT, SIGTERM and
// SIGUSR1 that reach this process are passed on to the ranks once; it then waits for them. The
// children die with their parent. Returns the common status of the ranks. Call it before any thread
// exists.
status launch_local(int size, size_t n, size_t gather_bytes, launch_body body, void *argument,
                    const logger *log, error *err) MUST_CHECK;

#endif
