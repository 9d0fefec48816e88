// SPDX-License-Identifier: MIT
// allreduce_bench.h - the time of an all-reduce on this machine, by size and number of ranks.
//
// Measures the exchange of one training step as train-ddp does it: the barrier, then the in-place
// reduction of one vector per rank. Ranks are processes on this host, started as train-ddp starts
// them (launch_local), or those of a joined group (launch_join). A single rank has nothing to
// reduce: then one thread copies one buffer to another, which is the operation that DataParallel's
// communication consists of.
//
// Vectors lie in the host's memory, or on devices, where ranks reduce directly
// (allreduce_device.h).
#ifndef LOCKSTEP_DIST_ALLREDUCE_BENCH_H
#define LOCKSTEP_DIST_ALLREDUCE_BENCH_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/log.h"
#include "compute/devices.h"
#include "dist/comm.h"
#include "dist/launch_environment.h"

typedef struct allreduce_options {
    int world_size;
    bool fast;                   // comm_ops.reduce_fast; else reduce_exact
    size_t min_bytes, max_bytes; // of a vector; multiples of a float's size
    int iterations;              // timed ones per size; 0: as many as fit into a short time
    // A group in which this process is a rank: each of its ranks calls allreduce_bench. NULL: start
    // world_size ranks.
    comm *group;
    int local_rank; // in the group, among this host's ranks, which share out the devices in turn
    // Where the vectors lie; NULL or a cpu: in the host's memory. Devices need at least two ranks,
    // and vector lengths that allreduce_device.h supports.
    const devices *devices;
} allreduce_options;

enum { ALLREDUCE_TRANSPORT_BYTES = 24 };

typedef struct allreduce_time {
    size_t bytes;
    int iterations;
    double seconds; // per iteration: the median over iterations of the mean over ranks
    char transport[ALLREDUCE_TRANSPORT_BYTES]; // "shared memory", "mpi", "nccl", "copy", …
} allreduce_time;

// Joins the environment's group with the sizes that these options need. Sets `group`, which the
// caller frees, `local_rank` and `world_size`.
status allreduce_bench_join(allreduce_options *o, const launch_environment *env,
                            error *err) MUST_CHECK;

// Returns the number of sizes measured: min_bytes, then doubled while not above max_bytes.
size_t allreduce_bench_sizes(const allreduce_options *o);

// Measures every size, into rows[0 … allreduce_bench_sizes). Each size begins with a reduction
// whose result is checked (STATUS_FAILED if it is wrong) and some untimed ones. In a group only
// rank 0 gets the rows. Without a group, call it before any thread exists: it forks. Takes about 3
// · world_size · max_bytes of memory while it runs; with devices, some more vectors per rank, on
// the device and on the host.
status allreduce_bench(const allreduce_options *o, allreduce_time *rows, const logger *log,
                       error *err) MUST_CHECK;

// Bandwidths as nccl-tests reports them, in bytes per second. Algorithm bandwidth is bytes /
// seconds. Bus bandwidth counts the data that each rank has to send and receive, 2 (W - 1) / W
// times as much, and can be compared with the hardware for any W.
double allreduce_algorithm_bandwidth(const allreduce_time *row);
double allreduce_bus_bandwidth(const allreduce_time *row, int world_size);

#endif
