// SPDX-License-Identifier: MIT
// raw_dataset.h - both splits of a dataset in memory, as made by fetch-* and synth-*, and their
// output: a folder with train.st.zst, test.st.zst and manifest.yaml, or one split as a stream.
#ifndef LOCKSTEP_DATA_SOURCE_RAW_DATASET_H
#define LOCKSTEP_DATA_SOURCE_RAW_DATASET_H

#include <stdint.h>

#include "base/error.h"
#include "base/log.h"
#include "base/output_folder.h"
#include "data/dataset.h"
#include "data/manifest.h"

enum { RAW_TRAIN, RAW_TEST, RAW_SPLITS };

typedef struct raw_split {
    uint32_t samples;
    uint8_t *images;  // [samples][C][H][W]
    uint32_t *labels; // [samples]
    void *owned[3];   // blocks to free: images and labels may point into them
} raw_split;

typedef struct raw_dataset {
    const char *name;
    int channels, height, width, classes;
    const char *const *class_names;
    raw_split splits[RAW_SPLITS];
} raw_dataset;

// The bytes of an image.
static inline size_t raw_dataset_image_bytes(const raw_dataset *r) {
    return (size_t)r->channels * (size_t)r->height * (size_t)r->width;
}

// Allocates the images and labels of a split. `samples` and the dimensions must be set.
status raw_dataset_allocate(raw_dataset *r, int split, error *err) MUST_CHECK;
void raw_dataset_release(raw_dataset *r);

// Checks that all labels are below `classes`; STATUS_INPUT names the first that is not.
status raw_dataset_check_labels(const raw_dataset *r, error *err) MUST_CHECK;

// Keeps only the samples of the classes `wanted` (labels_split), with labels in its order. `names`
// has room for as many names, and outlives the data set. STATUS_USAGE as labels_choose.
status raw_dataset_keep(raw_dataset *r, const yaml_node *wanted, const char **names,
                        error *err) MUST_CHECK;

// The output options of a tool: the values of --out, --split and --manifest, NULL if absent.
typedef struct raw_output {
    const char *out, *split, *manifest;
    bool print_key;       // --print-key: there is no output
    output_folder folder; // of --out, while open
} raw_output;

// Their rows in the tool's table of options (base/cli.h). `o` is the raw_output.
// clang-format off
#define RAW_OUTPUT_OPTIONS(o)                                                                      \
    {"out", CLI_STRING, &(o).out, "DIR", "output folder, or - with --split", 0, 0},                \
    {"split", CLI_STRING, &(o).split, "NAME", "train or test: the split that --out - writes", 0, 0}, \
    {"manifest", CLI_STRING, &(o).manifest, "FILE", "manifest file for --out -", 0, 0},            \
    {"print-key", CLI_FLAG, &(o).print_key, NULL, "print the stage key and exit", 0, 0}
// clang-format on

// The part of raw_output_open that needs only the options, for tools that read before they open.
status raw_output_check(const raw_output *o, error *err) MUST_CHECK;

// STATUS_USAGE unless the options are `--out DIR` or `--split train|test --out - [--manifest
// FILE]`. FILE must differ from `mirrors`, an input too unless NULL, and from each of the `count`
// sources `from`. Makes and locks the folder, so that an unwritable one fails before a long
// download. Call raw_output_close in any case.
status raw_output_open(raw_output *o, const char *mirrors, const char *const *from, size_t count,
                       const logger *log, error *err) MUST_CHECK;
void raw_output_close(raw_output *o, status rc);

// Adds to the parameters of `m` the option that decides the content: the split of a stream.
void raw_output_describe(const raw_output *o, manifest *m);

// Writes the dataset to the open output `o`, then completes and writes `m`. The files keep the
// official order: ids are 0, 1, 2, …; mean and std in both files are those of the training split. A
// folder that is written again has no manifest in the meantime; on failure none of this run's files
// is left. Test images that are training images are counted in `m`, with a warning.
status raw_dataset_write(const raw_dataset *r, const raw_output *o, const logger *log, manifest *m,
                         error *err) MUST_CHECK;

#endif
