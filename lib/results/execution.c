#include "results/execution.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"

enum { LOSS = 4, SCATTER_GRADIENT = 5, REDUCE = 7, UPDATE = 8 }; // activities of the master alone

const char *execution_activity(int activity) {
    static const char *const names[EXECUTION_ACTIVITIES] = {
        "broadcast",        "scatter",  "forward", "gather", "loss",
        "scatter_gradient", "backward", "reduce",  "update"};
    return names[activity];
}

// ---- Reading ----

static status read_device(const yaml_node *item, device_use *d, error *err) {
    status rc = STATUS_OK;
    d->first = run_text(item, "first");
    d->last = run_text(item, "last");
    TRY(run_number(item, "busy", &d->busy, err));
    TRY(run_number(item, "waiting", &d->waiting, err));
    TRY(run_count(item, "bytes_sent_per_step", &d->bytes_sent, err));
    TRY(run_count(item, "bytes", &d->memory, err));
    d->copying = 1 - d->busy - d->waiting;
    // Two roundings away from nothing.
    if (fabs(d->copying) < 1e-9) d->copying = 0;
out:
    return rc;
}

static status read_devices(const yaml_node *list, execution *e, error *err) {
    if (list->kind != YAML_SEQUENCE) return yaml_error(list, err, "expected a list");
    e->devices = memory_new(list->count, sizeof *e->devices, err);
    if (!e->devices) return STATUS_FAILED;
    for (size_t i = 0; i < list->count; i++) {
        status rc = read_device(list->items[i], &e->devices[i], err);
        if (rc != STATUS_OK) return rc;
        e->count++;
    }
    return STATUS_OK;
}

static status read_activities(const yaml_node *segment, execution *e, error *err) {
    status rc = STATUS_OK;
    for (int k = 0; k < EXECUTION_ACTIVITIES; k++) {
        char path[64];
        snprintf(path, sizeof path, "seconds_per_step.%s", execution_activity(k));
        TRY(run_number(segment, path, &e->seconds[k], err));
        snprintf(path, sizeof path, "bytes_per_step.%s", execution_activity(k));
        TRY(run_count(segment, path, &e->bytes[k], err));
    }
out:
    return rc;
}

static status read_bubble(const yaml_node *segment, execution *e, error *err) {
    status rc = STATUS_OK;
    TRY(run_number(segment, "micro_batches", &e->micro_batches, err));
    TRY(run_number(segment, "bubble_measured", &e->bubble_measured, err));
    TRY(run_number(segment, "bubble_predicted", &e->bubble_predicted, err));
out:
    return rc;
}

static status read_hidden(const yaml_node *segment, execution *e, error *err) {
    e->hidden_comm = NAN;
    if (!yaml_find(segment, "hidden_comm_per_step")) return STATUS_OK;
    return run_number(segment, "hidden_comm_per_step", &e->hidden_comm, err);
}

static status read_segment(const yaml_node *segment, execution *e, error *err) {
    const yaml_node *replicas = yaml_find(segment, "replicas"),
                    *stages = yaml_find(segment, "stages");
    status rc = STATUS_OK;
    if (replicas) {
        e->kind = EXECUTION_REPLICAS;
        TRY(read_devices(replicas, e, err));
        TRY(read_activities(segment, e, err));
    } else if (stages) {
        e->kind = EXECUTION_STAGES;
        TRY(read_devices(stages, e, err));
        TRY(read_bubble(segment, e, err));
    } else if (yaml_find(segment, "vectors_per_reduction")) {
        e->kind = EXECUTION_RANKS;
        TRY(run_number(segment, "vectors_per_reduction", &e->vectors, err));
        TRY(run_count(segment, "bytes_sent_per_step", &e->bytes_sent, err));
        TRY(read_hidden(segment, e, err));
    }
out:
    return rc;
}

status execution_read(const run *r, execution *e, error *err) {
    *e = (execution){.kind = EXECUTION_PLAIN};
    int segments;
    const yaml_node *segment = r->train ? run_last_segment(r, &segments) : NULL;
    if (!segment || segment->kind != YAML_MAPPING) return STATUS_OK;
    status rc = read_segment(segment, e, err);
    if (rc != STATUS_OK) execution_release(e);
    return rc;
}

void execution_release(execution *e) {
    free(e->devices);
    *e = (execution){0};
}

// ---- What follows from it ----

bool execution_has_times(const run *r) {
    return r->train && run_has_time(r) && !isnan(run_time_split(r).sum);
}

double execution_step_seconds(const execution *e) {
    double sum = 0;
    for (int k = 0; k < EXECUTION_ACTIVITIES; k++) sum += e->seconds[k];
    return sum;
}

double execution_master_share(const execution *e) {
    double alone =
        e->seconds[LOSS] + e->seconds[SCATTER_GRADIENT] + e->seconds[REDUCE] + e->seconds[UPDATE];
    return alone / execution_step_seconds(e);
}

device_use execution_mean_use(const run *r) {
    enum { COPY = 1, COMM = 4, WAIT = 5 }; // of run_phase_name
    device_use use = {"", "", NAN, NAN, NAN, -1, -1};
    run_split split = run_time_split(r);
    use.copying = (split.phase[COPY] + split.phase[COMM]) / split.wall;
    use.waiting = split.phase[WAIT] / split.wall;
    use.busy = 1 - use.copying - use.waiting;
    return use;
}
