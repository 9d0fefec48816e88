// SPDX-License-Identifier: MIT
#include "dist/allreduce_bench.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "base/median.h"
#include "base/memory.h"
#include "base/reduction_tree.h"
#include "dist/allreduce_device.h"
#include "dist/launch_join.h"
#include "dist/launch_local.h"

enum {
    WARM_UPS = 3,
    LEAST = 7, // timed iterations per size, if their number is not given
    MOST = 1000,
    MOMENT_NS = 30000000, // and their time limit, unless LEAST exceed it
};

size_t allreduce_bench_sizes(const allreduce_options *o) {
    size_t count = 0;
    for (size_t bytes = o->min_bytes; bytes <= o->max_bytes; bytes *= 2) {
        count++;
        if (bytes > SIZE_MAX / 2) break;
    }
    return count;
}

double allreduce_algorithm_bandwidth(const allreduce_time *row) {
    return (double)row->bytes / row->seconds;
}

double allreduce_bus_bandwidth(const allreduce_time *row, int world_size) {
    return allreduce_algorithm_bandwidth(row) * 2 * (world_size - 1) / world_size;
}

static int most_iterations(const allreduce_options *o) {
    return o->iterations ? o->iterations : MOST;
}

// ---- One rank ----

typedef struct job {
    const allreduce_options *options;
    allreduce_time *rows; // shared by all ranks and the parent; rank 0 writes
} job;

typedef struct member {
    const allreduce_options *options;
    comm *comm;
    reduction_tree tree; // one leaf per rank
    int *first;
    device_vector *device;  // of the current size; NULL: values are reduced
    float *values, *result; // the same, except for a single rank; NULL: vectors lie on devices
    uint64_t *ns, *all_ns;  // of every iteration: of this rank, and of all ranks
} member;

static bool on_devices(const allreduce_options *o) {
    return o->devices && devices_have(o->devices, DEVICE_CUDA);
}

static status open_values(member *m, size_t n, error *err) {
    m->values = memory_try_new_aligned(n, sizeof *m->values, err);
    m->result = m->comm->size > 1 ? m->values : memory_try_new_aligned(n, sizeof *m->result, err);
    return m->values && m->result ? STATUS_OK : STATUS_FAILED;
}

static status open_member(member *m, const allreduce_options *o, comm *c, error *err) {
    const size_t size = (size_t)c->size, most = (size_t)most_iterations(o);
    *m = (member){.options = o, .comm = c};
    m->first = memory_new(size + 1, sizeof *m->first);
    m->ns = memory_new(most, sizeof *m->ns);
    m->all_ns = memory_new(size * most, sizeof *m->all_ns);
    if (!on_devices(o)) NEED(open_values(m, o->max_bytes / sizeof(float), err));
    // Temporarily holds the number of groups of each rank: one.
    for (int r = 0; r < c->size; r++) m->first[r] = 1;
    NEED(reduction_tree_init(&m->tree, m->first, c->size, err));
    for (int r = 0; r <= c->size; r++) m->first[r] = r;
    return STATUS_OK;
}

static void close_member(member *m) {
    reduction_tree_release(&m->tree);
    device_vector_close(m->device);
    free(m->first);
    if (m->result != m->values) free(m->result);
    free(m->values);
    free(m->ns);
    free(m->all_ns);
}

static status exchange(member *m, size_t n, error *err) {
    comm *c = m->comm;
    const comm_ownership own = {&m->tree, m->first};
    const float *const term[] = {m->values};
    if (c->size == 1) {
        memcpy(m->result, m->values, n * sizeof *m->result);
        return STATUS_OK;
    }
    NEED(c->ops->barrier(c, err));
    if (m->device) return device_vector_reduce(m->device, m->options->fast, err);
    if (m->options->fast) return c->ops->reduce_fast(c, m->values, n, err);
    return c->ops->reduce_exact(c, &own, term, m->values, n, err);
}

static void fill(member *m, size_t n, float value) {
    for (size_t i = 0; i < n; i++) m->values[i] = value;
}

// Integers: every order of the sum gives the same result.
static status check_values(member *m, size_t n, error *err) {
    const float expected = (float)m->comm->size * (float)(m->comm->size + 1) / 2;
    fill(m, n, (float)(m->comm->rank + 1));
    status rc = exchange(m, n, err);
    for (size_t i = 0; rc == STATUS_OK && i < n; i++)
        if (m->result[i] != expected)
            rc = error_set(err, STATUS_FAILED,
                           "the all-reduce of %zu floats is wrong: element %zu is %g, not %g", n, i,
                           (double)m->result[i], (double)expected);
    fill(m, n, 0); // stays 0, however often it is summed
    return rc;
}

// Starts a size with a reduction that is checked, not timed.
static status begin_size(member *m, size_t n, error *err) {
    if (!on_devices(m->options)) return check_values(m, n, err);
    const devices *d = m->options->devices;
    const int place = m->options->group ? m->options->local_rank : m->comm->rank;
    NEED(device_vector_open(devices_backend(d, place), devices_index(d, place), m->comm, n,
                            &m->device, err));
    return device_vector_check(m->device, m->options->fast, err);
}

static status end_size(member *m, error *err) {
    if (!m->device) return STATUS_OK;
    const status rc = device_vector_leave(m->device, err);
    device_vector_close(m->device);
    m->device = NULL;
    return rc;
}

static const char *transport_of(const member *m) {
    if (m->device) return device_vector_transport(m->device);
    return m->comm->size > 1 ? m->comm->transport : "copy";
}

// Gathers `ns` of all ranks into m->all_ns, one rank after another.
static status gather_times(member *m, const uint64_t *ns, int count, error *err) {
    return m->comm->ops->all_gather(m->comm, ns, (size_t)count * sizeof *ns, m->all_ns, err);
}

// Chooses the same number on all ranks.
static status choose_iterations(member *m, uint64_t warm_up, int *iterations, error *err) {
    uint64_t slowest = 1;
    *iterations = m->options->iterations;
    if (*iterations) return STATUS_OK;
    NEED(gather_times(m, &warm_up, 1, err));
    for (int r = 0; r < m->comm->size; r++)
        if (m->all_ns[r] > slowest) slowest = m->all_ns[r];
    const uint64_t fit = MOMENT_NS / slowest;
    *iterations = fit < LEAST ? LEAST : fit > MOST ? MOST : (int)fit;
    return STATUS_OK;
}

// A rank that is late in one iteration is early in the next: the mean over ranks is not affected.
static double median_of_means(const member *m, int iterations) {
    const int size = m->comm->size;
    double *mean = memory_new((size_t)iterations, sizeof *mean);
    for (int r = 0; r < size; r++)
        for (int i = 0; i < iterations; i++)
            mean[i] += (double)m->all_ns[(size_t)r * (size_t)iterations + (size_t)i] / size / 1e9;
    const double seconds = median(mean, (size_t)iterations);
    free(mean);
    return seconds;
}

static status time_size(member *m, size_t bytes, allreduce_time *row, error *err) {
    const size_t n = bytes / sizeof(float);
    uint64_t begin = 0;
    int iterations;
    NEED(begin_size(m, n, err));
    for (int i = 0; i < WARM_UPS; i++) {
        begin = clock_now();
        NEED(exchange(m, n, err));
    }
    NEED(choose_iterations(m, clock_now() - begin, &iterations, err));
    begin = clock_now();
    for (int i = 0; i < iterations; i++) {
        NEED(exchange(m, n, err));
        const uint64_t end = clock_now();
        m->ns[i] = end - begin;
        begin = end;
    }
    NEED(gather_times(m, m->ns, iterations, err));
    if (m->comm->rank == 0) {
        *row = (allreduce_time){.bytes = bytes, .iterations = iterations};
        snprintf(row->transport, sizeof row->transport, "%s", transport_of(m));
        row->seconds = median_of_means(m, iterations);
        if (row->seconds < 1e-9) row->seconds = 1e-9; // the clock may be coarse
    }
    return end_size(m, err);
}

static status run_as_rank(void *argument, comm *c, error *err) {
    const job *j = argument;
    member m;
    status rc = open_member(&m, j->options, c, err);
    size_t bytes = j->options->min_bytes;
    for (size_t i = 0; rc == STATUS_OK && i < allreduce_bench_sizes(j->options); i++, bytes *= 2)
        rc = time_size(&m, bytes, &j->rows[i], err);
    close_member(&m);
    return rc;
}

// ---- All ranks ----

static size_t most_floats(const allreduce_options *o) {
    return o->max_bytes / sizeof(float);
}

static size_t gathered_bytes(const allreduce_options *o) {
    return (size_t)most_iterations(o) * sizeof(uint64_t);
}

status allreduce_bench_join(allreduce_options *o, const launch_environment *env, error *err) {
    o->world_size = env->size;
    o->local_rank = env->local_rank;
    return launch_join(env, most_floats(o), gathered_bytes(o), &o->group, err);
}

status allreduce_bench(const allreduce_options *o, allreduce_time *rows, const logger *log,
                       error *err) {
    if (o->group) return run_as_rank(&(job){.options = o, .rows = rows}, o->group, err);
    const size_t bytes = allreduce_bench_sizes(o) * sizeof *rows;
    void *shared = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return error_system(err, STATUS_FAILED, errno, "cannot share memory with the ranks");
    job j = {.options = o, .rows = shared};
    status rc = launch_local(o->world_size, most_floats(o), gathered_bytes(o), run_as_rank, &j,
                             NULL, log, err);
    if (rc == STATUS_OK) memcpy(rows, shared, bytes);
    munmap(shared, bytes);
    return rc;
}
