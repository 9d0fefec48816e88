// SPDX-License-Identifier: MIT
// dataset.h - images, labels and ids, from one tensor file or from the shards that `shard` wrote.
#ifndef LOCKSTEP_DATA_DATASET_H
#define LOCKSTEP_DATA_DATASET_H

#include <stdint.h>

#include "base/error.h"
#include "data/tensor/tensor_file.h"

enum { DATASET_MAX_CHANNELS = 16, DATASET_NAME_BYTES = 32 };

typedef struct dataset {
    uint32_t samples;
    int channels, height, width;
    int classes;
    char name[DATASET_NAME_BYTES]; // "cifar10"
    char split[16];                // "train", "test"
    float mean[DATASET_MAX_CHANNELS],
        std[DATASET_MAX_CHANNELS]; // of the training split, of pixels in [0, 1]

    // Sample i (in file order): its bytes [C][H][W], label, id. Pixels of shard files stay where
    // they were read.
    const uint8_t **pixels;
    const uint32_t *labels;
    const uint32_t
        *ids; // index in the official order; the key of random numbers and of --dump-order

    // Origin of the bytes, for manifests: one entry per file.
    char **paths; // "-" for standard input
    tensor_file *files;
    int file_count;
    int shards;                     // V, as read from shard files; 0: an unsharded file
    uint64_t shard_seed;            // as read from shard files
    char source[SHA256_TEXT_BYTES]; // content hash of the unsharded file, in both cases
    void *storage;
} dataset;

// Reads a dataset file, "-" (a dataset file on standard input) or a folder of shard-*-of-*.st.zst.
// Checks shapes, that labels are below the number of classes, and that shards are complete and
// share one source. *Every* shard of a folder is read (DDP ranks share the pages).
status dataset_read(const char *path, dataset *d, error *err) MUST_CHECK;
// The same, but reads only the header of a file whose content hash a manifest next to it records
// (data/recorded.h). If any file was not read whole, pixels, labels and ids are NULL.
status dataset_read_header(const char *path, dataset *d, error *err) MUST_CHECK;
void dataset_release(dataset *d);

// Returns the bytes of one sample: C·H·W.
size_t dataset_sample_bytes(const dataset *d);

// Description of a dataset to be written.
typedef struct dataset_info {
    const char *name, *split;
    uint32_t samples;
    int channels, height, width;
    const char *const *class_names;
    int classes;
    const float *mean, *std;
} dataset_info;

// Puts images, labels, ids and metadata into a tensor file, ready to write. Keeps pointers to
// images and ids; copies neither.
status dataset_describe(tensor_file *f, const dataset_info *info, const uint8_t *images,
                        const uint32_t *labels, const uint32_t *ids, error *err) MUST_CHECK;

// Adds the three tensors only; the caller adds the metadata.
status dataset_add_tensors(tensor_file *f, uint32_t samples, int channels, int height, int width,
                           int classes, const uint8_t *images, const uint32_t *labels,
                           const uint32_t *ids, error *err) MUST_CHECK;

#endif
