// What several GPUs did while they trained.
#include "report/sections.h"
#include "results/gpu_use.h"

static void show(const results *r, document *d, const run *one, const gpu_use *use) {
    char label[LABEL_TEXT];
    const double mebibyte = 1 << 20;
    document_cell(d, CELL_STRONG, "%s", label_run(r, one, label));
    document_cell(d, CELL_TEXT, "%s", use->device);
    document_cell(d, CELL_TEXT, "%s", use->name);
    cell_number(d, "%.1f %%", 100 * use->value[GPU_USE_UTILIZATION]);
    cell_number(d, "%.0f", use->value[GPU_USE_MEMORY] / mebibyte);
    cell_number(d, "%.0f", use->value[GPU_USE_CLOCK]);
    cell_number(d, "%.0f", use->value[GPU_USE_POWER]);
    cell_number(d, "%.0f", use->value[GPU_USE_TEMPERATURE]);
}

status section_gpus(const results *r, document *d, error *err) {
    static const wording head[] = {"Run",
                                   "Device",
                                   "GPU",
                                   "Busy",
                                   "Memory, most, MiB",
                                   "Clock, mean, MHz",
                                   "Power, mean, W",
                                   "Temperature, most, °C"};
    enum { COLUMNS = sizeof head / sizeof *head };
    size_t rows = 0;
    for (size_t i = 0; i < r->list.count; i++) rows += gpu_use_count(&r->list.runs[i]);
    if (!rows) return STATUS_OK;
    document_add(d, BLOCK_HEADING, "%s", say(r, "What the GPUs did meanwhile"));
    document_table(d, COLUMNS, "");
    head_cells(r, d, head, COLUMNS);
    for (size_t i = 0; i < r->list.count; i++) {
        const run *one = &r->list.runs[i];
        for (size_t gpu = 0; gpu < gpu_use_count(one); gpu++) {
            gpu_use use;
            status rc = gpu_use_read(one, gpu, &use, err);
            if (rc != STATUS_OK) return rc;
            show(r, d, one, &use);
        }
    }
    document_add(
        d, BLOCK_NOTE, "%s",
        say(r, "As the driver (NVML) said, asked once a second, of the whole device and whatever "
               "else used it. Busy: the share of the time in which a kernel ran, however small."));
    return STATUS_OK;
}
