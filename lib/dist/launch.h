// SPDX-License-Identifier: MIT
// launch.h - starting the ranks of a group here, or joining a group started elsewhere.
#ifndef LOCKSTEP_DIST_LAUNCH_H
#define LOCKSTEP_DIST_LAUNCH_H

#include <stdbool.h>

#include "base/error.h"
#include "base/log.h"
#include "dist/comm.h"

enum { LAUNCH_RENDEZVOUS_SECONDS = 60 };

// One rank of a group that another program started.
//
// The variables of torchrun (RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT) describe a group on one
// host. MASTER_PORT is only a number that the ranks agree on: no TCP port is opened, so the store
// that torchrun keeps there is in nobody's way. MPI launchers (OMPI_COMM_WORLD_*, PMI_*, SLURM_*
// in one of several tasks of srun) start a group on any number of hosts, with MPI as transport. If
// MASTER_ADDR and MASTER_PORT are set too, they start one on one host, with shared memory.
typedef struct launch_environment {
    bool joined; // false: the environment names no group
    bool mpi;    // the group joins by MPI, not at an address
    int rank, size;
    int local_rank, local_size; // among this host's ranks; if not given, among all
    char address[256];
    int port;
    int seconds; // how long the ranks wait for each other (LOCKSTEP_RENDEZVOUS_SECONDS)
} launch_environment;

// Reads the environment. Incomplete or invalid variables, or a group that needs MPI in a build
// without it (lockstep-mpi.so), are STATUS_USAGE; the message names the variable. An empty variable
// counts as unset.
status launch_detect(launch_environment *env, error *err) MUST_CHECK;

// STATUS_USAGE if a launcher of these has started several processes. For a command that does not
// join a group: each of them would do the same. One task of srun, a script of sbatch and a shell of
// `srun --pty` are alone.
status launch_check_alone(error *err) MUST_CHECK;

// Joins the group. A rank that waits longer than env->seconds fails with STATUS_FAILED and names
// the missing ranks. A signal that signals_watch noted ends the wait with STATUS_STOPPED. (With
// MPI, the launcher does the waiting: until all ranks are there, SIGTERM and SIGINT end the
// process. If the ranks do not agree on the size of the group, all fail with STATUS_USAGE.)
//
// At an address: rank 0 listens, the others connect, and all map one shared memory. All ranks must
// be on this host, belong to one user, and agree on the size of the group and of the vectors. A
// process that does not match is refused with STATUS_USAGE; the others go on waiting for one that
// does. `n` is the largest vector (floats) and `gather_bytes` the largest all_gather contribution
// that will be used; larger ones work, but take more rounds.
status launch_join(const launch_environment *env, size_t n, size_t gather_bytes, comm **c,
                   error *err) MUST_CHECK;

// Aborts the group's start, for a rank that ends before it has called launch_join. With MPI, the
// others would wait for it, under some launchers for ever: it joins and finalizes at once, which
// makes them fail. (At an address, the message at the timeout names it.) Does nothing if the
// environment names no group.
void launch_abort(const launch_environment *env);

// The body of one rank.
typedef status (*launch_body)(void *argument, comm *c, error *err);

// The death of a rank: it did not return from its body, and nothing had failed before.
typedef struct launch_death {
    bool happened;
    char text[64]; // "rank 2 died (killed by SIGKILL)"
} launch_death;

// Starts `size` ranks as children of this process (fork: they share the data read so far), runs
// `body` in each and waits for all of them. They die with their parent. Call it before any thread
// exists. A rank's standard output is flushed at its end, its other streams are not.
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
