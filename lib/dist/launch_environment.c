// SPDX-License-Identifier: MIT
// Finds the group that this process was started into, from the variables in its environment.
#include "dist/launch_environment.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dist/launch_mpi.h"
#include "dist/shared_memory.h"

// A family of launchers, with the variables that give each process its rank.
typedef struct family {
    const char *rank, *size;
    const char *local_rank, *local_size;
    bool slurm;                 // the rank alone is not enough: it is also set for a single process
    bool mpi;                   // its processes can join by MPI
    const char *launcher, *one; // for messages: its name, and how it starts one process
    const char *how;            // how it starts the ranks of train-ddp
} family;

static const char slurm_tasks[] = "SLURM_STEP_TASKS_PER_NODE", slurm_node[] = "SLURM_NODEID";

static const family families[] = {
    // torchrun
    {"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", false, false, "torchrun",
     "torchrun --nproc-per-node=1", "torchrun"},
    // mpirun of Open MPI
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
     "OMPI_COMM_WORLD_LOCAL_SIZE", false, true, "mpirun", "mpirun -n 1", "mpirun"},
    // mpirun of MPICH and its derivatives; srun --mpi=pmi2
    {"PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS", false, true, "mpiexec",
     "mpiexec -n 1", "mpiexec"},
    {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", slurm_tasks, true, true, "srun",
     "srun -n 1", "srun --mpi=pmix"},
};
enum { FAMILIES = sizeof families / sizeof *families };

// Returns a variable's value. An empty one counts as unset.
static const char *value_of(const char *name) {
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

static status missing(const char *name, const char *other, error *err) {
    return error_set(err, STATUS_USAGE,
                     "cannot join a group: '%s' is not set, but %s is: set RANK, WORLD_SIZE, "
                     "MASTER_ADDR and MASTER_PORT, or none of them",
                     name, other);
}

static status read_number(const char *name, int min, int max, int *out, error *err) {
    const char *text = value_of(name);
    char *end;
    errno = 0;
    const long number = strtol(text, &end, 10);
    if (errno || end == text || *end || number < min || number > max)
        return error_set(err, STATUS_USAGE,
                         "cannot join a group: '%s=%s': expected an integer from %d to %d", name,
                         text, min, max);
    *out = (int)number;
    return STATUS_OK;
}

// Is this a task of srun? The scripts of sbatch and the shells of salloc are steps, too, with
// numbers from 0xfffffff0 on.
static bool is_slurm_step(void) {
    const char *step = value_of("SLURM_STEP_ID");
    return step && strtoull(step, NULL, 10) < 0xfffffff0;
}

// Returns the name of the variable that tells the family's number of processes; NULL: none. Of
// srun --pty's tasks only one has the terminal, and the commands typed there run once.
static const char *size_name(const family *f) {
    if (!f->slurm) return f->size;
    if (value_of("SLURM_PTY_PORT")) return NULL;
    if (value_of(f->size)) return f->size;
    return is_slurm_step() ? "SLURM_NTASKS" : NULL;
}

// Returns the family whose variables are set; NULL: none.
static const family *find_family(void) {
    for (int i = 0; i < FAMILIES; i++) {
        const family *f = &families[i];
        const char *name = size_name(f);
        const char *rank = value_of(f->rank), *size = name ? value_of(name) : NULL;
        if (f->slurm ? rank && size && strcmp(size, "1") != 0 : rank || size) return f;
    }
    return NULL;
}

static status read_address(const char *because, launch_environment *env, error *err) {
    const char *address = value_of("MASTER_ADDR");
    if (!address) return missing("MASTER_ADDR", because, err);
    if (strlen(address) >= sizeof env->address)
        return error_set(err, STATUS_USAGE, "cannot join a group: 'MASTER_ADDR': too long");
    memcpy(env->address, address, strlen(address) + 1);
    if (!value_of("MASTER_PORT")) return missing("MASTER_PORT", because, err);
    return read_number("MASTER_PORT", 1, 65535, &env->port, err);
}

// Checks for the transport now rather than after the data have been read.
static status check_mpi(const family *f, int size, error *err) {
    char *path;
    if (f->slurm && !value_of("PMIX_RANK"))
        return error_set(
            err, STATUS_USAGE,
            "cannot join a group: srun started %d tasks ('%s' is set), but provides no PMIx for "
            "MPI: use srun --mpi=pmix, or srun -n 1 to start the ranks on one host; or set "
            "MASTER_ADDR and MASTER_PORT there",
            size, f->rank);
    status rc = launch_mpi_find(&path, err);
    if (rc == STATUS_OK && access(path, F_OK) != 0)
        rc = error_set(err, STATUS_USAGE,
                       "cannot join a group: %s is set, but this build has no MPI ('%s' does not "
                       "exist): build it with mpicc installed; or, for ranks on one host, set "
                       "MASTER_ADDR and MASTER_PORT",
                       f->rank, path);
    free(path);
    return rc;
}

// Reads "2(x3),1", the numbers of tasks on consecutive nodes. Returns this node's, or 0 if the list
// is invalid or too short.
static int slurm_tasks_here(const char *list, const char *node) {
    long left = node ? strtol(node, NULL, 10) : 0;
    for (const char *at = list; *at;) {
        char *end;
        long nodes = 1;
        const long tasks = strtol(at, &end, 10);
        if (end == at || tasks < 1 || tasks > SHARED_MAX_RANKS) return 0;
        if (strncmp(end, "(x", 2) == 0) nodes = strtol(end + 2, &end, 10);
        if (left < nodes) return (int)tasks;
        left -= nodes;
        at = end + strspn(end, "),");
    }
    return 0;
}

// Missing or wrong local numbers cost speed at most.
static void find_local(const family *f, launch_environment *env) {
    const char *rank = value_of(f->local_rank), *size = value_of(f->local_size);
    env->local_rank = env->rank;
    env->local_size = env->size;
    if (!rank || !size) return;
    const int of = f->local_size == slurm_tasks ? slurm_tasks_here(size, value_of(slurm_node))
                                                : (int)strtol(size, NULL, 10);
    const int number = (int)strtol(rank, NULL, 10);
    if (of < 1 || of > env->size || number < 0 || number >= of) return;
    env->local_rank = number;
    env->local_size = of;
}

status launch_detect(launch_environment *env, error *err) {
    *env = (launch_environment){.size = 1, .local_size = 1, .seconds = LAUNCH_RENDEZVOUS_SECONDS};
    const family *f = find_family();
    if (!f) {
        for (const char *const *name =
                 (const char *const[]){"MASTER_ADDR", "MASTER_PORT", "LOCAL_WORLD_SIZE", NULL};
             *name; name++)
            if (value_of(*name)) return missing("RANK", *name, err);
        return STATUS_OK;
    }
    if (!value_of(f->rank)) return missing(f->rank, f->size, err);
    const char *size = size_name(f);
    if (!value_of(size)) return missing(size, f->rank, err);
    NEED(read_number(size, 1, SHARED_MAX_RANKS, &env->size, err));
    NEED(read_number(f->rank, 0, env->size - 1, &env->rank, err));
    find_local(f, env);
    env->mpi = f->mpi && !value_of("MASTER_ADDR") && !value_of("MASTER_PORT");
    NEED(env->mpi ? check_mpi(f, env->size, err) : read_address(f->rank, env, err));
    if (value_of("LOCKSTEP_RENDEZVOUS_SECONDS"))
        NEED(read_number("LOCKSTEP_RENDEZVOUS_SECONDS", 1, 86400, &env->seconds, err));
    env->joined = true;
    return STATUS_OK;
}

// The first launcher that is found decides: mpirun, say, starts its own daemons by srun.
status launch_check_alone(error *err) {
    for (int i = 0; i < FAMILIES; i++) {
        const family *f = &families[i];
        const char *rank = f->rank, *size = size_name(f);
        if (!f->slurm && !(value_of(rank) && value_of(size)))
            rank = f->local_rank, size = f->local_size;
        if (!size || !value_of(rank) || !value_of(size)) continue;
        if (strtol(value_of(size), NULL, 10) <= 1) return STATUS_OK;
        return error_set(err, STATUS_USAGE,
                         "cannot start: %s started %s processes (%s), and each would do the whole "
                         "work: start one (%s); or, as ranks that share it, train-ddp by %s, "
                         "without --world-size; if each has work of its own, start it by env -u %s",
                         f->launcher, value_of(size), size, f->one, f->how, rank);
    }
    return STATUS_OK;
}
