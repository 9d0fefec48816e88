// SPDX-License-Identifier: MIT
#include "results/machine_use.h"

#include <math.h>

// Kernel clocks tick every hundredth of a second on each core, so fewer than three ticks are within
// their error.
static const double tick_error = 0.03;

static double number_at(const yaml_node *segment, const char *path) {
    double value;
    return run_number(segment, path, &value, NULL) == STATUS_OK ? value : NAN;
}

machine_use machine_use_of(const run *execution) {
    int segments;
    const yaml_node *last = execution->train ? run_last_segment(execution, &segments) : NULL;
    // The kernel does not count time taken by a hypervisor as waiting: the thread seems to run.
    const double stolen = number_at(last, "machine.stolen_seconds");
    return (machine_use){
        number_at(last, "machine.wall_seconds"), number_at(last, "machine.cpu_seconds"),
        number_at(last, "machine.waited_seconds") + (isnan(stolen) ? 0 : stolen),
        number_at(last, "machine.others_seconds"), number_at(last, "machine.cores")};
}

bool machine_use_is_disturbed(const machine_use *u) {
    const double share = fmax(0.1, 0.02 * u->cores);
    const bool used = u->others > share * u->wall + tick_error * u->cores;
    if (isnan(u->waited)) return used && u->cpu + u->others > 0.95 * u->cores * u->wall;
    return used && u->waited > 0.03 * (u->cpu + u->waited);
}

double machine_use_without_core(const machine_use *u) {
    return u->waited / (u->cpu + u->waited);
}
