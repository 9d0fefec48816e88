// SPDX-License-Identifier: MIT
#include "dist/launch_mpi.h"

#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>

#include "base/plugin.h"
#include "dist/comm_messages.h"

status launch_mpi_find(char **path, error *err) {
    return plugin_find("lockstep-mpi.so", "LOCKSTEP_MPI_LIBRARY", path, err);
}

// Opens the library with global symbols: some MPI libraries open plugins that look up MPI's symbols
// there.
static status open_library(const char *path, transport_mpi_entry **entry, error *err) {
    void *handle = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    if (!handle)
        return error_set(err, STATUS_FAILED, "cannot join the group: MPI cannot be loaded: %s",
                         dlerror());
    *entry = (transport_mpi_entry *)dlsym(handle, TRANSPORT_MPI_SYMBOL);
    if (*entry) return STATUS_OK;
    dlclose(handle);
    return error_set(err, STATUS_FAILED, "cannot join the group: '%s' does not export '%s'", path,
                     TRANSPORT_MPI_SYMBOL);
}

static status check(const transport *t, int rank, int size, const char *library, error *err) {
    if (t->size == size && t->rank == rank) return STATUS_OK;
    return error_set(err, STATUS_USAGE,
                     "cannot join the group: the launcher started this as rank %d of %d, but it is "
                     "%d of %d in %s, which belongs to another launcher: with srun try --mpi=pmix "
                     "or --mpi=pmi2, otherwise use this MPI's own mpirun",
                     rank, size, t->rank, t->size, library);
}

// MPI waits for missing ranks without a limit, and there is nothing to save yet: until all ranks
// are there, SIGTERM and SIGINT end the process.
static status start_transport(transport_mpi_entry *entry, transport **t, char *library,
                              error *err) {
    static const int asking[] = {SIGTERM, SIGINT};
    enum { ASKING = sizeof asking / sizeof *asking };
    struct sigaction before[ASKING];
    const struct sigaction end = {.sa_handler = SIG_DFL};
    for (int i = 0; i < ASKING; i++) sigaction(asking[i], &end, &before[i]);
    const status rc = entry(TRANSPORT_MPI_ABI, t, library, err, memory_die);
    for (int i = 0; i < ASKING; i++) sigaction(asking[i], &before[i], NULL);
    return rc;
}

status launch_mpi_join(int rank, int size, comm **c, error *err) {
    char *path = NULL, library[TRANSPORT_DESCRIBE_BYTES];
    transport_mpi_entry *entry;
    transport *t = NULL;
    status rc;
    *c = NULL;
    TRY(launch_mpi_find(&path, err));
    TRY(open_library(path, &entry, err));
    TRY(start_transport(entry, &t, library, err));
    TRY(check(t, rank, size, library, err));
    *c = comm_messages(t);
    t = NULL;
out:
    if (t) (void)t->ops->close(t, t->size == 1);
    free(path);
    return rc;
}
