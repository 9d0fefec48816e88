#include "results/gpu_use.h"

static const struct {
    const char *key, *unit;
} figures[GPU_USES] = {
    [GPU_USE_UTILIZATION] = {"utilization_mean", "fraction"},
    [GPU_USE_MEMORY] = {"memory_used_max", "bytes"},
    [GPU_USE_CLOCK] = {"sm_clock_mhz_mean", "MHz"},
    [GPU_USE_POWER] = {"power_watts_mean", "W"},
    [GPU_USE_TEMPERATURE] = {"temperature_celsius_max", "°C"},
};

const char *gpu_use_key(int figure) {
    return figures[figure].key;
}

const char *gpu_use_unit(int figure) {
    return figures[figure].unit;
}

size_t gpu_use_count(const run *r) {
    const yaml_node *list = r->train && run_has_time(r) ? yaml_get(r->train, "run.gpus") : NULL;
    if (!list || list->kind != YAML_SEQUENCE) return 0;
    for (size_t i = 0; i < list->count; i++)
        if (yaml_get(list->items[i], "samples")) return list->count;
    return 0;
}

status gpu_use_read(const run *r, size_t gpu, gpu_use *use, error *err) {
    const yaml_node *item = yaml_get(r->train, "run.gpus")->items[gpu];
    status rc = STATUS_OK;
    use->device = run_text(item, "device");
    use->name = run_text(item, "name");
    for (int k = 0; k < GPU_USES; k++) TRY(run_number(item, figures[k].key, &use->value[k], err));
out:
    return rc;
}
