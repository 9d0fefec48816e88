// SPDX-License-Identifier: MIT
// launch_mpi.h - joining a group by MPI. lockstep-mpi.so, which links to MPI (transport_mpi.c), is
// opened only when needed, so that the tools start without MPI.
#ifndef LOCKSTEP_DIST_LAUNCH_MPI_H
#define LOCKSTEP_DIST_LAUNCH_MPI_H

#include "base/error.h"
#include "dist/comm.h"

// Finds the file: LOCKSTEP_MPI_LIBRARY, or the result of plugin_find. free() the path.
status launch_mpi_find(char **path, error *err) MUST_CHECK;

// Joins as rank `rank` of `size`, the launcher's numbers. STATUS_USAGE if MPI's numbers differ:
// this MPI does not belong to that launcher.
status launch_mpi_join(int rank, int size, comm **c, error *err) MUST_CHECK;

#endif
