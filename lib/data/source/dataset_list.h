// SPDX-License-Identifier: MIT
// dataset_list.h - the published data sets that can be fetched by name. They are the rows of
// datasets.inc: the fetch-* tools, the pipeline with its settings, their help, their messages and
// the completions all ask this table.
//
// It is only data, so that lockstep and pipeline need no libcurl for it. dataset_readers.h names
// the function that reads each row's files.
#ifndef LOCKSTEP_DATA_SOURCE_DATASET_LIST_H
#define LOCKSTEP_DATA_SOURCE_DATASET_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// The data set that synth-cifar draws, in any shape. It has no row.
#define DATASET_SYNTHETIC "synthetic"

enum { MEMBERS_MAX = 8, MEMBER_FOLDERS = 2 };

// A published file of a data set.
typedef struct dataset_member {
    const char *name;
    const char *alias; // its name in another form, which the reader converts; NULL: none
    uint64_t bytes;
    const char *sha256;        // NULL: unknown; then packed_sha256 should be set
    const char *packed_sha256; // of NAME.gz as published; checked if that file is read
    bool optional;
} dataset_member;

typedef struct dataset_entry {
    const char *name; // in --dataset, in experiments and in manifests: "cifar10"
    const char *tool; // the program that fetches it; the first one of a tool is its default
    const char *setting, *setting_help; // of pipeline, for a source as of --from: "CIFAR10_FROM"
    const char *note;                   // for --help, lines of at most 80 columns; NULL: none
    int channels, height, width;
    uint32_t samples[2]; // for training, for testing: RAW_TRAIN, RAW_TEST
    int classes;
    const char *const *class_names;
    const dataset_member *members;
    size_t member_count;
    // Published at: the URL of one archive, or, with a suffix (".gz"), the base of NAME + suffix of
    // each member. The members at any such address, or in a folder, are found by name (members.h).
    const char *url, *suffix;
    const char *folders[MEMBER_FOLDERS]; // where unpacking puts them: a source folder's subfolders
                                         // that are searched too
    const char *alike;  // the name of another data set that is taken for this one; NULL: none
    const char *others; // the end of a message: what reads other files of this form; NULL: none
} dataset_entry;

enum {
    DATASETS = 0
#define DATASET(...) +1
#include "data/source/datasets.inc"
#undef DATASET
};

extern const dataset_entry dataset_list[DATASETS];

// Returns the row of that name; NULL for any other name.
const dataset_entry *dataset_find(const char *name);
// Returns the data set that other data of this name would pass for, published or drawn: that of the
// same letters and digits, whatever their case and the signs between them ("CIFAR-10"). NULL: none.
const char *dataset_namesake(const char *name);

#endif
