// SPDX-License-Identifier: MIT
// trained_model.h - a checkpoint together with its network, its normalisation and its class names.
#ifndef LOCKSTEP_TRAIN_TRAINED_MODEL_H
#define LOCKSTEP_TRAIN_TRAINED_MODEL_H

#include <stdint.h>

#include "base/error.h"
#include "base/log.h"
#include "base/yaml_tree.h"
#include "compute/devices.h"
#include "nn/model.h"
#include "train/model_file.h"

typedef struct model_source {
    const char *path;         // the checkpoint
    const char *architecture; // a model file; NULL: taken from the checkpoint
    const char *mean, *std;   // lists "0.5,0.5,0.5"; both NULL: taken from the checkpoint
    uint64_t max_bytes;       // as of tensor_file_read
    const logger *log;        // NULL: silent
} model_source;

typedef struct trained_model {
    model model;
    normalization normalization; // as many channels as the model
    tensor_file checkpoint;
    float *parameters, *buffers; // the arenas
} trained_model;

// STATUS_INPUT if the file is not a checkpoint, or lacks a description that is not given either;
// STATUS_USAGE for a malformed list. Release `t` even after a failure.
status trained_model_read(trained_model *t, const model_source *s, error *err) MUST_CHECK;
// The same without the arenas, from the header of the file alone.
status trained_model_describe(trained_model *t, const model_source *s, error *err) MUST_CHECK;
void trained_model_release(trained_model *t);

// The class names (labels_names), or NULL if the checkpoint has none.
yaml_node *trained_model_classes(const trained_model *t);

// The same as a JSON list of strings; free() it. NULL likewise.
char *trained_model_class_list(const trained_model *t) MUST_CHECK;

// Opens an engine for inference with these weights, on the first of the devices, which must be
// open. The caller closes it.
status trained_model_open(const trained_model *t, const devices *on, int threads, const char *isa,
                          engine **e, error *err) MUST_CHECK;

#endif
