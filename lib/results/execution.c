// SPDX-License-Identifier: MIT
#include "results/execution.h"

#include <math.h>
#include <stdio.h>

static const struct {
    const char *name;
    bool alone; // only the master does it; the other replicas wait
} activities[EXECUTION_ACTIVITIES] = {
    {"broadcast", false}, {"scatter", false}, {"forward", false},
    {"gather", false},    {"loss", true},     {"scatter_gradient", true},
    {"backward", false},  {"reduce", true},   {"update", true},
};

const char *execution_activity(int activity) {
    return activities[activity].name;
}

// ---- The kind ----

execution_kind execution_kind_of(const run *r) {
    const yaml_node *segment = run_last_segment(r);
    if (!segment) return EXECUTION_PLAIN;
    if (yaml_find(segment, "replicas")) return EXECUTION_REPLICAS;
    if (yaml_find(segment, "stages")) return EXECUTION_STAGES;
    return yaml_find(segment, "vectors_per_reduction") ? EXECUTION_RANKS : EXECUTION_PLAIN;
}

const yaml_node *execution_devices(const run *r) {
    const execution_kind kind = execution_kind_of(r);
    if (kind != EXECUTION_REPLICAS && kind != EXECUTION_STAGES) return NULL;
    const yaml_node *list =
        yaml_find(run_last_segment(r), kind == EXECUTION_STAGES ? "stages" : "replicas");
    return list->kind == YAML_SEQUENCE ? list : NULL;
}

bool execution_has_times(const run *r) {
    return r->train && run_has_time(r) && !isnan(run_time_split(r).sum);
}

// ---- Derived figures ----

static double number_of(const run *r, const char *list, const char *name) {
    char path[96];
    snprintf(path, sizeof path, "run.execution.%s.%s", list, name);
    return yaml_number_at(r->train, path);
}

int64_t execution_bytes(const run *r, int activity) {
    const double bytes = number_of(r, "bytes_per_step", activities[activity].name);
    return bytes >= 0 ? (int64_t)bytes : -1;
}

double execution_step_bytes(const run *r) {
    double sum = NAN;
    for (int k = 0; k < EXECUTION_ACTIVITIES; k++) {
        const int64_t bytes = execution_bytes(r, k);
        if (bytes >= 0) sum = (isnan(sum) ? 0 : sum) + (double)bytes;
    }
    return sum;
}

static double seconds_of(const run *r, bool alone) {
    double sum = 0;
    for (int k = 0; k < EXECUTION_ACTIVITIES; k++)
        if (!alone || activities[k].alone)
            sum += number_of(r, "seconds_per_step", activities[k].name);
    return sum;
}

double execution_step_seconds(const run *r) {
    return seconds_of(r, false);
}

double execution_master_share(const run *r) {
    return seconds_of(r, true) / seconds_of(r, false);
}

double execution_copying(const run *r, const char *list, size_t device) {
    char name[48];
    snprintf(name, sizeof name, "%zu.busy", device);
    const double busy = number_of(r, list, name);
    snprintf(name, sizeof name, "%zu.waiting", device);
    const double copying = 1 - busy - number_of(r, list, name);
    return fabs(copying) < 1e-9 ? 0 : copying; // rounding errors of zero
}

// ---- Other programs ----

// Kernel clocks tick every hundredth of a second on each core, so fewer than three ticks are within
// their error.
static const double tick_error = 0.03;

// NAN: the number of threads did not follow the machine.
static double fewer_threads(const yaml_node *segment) {
    const yaml_node *used = yaml_find(segment, "threads_used");
    const double most = yaml_number_at(segment, "threads");
    double fewer = 0, all = 0;
    for (size_t i = 0; used && used->kind == YAML_SEQUENCE && i < used->count; i++) {
        const double seconds = yaml_number_at(used->items[i], "seconds");
        all += seconds;
        if (yaml_number_at(used->items[i], "threads") < most) fewer += seconds;
    }
    return all > 0 ? fewer / all : NAN;
}

execution_load execution_load_of(const run *execution) {
    const yaml_node *last = run_last_segment(execution);
    // The kernel does not count time taken by a hypervisor as waiting: the thread seems to run.
    const double stolen = yaml_number_at(last, "machine.stolen_seconds");
    return (execution_load){yaml_number_at(last, "machine.wall_seconds"),
                            yaml_number_at(last, "machine.cpu_seconds"),
                            yaml_number_at(last, "machine.waited_seconds") +
                                (isnan(stolen) ? 0 : stolen),
                            yaml_number_at(last, "machine.others_seconds"),
                            yaml_number_at(last, "machine.cores"),
                            fewer_threads(last)};
}

bool execution_is_disturbed(const execution_load *u) {
    const double share = fmax(0.1, 0.02 * u->cores);
    const bool used = u->others > share * u->wall + tick_error * u->cores;
    if (used && u->fewer > 0.03) return true;
    if (isnan(u->waited)) return used && u->cpu + u->others > 0.95 * u->cores * u->wall;
    return used && u->waited > 0.03 * (u->cpu + u->waited);
}

size_t execution_count_disturbed(const run *r) {
    size_t count = 0;
    for (size_t k = 0; k < run_execution_count(r); k++) {
        const execution_load u = execution_load_of(run_execution(r, k));
        count += execution_is_disturbed(&u);
    }
    return count;
}

double execution_without_core(const execution_load *u) {
    return u->waited / (u->cpu + u->waited);
}
