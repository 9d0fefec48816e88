// SPDX-License-Identifier: MIT
#include "results/steps.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

static const uint64_t *find_times(const steps *s, const char *name) {
    const tensor *t = tensor_file_find(&s->file, name);
    bool fits = t && t->type == TENSOR_U64 && t->rank == 1 && t->shape[0] == (int64_t)s->count;
    return fits ? t->data : NULL;
}

// Finds the tests after epochs and the total time. Files of earlier versions lack both.
static void find_epochs(const run *r, steps *s) {
    const tensor *t = tensor_file_find(&s->file, "epochs.accuracy");
    const char *total = tensor_file_metadata(&s->file, "total_ns");
    const bool fits =
        t && t->type == TENSOR_F64 && t->rank == 1 && t->shape[0] == (int64_t)r->epoch_count;
    s->accuracy = fits ? t->data : NULL;
    s->total_seconds = total ? (double)strtoull(total, NULL, 10) / 1e9 : NAN;
}

status steps_read(const run *r, steps *s, error *err) {
    status rc = STATUS_OK;
    const tensor *loss;
    *s = (steps){0};
    char *path = memory_format("%s/steps.st.zst", r->folder);
    TRY(tensor_file_read(path, TENSOR_FILE_DEFAULT_MAX, &s->file, err));
    int64_t shape[] = {-1};
    TRY(tensor_file_require(&s->file, path, "loss", TENSOR_F32, 1, shape, &loss, err));
    s->count = (size_t)loss->shape[0];
    s->loss = loss->data;
    s->wall = find_times(s, "wall");
    for (int p = 0; p < RUN_PHASES; p++) s->phase[p] = find_times(s, run_phase_name(p));
    find_epochs(r, s);
out:
    free(path);
    if (rc != STATUS_OK) steps_release(s);
    return rc;
}

void steps_release(steps *s) {
    tensor_file_release(&s->file);
    *s = (steps){0};
}

// Shards differ by a sample at most, so every step but the last of an epoch is full.
double steps_samples(const run *r, size_t step) {
    if (r->virtual_shards < 1 || r->samples < 1) return NAN;
    const double batch = (double)r->global_batch;
    return fmax(0, fmin(batch, (double)r->samples - (double)step * batch));
}

double steps_micro_batches(const run *r) {
    const bool together = strcmp(yaml_text_at(r->train, "parameters.sync_batch_norm"), "true") == 0;
    const size_t n = r->epoch_count ? (size_t)r->steps_per_epoch : 0;
    const double shards = together ? 1 : (double)r->virtual_shards;
    double sum = 0;
    if (r->virtual_shards < 1 || r->samples < 1) return NAN;
    for (size_t i = 0; i < n; i++) sum += fmin(shards, steps_samples(r, i));
    return sum / (double)n;
}
