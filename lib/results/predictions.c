// SPDX-License-Identifier: MIT
#include "results/predictions.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "data/labels.h"

static uint32_t largest(const float *logits, size_t classes) {
    size_t best = 0;
    for (size_t k = 1; k < classes; k++)
        if (logits[k] > logits[best]) best = k;
    return (uint32_t)best;
}

static void judge(predictions *p) {
    p->correct = memory_new(p->samples, sizeof *p->correct);
    p->predicted = memory_new(p->samples, sizeof *p->predicted);
    for (size_t i = 0; i < p->samples; i++) {
        p->predicted[i] = largest(p->logits + i * p->classes, p->classes);
        p->correct[i] = p->predicted[i] == p->labels[i];
        p->correct_count += p->correct[i];
    }
}

static status take_labels(predictions *p, const tensor *labels, const char *path, error *err) {
    if (p->classes > INT_MAX)
        return error_set(err, STATUS_INPUT, "cannot read predictions: '%s': %zu classes", path,
                         p->classes);
    p->labels = memory_new(p->samples, sizeof *p->labels);
    return labels_copy(labels, "predictions", path, (int)p->classes, p->labels, err);
}

status predictions_read(const char *folder, predictions *p, error *err) {
    status rc = STATUS_OK;
    const tensor *logits, *labels, *ids;
    *p = (predictions){0};
    char *path = memory_format("%s/predictions.st.zst", folder);
    TRY(tensor_file_read(path, TENSOR_FILE_DEFAULT_MAX, &p->file, err));
    int64_t shape[] = {-1, -1};
    TRY(tensor_file_require(&p->file, path, "logits", TENSOR_F32, 2, shape, &logits, err));
    shape[0] = logits->shape[0];
    TRY(labels_require(&p->file, path, shape[0], &labels, err));
    TRY(tensor_file_require(&p->file, path, "ids", TENSOR_U32, 1, shape, &ids, err));
    p->samples = (size_t)shape[0];
    p->classes = (size_t)logits->shape[1];
    p->logits = logits->data;
    p->ids = ids->data;
    TRY(take_labels(p, labels, path, err));
    judge(p);
out:
    free(path);
    if (rc != STATUS_OK) predictions_release(p);
    return rc;
}

void predictions_release(predictions *p) {
    tensor_file_release(&p->file);
    free(p->labels);
    free(p->correct);
    free(p->predicted);
    *p = (predictions){0};
}

status predictions_compare(const predictions *a, const predictions *b, int64_t *only_a,
                           int64_t *only_b, error *err) {
    *only_a = *only_b = 0;
    if (a->samples != b->samples || memcmp(a->ids, b->ids, a->samples * sizeof *a->ids) != 0)
        return error_set(err, STATUS_FINDING, "the predictions are for different samples");
    for (size_t i = 0; i < a->samples; i++) {
        *only_a += a->correct[i] && !b->correct[i];
        *only_b += b->correct[i] && !a->correct[i];
    }
    return STATUS_OK;
}
