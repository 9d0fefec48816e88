// SPDX-License-Identifier: MIT
#include "train/train_manifest.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/median.h"
#include "base/memory.h"
#include "data/recorded.h"
#include "train/trainer.h"

status train_manifest_parameters(const experiment *e, yaml_node *parameters, error *err) {
    for (size_t i = 0; i < e->resolved->count; i++) {
        status rc =
            yaml_put(parameters, e->resolved->keys[i], yaml_copy(e->resolved->items[i], err), err);
        if (rc != STATUS_OK) return rc;
    }
    return STATUS_OK;
}

status train_manifest_backend(manifest *m, const char *kind, error *err) {
    if (strcmp(kind, "cpu") == 0) return STATUS_OK;
    return yaml_put(manifest_parameters(m), "backend", yaml_new_string(kind, err), err);
}

static manifest_file entry(const char *path, const tensor_file *f) {
    return (manifest_file){path, f->file_bytes, f->sha256, f->content};
}

status train_manifest_reduce(manifest *m, const char *kind, int world_size, error *err) {
    yaml_node *reduce = yaml_new(YAML_MAPPING, err);
    status rc = STATUS_FAILED;
    if (!reduce) return rc;
    reduce->flow = true;
    TRY(yaml_put(reduce, "kind", yaml_new_string(kind, err), err));
    if (world_size) TRY(yaml_put(reduce, "world_size", yaml_new_integer(world_size, err), err));
    return yaml_put(manifest_parameters(m), "reduce", reduce, err);
out:
    yaml_free(reduce);
    return rc;
}

status train_manifest_init_except(manifest *m, const cli_list *except, error *err) {
    if (except->count == 0) return STATUS_OK;
    yaml_node *list = yaml_new(YAML_SEQUENCE, err);
    status rc = list ? STATUS_OK : STATUS_FAILED;
    for (size_t i = 0; rc == STATUS_OK && i < except->count; i++)
        rc = yaml_append(list, yaml_new_string(except->items[i], err), err);
    if (rc == STATUS_OK) return yaml_put(manifest_parameters(m), INIT_EXCEPT, list, err);
    yaml_free(list);
    return rc;
}

status train_manifest_input(manifest *m, const char *path, const tensor_file *f, error *err) {
    const manifest_file file = entry(path, f);
    return manifest_add_input(m, &file, err);
}

status train_manifest_output(manifest *m, const char *path, const tensor_file *f, error *err) {
    const manifest_file file = entry(path, f);
    return manifest_add_output(m, &file, err);
}

status train_manifest_dataset(manifest *m, const dataset *d, error *err) {
    for (int i = 0; i < d->file_count; i++) {
        const manifest_file file = entry(d->paths[i], &d->files[i]);
        manifest_repeats repeats = {0};
        status rc = d->shards ? manifest_add_shard(m, &file, d->source, err)
                              : manifest_add_input(m, &file, err);
        // Test data are not in shards.
        if (rc == STATUS_OK && !d->shards)
            rc = recorded_repeats(file.path, file.content, &repeats, err);
        if (rc == STATUS_OK && repeats.images > 0) rc = manifest_add_repeats(m, &repeats, err);
        if (rc != STATUS_OK) return rc;
    }
    return STATUS_OK;
}

yaml_node *train_manifest_device_list(const devices *d, error *err) {
    yaml_node *list = yaml_new(YAML_SEQUENCE, err);
    if (!list) return NULL;
    list->flow = true;
    for (int i = 0; i < d->count; i++) {
        char name[DEVICES_TEXT_BYTES];
        devices_name(d, i, name);
        if (yaml_append(list, yaml_new_string(name, err), err) == STATUS_OK) continue;
        yaml_free(list);
        return NULL;
    }
    return list;
}

static status append_gpu(yaml_node *list, const device_info *gpu, error *err) {
    char device[32], capability[32];
    yaml_node *item = yaml_new(YAML_MAPPING, err);
    status rc = STATUS_FAILED;
    if (!item) return rc;
    snprintf(device, sizeof device, "cuda:%d", gpu->index);
    snprintf(capability, sizeof capability, "%d.%d", gpu->capability[0], gpu->capability[1]);
    TRY(yaml_put(item, "device", yaml_new_string(device, err), err));
    TRY(yaml_put(item, "name", yaml_new_string(gpu->name, err), err));
    TRY(yaml_put(item, "memory", yaml_new_integer((int64_t)gpu->memory, err), err));
    TRY(yaml_put(item, "compute_capability", yaml_new_string(capability, err), err));
    TRY(yaml_put(item, "driver", yaml_new_string(gpu->driver, err), err));
    TRY(yaml_put(item, "libraries", yaml_new_string(gpu->libraries, err), err));
    return yaml_append(list, item, err);
out:
    yaml_free(item);
    return rc;
}

status train_manifest_gpus(manifest *m, const devices *d, error *err) {
    if (d->gpu_count == 0) return STATUS_OK;
    yaml_node *list = yaml_new(YAML_SEQUENCE, err);
    status rc = STATUS_FAILED;
    if (!list) return rc;
    for (int i = 0; i < d->gpu_count; i++) TRY(append_gpu(list, &d->gpus[i], err));
    return yaml_put(manifest_run(m), "gpus", list, err);
out:
    yaml_free(list);
    return rc;
}

static status put_figure(yaml_node *item, const char *name, const char *which, double value,
                         error *err) {
    char key[64];
    if (isnan(value)) return STATUS_OK;
    snprintf(key, sizeof key, "%s_%s", name, which);
    return yaml_put(item, key, yaml_new_number(value, err), err);
}

static status put_figures(yaml_node *item, const gpu_figures *f, error *err) {
    static const char *const names[GPU_FIGURES] = {
        [GPU_UTILIZATION] = "utilization", [GPU_MEMORY_UTILIZATION] = "memory_utilization",
        [GPU_MEMORY_USED] = "memory_used", [GPU_SM_CLOCK] = "sm_clock_mhz",
        [GPU_POWER] = "power_watts",       [GPU_TEMPERATURE] = "temperature_celsius",
    };
    status rc;
    if (f->samples == 0) return STATUS_OK;
    TRY(yaml_put(item, "samples", yaml_new_integer(f->samples, err), err));
    for (int i = 0; i < GPU_FIGURES; i++) {
        TRY(put_figure(item, names[i], "mean", f->mean[i], err));
        TRY(put_figure(item, names[i], "max", f->max[i], err));
    }
out:
    return rc;
}

status train_manifest_gpu_figures(manifest *m, const devices *d, const gpu_figures *figures,
                                  error *err) {
    const yaml_node *list = yaml_find(manifest_run(m), "gpus");
    for (int i = 0; list && i < d->gpu_count; i++) {
        status rc = put_figures(list->items[i], &figures[i], err);
        if (rc != STATUS_OK) return rc;
    }
    return STATUS_OK;
}

// The first epoch also warms up: it counts only if there is no other whole one. A shorter epoch
// counts only if it is the only one, by the time of its steps.
static status median_seconds(const checkpoint *c, const experiment *e, uint32_t samples,
                             double *middle, error *err) {
    const uint64_t whole = trainer_steps_per_epoch(e, samples);
    const uint64_t last = trainer_epoch_steps(e, samples, c->epochs - 1);
    const int wholes = c->epochs - (last < whole), first = wholes > 1 ? 1 : 0;
    const int count = wholes > 1 ? wholes - 1 : 1;
    double *seconds = memory_new((size_t)count, sizeof *seconds, err);
    if (!seconds) return STATUS_FAILED;
    for (int i = 0; i < count; i++) seconds[i] = trainer_epoch_seconds(c, e, samples, first + i);
    if (wholes == 0) seconds[0] *= (double)whole / (double)last;
    *middle = median(seconds, (size_t)count);
    free(seconds);
    return STATUS_OK;
}

static yaml_node *phases_of(const timeline *t, uint64_t first, uint64_t steps, error *err) {
    yaml_node *phases = yaml_new(YAML_MAPPING, err);
    if (!phases) return NULL;
    phases->flow = true;
    for (int p = 0; p < PHASES; p++) {
        uint64_t ns = 0;
        for (uint64_t i = 0; i < steps; i++) ns += t->time[p][first + i];
        if (yaml_put(phases, phase_name((phase)p), yaml_new_number((double)ns / 1e9, err), err) !=
            STATUS_OK) {
            yaml_free(phases);
            return NULL;
        }
    }
    return phases;
}

static status append_epoch(yaml_node *list, const checkpoint *c, const experiment *e,
                           uint32_t samples, int epoch, error *err) {
    const uint64_t first = (uint64_t)epoch * trainer_steps_per_epoch(e, samples);
    const uint64_t steps = trainer_epoch_steps(e, samples, epoch);
    status rc = STATUS_FAILED;
    yaml_node *node = yaml_new(YAML_MAPPING, err);
    if (!node) return rc;
    double loss = trainer_epoch_loss(c, e, samples, epoch), accuracy = c->accuracy[epoch];
    TRY(yaml_put(node, "loss", yaml_new_number(loss, err), err));
    if (!isnan(accuracy)) TRY(yaml_put(node, "accuracy", yaml_new_number(accuracy, err), err));
    TRY(yaml_put(node, "seconds", yaml_new_number(trainer_epoch_seconds(c, e, samples, epoch), err),
                 err));
    TRY(yaml_put(node, "phases", phases_of(&c->timeline, first, steps, err), err));
    return yaml_append(list, node, err);
out:
    yaml_free(node);
    return rc;
}

status train_manifest_execution(manifest *m, const checkpoint *c, error *err) {
    const yaml_node *list = c->execution;
    const yaml_node *shown = list->count == 1 ? list->items[0] : list;
    const int64_t restarts = checkpoint_restarts(c);
    status rc = yaml_put(manifest_run(m), "execution", yaml_copy(shown, err), err);
    if (rc != STATUS_OK || restarts == 0) return rc;
    return yaml_put(manifest_run(m), "restarts", yaml_new_integer(restarts, err), err);
}

status train_manifest_results(manifest *m, const checkpoint *c, const experiment *e,
                              uint32_t samples, const char *model_content, error *err) {
    yaml_node *results = manifest_results(m), *epochs = yaml_new(YAML_SEQUENCE, err);
    const int kept = c->best_epoch ? c->best_epoch : c->epochs;
    double seconds, accuracy = c->accuracy[kept - 1];
    double loss = trainer_epoch_loss(c, e, samples, c->epochs - 1);
    const uint64_t per_epoch = trainer_steps_per_epoch(e, samples);
    status rc = STATUS_FAILED;
    if (!epochs) goto out;
    for (int i = 0; i < c->epochs; i++) TRY(append_epoch(epochs, c, e, samples, i, err));
    TRY(median_seconds(c, e, samples, &seconds, err));
    TRY(yaml_put(results, "seconds_per_epoch", yaml_new_number(seconds, err), err));
    TRY(yaml_put(results, "total_seconds", yaml_new_number((double)c->total_ns / 1e9, err), err));
    TRY(yaml_put(results, "train_loss", yaml_new_number(loss, err), err));
    if (!isnan(accuracy))
        TRY(yaml_put(results, e->validation.samples ? "validation_accuracy" : "test_accuracy",
                     yaml_new_number(accuracy, err), err));
    if (c->best_epoch) TRY(yaml_put(results, "best_epoch", yaml_new_integer(kept, err), err));
    TRY(yaml_put(results, "steps", yaml_new_integer((int64_t)c->step, err), err));
    if (c->step % per_epoch)
        TRY(yaml_put(results, "steps_per_epoch", yaml_new_integer((int64_t)per_epoch, err), err));
    TRY(yaml_put(results, "samples",
                 yaml_new_integer((int64_t)trainer_epoch_samples(e, samples), err), err));
    TRY(yaml_put(results, "model", yaml_new_string(model_content, err), err));
    rc = yaml_put(results, "epochs", epochs, err);
    epochs = NULL; // yaml_put owns it now
    if (rc == STATUS_OK) rc = train_manifest_execution(m, c, err);
out:
    yaml_free(epochs);
    return rc;
}
