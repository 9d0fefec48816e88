// SPDX-License-Identifier: MIT
// The time and traffic of a DataParallel step: runs and times each activity, and reports them in
// the manifest.
#include "base/clock.h"
#include "train/strategy_dp.h"

static const struct {
    const char *name;
    bool crosses; // between the master and the other replicas
} activities[ACTIVITIES] = {
    [BROADCAST] = {"broadcast", true}, [SCATTER] = {"scatter", true},
    [FORWARD] = {"forward", false},    [GATHER] = {"gather", true},
    [LOSS] = {"loss", false},          [SCATTER_GRADIENT] = {"scatter_gradient", true},
    [BACKWARD] = {"backward", false},  [REDUCE] = {"reduce", true},
    [UPDATE] = {"update", false},
};

// ---- Running and booking ----

// Adds a replica's times to the seven phases, and to its busy and waiting time.
static void book(executor *x, part *p, const phase_times *spent) {
    for (int k = 0; k < PHASES; k++) x->own.ns[k] += spent->ns[k];
    p->busy += strategy_busy(spent);
    p->waiting += spent->ns[PHASE_WAIT];
}

// A trace shows each activity of a replica as an operation with phases inside: those that its
// engine gradient buffers, and copying. Between operations the replica waits.
static void traced_body(void *parts, int member) {
    part *p = (part *)parts + member;
    const executor *x = p->owner;
    const uint64_t begin = trace_clock(p->track);
    trace_rest(p->track, phase_name(PHASE_WAIT), x->began, begin);
    x->body(parts, member);
    const uint64_t end = trace_clock(p->track);
    if (activities[x->what].crosses) trace_rest(p->track, phase_name(PHASE_COPY), begin, end);
    trace_operation(p->track, activities[x->what].name, TRACE_UNNUMBERED, begin, end);
}

status dp_all(executor *x, activity what, void (*body)(void *, int), error *err) {
    const uint64_t begin = clock_now();
    for (int r = 0; r < x->replicas; r++) x->parts[r].spent = (phase_times){0};
    x->what = what;
    x->body = body;
    team_run(x->team, traced_body, x->parts);
    const uint64_t wall = clock_now() - begin;
    x->ns[what] += wall;
    for (int r = 0; r < x->replicas; r++) {
        part *p = &x->parts[r];
        uint64_t sum = 0;
        for (int k = 0; k < PHASES; k++) sum += p->spent.ns[k];
        p->spent.ns[PHASE_WAIT] += wall > sum ? wall - sum : 0;
        book(x, p, &p->spent);
        if (p->rc == STATUS_OK) continue;
        *err = p->err;
        return error_prefix(err, "replica %d: ", r);
    }
    return STATUS_OK;
}

void dp_alone(executor *x, activity what, phase spent, uint64_t begin) {
    const uint64_t end = clock_now(), ns = end - begin;
    trace_track *track = x->parts[0].track;
    trace_rest(track, phase_name(PHASE_WAIT), x->began, begin);
    trace_rest(track, phase_name(spent), begin, end);
    trace_operation(track, activities[what].name, TRACE_UNNUMBERED, begin, end);
    x->ns[what] += ns;
    for (int r = 0; r < x->replicas; r++) {
        phase_times times = {0};
        times.ns[r == 0 ? spent : PHASE_WAIT] = ns;
        book(x, &x->parts[r], &times);
    }
}

phase_times dp_times(executor *x) {
    phase_times mean = x->own;
    for (int p = 0; p < PHASES; p++) mean.ns[p] /= (uint64_t)x->replicas;
    x->own = (phase_times){0};
    (void)x->backend->times(x->engines[0]);
    return mean;
}

// ---- For the manifest ----

static void put_times(const executor *x, yaml_node *segment) {
    yaml_node *seconds = yaml_new(YAML_MAPPING);
    seconds->flow = true;
    for (int k = 0; k < ACTIVITIES; k++) {
        const double mean = x->steps ? (double)x->ns[k] / 1e9 / (double)x->steps : 0;
        yaml_put(seconds, activities[k].name, yaml_new_number(mean));
    }
    yaml_put(segment, "seconds_per_step", seconds);
}

static void put_traffic(const executor *x, yaml_node *segment) {
    yaml_node *bytes = yaml_new(YAML_MAPPING);
    bytes->flow = true;
    for (int k = 0; k < ACTIVITIES; k++) {
        const uint64_t mean = x->steps ? x->bytes[k] / x->steps : 0;
        if (!activities[k].crosses) continue;
        yaml_put(bytes, activities[k].name, yaml_new_integer((int64_t)mean));
    }
    yaml_put(segment, "bytes_per_step", bytes);
}

static void put_replica(const executor *x, int number, yaml_node *list) {
    const part *p = &x->parts[number];
    yaml_node *item = yaml_new(YAML_MAPPING);
    uint64_t wall = 0;
    item->flow = true;
    for (int k = 0; k < ACTIVITIES; k++) wall += x->ns[k];
    const double busy = wall ? (double)p->busy / (double)wall : 0;
    const double waiting = wall ? (double)p->waiting / (double)wall : 0;
    const int64_t bytes = (int64_t)x->backend->describe(x->engines[number]).memory;
    yaml_put(item, "busy", yaml_new_number(busy));
    yaml_put(item, "waiting", yaml_new_number(waiting));
    yaml_put(item, "bytes", yaml_new_integer(bytes));
    yaml_append(list, item);
}

void dp_describe(const executor *x, yaml_node *segment) {
    yaml_node *list = yaml_new(YAML_SEQUENCE);
    put_times(x, segment);
    put_traffic(x, segment);
    for (int r = 0; r < x->replicas; r++) put_replica(x, r, list);
    if (x->transport) yaml_put(segment, "transport", yaml_new_string(x->transport));
    yaml_put(segment, "replicas", list);
}
