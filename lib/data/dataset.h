// dataset.h - images, labels and ids, from one tensor file or from the shards that `shard` wrote.
//
// Samples are *dealt* to V virtual shards: permuted by shard_seed, permuted position p goes to
// shard p mod V, at place p / V. A dataset read from shard files and one dealt in memory from the
// unsharded file agree in every sample of every shard, so training cannot tell them apart.
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

    // Sample i (in the order of the files): its bytes [C][H][W], label, id. Shard files stay where
    // they were read.
    const uint8_t **pixels;
    const uint32_t *labels;
    const uint32_t
        *ids; // index in the official order; what random numbers and --dump-order are keyed by

    // Where the bytes came from, for manifests: one entry a file.
    char **paths; // "-" for standard input
    tensor_file *files;
    int file_count;
    int shards;                     // as read from shard files: V; 0: an unsharded file
    uint64_t shard_seed;            // as read from shard files
    char source[SHA256_TEXT_BYTES]; // content hash of the unsharded file, whichever was read
    void *storage;
} dataset;

// Reads a dataset file, "-" (a dataset file on standard input) or a folder of shard-*-of-*.st.zst.
// Checks shapes, labels below the number of classes, and that shards are complete and of one
// source. *Every* shard of a folder is read (DDP ranks share the pages).
status dataset_read(const char *path, dataset *d, error *err) MUST_CHECK;
// The same of files that nobody needs to read: of one that a manifest beside it knows
// (data/recorded.h) only the header is read. Then pixels, labels and ids are NULL.
status dataset_read_header(const char *path, dataset *d, error *err) MUST_CHECK;
void dataset_release(dataset *d);

// Bytes of one sample: C·H·W.
size_t dataset_sample_bytes(const dataset *d);

// The deal: fills sample[v][k] (index into this dataset) for each shard v of V, and size[v]. For
// shard files V and seed must be those of the files (STATUS_INPUT otherwise, saying so). More
// shards than samples: STATUS_USAGE.
typedef struct deal {
    int shards;
    uint32_t **sample; // [shards][size[v]]
    uint32_t *size;    // non-increasing
} deal;
status deal_init(deal *d, const dataset *data, int shards, uint64_t shard_seed,
                 error *err) MUST_CHECK;
void deal_release(deal *d);

// Description of a dataset to be written.
typedef struct dataset_info {
    const char *name, *split;
    uint32_t samples;
    int channels, height, width;
    const char *const *class_names;
    int classes;
    const float *mean, *std;
} dataset_info;

// Puts images, labels, ids and metadata into a tensor file ready to be written. Images and ids are
// pointed to, not copied.
status dataset_describe(tensor_file *f, const dataset_info *info, const uint8_t *images,
                        const uint32_t *labels, const uint32_t *ids, error *err) MUST_CHECK;

// Only the three tensors; the metadata is the caller's.
status dataset_add_tensors(tensor_file *f, uint32_t samples, int channels, int height, int width,
                           int classes, const uint8_t *images, const uint32_t *labels,
                           const uint32_t *ids, error *err) MUST_CHECK;

// Mean and standard deviation (population) of each channel, of pixels divided by 255, from integer
// sums: exact. The deviation of a constant channel is given as 1, so that normalising leaves it
// finite.
void dataset_statistics(const uint8_t *images, uint32_t samples, int channels, int pixels,
                        float *mean, float *std);

#endif
