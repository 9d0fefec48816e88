// launch_mpi.h - joining a group by MPI. lockstep-mpi.so, which knows MPI (transport_mpi.c), is
// opened when it is needed, so that the tools start where MPI is not.
#ifndef LOCKSTEP_DIST_LAUNCH_MPI_H
#define LOCKSTEP_DIST_LAUNCH_MPI_H

#include "base/error.h"
#include "dist/comm.h"

// The file: LOCKSTEP_MPI_LIBRARY, or where plugin_find looks. free() the path.
status launch_mpi_find(char **path, error *err) MUST_CHECK;

// Rank `rank` of `size`, as the launcher says; STATUS_USAGE where MPI says otherwise: it is not
// that launcher's.
status launch_mpi_join(int rank, int size, comm **c, error *err) MUST_CHECK;

#endif
