// SPDX-License-Identifier: MIT
#include "train/machine_use.h"

#include <dirent.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"

// ---- Counters ----

static double read_cpu(void) {
    struct timespec spent;
    if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &spent)) return NAN;
    return (double)spent.tv_sec + (double)spent.tv_nsec / 1e9;
}

// The second number of schedstat: nanoseconds in a run queue.
static double read_waited_of(const char *thread) {
    char path[64];
    unsigned long long ran, waited;
    snprintf(path, sizeof path, "/proc/self/task/%.20s/schedstat", thread);
    FILE *file = fopen(path, "re");
    if (!file) return 0; // it has ended
    const int read = fscanf(file, "%llu %llu", &ran, &waited);
    fclose(file);
    return read == 2 ? (double)waited / 1e9 : 0;
}

static double read_waited(void) {
    double sum = 0;
    if (access("/proc/self/schedstat", R_OK)) return NAN;
    DIR *threads = opendir("/proc/self/task");
    if (!threads) return NAN;
    for (const struct dirent *d; (d = readdir(threads));)
        if (d->d_name[0] != '.') sum += read_waited_of(d->d_name);
    closedir(threads);
    return sum;
}

void machine_use_count(machine_counts *now) {
    now->cpu = read_cpu();
    now->waited = read_waited();
    core_use_read(&now->cores);
    if (getloadavg(&now->load, 1) != 1) now->load = NAN;
    now->clock = clock_now();
}

// ---- Differences ----

// Gathered from each rank.
typedef struct rank_use {
    double cpu, waited;
    cpu_set_t cores;
} rank_use;

static void put(yaml_node *machine, const char *key, double value) {
    if (isnan(value)) return;
    yaml_put(machine, key, yaml_new_number(value));
}

// Not for several hosts: rank 0 sees only the cores of its own host.
static void put_others(yaml_node *machine, const machine_counts *before, const machine_counts *now,
                       const cpu_set_t *cores, double cpu) {
    double used = 0, stolen = 0;
    for (size_t i = 0; i < CORE_USE_CORES && i < CPU_SETSIZE; i++) {
        if (!CPU_ISSET(i, cores)) continue;
        used += now->cores.used[i] - before->cores.used[i];
        stolen += now->cores.stolen[i] - before->cores.stolen[i];
    }
    put(machine, "others_seconds", isnan(used) ? NAN : fmax(0, used - cpu));
    put(machine, "stolen_seconds", stolen);
    yaml_put(machine, "cores", yaml_new_integer(CPU_COUNT(cores)));
}

static void put_machine(yaml_node *segment, const machine_counts *before, const machine_counts *now,
                        const rank_use *ranks, int size) {
    rank_use all = {0};
    yaml_node *machine = yaml_new(YAML_MAPPING);
    machine->flow = true;
    for (int r = 0; r < size; r++) {
        all.cpu += ranks[r].cpu;
        all.waited += ranks[r].waited;
        CPU_OR(&all.cores, &all.cores, &ranks[r].cores);
    }
    put(machine, "wall_seconds", (double)(now->clock - before->clock) / 1e9);
    put(machine, "cpu_seconds", all.cpu);
    put(machine, "waited_seconds", all.waited);
    if (!yaml_find(segment, "hosts")) put_others(machine, before, now, &all.cores, all.cpu);
    put(machine, "load_before", before->load);
    put(machine, "load_after", now->load);
    yaml_put(segment, "machine", machine);
}

status machine_use_describe(const machine_counts *before, comm *c, yaml_node *segment, error *err) {
    status rc = STATUS_OK;
    rank_use mine = {0};
    machine_counts *now = memory_new(1, sizeof *now);
    rank_use *ranks = memory_new((size_t)c->size, sizeof *ranks);
    machine_use_count(now);
    mine.cpu = now->cpu - before->cpu;
    mine.waited = now->waited - before->waited;
    if (sched_getaffinity(0, sizeof mine.cores, &mine.cores)) CPU_ZERO(&mine.cores);
    TRY(c->ops->all_gather(c, &mine, sizeof mine, ranks, err));
    if (c->rank == 0) put_machine(segment, before, now, ranks, c->size);
out:
    free(now);
    free(ranks);
    return rc;
}
