// SPDX-License-Identifier: MIT
// The activity of several GPUs during training.
#include <stdio.h>

#include "report/sections.h"

static const char *const columns[] = {"utilization_mean", "memory_used_max", "sm_clock_mhz_mean",
                                      "power_watts_mean", "temperature_celsius_max"};
enum { COLUMNS = sizeof columns / sizeof *columns };

static const char *gpu_metric(size_t gpu, size_t column, char metric[64]) {
    snprintf(metric, 64, "gpu.%zu.%s", gpu, columns[column]);
    return metric;
}

static void gpu_row(const results *r, document *d, const run *one, size_t gpu) {
    char label[LABEL_TEXT], metric[64];
    const yaml_node *item = yaml_get(one->train, "run.gpus")->items[gpu];
    document_cell(d, CELL_STRONG, "%s", label_run(one, label));
    document_cell(d, CELL_TEXT, "%s", run_text(item, "device"));
    document_cell(d, CELL_TEXT, "%s", run_text(item, "name"));
    for (size_t k = 0; k < COLUMNS; k++) cell_figure(r, d, one->name, gpu_metric(gpu, k, metric));
}

static void begin(const results *r, document *d) {
    static const wording head[] = {"Run", "Device", "GPU"};
    document_add(d, BLOCK_HEADING, "%s", say(r, "GPU activity during training"));
    document_table(d, 3 + COLUMNS, "");
    head_cells(r, d, head, 3);
    for (size_t k = 0; k < COLUMNS; k++) {
        char metric[64];
        const char *const name = gpu_metric(0, k, metric);
        head_figures(r, d, &name, 1);
    }
}

status section_gpus(const results *r, document *d, error *err) {
    size_t rows = 0, count;
    for (size_t i = 0; i < r->list.count; i++) {
        const run *one = &r->list.runs[i];
        status rc = metric_members(metrics_find("gpu.0.utilization_mean"), one, &count, err);
        if (rc != STATUS_OK) return rc;
        for (size_t gpu = 0; gpu < count; gpu++) {
            if (!rows++) begin(r, d);
            gpu_row(r, d, one, gpu);
        }
    }
    if (rows)
        document_add(d, BLOCK_NOTE, "%s",
                     say(r, "As reported by the driver (NVML), sampled once per second, for the "
                            "whole device, including other processes. Busy: the share of the time "
                            "in which any kernel ran, however small."));
    return STATUS_OK;
}
