// SPDX-License-Identifier: MIT
#include "train/train_manifest.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/median.h"
#include "base/memory.h"
#include "data/recorded.h"
#include "train/trainer_lengths.h"

void train_manifest_parameters(const experiment *e, yaml_node *parameters) {
    for (size_t i = 0; i < e->resolved->count; i++) {
        yaml_put(parameters, e->resolved->keys[i], yaml_copy(e->resolved->items[i]));
    }
}

void train_manifest_backend(manifest *m, const char *kind) {
    if (strcmp(kind, "cpu") == 0) return;
    yaml_put(manifest_parameters(m), "backend", yaml_new_string(kind));
}

static manifest_file entry(const char *path, const tensor_file *f) {
    return (manifest_file){path, f->file_bytes, f->sha256, f->content};
}

void train_manifest_reduce(manifest *m, const char *kind, int world_size) {
    yaml_node *reduce = yaml_new(YAML_MAPPING);
    reduce->flow = true;
    yaml_put(reduce, "kind", yaml_new_string(kind));
    if (world_size) yaml_put(reduce, "world_size", yaml_new_integer(world_size));
    yaml_put(manifest_parameters(m), "reduce", reduce);
}

void train_manifest_init_except(manifest *m, const cli_list *except) {
    if (except->count == 0) return;
    yaml_node *list = yaml_new(YAML_SEQUENCE);
    for (size_t i = 0; i < except->count; i++) yaml_append(list, yaml_new_string(except->items[i]));
    yaml_put(manifest_parameters(m), INIT_EXCEPT, list);
}

void train_manifest_input(manifest *m, const char *path, const tensor_file *f) {
    const manifest_file file = entry(path, f);
    manifest_add_input(m, &file);
}

void train_manifest_output(manifest *m, const char *path, const tensor_file *f) {
    const manifest_file file = entry(path, f);
    manifest_add_output(m, &file);
}

void train_manifest_dataset(manifest *m, const dataset *d) {
    for (int i = 0; i < d->file_count; i++) {
        const manifest_file file = entry(d->paths[i], &d->files[i]);
        manifest_repeats repeats = {0};
        if (d->shards)
            manifest_add_shard(m, &file, d->source);
        else
            manifest_add_input(m, &file);
        // Test data are not in shards.
        if (!d->shards) recorded_repeats(file.path, file.content, &repeats);
        if (repeats.images > 0) manifest_add_repeats(m, &repeats);
    }
}

yaml_node *train_manifest_device_list(const devices *d) {
    yaml_node *list = yaml_new(YAML_SEQUENCE);
    list->flow = true;
    for (int i = 0; i < d->count; i++) {
        char name[DEVICES_TEXT_BYTES];
        devices_name(d, i, name);
        yaml_append(list, yaml_new_string(name));
    }
    return list;
}

static void append_gpu(yaml_node *list, const device_info *gpu) {
    char device[32], capability[32];
    yaml_node *item = yaml_new(YAML_MAPPING);
    snprintf(device, sizeof device, "cuda:%d", gpu->index);
    snprintf(capability, sizeof capability, "%d.%d", gpu->capability[0], gpu->capability[1]);
    yaml_put(item, "device", yaml_new_string(device));
    yaml_put(item, "name", yaml_new_string(gpu->name));
    yaml_put(item, "memory", yaml_new_integer((int64_t)gpu->memory));
    yaml_put(item, "compute_capability", yaml_new_string(capability));
    yaml_put(item, "driver", yaml_new_string(gpu->driver));
    yaml_put(item, "libraries", yaml_new_string(gpu->libraries));
    yaml_append(list, item);
}

void train_manifest_gpus(manifest *m, const devices *d) {
    if (d->gpu_count == 0) return;
    yaml_node *list = yaml_new(YAML_SEQUENCE);
    for (int i = 0; i < d->gpu_count; i++) append_gpu(list, &d->gpus[i]);
    yaml_put(manifest_run(m), "gpus", list);
}

static void put_figure(yaml_node *item, const char *name, const char *which, double value) {
    char key[64];
    if (isnan(value)) return;
    snprintf(key, sizeof key, "%s_%s", name, which);
    yaml_put(item, key, yaml_new_number(value));
}

static void put_figures(yaml_node *item, const gpu_figures *f) {
    static const char *const names[GPU_FIGURES] = {
        [GPU_UTILIZATION] = "utilization", [GPU_MEMORY_UTILIZATION] = "memory_utilization",
        [GPU_MEMORY_USED] = "memory_used", [GPU_SM_CLOCK] = "sm_clock_mhz",
        [GPU_POWER] = "power_watts",       [GPU_TEMPERATURE] = "temperature_celsius",
    };
    if (f->samples == 0) return;
    yaml_put(item, "samples", yaml_new_integer(f->samples));
    for (int i = 0; i < GPU_FIGURES; i++) {
        put_figure(item, names[i], "mean", f->mean[i]);
        put_figure(item, names[i], "max", f->max[i]);
    }
}

void train_manifest_gpu_figures(manifest *m, const devices *d, const gpu_figures *figures) {
    const yaml_node *list = yaml_find(manifest_run(m), "gpus");
    for (int i = 0; list && i < d->gpu_count; i++) {
        put_figures(list->items[i], &figures[i]);
    }
}

// The first epoch also warms up: it counts only if there is no other whole one. A shorter epoch
// counts only if it is the only one, by the time of its steps.
static double median_seconds(const checkpoint *c, const experiment *e, uint32_t samples) {
    const uint64_t whole = trainer_steps_per_epoch(e, samples);
    const uint64_t last = trainer_epoch_steps(e, samples, c->epochs - 1);
    const int wholes = c->epochs - (last < whole), first = wholes > 1 ? 1 : 0;
    const int count = wholes > 1 ? wholes - 1 : 1;
    double *seconds = memory_new((size_t)count, sizeof *seconds);
    for (int i = 0; i < count; i++) seconds[i] = trainer_epoch_seconds(c, e, samples, first + i);
    if (wholes == 0) seconds[0] *= (double)whole / (double)last;
    const double middle = median(seconds, (size_t)count);
    free(seconds);
    return middle;
}

static yaml_node *phases_of(const timeline *t, uint64_t first, uint64_t steps) {
    yaml_node *phases = yaml_new(YAML_MAPPING);
    phases->flow = true;
    for (int p = 0; p < PHASES; p++) {
        uint64_t ns = 0;
        for (uint64_t i = 0; i < steps; i++) ns += t->time[p][first + i];
        yaml_put(phases, phase_name((phase)p), yaml_new_number((double)ns / 1e9));
    }
    return phases;
}

static void append_epoch(yaml_node *list, const checkpoint *c, const experiment *e,
                         uint32_t samples, int epoch) {
    const uint64_t first = (uint64_t)epoch * trainer_steps_per_epoch(e, samples);
    const uint64_t steps = trainer_epoch_steps(e, samples, epoch);
    yaml_node *node = yaml_new(YAML_MAPPING);
    double loss = trainer_epoch_loss(c, e, samples, epoch), accuracy = c->accuracy[epoch];
    yaml_put(node, "loss", yaml_new_number(loss));
    if (!isnan(accuracy)) yaml_put(node, "accuracy", yaml_new_number(accuracy));
    yaml_put(node, "seconds", yaml_new_number(trainer_epoch_seconds(c, e, samples, epoch)));
    yaml_put(node, "phases", phases_of(&c->timeline, first, steps));
    yaml_append(list, node);
}

void train_manifest_execution(manifest *m, const checkpoint *c) {
    const yaml_node *list = c->execution;
    const yaml_node *shown = list->count == 1 ? list->items[0] : list;
    const int64_t restarts = checkpoint_restarts(c);
    yaml_put(manifest_run(m), "execution", yaml_copy(shown));
    if (restarts == 0) return;
    yaml_put(manifest_run(m), "restarts", yaml_new_integer(restarts));
}

void train_manifest_results(manifest *m, const checkpoint *c, const experiment *e, uint32_t samples,
                            const char *model_content) {
    yaml_node *results = manifest_results(m), *epochs = yaml_new(YAML_SEQUENCE);
    const int kept = c->best_epoch ? c->best_epoch : c->epochs;
    double accuracy = c->accuracy[kept - 1];
    double loss = trainer_epoch_loss(c, e, samples, c->epochs - 1);
    const uint64_t per_epoch = trainer_steps_per_epoch(e, samples);
    for (int i = 0; i < c->epochs; i++) append_epoch(epochs, c, e, samples, i);
    yaml_put(results, "seconds_per_epoch", yaml_new_number(median_seconds(c, e, samples)));
    yaml_put(results, "total_seconds", yaml_new_number((double)c->total_ns / 1e9));
    yaml_put(results, "train_loss", yaml_new_number(loss));
    if (!isnan(accuracy))
        yaml_put(results, e->validation.samples ? "validation_accuracy" : "test_accuracy",
                 yaml_new_number(accuracy));
    if (c->best_epoch) yaml_put(results, "best_epoch", yaml_new_integer(kept));
    yaml_put(results, "steps", yaml_new_integer((int64_t)c->step));
    if (c->step % per_epoch)
        yaml_put(results, "steps_per_epoch", yaml_new_integer((int64_t)per_epoch));
    yaml_put(results, "samples", yaml_new_integer((int64_t)trainer_epoch_samples(e, samples)));
    yaml_put(results, "model", yaml_new_string(model_content));
    yaml_put(results, "epochs", epochs);
    train_manifest_execution(m, c);
}
