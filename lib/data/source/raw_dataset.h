// raw_dataset.h - both splits of a dataset in memory, as fetch-* and synth-* make them, and their
// way out: a folder with train.st.zst, test.st.zst and manifest.yaml, or one split as a stream.
#ifndef LOCKSTEP_DATA_SOURCE_RAW_DATASET_H
#define LOCKSTEP_DATA_SOURCE_RAW_DATASET_H

#include <stdint.h>

#include "base/error.h"
#include "data/dataset.h"
#include "data/manifest.h"

enum { RAW_TRAIN, RAW_TEST, RAW_SPLITS };

typedef struct raw_split {
    uint32_t samples;
    uint8_t *images;  // [samples][C][H][W]
    uint32_t *labels; // [samples]
    void *owned[3];   // what to free: images and labels may point into it
} raw_split;

typedef struct raw_dataset {
    const char *name;
    int channels, height, width, classes;
    const char *const *class_names;
    raw_split splits[RAW_SPLITS];
} raw_dataset;

// Allocates the images and labels of a split whose `samples` is set, as are the dimensions.
status raw_dataset_allocate(raw_dataset *r, int split, error *err) MUST_CHECK;
void raw_dataset_release(raw_dataset *r);

// Labels below `classes`? STATUS_INPUT otherwise, with the first that is not.
status raw_dataset_check_labels(const raw_dataset *r, error *err) MUST_CHECK;

// Where a tool was told to write: the values of --out, --split and --manifest, NULL when absent.
typedef struct raw_output {
    const char *out, *split, *manifest;
    int lock; // of the folder, while it is open; -1: none
} raw_output;

// What raw_output_open checks of the three alone: for tools that read before they open.
status raw_output_check(const raw_output *o, error *err) MUST_CHECK;

// STATUS_USAGE unless it is `--out DIR` or `--split train|test --out - [--manifest FILE]`, where
// FILE is neither `mirrors`, which is read, too, unless it is NULL, nor one of `from`, the `count`
// places that the dataset may be read from. Makes and locks the folder: what cannot be written is
// better known before a long download than after. raw_output_close whatever happens.
status raw_output_open(raw_output *o, const char *mirrors, const char *const *from, size_t count,
                       error *err) MUST_CHECK;
void raw_output_close(raw_output *o);

// Adds to the parameters of `m` what of the output decides its content: which split a stream is of.
status raw_output_describe(const raw_output *o, manifest *m, error *err) MUST_CHECK;

// Writes the dataset as `o`, which is open, says, and completes and writes `m`. The order in the
// files is the official one: ids are 0, 1, 2, …; mean and std, in both, are those of the training
// split. A folder that is written again has no manifest meanwhile; on failure no file of this run
// is left.
status raw_dataset_write(const raw_dataset *r, const raw_output *o, manifest *m,
                         error *err) MUST_CHECK;

#endif
