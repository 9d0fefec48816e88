// SPDX-License-Identifier: MIT
// What the devices of a run did: its replicas, stages or ranks, and its GPUs as the driver saw
// them.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/memory.h"
#include "report/charts.h"
#include "report/facts_parts.h"
#include "results/execution.h"

static const chart_parts uses[] = {
    {"busy", CHART_BUSY}, {"copying", CHART_COMM}, {"waiting", CHART_WAIT}};
enum { USES = sizeof uses / sizeof *uses };

// ---- Replicas, stages and ranks ----

static size_t device_count(const run *one) {
    const yaml_node *list = execution_devices(one);
    return list ? list->count : 0;
}

// Returns "replica.0." for the first device; free() it.
static char *device_prefix(const run *one, size_t device) {
    const bool stages = execution_kind_of(one) == EXECUTION_STAGES;
    return memory_format("%s.%zu.", stages ? "stage" : "replica", device);
}

static double device_value(const results *r, const run *one, size_t device, const char *use) {
    char *prefix = device_prefix(one, device), *metric = memory_format("%s%s", prefix, use);
    const double value = results_value(r, one->name, metric);
    free(prefix);
    free(metric);
    return value;
}

static yaml_node *mean_node(const results *r, const run *one) {
    const size_t count = device_count(one);
    yaml_node *node = yaml_new(YAML_MAPPING);
    for (int i = 0; i < USES; i++) {
        double sum = 0;
        for (size_t k = 0; k < count; k++) sum += device_value(r, one, k, uses[i].name);
        yaml_put(node, uses[i].name, json_new_number(sum / (double)count));
    }
    return node;
}

static yaml_node *device_nodes(const run *one) {
    const yaml_node *devices = execution_devices(one);
    yaml_node *list = yaml_new(YAML_SEQUENCE);
    for (size_t k = 0; k < device_count(one); k++) {
        yaml_node *node = yaml_new(YAML_MAPPING);
        char *prefix = device_prefix(one, k);
        prefix[strlen(prefix) - 1] = 0;
        yaml_put(node, "number", json_new_count((int64_t)k));
        yaml_put(node, "metric", json_new_text(prefix));
        yaml_put(node, "first", json_new_text(yaml_text_at(devices->items[k], "first")));
        yaml_put(node, "last", json_new_text(yaml_text_at(devices->items[k], "last")));
        yaml_append(list, node);
        free(prefix);
    }
    return list;
}

// The least and the most busy of the devices from `first` on.
static void put_range(yaml_node *node, const results *r, const run *one, size_t first) {
    const size_t count = device_count(one);
    size_t least = first, most = first;
    for (size_t k = first + 1; k < count; k++) {
        const double own = device_value(r, one, k, "busy");
        if (own > device_value(r, one, most, "busy")) most = k;
        if (own < device_value(r, one, least, "busy")) least = k;
    }
    const bool any = first < count;
    yaml_put(node, "idlest", json_new_count(any ? (int64_t)least : -1));
    yaml_put(node, "busiest", json_new_count(any ? (int64_t)most : -1));
    const double noise = 0.01;
    yaml_put(node, "uneven",
             yaml_new_boolean(any && device_value(r, one, most, "busy") -
                                             device_value(r, one, least, "busy") >
                                         noise));
}

// The share of each activity of DataParallel in their sum.
static yaml_node *share_nodes(const results *r, const run *one) {
    yaml_node *node = yaml_new(YAML_MAPPING);
    for (int i = 0; i < EXECUTION_ACTIVITIES; i++) {
        char *metric = memory_format("dp.%s", execution_activity(i));
        yaml_put(node, execution_activity(i),
                 json_new_number(results_value(r, one->name, metric) /
                                 results_value(r, one->name, "dp.sum")));
        free(metric);
    }
    return node;
}

// Why there are no times to show; null if there are.
static yaml_node *no_times(const run *one) {
    const char *why = run_has_time(one) ? "phases" : run_no_time(one);
    return json_new_text(execution_has_times(one) ? "" : why);
}

static yaml_node *execution_node(const results *r, const run *one) {
    static const char *const kinds[] = {[EXECUTION_PLAIN] = "plain",
                                        [EXECUTION_REPLICAS] = "replicas",
                                        [EXECUTION_STAGES] = "stages",
                                        [EXECUTION_RANKS] = "ranks"};
    const execution_kind kind = execution_kind_of(one);
    if (kind == EXECUTION_PLAIN) return json_new_text(NULL);
    yaml_node *node = yaml_new(YAML_MAPPING);
    yaml_put(node, "kind", json_new_text(kinds[kind]));
    yaml_put(node, "no_times", no_times(one));
    yaml_put(node, "fast", yaml_new_boolean(strcmp(one->reduce, "fast") == 0));
    if (!execution_has_times(one)) return node;
    yaml_put(node, "devices", device_nodes(one));
    if (kind == EXECUTION_RANKS) return node;
    yaml_put(node, "mean", mean_node(r, one));
    // The master is the first replica: the range is that of the others.
    put_range(node, r, one, kind == EXECUTION_REPLICAS);
    if (kind == EXECUTION_REPLICAS) yaml_put(node, "shares", share_nodes(r, one));
    return node;
}

// ---- GPUs ----

static void put_gpus(yaml_node *node, const run *one) {
    yaml_node *list = yaml_new(YAML_SEQUENCE);
    const size_t count = metric_members(metrics_find("gpu.0.utilization_mean"), one);
    yaml_put(node, "gpus", list);
    for (size_t i = 0; i < count; i++) {
        const yaml_node *item = yaml_get(one->train, "run.gpus")->items[i];
        yaml_node *gpu = yaml_new(YAML_MAPPING);
        char *metric = memory_format("gpu.%zu", i);
        yaml_put(gpu, "metric", json_new_text(metric));
        yaml_put(gpu, "device", json_new_text(yaml_text_at(item, "device")));
        yaml_put(gpu, "model", json_new_text(yaml_text_at(item, "name")));
        yaml_append(list, gpu);
        free(metric);
    }
}

void facts_put_devices(yaml_node *node, const results *r, const run *one) {
    yaml_put(node, "execution", execution_node(r, one));
    put_gpus(node, one);
}

// ---- The chart ----

// A run's name is shown only at its first bar.
static void add_bars(yaml_node *chart, const results *r, const run *one) {
    char *label = memory_format("%s%s", one->name, one->simulated ? "†" : "");
    if (execution_kind_of(one) == EXECUTION_RANKS)
        chart_add_stack(chart, r, label, "mean", one->name, "");
    for (size_t k = 0; k < device_count(one); k++) {
        char *name = memory_format("%s%s%zu", k ? "" : label, k ? "" : ", ", k);
        char *prefix = device_prefix(one, k);
        chart_add_stack(chart, r, name, "", one->name, prefix);
        free(name);
        free(prefix);
    }
    free(label);
}

yaml_node *facts_use_chart(const results *r) {
    yaml_node *chart = chart_new_stacked("use", uses, USES);
    yaml_put(chart, "scale", yaml_new_integer(100));
    for (size_t i = 0; i < r->list.count; i++) {
        const run *one = &r->list.runs[i];
        if (execution_kind_of(one) != EXECUTION_PLAIN && execution_has_times(one))
            add_bars(chart, r, one);
    }
    return chart;
}

// Where its ranks compute, if there are more of them than devices: then times are simulated.
yaml_node *facts_crowd(const run *one) {
    yaml_node *node = yaml_new(YAML_MAPPING);
    const bool gpus = run_shares_gpu(one), ranks = one->host_ranks > 1;
    yaml_put(node, "gpus", yaml_new_boolean(gpus));
    yaml_put(node, "ranks",
             json_new_count(gpus ? one->host_ranks - one->cpu_ranks : one->cpu_ranks));
    yaml_put(node, "threads", json_new_count(one->threads));
    yaml_put(node, "devices", json_new_count(gpus ? one->gpus : one->cores));
    // What the times say nothing about: that many devices, or of a single rank that many cores.
    yaml_put(node, "several_ranks", yaml_new_boolean(ranks));
    yaml_put(node, "needed",
             json_new_count(ranks ? one->host_ranks : one->host_ranks * one->threads));
    return node;
}
