#include "results/steps.h"

#include <stdlib.h>

#include "base/memory.h"

static const uint64_t *find_times(const steps *s, const char *name) {
    const tensor *t = tensor_file_find(&s->file, name);
    bool fits = t && t->type == TENSOR_U64 && t->rank == 1 && t->shape[0] == (int64_t)s->count;
    return fits ? t->data : NULL;
}

status steps_read(const run *r, steps *s, error *err) {
    status rc = STATUS_OK;
    const tensor *loss;
    *s = (steps){0};
    char *path = memory_format(err, "%s/steps.st.zst", r->folder);
    if (!path) return STATUS_FAILED;
    TRY(tensor_file_read(path, TENSOR_FILE_DEFAULT_MAX, &s->file, err));
    int64_t shape[] = {-1};
    TRY(tensor_file_require(&s->file, path, "loss", TENSOR_F32, 1, shape, &loss, err));
    s->count = (size_t)loss->shape[0];
    s->loss = loss->data;
    s->wall = find_times(s, "wall");
    for (int p = 0; p < RUN_PHASES; p++) s->phase[p] = find_times(s, run_phase_name(p));
out:
    free(path);
    if (rc != STATUS_OK) steps_release(s);
    return rc;
}

void steps_release(steps *s) {
    tensor_file_release(&s->file);
    *s = (steps){0};
}
