// SPDX-License-Identifier: MIT
// launch_environment.h - the group that another program started this process into, as the variables
// in its environment describe it.
#ifndef LOCKSTEP_DIST_LAUNCH_ENVIRONMENT_H
#define LOCKSTEP_DIST_LAUNCH_ENVIRONMENT_H

#include <stdbool.h>

#include "base/error.h"

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

#endif
