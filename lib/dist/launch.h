// launch.h - how ranks come to be: started here, or joined by name.
#ifndef LOCKSTEP_DIST_LAUNCH_H
#define LOCKSTEP_DIST_LAUNCH_H

#include <stdbool.h>

#include "base/error.h"
#include "base/log.h"
#include "dist/comm.h"

enum { LAUNCH_RENDEZVOUS_SECONDS = 60 };

// One rank of a group that somebody else started.
//
// torchrun's family (RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT) is a group on one host. Launchers
// of MPI (OMPI_COMM_WORLD_*, PMI_*, SLURM_* inside a step of several tasks) start one on any number
// of hosts, whose messages MPI carries; with MASTER_ADDR and MASTER_PORT set besides, they start
// one on one host, which shares memory.
typedef struct launch_environment {
    bool joined; // false: the environment names no group
    bool mpi;    // the group meets by MPI, and not at an address
    int rank, size;
    int local_rank, local_size; // among the ranks of this host; where nobody tells, of all
    char address[256];
    int port;
    int seconds; // how long the ranks wait for each other (LOCKSTEP_RENDEZVOUS_SECONDS)
} launch_environment;

// Reads the environment. An incomplete family, nonsense in it, or a group that needs MPI where this
// build has none (lockstep-mpi.so) is STATUS_USAGE, naming the variable. One that is set to nothing
// is not set.
status launch_detect(launch_environment *env, error *err) MUST_CHECK;

// Joins the group. Whoever waits longer than env->seconds fails with STATUS_FAILED and names who is
// missing. A signal that signals_watch noted ends the wait with STATUS_STOPPED. (By MPI it is the
// launcher that waits, and SIGTERM and SIGINT end the process until all ranks are there, and all
// fail with STATUS_USAGE where they do not agree on the size of the group.)
//
// At an address: rank 0 listens, the others connect, and all map one shared memory. All ranks must
// be on this host, be of one user, and agree on the size of the group and of the vectors. Who does
// not is sent away with STATUS_USAGE; the others go on waiting for one who does. `n` is the largest
// vector (floats) and `gather_bytes` the largest all_gather contribution that will be used; larger
// ones work, but take more rounds.
status launch_join(const launch_environment *env, size_t n, size_t gather_bytes, comm **c,
                   error *err) MUST_CHECK;

// For a rank that ends before it has called launch_join. By MPI the others would wait for it, with
// some launchers for ever: it comes and leaves at once, and so they fail. (At an address it is
// named when the time is up.) Where the environment names no group nothing happens.
void launch_excuse(const launch_environment *env);

// The body of one rank.
typedef status (*launch_body)(void *argument, comm *c, error *err);

// The death of a rank: it did not return from its body, and nothing had failed before.
typedef struct launch_death {
    bool came;
    char text[64]; // "rank 2 died (killed by SIGKILL)"
} launch_death;

// Starts `size` ranks as children of this process (fork: they share what was read so far), runs
// `body` in each and waits for all of them. They die with their parent. Call it before any thread
// exists. A rank's standard output is flushed at its end, its other streams are not.
//
// Returns the common status of the ranks. If one fails, the first failure decides and its message
// is put into err with "rank 2: " in front, unless every rank says the same; of a rank that did not
// return from its body, "rank 2 was killed by signal 9 (Killed)". The others are ended (TERM, then
// KILL after LAUNCH_GRACE_SECONDS) and reaped. `death` (NULL: nobody asks) tells such an end from
// all others: then the caller may start the ranks again.
//
// SIGINT, SIGTERM and SIGUSR1 that reach this process are passed on to the ranks, once, while it
// waits. When all ranks have ended it gets the signal itself, as if it came only now: what
// signals_watch sees, or the end. SIGINT is passed on as SIGTERM, because a terminal sends it to
// the ranks as well, and a second SIGINT would end them before they have saved. A second SIGINT
// here kills the ranks.
enum { LAUNCH_GRACE_SECONDS = 2 };
status launch_local(int size, size_t n, size_t gather_bytes, launch_body body, void *argument,
                    launch_death *death, const logger *log, error *err) MUST_CHECK;

#endif
