// SPDX-License-Identifier: MIT
#include "data/images/starter.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/memory.h"
#include "base/output.h"
#include "base/text.h"
#include "base/zstream.h"

enum {
    FIRST_FILTERS = 16,
    MOST_FILTERS = 128,
    SMALLEST_SIDE = 8,
    LEAST_BATCH = 16,
    LARGEST_BATCH = 64,
    MOST_BYTES = 1 << 16 // of a file that may be ours
};

// Every convolution is followed by a pooling, until the pixels are few enough for a linear layer.
static void describe_model(text *t, const raw_dataset *d) {
    int side = d->height < d->width ? d->height : d->width, filters = FIRST_FILTERS;
    text_format(t,
                "# A small network to begin with, by import-images. Yours to edit: docs/formats.md "
                "lists all layers.\n"
                "schema: lockstep.model/1\nname: \"%s\"\ninput: [%d, %d, %d]\nlayers:\n",
                d->name, d->channels, d->height, d->width);
    do {
        filters = filters < MOST_FILTERS ? 2 * filters : MOST_FILTERS;
        text_format(t, "  - conv: {out: %d, kernel: 3, padding: 1}\n  - batch_norm\n  - relu\n",
                    filters);
        if (side > 1) text_append(t, "  - max_pool: {size: 2}\n");
        side /= 2;
    } while (side > SMALLEST_SIDE);
    text_format(t, "  - flatten\n  - linear: {out: %d}\n", d->classes);
}

// At least ten steps in an epoch, if there are enough images.
static uint32_t batch_of(uint32_t samples) {
    uint32_t batch = LARGEST_BATCH;
    while (batch > LEAST_BATCH && batch * 10 > samples) batch /= 2;
    return batch < samples ? batch : samples;
}

static void describe_experiment(text *t, const raw_dataset *d) {
    text_format(t,
                "# An experiment to begin with, by import-images. Yours to edit: docs/formats.md "
                "lists all keys.\n"
                "schema: lockstep.experiment/1\nname: \"%s\"\ntitle: \"My %s\"\ndataset: \"%s\"\n"
                "model: \"%s\"\nglobal_batch: %u\nepochs: 10\n"
                "optimizer: {kind: sgd, lr: 0.01, momentum: 0.9}\n",
                d->name, d->name, d->name, d->name, batch_of(d->splits[RAW_TRAIN].samples));
}

typedef void describe_function(text *, const raw_dataset *);

// Is the file what was written for the data set `before`?
static bool is_untouched(const char *path, describe_function *describe, const raw_dataset *before) {
    char *bytes = NULL;
    size_t count;
    text t = {0};
    if (!before || zreader_read_file(path, MOST_BYTES, &bytes, &count, NULL) != STATUS_OK)
        return false;
    describe(&t, before);
    const bool same = count == t.length && memcmp(bytes, text_string(&t), count) == 0;
    text_release(&t);
    free(bytes);
    return same;
}

static status write_new(const char *path, describe_function *describe, const raw_dataset *before,
                        const raw_dataset *data, bool *kept, error *err) {
    struct stat info;
    text t = {0};
    if (lstat(path, &info) == 0 && !is_untouched(path, describe, before)) {
        *kept = true;
        return STATUS_OK;
    }
    describe(&t, data);
    const status rc = output_write_file(path, text_string(&t), t.length, err);
    text_release(&t);
    return rc;
}

status starter_write(const raw_dataset *data, const raw_dataset *before, const char *folder,
                     char **path, bool *kept, error *err) {
    char *model = memory_format("%s/models/%s.yaml", folder, data->name);
    *path = memory_format("%s/%s.yaml", folder, data->name);
    *kept = false;
    status rc = output_make_parent(model, err);
    if (rc == STATUS_OK) rc = write_new(model, describe_model, before, data, kept, err);
    if (rc == STATUS_OK) rc = write_new(*path, describe_experiment, before, data, kept, err);
    free(model);
    return rc;
}
