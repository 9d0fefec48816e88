// SPDX-License-Identifier: MIT
#include "train/run_segment.h"

#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"

// ---- Hosts and devices ----

enum { HOST_BYTES = 256 };

// Where a rank computes.
typedef struct place {
    char host[HOST_BYTES];
    char device[DEVICES_TEXT_BYTES];
} place;

static void put_host(yaml_node *hosts, const char *name, int ranks) {
    yaml_node *host = yaml_new(YAML_MAPPING);
    yaml_append(hosts, host);
    yaml_put(host, "host", yaml_new_string(name));
    yaml_put(host, "ranks", yaml_new_integer(ranks));
}

// A single host is already `run.host` of the manifest.
static void list_hosts(const place *places, int size, yaml_node *segment) {
    yaml_node *hosts = yaml_new(YAML_SEQUENCE);
    for (int r = 0; r < size; r++) {
        const char *name = places[r].host;
        int before = 0, ranks = 0;
        for (int q = 0; q < size; q++) {
            const bool same = strcmp(places[q].host, name) == 0;
            before += same && q < r;
            ranks += same;
        }
        if (before == 0) put_host(hosts, name, ranks);
    }
    if (hosts->count > 1) {
        yaml_put(segment, "hosts", hosts);
        return;
    }
    yaml_free(hosts);
}

// Does the list of rank 0, given out in turn, name the device of each rank?
static bool is_given_in_turn(const devices *d, const place *places, int size) {
    bool same = true;
    for (int r = 0; r < size; r++) {
        char name[DEVICES_TEXT_BYTES];
        devices_name(d, r % d->count, name);
        same = same && strcmp(name, places[r].device) == 0;
    }
    return same;
}

static void list_devices(const place *places, int size, yaml_node *segment) {
    yaml_node *list = yaml_new(YAML_SEQUENCE);
    list->flow = true;
    for (int r = 0; r < size; r++) yaml_append(list, yaml_new_string(places[r].device));
    yaml_put(segment, "devices", list);
}

status run_segment_describe_hosts(comm *c, const devices *d, int local_rank, yaml_node *segment,
                                  error *err) {
    const int item = d ? local_rank % d->count : 0;
    place mine = {0}, *places = memory_new((size_t)c->size, sizeof mine);
    status rc = STATUS_OK;
    (void)gethostname(mine.host, sizeof mine.host - 1);
    if (d) devices_name(d, item, mine.device);
    TRY(c->ops->all_gather(c, &mine, sizeof mine, places, err));
    list_hosts(places, c->size, segment);
    if (d && !is_given_in_turn(d, places, c->size)) list_devices(places, c->size, segment);
out:
    free(places);
    return rc;
}

// ---- The load: counters ----

static double read_cpu(void) {
    struct timespec spent;
    if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &spent)) return NAN;
    return (double)spent.tv_sec + (double)spent.tv_nsec / 1e9;
}

void run_segment_count(machine_counts *now) {
    now->cpu = read_cpu();
    now->waited = clock_waited();
    core_use_read(&now->cores);
    if (getloadavg(&now->load, 1) != 1) now->load = NAN;
    now->clock = clock_now();
}

// ---- The load: differences ----

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

status run_segment_describe_load(const machine_counts *before, comm *c, yaml_node *segment,
                                 error *err) {
    status rc = STATUS_OK;
    rank_use mine = {0};
    machine_counts *now = memory_new(1, sizeof *now);
    rank_use *ranks = memory_new((size_t)c->size, sizeof *ranks);
    run_segment_count(now);
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

// ---- Threads ----

// Ranks on several hosts may have other candidates. Returns the lowest number above `last` that one
// of them used, and adds up its use; 0: there is none.
static int next_used(const thread_number *ranks, int size, int last, thread_use *sum) {
    int next = 0;
    for (int r = 0; r < size; r++)
        for (int i = 0; i < ranks[r].count; i++) {
            const int number = ranks[r].candidates[i];
            if (number <= last || !ranks[r].used[i].steps || (next && number > next)) continue;
            if (number != next) *sum = (thread_use){0};
            next = number;
            sum->steps += ranks[r].used[i].steps;
            sum->ns += ranks[r].used[i].ns;
        }
    return next;
}

static void put_threads(yaml_node *segment, const thread_number *ranks, int size) {
    thread_use sum = {0};
    yaml_node *list = yaml_new(YAML_SEQUENCE);
    yaml_put(segment, "threads_used", list);
    for (int number = 0; (number = next_used(ranks, size, number, &sum)) > 0;) {
        yaml_node *one = yaml_new(YAML_MAPPING);
        one->flow = true;
        yaml_put(one, "threads", yaml_new_integer(number));
        yaml_put(one, "steps", yaml_new_integer((int64_t)sum.steps));
        yaml_put(one, "seconds", yaml_new_number((double)sum.ns / 1e9));
        yaml_append(list, one);
    }
}

status run_segment_describe_threads(const thread_number *t, comm *c, yaml_node *segment,
                                    error *err) {
    thread_number *ranks = memory_new((size_t)c->size, sizeof *ranks);
    status rc;
    TRY(c->ops->all_gather(c, t, sizeof *t, ranks, err));
    if (c->rank == 0 && t->count > 1) put_threads(segment, ranks, c->size);
out:
    free(ranks);
    return rc;
}
