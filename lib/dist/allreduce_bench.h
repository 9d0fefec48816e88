// allreduce_bench.h - what an all-reduce takes on this machine, by size and number of ranks.
//
// Measured is the exchange of one training step as train-ddp does it: the barrier, then the
// reduction of one vector a rank, in place. Ranks are processes of this host, started as train-ddp
// starts them (launch_local), or those of a group that was joined (launch_join). One rank has
// nothing to reduce: what is measured then is a copy from one buffer to another by one thread,
// which is what DataParallel's communication is made of.
//
// Vectors lie in the host's memory, or on devices, where ranks reduce among themselves
// (allreduce_device.h).
#ifndef LOCKSTEP_DIST_ALLREDUCE_BENCH_H
#define LOCKSTEP_DIST_ALLREDUCE_BENCH_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/log.h"
#include "compute/devices.h"
#include "dist/launch.h"

typedef struct allreduce_options {
    int world_size;
    bool fast;                   // comm_ops.reduce_fast; else reduce_exact
    size_t min_bytes, max_bytes; // of a vector; multiples of a float
    int iterations;              // timed ones of each size; 0: as many as a moment allows
    // A group that this process is a rank of: each of its ranks calls allreduce_bench. NULL:
    // world_size ranks are started.
    comm *group;
    int local_rank; // in it, among the ranks of this host, which take the devices in turn
    // Where the vectors lie; NULL, or a cpu: in the host's memory. On devices there are two ranks
    // at least, and a vector is as long as allreduce_device.h can make one.
    const devices *devices;
} allreduce_options;

enum { ALLREDUCE_TRANSPORT_BYTES = 24 };

typedef struct allreduce_time {
    size_t bytes;
    int iterations;
    double seconds; // of one: the median over iterations of the mean over ranks
    char transport[ALLREDUCE_TRANSPORT_BYTES]; // "shared memory", "mpi", "nccl", "copy", …
} allreduce_time;

// Joins the group of the environment, for all that these options ask for: sets `group`, which the
// caller frees, `local_rank` and `world_size`.
status allreduce_bench_join(allreduce_options *o, const launch_environment *env,
                            error *err) MUST_CHECK;

// How many sizes are measured: min_bytes, doubled for as long as it is not above max_bytes.
size_t allreduce_bench_sizes(const allreduce_options *o);

// Measures every size, into rows[0 … allreduce_bench_sizes). Each begins with a reduction whose
// result is checked (STATUS_FAILED if it is wrong) and some that are not timed. In a group only
// rank 0 has the rows. Else call it before any thread exists: it forks. Takes about 3 · world_size
// · max_bytes of memory while it runs; on a device, and on the host for it, some vectors more for
// each rank.
status allreduce_bench(const allreduce_options *o, allreduce_time *rows, const logger *log,
                       error *err) MUST_CHECK;

// Bandwidths as nccl-tests reports them, in bytes a second: of the algorithm, bytes / seconds; of
// the bus, what each rank has to send and receive for it, 2 (W - 1) / W as much, which can be held
// against the hardware whatever W.
double allreduce_algorithm_bandwidth(const allreduce_time *row);
double allreduce_bus_bandwidth(const allreduce_time *row, int world_size);

#endif
