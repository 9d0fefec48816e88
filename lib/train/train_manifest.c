#include "train/train_manifest.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "train/trainer.h"

status train_manifest_parameters(const experiment *e, yaml_node *parameters, error *err) {
    for (size_t i = 0; i < e->resolved->count; i++) {
        status rc =
            yaml_put(parameters, e->resolved->keys[i], yaml_copy(e->resolved->items[i], err), err);
        if (rc != STATUS_OK) return rc;
    }
    if (!e->published) return STATUS_OK;
    return yaml_put(parameters, "published", yaml_copy(e->published, err), err);
}

static manifest_file entry(const char *path, const tensor_file *f) {
    return (manifest_file){path, f->file_bytes, f->sha256, f->content};
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
        status rc = d->shards ? manifest_add_shard(m, &file, d->source, err)
                              : manifest_add_input(m, &file, err);
        if (rc != STATUS_OK) return rc;
    }
    return STATUS_OK;
}

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

// The first epoch also warms up: it counts only when there is no other.
static status median_seconds(const checkpoint *c, uint64_t steps_per_epoch, double *median,
                             error *err) {
    int first = c->epochs > 1 ? 1 : 0, count = c->epochs - first;
    double *seconds = memory_new((size_t)count, sizeof *seconds, err);
    if (!seconds) return STATUS_FAILED;
    for (int i = 0; i < count; i++)
        seconds[i] = trainer_epoch_seconds(c, steps_per_epoch, first + i);
    qsort(seconds, (size_t)count, sizeof *seconds, by_size);
    *median = (seconds[(count - 1) / 2] + seconds[count / 2]) / 2;
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
    uint64_t steps = trainer_steps_per_epoch(e, samples);
    status rc = STATUS_FAILED;
    yaml_node *node = yaml_new(YAML_MAPPING, err);
    if (!node) return rc;
    double loss = trainer_epoch_loss(c, e, samples, epoch), accuracy = c->accuracy[epoch];
    TRY(yaml_put(node, "loss", yaml_new_number(loss, err), err));
    if (!isnan(accuracy)) TRY(yaml_put(node, "accuracy", yaml_new_number(accuracy, err), err));
    TRY(yaml_put(node, "seconds", yaml_new_number(trainer_epoch_seconds(c, steps, epoch), err),
                 err));
    TRY(yaml_put(node, "phases", phases_of(&c->timeline, (uint64_t)epoch * steps, steps, err),
                 err));
    return yaml_append(list, node, err);
out:
    yaml_free(node);
    return rc;
}

// A mapping for a run in one piece; a list of segments for a resumed one.
static status put_execution(manifest *m, const checkpoint *c, error *err) {
    const yaml_node *list = c->execution;
    const yaml_node *shown = list->count == 1 ? list->items[0] : list;
    return yaml_put(manifest_run(m), "execution", yaml_copy(shown, err), err);
}

status train_manifest_results(manifest *m, const checkpoint *c, const experiment *e,
                              uint32_t samples, const char *model_content, error *err) {
    yaml_node *results = manifest_results(m), *epochs = yaml_new(YAML_SEQUENCE, err);
    double seconds, accuracy = c->accuracy[c->epochs - 1];
    double loss = trainer_epoch_loss(c, e, samples, c->epochs - 1);
    status rc = STATUS_FAILED;
    if (!epochs) goto out;
    for (int i = 0; i < c->epochs; i++) TRY(append_epoch(epochs, c, e, samples, i, err));
    TRY(median_seconds(c, trainer_steps_per_epoch(e, samples), &seconds, err));
    TRY(yaml_put(results, "seconds_per_epoch", yaml_new_number(seconds, err), err));
    TRY(yaml_put(results, "total_seconds", yaml_new_number((double)c->total_ns / 1e9, err), err));
    TRY(yaml_put(results, "train_loss", yaml_new_number(loss, err), err));
    if (!isnan(accuracy))
        TRY(yaml_put(results, "test_accuracy", yaml_new_number(accuracy, err), err));
    TRY(yaml_put(results, "steps", yaml_new_integer((int64_t)c->step, err), err));
    TRY(yaml_put(results, "samples", yaml_new_integer((int64_t)samples, err), err));
    TRY(yaml_put(results, "model", yaml_new_string(model_content, err), err));
    rc = yaml_put(results, "epochs", epochs, err);
    epochs = NULL; // yaml_put took it over
    if (rc == STATUS_OK) rc = put_execution(m, c, err);
out:
    yaml_free(epochs);
    return rc;
}
